package badgerkv

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
)

// copied returns a copy of a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// lastVersion returns the number of the last transaction that Badger finds in a directory.
func lastVersion(t *testing.T, dir string) uint64 {
	t.Helper()
	db, err := badger.Open(badgerOptions(dir, Options{Logger: slog.New(slog.DiscardHandler), MemtableBytes: MinMemtableBytes}))
	if err != nil {
		t.Fatal(err)
	}
	last := db.MaxVersion()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return last
}

// tears are what a failure may leave of a log.
var tears = []string{"half an entry", "half a transaction", "half a transaction, and what is behind a gap", "half an entry, and what is behind a gap"}

// tornLog writes a memtable's log of which not all has reached the disk.
func tornLog(t *testing.T, r *rand.Rand, name string, whole []byte, kind int) {
	t.Helper()
	var ends []int // of entries that do not end a transaction
	var used int
	if _, err := badgerfiles.EachEntry(bytes.NewReader(whole), int64(len(whole)), func(at, length int64, key []byte) bool {
		used = int(at + length)
		if !bytes.HasPrefix(key, []byte("!badger!txn")) {
			ends = append(ends, used)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	at := ends[r.IntN(len(ends)*3/4)]
	if kind == 0 || kind == 3 {
		at -= 1 + r.IntN(20)
	}
	b := make([]byte, len(whole))
	copy(b, whole[:at])
	if gap := at + 100; kind > 1 {
		copy(b[gap:], whole[gap:used])
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// After a crash the last log is cut to the byte where Badger would cut it: half an entry, and an incomplete
// transaction. The cut is durable, so that no part of it reappears after a second failure.
func TestTornLogs(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, quick)
	for i := range 12 {
		changes := map[string][]byte{}
		for j := range 1 + i*7%30 {
			changes[fmt.Sprintf("v%d", 100*i+j)] = bytes.Repeat([]byte{byte(i)}, 60)
		}
		commit(t, e, changes)
	}
	n := stored(t, e)
	image := copied(t, dir)
	name := filepath.Join(image, "00001.mem")
	whole := testdir.Read(t, name)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 2 * len(tears) {
		tornLog(t, r, name, whole, i%len(tears))
		want := lastVersion(t, copied(t, image))
		torn, err := badgerfiles.Check(image, bodyfiles.Ext)
		if err == nil {
			err = badgerfiles.Repair(image, torn)
		}
		if err != nil || len(torn) != 1 {
			t.Fatalf("%s: %v, %v", tears[i%len(tears)], torn, err)
		}
		if again, err := badgerfiles.Check(image, bodyfiles.Ext); err != nil || len(again) > 0 {
			t.Fatalf("after the repair: %v, %v", again, err)
		}
		if got := lastVersion(t, copied(t, image)); got != want {
			t.Fatalf("with the logs cut off transaction %d is the last, without %d", got, want)
		}
		// A second failure finds nothing to bring back where the log is not the last.
		if err := os.WriteFile(filepath.Join(image, "00002.mem"), whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := badgerfiles.Check(image, bodyfiles.Ext); err != nil {
			t.Errorf("as the last but one: %v", err)
		}
		if err := os.Remove(filepath.Join(image, "00002.mem")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, open(t, image, quick)); got != n {
		t.Errorf("%d of %d values are stored", got, n)
	}
}
