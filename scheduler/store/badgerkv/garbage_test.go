package badgerkv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
)

func TestMain(m *testing.M) {
	testdir.InMemory()
	goleak.VerifyTestMain(m)
}

// quick is for databases that need not outlive a power failure.
var quick = Options{MemtableBytes: MinMemtableBytes, MinFree: -1}

func open(t *testing.T, dir string, o Options) *Engine {
	t.Helper()
	e, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !e.db.IsClosed() {
			closeEngine(t, e)
		}
	})
	return e
}

func closeEngine(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, e *Engine, changes map[string][]byte) {
	t.Helper()
	if err := e.Commit(func(yield func(key, value []byte) bool) {
		for key, value := range maps.All(changes) {
			if !yield([]byte(key), value) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// longValues returns a closed database with values in the first value log file. Half of them were removed; Badger has
// not noticed yet.
func longValues(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	e := open(t, dir, quick)
	for i := range n {
		commit(t, e, map[string][]byte{fmt.Sprintf("v%02d", i): bytes.Repeat([]byte("x"), 2*int(quick.longValue()))})
	}
	closeEngine(t, e)
	merge(t, dir)
	e = open(t, dir, quick)
	remove(t, e, 0, n/2)
	closeEngine(t, e)
	return dir
}

func remove(t *testing.T, e *Engine, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		commit(t, e, map[string][]byte{fmt.Sprintf("v%02d", i): nil})
	}
	commit(t, e, map[string][]byte{"later": {1}}) // compactions drop what is older than the last commit
}

// merge has Badger compact all tables of a closed database into the last level.
func merge(t *testing.T, dir string) {
	t.Helper()
	b := badgerOptions(dir, quick)
	b.Logger, b.CompactL0OnClose = nil, true
	db, err := badger.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	passMark(t, db)
	if err := errors.Join(db.Close(), badgerfiles.UnmarkClosed(dir)); err != nil {
		t.Fatal(err)
	}
}

// passMark waits until compactions drop the removals from before the opening: they end at a mark that a goroutine of
// Badger moves on, from a channel of 100. It has passed the mark of the opening when it has taken more than these.
func passMark(t *testing.T, db *badger.DB) {
	t.Helper()
	for range 101 {
		if err := db.View(func(*badger.Txn) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func collect(e *Engine) { collectGarbage(e.db, e.dir, e.o.Logger) }

func compact(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
}

// stored counts the keys whose values can be read.
func stored(t *testing.T, e *Engine) (n int) {
	t.Helper()
	v := e.View()
	defer v.Close()
	if err := v.Walk([]byte("v"), []byte("v"), true, func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGarbageCountedTwice: Badger counts what a compaction drops before the compaction is done. If the process is
// killed then, the next one counts it again, and a file with values counts as all garbage. No removed value may
// reappear.
func TestGarbageCountedTwice(t *testing.T) {
	dir := longValues(t, 20)
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
	e := open(t, dir, quick)
	collect(e)
	compact(t, e)
	if n := stored(t, e); n != 10 {
		t.Errorf("%d values are stored, want 10", n)
	}
}

// TestCollectGarbage: a value log file exists exactly as long as a value in it is stored.
func TestCollectGarbage(t *testing.T) {
	dir := longValues(t, 20)
	first := filepath.Join(dir, "000001.vlog")
	e := open(t, dir, quick)
	compact(t, e)
	if collect(e); stored(t, e) != 10 {
		t.Errorf("%d values are stored, want 10", stored(t, e))
	}
	remove(t, e, 10, 20)
	if collect(e); !there(t, first) {
		t.Error("the file is gone though compaction has not met the removals")
	}
	closeEngine(t, e)
	e = open(t, dir, quick)
	passMark(t, e.db)
	compact(t, e)
	if collect(e); there(t, first) {
		t.Error("the file is there though none of its values is stored")
	}
	closeEngine(t, e)
	if n := stored(t, open(t, dir, quick)); n != 0 {
		t.Errorf("%d values are stored", n)
	}
}

// unused returns a closed database none of whose values in the first value log file is stored any more, and that file.
func unused(t *testing.T) (dir, first string, whole []byte) {
	t.Helper()
	dir = longValues(t, 4)
	first = filepath.Join(dir, "000001.vlog")
	whole = testdir.Read(t, first)
	e := open(t, dir, quick)
	remove(t, e, 2, 4)
	closeEngine(t, e)
	merge(t, dir)
	return dir, first, whole
}

// TestCollectDamaged: a file that cannot be read to its end may hold values.
func TestCollectDamaged(t *testing.T) {
	dir, first, whole := unused(t)
	e := open(t, dir, quick)
	if collect(e); there(t, first) {
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
		if used, err := holdsValue(e.db, first); err != nil || !used {
			t.Errorf("%s: it counts as used: %v, %v", name, used, err)
		}
	}
	if err := os.WriteFile(first, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if used, err := holdsValue(e.db, first); err != nil || used {
		t.Errorf("whole: it counts as used: %v, %v", used, err)
	}
}

// TestShortCountOfGarbage: Badger's garbage statistics are truncated, and a value of the value log becomes garbage.
func TestShortCountOfGarbage(t *testing.T) {
	dir := t.TempDir()
	for _, value := range []string{"one", "two"} {
		e := open(t, dir, quick) // repairs them
		commit(t, e, map[string][]byte{"v": bytes.Repeat([]byte(value), int(quick.longValue()))})
		closeEngine(t, e)
		if value == "two" {
			break
		}
		if err := os.Truncate(filepath.Join(dir, badgerfiles.DiscardName), 8); err != nil {
			t.Fatal(err)
		}
	}
	merge(t, dir)
	e := open(t, dir, quick)
	compact(t, e)
	if n := stored(t, e); n != 1 {
		t.Errorf("%d values are stored, want 1", n)
	}
}

// TestCommitCollects: the first commit of a process removes value log files that are garbage, and so does one after
// which collectAfter bytes have entered the value log.
func TestCommitCollects(t *testing.T) {
	dir, first, whole := unused(t)
	e := open(t, dir, quick)
	set := func(value []byte) { commit(t, e, map[string][]byte{"v": value}) }
	if set([]byte("short")); there(t, first) {
		t.Fatal("the first commit left a file whose values are all gone")
	}
	if err := os.WriteFile(first, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	long := quick.longValue()
	e.logged = collectAfter - long
	if set(make([]byte, long-1)); !there(t, first) {
		t.Error("a commit of a short value removed a file")
	}
	if set(make([]byte, long)); there(t, first) || e.logged != 0 {
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
