package scheduler

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// boundMet checks every window of a run at once: a source's deviation from its
// share, in picks, must stay in a band of 6, because the deviation of a window is
// the difference of those at its two ends.
type boundMet struct {
	weights    [Sources]int
	total      int
	n          int
	picks      [Sources]int
	low, high  [Sources]int // of picks*total - n*weight
	violations int
}

func (b *boundMet) pick(s Source) {
	b.n++
	b.picks[s]++
	for i, w := range b.weights {
		d := b.picks[i]*b.total - b.n*w
		b.low[i], b.high[i] = min(b.low[i], d), max(b.high[i], d)
		if b.high[i]-b.low[i] > 6*b.total {
			b.violations++
		}
	}
}

func newBound(weights [Sources]int) *boundMet {
	b := &boundMet{weights: weights}
	for _, w := range weights {
		b.total += w
	}
	return b
}

const allReady = 1<<Sources - 1

func TestStrideDefaultWeights(t *testing.T) {
	weights := DefaultSettings().Weights
	s, b := newStride(weights), newBound(weights)
	for range 3 * b.total {
		picked, ok := s.pick(allReady)
		if !ok {
			t.Fatal("nothing picked")
		}
		b.pick(picked)
	}
	if b.violations > 0 {
		t.Errorf("%d picks left the band of 6: low %v high %v of %d", b.violations, b.low, b.high, b.total)
	}
	for i, w := range weights {
		if b.picks[i] != 3*w {
			t.Errorf("%v: %d picks in three rounds of %d, want exactly %d", Source(i), b.picks[i], b.total, 3*w)
		}
	}
}

func weightsOf(t *rapid.T, name string) [Sources]int {
	kind := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 100), rapid.IntRange(1, 1_000_000))
	return [Sources]int(rapid.SliceOfN(kind, Sources, Sources).Draw(t, name))
}

// TestStrideAnyWindow lets sources come and go and weights change, which may
// leave any credits, and then asks for the bound in each window.
func TestStrideAnyWindow(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		weights := weightsOf(t, "weights")
		s := newStride(weights)
		for range rapid.IntRange(0, 4).Draw(t, "phases") {
			masks := rapid.SliceOfN(rapid.Uint8Range(1, allReady), 1, 8).Draw(t, "ready")
			for i := range rapid.IntRange(1, 3000).Draw(t, "picks") {
				s.pick(masks[i%len(masks)])
			}
			if rapid.Bool().Draw(t, "reload") {
				weights = weightsOf(t, "new weights")
				for i, w := range weights {
					s.weight[i] = int64(w)
				}
			}
		}
		b := newBound(weights)
		for range 5000 {
			picked, _ := s.pick(allReady)
			b.pick(picked)
		}
		if b.violations > 0 {
			t.Fatalf("%d picks left the band of 6: low %v high %v of %d", b.violations, b.low, b.high, b.total)
		}
	})
}

// TestStrideAdversary makes two sources of equal credit compete again and again,
// which drives credits apart as far as they go.
func TestStrideAdversary(t *testing.T) {
	weights := [Sources]int{7, 7, 7, 7, 7, 7}
	s := newStride(weights)
	for range 100_000 {
		i, j, gap := 0, 1, int64(math.MaxInt64)
		for a := range s.credit {
			for b := a + 1; b < Sources; b++ {
				if d := abs(s.credit[a] - s.credit[b]); d < gap {
					i, j, gap = a, b, d
				}
			}
		}
		s.pick(1<<i | 1<<j)
	}
	b := newBound(weights)
	for range 5000 {
		picked, _ := s.pick(allReady)
		b.pick(picked)
	}
	if b.violations > 0 {
		t.Errorf("%d picks left the band of 6: credits %v", b.violations, s.credit)
	}
}

func abs(n int64) int64 { return max(n, -n) }

func TestStrideGivesShareAway(t *testing.T) {
	s := newStride([Sources]int{10000, 2000, 1000, 100, 10, 1})
	for range 1234 {
		s.pick(allReady)
	}
	var picks [Sources]int
	for range 1100 { // only follow and refresh hold work
		picked, _ := s.pick(1<<Follow | 1<<Refresh)
		picks[picked]++
	}
	if picks[Refresh] < 98 || picks[Refresh] > 102 {
		t.Errorf("refresh got %d of 1100 picks beside follow, want its share of 100", picks[Refresh])
	}
	var streak int // of what comes back: it gained nothing while idle
	for picked, _ := s.pick(allReady); picked == User; picked, _ = s.pick(allReady) {
		streak++
	}
	if streak > 12 {
		t.Errorf("user was picked %d times in a row after it was idle", streak)
	}
}

func TestStrideNothing(t *testing.T) {
	s := newStride([Sources]int{0, 1, 0, 0, 0, 0})
	for _, ready := range []uint8{0, 1 << User, 1<<User | 1<<Refresh} {
		if picked, ok := s.pick(ready); ok {
			t.Errorf("pick(%b) = %v of sources without weight", ready, picked)
		}
	}
	for range 10 {
		if picked, ok := s.pick(allReady); !ok || picked != Redir {
			t.Errorf("pick = %v, %t; want redir", picked, ok)
		}
	}
}

func TestStrideRefund(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := newStride(weightsOf(t, "weights"))
		for range rapid.IntRange(0, 50).Draw(t, "picks") {
			s.pick(allReady)
		}
		before := s.credit
		picked, _ := s.pick(allReady)
		s.refund(picked, allReady)
		if s.credit != before {
			t.Fatalf("credits %v after a refund, want %v", s.credit, before)
		}
	})
}

// TestStrideNoDrift: with a fixed set the state after one round is that before,
// so nothing can drift in any number of picks.
func TestStrideNoDrift(t *testing.T) {
	weights := [Sources]int{999, 500, 250, 33, 7, 1}
	s := newStride(weights)
	round := newBound(weights).total
	for range 10 * round {
		s.pick(allReady)
	}
	if s.credit != [Sources]int64{} {
		t.Errorf("credits %v after whole rounds, want none", s.credit)
	}
}

// TestStrideFlapping: a light source that competes only now and then is not
// starved by heavy ones whose comings and goings rescale its credit.
func TestStrideFlapping(t *testing.T) {
	s := newStride([Sources]int{1_000_000, 999_983, 1, 0, 0, 0})
	var picks [Sources]int
	for i := range 12_000_000 {
		ready := uint8(1<<User | 1<<Index)
		if i%2 == 0 {
			ready |= 1 << Redir
		}
		picked, _ := s.pick(ready)
		picks[picked]++
	}
	// Its share is 1 in 1,000,001 of one half and 1 in 1,999,984 of the other.
	if picks[Index] < 8 || picks[Index] > 10 {
		t.Errorf("the light source got %d picks, want 9", picks[Index])
	}
}
