package histogram

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestObserve compares with a count by hand.
func TestObserve(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOf(rapid.Map(rapid.Int64Range(-10, int64(10*time.Minute)), func(n int64) time.Duration { return time.Duration(n) })).Draw(t, "durations")
		durations = append(durations, bounds[:]...) // a bound belongs to its bucket
		var h Histogram
		var sum time.Duration
		for _, d := range durations {
			h.Observe(d)
			sum += max(d, 0)
		}
		got := h.Snapshot()
		if got.Count != uint64(len(durations)) || got.Sum != sum {
			t.Fatalf("%d, %s, want %d, %s", got.Count, got.Sum, len(durations), sum)
		}
		buckets := got.Seconds()
		for _, b := range bounds {
			want := 0
			for _, d := range durations {
				if d <= b {
					want++
				}
			}
			if buckets[b.Seconds()] != uint64(want) {
				t.Errorf("up to %s: %d, want %d", b, buckets[b.Seconds()], want)
			}
		}
	})
}

func TestBoundsRise(t *testing.T) {
	if !slices.IsSorted(bounds[:]) {
		t.Error(bounds)
	}
}

func TestManyAtOnce(t *testing.T) {
	var h Histogram
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				h.Observe(time.Second)
			}
		})
	}
	wg.Wait()
	if s := h.Snapshot(); s.Count != 8000 || s.Sum != 8000*time.Second {
		t.Error(s)
	}
}
