package badgerkv

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Badger may need more than MinFree to merge what there is: then that must be free.
func TestDiskNeeded(t *testing.T) {
	o := Options{MemtableBytes: MinMemtableBytes, MinFree: 1}
	dir := t.TempDir()
	e := open(t, dir, o)
	if n := e.needs(); n != tablesAtOnce*MinMemtableBytes {
		t.Errorf("an empty database needs %d bytes", n)
	}
	const bytes = 40 << 20
	for i := range 6 * 8 {
		commit(t, e, map[string][]byte{fmt.Sprint(i): make([]byte, o.MemtableBytes*15/100/8)})
	}
	closeEngine(t, e)
	e = open(t, dir, o)
	st, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.TableBytes < 500<<10 || st.DiskNeeded < tablesAtOnce*MinMemtableBytes+st.TableBytes*9/10 {
		t.Errorf("a database with %d bytes of tables needs %d bytes", st.TableBytes, st.DiskNeeded)
	}
	closeEngine(t, e)
	o.MinFree = bytes
	if n := open(t, dir, o).needs(); n != bytes {
		t.Errorf("with room enough it needs %d bytes, want those of MinFree", n)
	}
}

// TestMemtableAfterCrash opens what a crash has left of large memtables, and of small ones, with small ones.
func TestMemtableAfterCrash(t *testing.T) {
	const small = 2 << 20
	for left, values := range map[int64]int{DefaultMemtableBytes: 60, small: 20} { // less than flushes one
		dir := t.TempDir()
		e := open(t, dir, Options{MinFree: -1, MemtableBytes: left})
		for i := range values {
			commit(t, e, map[string][]byte{fmt.Sprint("v", i): bytes.Repeat([]byte("v"), 50<<10)})
		}
		// The directory as it is now is what a crash would leave.
		crashed := copied(t, dir)
		again := open(t, crashed, Options{MinFree: -1, MemtableBytes: small})
		if again.o.MemtableBytes != left {
			t.Errorf("memtables of %d after a crash with %d", again.o.MemtableBytes, left)
		}
		if n := stored(t, again); n != values {
			t.Errorf("%d of %d values are there", n, values)
		}
		closeEngine(t, again)
		if again = open(t, crashed, Options{MinFree: -1, MemtableBytes: small}); again.o.MemtableBytes != small {
			t.Errorf("memtables of %d after a clean stop", again.o.MemtableBytes)
		}
		closeEngine(t, again)
	}
}

// TestLargeTables: the levels of Badger are as large as its tables allow.
func TestLargeTables(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		bytes int64
		level int64
	}{{largeTables - 1, 64 << 20}, {largeTables, 128 << 20}} {
		name := filepath.Join(dir, "000001.sst")
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, c.bytes)); err != nil { // a hole
			t.Fatal(err)
		}
		o := Options{}
		o.fill()
		if err := o.fit(dir); err != nil {
			t.Fatal(err)
		}
		if got := badgerOptions(dir, o).BaseLevelSize; got != c.level {
			t.Errorf("tables of %d bytes: a level of %d, want %d", c.bytes, got, c.level)
		}
	}
}

// TestRefusedWrite: only a full disk makes an error that wraps scheduler.ErrFull.
func TestRefusedWrite(t *testing.T) {
	if err := refused("dir", fmt.Errorf("write: %w", syscall.ENOSPC)); !errors.Is(err, scheduler.ErrFull) {
		t.Errorf("a full disk gives %v", err)
	}
	if err := refused("dir", syscall.EIO); errors.Is(err, scheduler.ErrFull) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a broken disk gives %v", err)
	}
}
