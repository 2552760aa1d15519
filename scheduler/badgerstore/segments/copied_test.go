package segments

import (
	"log/slog"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// TestNumbersOfCopies: the files of two copies never have the same number, and a copy that writes
// again goes on behind what it wrote.
func TestNumbersOfCopies(t *testing.T) {
	files := func(tag uint32, founder bool, current uint64, states ...uint64) *Files {
		f := New(t.TempDir(), slog.New(slog.DiscardHandler), DefaultBytes, RecentBytes)
		f.Copied(tag, founder)
		all := map[uint64]record.Segment{}
		for _, n := range states {
			all[n] = record.Segment{Entries: 1, Live: 5, Size: 10}
		}
		if err := f.Open(all, current, 0, false); err != nil {
			t.Fatal(err)
		}
		return f
	}
	const a, b = uint64(7) << counterBits, uint64(9) << counterBits
	for _, tt := range []struct {
		name    string
		files   *Files
		current uint64
		want    uint64
		mine    []uint64
		foreign []uint64
	}{
		{"alone", files(0, false, 4, 3, 4), 4, 5, []uint64{1, 4}, []uint64{a | 1}},
		{"founder, from before", files(7, true, 4, 3, 4), 4, a | 1, []uint64{4, a | 1}, []uint64{b | 1}},
		{"after another", files(7, false, b|3, a|5, b|3), b | 3, a | 6, []uint64{a | 5}, []uint64{4, b | 3}},
		{"goes on", files(7, false, a|6, b|3), a | 6, a | 7, []uint64{a | 6}, []uint64{4, b | 3}},
	} {
		if got := tt.files.Next(tt.current); got != tt.want {
			t.Errorf("%s: the next segment is %x, want %x", tt.name, got, tt.want)
		}
		for _, n := range tt.mine {
			if !tt.files.Mine(n) {
				t.Errorf("%s: segment %x is not mine", tt.name, n)
			}
		}
		for _, n := range tt.foreign {
			if tt.files.Mine(n) || tt.files.Learn(n, nil) {
				t.Errorf("%s: segment %x is mine", tt.name, n)
			}
		}
		if tt.files.live%5 != 0 || tt.name == "after another" && tt.files.live != 5 {
			t.Errorf("%s: %d bytes are needed here", tt.name, tt.files.live)
		}
	}
	f := files(7, false, b|1)
	f.Learn(a|9, (&record.Segment{Entries: 1, Live: 5, Size: 10}).Append(nil))
	if got := f.Next(b | 1); got != a|10 {
		t.Errorf("behind a segment that was learned comes %x, want %x", got, a|10)
	}
}
