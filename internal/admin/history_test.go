package admin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
)

// tickingCrawler fetches ten pages a second; it fails to tell so for a while.
type tickingCrawler struct {
	fakeCrawler
	from  time.Time
	fails func(passed time.Duration) bool
}

func (c tickingCrawler) Status(context.Context) (Status, error) {
	passed := time.Since(c.from)
	if c.fails != nil && c.fails(passed) {
		return Status{}, context.DeadlineExceeded
	}
	return Status{Status: crawl.Status{
		Crawler: c.name, Known: uint64(passed.Seconds()), Pending: map[string]uint64{"index": 7},
		Totals: meter.Totals{Pages: int64(passed.Seconds() * 10)},
		Taken:  map[string]uint64{"user": uint64(passed.Seconds() * 2)},
	}}, nil
}

// remember runs a history for a while of synctest's time.
func remember(t *testing.T, length time.Duration, fails func(time.Duration) bool) *history {
	t.Helper()
	h := newHistory([]Crawler{tickingCrawler{fakeCrawler{name: "a", store: teststore.New(t)}, time.Now(), fails}})
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	if err := h.run(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

func column(t *testing.T, h *History, name string) []Figure {
	t.Helper()
	for _, s := range h.Series {
		if s.Name == name {
			if len(s.Values) != len(h.Times) {
				t.Fatalf("%s: %d values for %d times", name, len(s.Values), len(h.Times))
			}
			return s.Values
		}
	}
	t.Fatalf("no series %s", name)
	return nil
}

// TestHistoryIsBounded: after more than both spans each holds its own, rates are by the
// counters, times rise by the step.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := remember(t, 2*time.Second, nil)
		s := Status{Status: crawl.Status{Pending: map[string]uint64{"index": 7}}}
		for at := 5; at <= 8*24*3600; at += 5 { // without asking anybody
			s.Known, s.Totals.Pages, s.Taken = uint64(at), int64(at*10), map[string]uint64{"user": uint64(at * 2)}
			values := make([]float64, len(h.figures))
			for i := range h.figures {
				values[i] = h.figures[i].of(&s)
			}
			for i := range h.rings["a"] {
				h.rings["a"][i].add(time.Now().Add(time.Duration(at)*time.Second), values)
			}
		}
		for i, want := range []struct {
			points int
			step   int64
		}{{hourPoints, 5}, {weekPoints, 300}} {
			got := h.rings["a"][i].columns("a", 0)
			if len(got.Times) != want.points {
				t.Errorf("%d points, want %d", len(got.Times), want.points)
			}
			for j := 1; j < len(got.Times); j++ {
				if got.Times[j]-got.Times[j-1] != want.step {
					t.Fatalf("step %d at %d, want %d", got.Times[j]-got.Times[j-1], j, want.step)
				}
			}
			last := len(got.Times) - 1
			if r := column(t, &got, "pages_per_s")[last]; r < 9.9 || r > 10.1 {
				t.Errorf("pages_per_s %v, want 10", r)
			}
			if r := column(t, &got, "taken_per_s_user")[last]; r < 1.9 || r > 2.1 {
				t.Errorf("taken_per_s_user %v, want 2", r)
			}
			if d := column(t, &got, "depth_index")[0]; d != 7 {
				t.Errorf("depth_index %v", d)
			}
			if known := column(t, &got, "known"); known[last] <= known[0] {
				t.Errorf("known falls: %v to %v", known[0], known[last])
			}
		}
	})
}

// TestHistoryLeavesGaps: where nothing is known there is no point, and the rate over
// the gap is the mean; the first rate is not known.
func TestHistoryLeavesGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := remember(t, 62*time.Second, func(passed time.Duration) bool { return passed > 20*time.Second && passed < 40*time.Second })
		got := h.rings["a"][0].columns("a", 0)
		if len(got.Times) != 10 {
			t.Errorf("%d points, want 10: 0 to 20 and 40 to 60 by 5", len(got.Times))
		}
		if newer := h.rings["a"][0].columns("a", got.Times[7]); len(newer.Times) != 2 || newer.Times[0] != got.Times[8] || len(column(t, &newer, "known")) != 2 {
			t.Errorf("after the eighth: %v of %v", newer.Times, got.Times)
		}
		rates := column(t, &got, "pages_per_s")
		b, err := json.Marshal(rates)
		if err != nil || !strings.HasPrefix(string(b), "[null,10,10,10,10,10,") {
			t.Errorf("%s, %v", b, err)
		}
	})
}

// TestHistoryBearsAClockSetBack: times rise all the same.
func TestHistoryBearsAClockSetBack(t *testing.T) {
	r := ring{step: time.Second, size: 3, figures: figures()}
	values := make([]float64, len(r.figures))
	for i, at := range []int64{100, 50, 51, 52, 200} {
		r.lastAt = time.Time{} // as if the monotonic clock had gone on
		r.add(time.Unix(at, 0), values)
		got := r.columns("a", 0).Times
		for j := 1; j < len(got); j++ {
			if got[j] <= got[j-1] {
				t.Errorf("after %d points: %v", i+1, got)
			}
		}
	}
}
