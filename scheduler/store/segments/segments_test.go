package segments

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

func newFiles(t *testing.T, states map[uint64]record.Segment, current, end uint64) *Files {
	t.Helper()
	f := New(&bodyfiles.Files{Dir: t.TempDir()}, slog.New(slog.DiscardHandler), 1000, RecentBytes)
	if err := f.Open(states, current, end, false); err != nil {
		t.Fatal(err)
	}
	return f
}

func dirOf(f *Files) string { return f.stored.(*bodyfiles.Files).Dir }

// list returns the segments whose files are there.
func list(t *testing.T, dir string) (numbers []uint64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		numbers = append(numbers, bodyfiles.Number(file.Name()))
	}
	return numbers
}

func TestWriteAndRead(t *testing.T) {
	f := newFiles(t, map[uint64]record.Segment{}, 0, 0)
	synced := 0
	w := f.stored.(*bodyfiles.Files)
	w.SyncNames = func() error { synced++; return nil }
	var bodies []Body
	for i := range 6 {
		b := bytes.Repeat([]byte{byte('a' + i)}, 10+i)
		place := record.BodyPlace{Segment: uint64(1 + i/2), Offset: uint64(i % 2 * 100), Length: uint64(len(b)), Sum: Sum(b)}
		bodies = append(bodies, Body{place, b})
	}
	for _, b := range bodies {
		if err := w.Append(b.Place.Segment, b.Place.Offset, b.Bytes); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if synced != 3 {
		t.Errorf("names were synced %d times for 3 files", synced)
	}
	r := f.Reader()
	defer r.Close()
	for _, b := range slices.Backward(bodies) {
		got, damage, err := r.Body(&record.Order{Place: b.Place})
		if err != nil || damage != "" || !bytes.Equal(got, b.Bytes) {
			t.Errorf("%+v: %q, %q, %v, want %q", b.Place, got, damage, err, b.Bytes)
		}
	}
	inline, _, err := r.Body(&record.Order{Body: []byte("x")})
	if string(inline) != "x" || err != nil {
		t.Errorf("body in the order: %q, %v", inline, err)
	}
	for name, p := range map[string]record.BodyPlace{
		"checksum": {Segment: 1, Length: 10},
		"end":      {Segment: 1, Offset: 105, Length: 10},
		"missing":  {Segment: 9, Length: 10},
		"length":   {Segment: 1, Length: record.MaxBody + 1},
	} {
		if _, err := r.Read(p); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
}

// The bodies that were written last are in memory, as many as there is room for.
func TestRecent(t *testing.T) {
	f := newFiles(t, nil, 1, 0)
	place := func(n int) record.BodyPlace { return record.BodyPlace{Segment: 1, Offset: uint64(n)} }
	body := func(n int) Body { return Body{Place: place(n), Bytes: make([]byte, RecentBytes/4)} }
	if f.Recent(place(1)) != nil {
		t.Error("there is a body before any was written")
	}
	f.Remember([]Body{body(1), body(2)})
	f.Remember([]Body{body(2), body(3), body(4)})
	f.Remember(nil)
	for n := range 4 {
		if f.Recent(place(n+1)) == nil {
			t.Errorf("body %d of four that fit is not there", n+1)
		}
	}
	f.Remember([]Body{body(5), body(6)})
	for n, want := range []bool{false, false, true, true, true, true} {
		if got := f.Recent(place(n+1)) != nil; got != want {
			t.Errorf("body %d is there: %t, want %t", n+1, got, want)
		}
	}
	f.Remember([]Body{{Place: place(7), Bytes: make([]byte, RecentBytes+1)}})
	if f.Recent(place(7)) != nil || f.Recent(place(6)) != nil || f.recent.bytes != 0 {
		t.Errorf("after a body that does not fit, %d bytes are kept", f.recent.bytes)
	}
}

// A file that is not needed stays while a reader may want it.
func TestSweep(t *testing.T) {
	states := map[uint64]record.Segment{1: {Entries: 1}, 2: {Entries: 1}, 3: {Entries: 1}}
	f := newFiles(t, states, 3, 0)
	for n := range maps.Keys(states) {
		if err := os.WriteFile(filepath.Join(dirOf(f), bodyfiles.Name(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, want ...uint64) {
		t.Helper()
		if d := cmp.Diff(want, list(t, dirOf(f))); d != "" {
			t.Errorf("%s (-want +got):\n%s", when, d)
		}
	}
	before := f.Reader()
	if !f.Learn(1, nil) {
		t.Error("segment 1 is not gone")
	}
	between := f.Reader()
	f.Learn(2, nil)
	f.Sweep()
	want("with two readers", 1, 2, 3)
	before.Close()
	want("with one reader that began after 1 was gone", 2, 3)
	between.Close()
	want("without readers", 3)
}

func TestEmpty(t *testing.T) {
	f := newFiles(t, map[uint64]record.Segment{}, 0, 0)
	learn := func(n, live uint64) {
		f.Learn(n, record.Segment{Entries: 1, Live: live, Size: 1000}.Append(nil))
	}
	for n := range uint64(4) {
		learn(n+1, 100)
	}
	if got := f.Empty(4); got != nil {
		t.Errorf("%v are emptied while there is little to gain", got)
	}
	learn(5, 900)
	learn(6, 100)
	learn(7, 100)
	learn(8, 100)
	want := map[uint64]bool{1: true, 2: true, 3: true, 4: true, 6: true, 7: true}
	if d := cmp.Diff(want, f.Empty(8)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f.Empty(8) != nil {
		t.Error("a second round begins before the first has ended")
	}
	f.Emptied(true)
	if f.Empty(8) != nil {
		t.Error("a failed round is repeated at once")
	}
	learn(9, 100)
	if f.Empty(8) == nil {
		t.Error("a failed round is not repeated when there is a segment more")
	}
}

// What a crash left behind the last body, or before it removed a file, goes.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for n := range uint64(4) {
		if err := os.WriteFile(filepath.Join(dir, bodyfiles.Name(n+1)), make([]byte, 50), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	states := map[uint64]record.Segment{2: {Entries: 1, Live: 40, Size: 50}}
	f := New(&bodyfiles.Files{Dir: dir}, slog.New(slog.DiscardHandler), 1000, RecentBytes)
	if err := f.Open(maps.Clone(states), 3, 30, true); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); len(got) != 4 {
		t.Errorf("opened for reading, %v are left", got)
	}
	if err := New(f.stored, f.log, 1000, RecentBytes).Open(states, 3, 30, false); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint64{2, 3}, list(t, dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if info, err := os.Stat(filepath.Join(dir, bodyfiles.Name(3))); err != nil || info.Size() != 30 {
		t.Errorf("the current segment: %v, %v, want 30 bytes", info, err)
	}
}
