package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

func TestExists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if Exists(dir) {
		t.Error("a store exists before it was made")
	}
	closeStore(t, openStore(t, dir, quick))
	if !Exists(dir) || Exists(filepath.Dir(dir)) {
		t.Error("the store is not where it was made")
	}
}

// TestOpenAtOnce opens and closes one store concurrently. Each caller gets it, or the error that it is locked; none
// finds it half open or half closed.
func TestOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, openStore(t, dir, attackOptions()))
	var sides sync.WaitGroup
	var locked atomic.Int64
	for side := range 4 {
		sides.Go(func() {
			for n := 0; n < 8; {
				o := attackOptions()
				o.ReadOnly = side == 0 && n%2 == 0
				s, err := Open(dir, o)
				if errors.Is(err, scheduler.ErrLocked) {
					locked.Add(1)
					runtime.Gosched()
					continue
				}
				n++
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sides.Wait()
	t.Logf("found locked %d times", locked.Load())
	mustVerify(t, openStore(t, dir, attackOptions()))
}

// TestFirstOrder: numbers of orders continue above FirstOrder at each opening, and never go back; waiting orders
// remain, and the store is intact.
func TestFirstOrder(t *testing.T) {
	dir := t.TempDir()
	options := func(first uint64) Options {
		return Options{Durability: OS, MemtableBytes: MinMemtableBytes, FirstOrder: first}
	}
	want := []uint64{}
	for i, tt := range []struct{ first, seq uint64 }{
		{0, 1}, {1_700_000_000_000_000, 1_700_000_000_000_001}, {5, 1_700_000_000_000_002}, {1_800_000_000_000_000, 1_800_000_000_000_001},
	} {
		s, err := Open(dir, options(tt.first))
		if err != nil {
			t.Fatal(err)
		}
		b := bench{T: t, s: s, o: s.Outbox()}
		b.open("a")
		b.crawl("http://a.test/"+string(rune('0'+i)), document("text"))
		want = append(want, tt.seq)
		entries, err := b.o.Entries(t.Context(), 0, 10, 1<<20)
		b.must(err)
		if len(entries) != len(want) {
			t.Fatalf("%d entries, want %d", len(entries), len(want))
		}
		for j, e := range entries {
			if e.Seq != want[j] {
				t.Errorf("opening %d: entry %d has number %d, want %d", i, j, e.Seq, want[j])
			}
		}
		mustVerify(t, s)
		b.must(s.Close())
	}
}

// TestOthersMayNotRead: Badger's files are readable for all, so their folder must not be, also of a restored store, and
// in a data directory that is readable for all.
func TestOthersMayNotRead(t *testing.T) {
	data := t.TempDir()
	if err := os.Chmod(data, 0o755); err != nil { //nolint:gosec // the case
		t.Fatal(err)
	}
	dir, restored := filepath.Join(data, "docs", "store"), filepath.Join(data, "other", "store")
	s := openStore(t, dir, Options{})
	backup := backedUp(t, s)
	closeStore(t, s)
	if _, err := Restore(t.Context(), restored, bytes.NewReader(backup), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, restored} {
		info, err := os.Stat(d)
		if err != nil || info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%s: %v %v", d, info.Mode(), err)
		}
	}
}

// TestPrivate: only its owner has access to a store's files: of a new, a restored, and a formerly readable store.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "store")
	open := func(dir string) *Store {
		t.Helper()
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	mode := func(dir string) fs.FileMode {
		t.Helper()
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	s := open(dir)
	if got := mode(dir); got != 0o700 {
		t.Errorf("a new store's folder has mode %v", got)
	}
	var copied bytes.Buffer
	if _, err := s.Backup(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "data", "store")
	if _, err := Restore(t.Context(), restored, &copied, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := mode(restored); got != 0o700 {
		t.Errorf("a restored store's folder has mode %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	open(dir)
	if got := mode(dir); got != 0o700 {
		t.Errorf("an old store's folder has mode %v", got)
	}
}
