package badgerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
)

// longBodies returns a closed store with orders whose bodies are in the first value log file.
// Half of them were delivered; Badger has not noticed yet.
func longBodies(t *testing.T, orders int) (dir string, o Options) {
	t.Helper()
	dir, o = t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1}
	s := openStore(t, dir, o)
	if err := s.Outbox().Open(t.Context(), []string{"target"}); err != nil {
		t.Fatal(err)
	}
	for i := range orders {
		addLinks(t, s, linkTo(t, fmt.Sprintf("http://a.test/%d", i)))
	}
	for _, w := range waiting(t, s) {
		c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record}
		c.Next.State = scheduler.AtRest
		c.Order = &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte(strings.Repeat("x", 2*int(o.longValue())))}
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	merge(t, dir, o)
	s = openStore(t, dir, o)
	deliver(t, s, uint64(orders)/2)
	closeStore(t, s)
	return dir, o
}

// merge has Badger compact all tables of a closed store into the last level.
func merge(t *testing.T, dir string, o Options) {
	t.Helper()
	b := badgerOptions(dir, o)
	b.Logger, b.CompactL0OnClose = nil, true
	db, err := badger.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	// A compaction drops what was removed up to a mark that a goroutine of Badger moves on
	// when it has read of it, from a channel of 100. So that goroutine is past the mark of the
	// opening when it has taken more than these.
	for range 101 {
		if err := db.View(func(*badger.Txn) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Close(), badgerfiles.UnmarkClosed(dir)); err != nil {
		t.Fatal(err)
	}
}

func deliver(t *testing.T, s *Store, seq uint64) {
	t.Helper()
	if err := s.Outbox().Safe(t.Context(), "target", seq); err != nil {
		t.Fatal(err)
	}
}

// collect removes the value log files that are garbage; no commit may be under way.
func collect(s *Store) { e := badgerOf(s); collectGarbage(e.db, e.dir, e.log) }

// collected lets the committer look for garbage.
func collected(t *testing.T, s *Store) {
	t.Helper()
	if err := s.changeAlone(t.Context(), func(g *group) error { collect(g.s); return nil }); err != nil {
		t.Fatal(err)
	}
}

// compacted lets Badger compact its tables.
func compacted(t *testing.T, s *Store) {
	t.Helper()
	if err := badgerOf(s).db.Flatten(1); err != nil {
		t.Fatal(err)
	}
}

func ordersIn(t *testing.T, s *Store) int {
	t.Helper()
	entries, err := s.Outbox().Entries(t.Context(), 0, 1000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestGarbageCountedTwice: Badger counts what a compaction drops before the compaction is done. If the process is
// killed then, the next one counts it again, and a file with values counts as all garbage. No delivered order may
// reappear.
func TestGarbageCountedTwice(t *testing.T) {
	dir, o := longBodies(t, 20)
	count, err := os.OpenFile(filepath.Join(dir, "DISCARD"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := count.WriteAt(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 1), 1<<30), 0); err != nil {
		t.Fatal(err)
	}
	if err := count.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir, o)
	collected(t, s)
	compacted(t, s)
	if n := ordersIn(t, s); n != 10 {
		t.Errorf("%d orders wait, want 10", n)
	}
	mustVerify(t, s)
}

// TestCollectGarbage: a value log file exists exactly as long as a value in it is stored.
func TestCollectGarbage(t *testing.T) {
	dir, o := longBodies(t, 20)
	first := filepath.Join(dir, "000001.vlog")
	s := openStore(t, dir, o)
	compacted(t, s)
	if collected(t, s); ordersIn(t, s) != 10 {
		t.Errorf("%d orders wait, want 10", ordersIn(t, s))
	}
	deliver(t, s, 20)
	if collected(t, s); !there(t, first) {
		t.Error("the file is gone though compaction has not met the removals")
	}
	closeStore(t, s)
	s = openStore(t, dir, o)
	compacted(t, s)
	if collected(t, s); there(t, first) {
		t.Error("the file is there though none of its values is stored")
	}
	mustVerify(t, s)
	closeStore(t, s)
	s = openStore(t, dir, o)
	if n := ordersIn(t, s); n != 0 {
		t.Errorf("%d orders wait", n)
	}
	mustVerify(t, s)
}

// TestCollectDamaged: a file that cannot be read to its end may hold values.
func TestCollectDamaged(t *testing.T) {
	dir, o := longBodies(t, 4)
	first := filepath.Join(dir, "000001.vlog")
	whole := testdir.Read(t, first)
	s := openStore(t, dir, o)
	deliver(t, s, 4)
	closeStore(t, s)
	merge(t, dir, o)
	s = openStore(t, dir, o)
	if collected(t, s); there(t, first) {
		t.Fatal("the test is of no use: nothing is stored, and the file is still there")
	}
	second := (len(whole)-badgerfiles.LogHeader)/4 + badgerfiles.LogHeader
	for name, b := range map[string][]byte{
		"short":           whole[:len(whole)-1],
		"longer":          append(slices.Clone(whole), 0),
		"zeros":           slices.Concat(whole[:second], make([]byte, len(whole)-second)),
		"a key too long":  slices.Concat(whole[:badgerfiles.LogHeader+2], []byte{0xff, 0xff, 0x7f}, whole[badgerfiles.LogHeader+5:]),
		"a long number":   slices.Concat(whole[:badgerfiles.LogHeader+2], bytes.Repeat([]byte{0xff}, 12), whole[badgerfiles.LogHeader+14:]),
		"no more than 1":  whole[:badgerfiles.LogHeader+1],
		"a value of 2^63": slices.Concat(whole[:badgerfiles.LogHeader+3], binary.AppendUvarint(nil, 1<<63), whole[badgerfiles.LogHeader+13:]),
	} {
		if err := os.WriteFile(first, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if used, err := holdsValue(badgerOf(s).db, first); err != nil || !used {
			t.Errorf("%s: it counts as used: %v, %v", name, used, err)
		}
	}
	if err := os.WriteFile(first, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if used, err := holdsValue(badgerOf(s).db, first); err != nil || used {
		t.Errorf("whole: it counts as used: %v, %v", used, err)
	}
}

// TestCommitCollects: the first commit of a process removes value log files that are garbage, and so does one after
// which collectAfter bytes have entered the value log.
func TestCommitCollects(t *testing.T) {
	dir, o := longBodies(t, 4)
	first := filepath.Join(dir, "000001.vlog")
	whole := testdir.Read(t, first)
	s := openStore(t, dir, o)
	deliver(t, s, 4)
	closeStore(t, s)
	merge(t, dir, o)
	e, err := openEngine(dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	commit := func(value []byte) {
		t.Helper()
		if err := e.Commit(func(yield func(key, value []byte) bool) { yield([]byte("v"), value) }); err != nil {
			t.Fatal(err)
		}
	}
	if commit([]byte("short")); there(t, first) {
		t.Fatal("the first commit left a file whose values are all gone")
	}
	if err := os.WriteFile(first, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	e.logged = collectAfter - e.long
	if commit(make([]byte, e.long-1)); !there(t, first) {
		t.Error("a commit of a short value removed a file")
	}
	if commit(make([]byte, e.long)); there(t, first) || e.logged != 0 {
		t.Errorf("the commit of byte %d of the value log left a file whose values are all gone", collectAfter)
	}
}

func there(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
