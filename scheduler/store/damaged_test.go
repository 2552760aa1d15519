package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/fb"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// TestWhatOpenReads: in a closed store, changed files are read; a store that was not closed is read completely.
func TestWhatOpenReads(t *testing.T) {
	fixture, _ := damagedFixture(t, 100)
	flip := func(name string, at int64) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := (harm{File: name, Kind: harmFlip, At: at, N: 1, Mask: 1}).apply(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	const block, entry = 5000, 1000 // a byte in the first of each
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string // of the error; "" for none
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"a table is touched", func(t *testing.T, dir string) {
			if err := os.Chtimes(filepath.Join(dir, "000002.sst"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"a block of a table", flip("000002.sst", block), "table 000002.sst: it is damaged at byte 0"},
		{"a block of a table that looks untouched", func(t *testing.T, dir string) {
			decay(t, filepath.Join(dir, "000002.sst"), func() { flip("000002.sst", block)(t, dir) })
		}, ""},
		{"the same, and the store was not closed", func(t *testing.T, dir string) {
			decay(t, filepath.Join(dir, "000002.sst"), func() { flip("000002.sst", block)(t, dir) })
			mustRemove(t, filepath.Join(dir, badgerfiles.ClosedName))
		}, "table 000002.sst: it is damaged at byte 0"},
		{"a value", flip("000002.vlog", entry), "the file 000002.vlog is damaged at byte 20"},
		{"a value, and the store was not closed", func(t *testing.T, dir string) {
			flip("000002.vlog", entry)(t, dir)
			mustRemove(t, filepath.Join(dir, badgerfiles.ClosedName))
		}, "the file 000002.vlog is damaged at byte 20"},
		{"a value is gone", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "000002.vlog"), badgerfiles.LogHeader); err != nil {
				t.Fatal(err)
			}
		}, "the file 000002.vlog has 20 bytes, but had 200047 when the store was closed"},
		{"a file is gone", func(t *testing.T, dir string) { mustRemove(t, filepath.Join(dir, "000002.vlog")) }, "the file 000002.vlog is missing"},
		{"a memtable comes from elsewhere", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "00001.mem"), make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the file 00001.mem did not exist when the store was closed"},
		{"the keys are longer", func(t *testing.T, dir string) {
			if err := (harm{File: "KEYREGISTRY", Kind: harmGarbage, At: 28, N: 8}).apply(dir); err != nil {
				t.Fatal(err)
			}
		}, "the file KEYREGISTRY is damaged"},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		copyTo(t, fixture, dir)
		c.change(t, dir)
		wantOpened(t, c.name, dir, c.want)
	}
}

func mustRemove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// wantOpened wants a store to open, or to be refused in these words and with what to do.
func wantOpened(t *testing.T, name, dir, want string) {
	t.Helper()
	s, err := Open(dir, attackOptions())
	switch {
	case err != nil && want == "":
		t.Errorf("%s: refused with %v", name, err)
	case err != nil && (!errors.Is(err, scheduler.ErrDamaged) || !strings.Contains(err.Error(), want+"; "+kv.AdviceDamaged)):
		t.Errorf("%s: refused with %v, want %q", name, err, want)
	case err == nil && want != "":
		t.Errorf("%s: opened, want %q", name, want)
	}
	if err == nil {
		closeStore(t, s)
	}
}

// TestTornMemtables: only the last memtable of a killed process may end with half an entry, which is cut off.
func TestTornMemtables(t *testing.T) {
	_, fixture := damagedFixture(t, 100)
	for i, want := range []string{"the file 00001.mem is damaged at byte ", ""} {
		number := i + 1
		dir := filepath.Join(t.TempDir(), "store")
		copyTo(t, fixture, dir)
		first := filepath.Join(dir, "00001.mem")
		b := testdir.Read(t, first)
		if err := os.WriteFile(filepath.Join(dir, "00002.mem"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (harm{File: fmt.Sprintf("%05d.mem", number), Kind: harmFlip, At: 2000, N: 1, Mask: 1}).apply(dir); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, attackOptions())
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("memtable %d: %v, want %q", number, err, want)
		}
		if err == nil {
			closeStore(t, s)
		}
	}
}

// TestDecayedBlock: a block with a decayed end, at which Badger panics, ends no reading process, and Verify and Backup
// find it, although Open does not.
func TestDecayedBlock(t *testing.T) {
	fixture, _ := damagedFixture(t, 400)
	opened := 0
	for block := range 5 { // of seven
		dir := filepath.Join(t.TempDir(), "store")
		copyTo(t, fixture, dir)
		table := filepath.Join(dir, "000002.sst")
		decay(t, table, func() {
			h := harm{File: "000002.sst", Kind: harmFlip, At: blockEnd(t, table, block) - 1, N: 1, Mask: 0x20}
			if err := h.apply(dir); err != nil {
				t.Fatal(err)
			}
		})
		for _, readOnly := range []bool{true, false} {
			o := attackOptions()
			o.ReadOnly = readOnly
			s, err := Open(dir, o)
			if err != nil { // it reads format and counters
				if !errors.Is(err, scheduler.ErrDamaged) {
					t.Errorf("block %d: %v", block, err)
				}
				continue
			}
			opened++
			if _, err := contentsOf(t, s); err == nil {
				t.Errorf("block %d: all of it is read", block)
			}
			var found []string
			if _, err := s.Verify(t.Context(), func(f Fault) { found = append(found, f.Words) }); err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || readOnly && !strings.Contains(found[0], "table 000002.sst: it is damaged at byte ") {
				t.Errorf("block %d: faults %q", block, found)
			}
			if _, err := s.Backup(t.Context(), io.Discard); !errors.Is(err, scheduler.ErrDamaged) {
				t.Errorf("block %d: backup: %v", block, err)
			}
			closeStore(t, s)
		}
	}
	if opened < 2 {
		t.Errorf("%d stores were opened", opened)
	}
}

// tableIndex returns the position of a table's index, which its length, its checksum, and the length of that follow.
func tableIndex(b []byte) (begin, end int64) {
	const word = 4
	n := int64(len(b)) - word
	end = n - int64(binary.BigEndian.Uint32(b[n:])) - word
	return end - int64(binary.BigEndian.Uint32(b[end:])), end
}

// blockEnd returns where a block of a table ends.
func blockEnd(t *testing.T, table string, n int) int64 {
	t.Helper()
	b := testdir.Read(t, table)
	begin, end := tableIndex(b)
	var o fb.BlockOffset
	if !fb.GetRootAsTableIndex(b[begin:end], 0).Offsets(&o, n) {
		t.Fatalf("%s has no block %d", table, n)
	}
	return int64(o.Offset()) + int64(o.Len())
}
