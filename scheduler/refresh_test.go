package scheduler

import (
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// history is that of n checks at one interval, of which so many found a change.
func history(n, changes int, every time.Duration) History {
	return History{
		Checks: uint32(n), Changes: uint32(changes),
		Quiet: time.Duration(n-changes) * every, Busy: time.Duration(changes) * every,
	}
}

// TestRateFormula: for equal intervals, with no time of the prior, the estimate is
// the bias-reduced one of Cho and Garcia-Molina, except for the prior's half change.
func TestRateFormula(t *testing.T) {
	for _, c := range []struct{ n, changes int }{{4, 1}, {10, 5}, {10, 10}, {16, 15}} {
		n, x := float64(c.n), float64(c.changes)
		want := math.Log((n+1)/(n-x+0.5)) / 2 // half a change more in n
		if got := history(c.n, c.changes, 2*day).rate(0); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of %d: %.5f, want %.5f", c.changes, c.n, got, want)
		}
	}
	if got, want := (History{}).rate(priorTime), 0.1; math.Abs(got-want) > 1e-9 {
		t.Errorf("no evidence: %v, want the prior's %v", got, want)
	}
	if got, want := history(10, 0, 10*day).rate(priorTime), 0.5/105; math.Abs(got-want) > 1e-9 {
		t.Errorf("no change in 100 days: %v, want %v", got, want)
	}
}

// likelihood solves the equation for irregular intervals without short cuts.
func likelihood(busy []float64, quiet float64) float64 {
	low, high := 1e-6, 1e4
	for range 100 {
		r, sum := math.Sqrt(low*high), 0.0
		for _, b := range busy {
			sum += b / math.Expm1(r*b)
		}
		if sum > quiet {
			low = r
		} else {
			high = r
		}
	}
	return low
}

// TestRateIrregular: with many checks at irregular intervals the sums give nearly
// what all the single intervals would.
func TestRateIrregular(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, rate := range []float64{0.05, 0.1, 0.3, 0.6, 1} {
		var h History
		var busy []float64
		for range 500 {
			every := 0.5 + 2*r.Float64()
			d := time.Duration(every * float64(day))
			h.Checks++
			if r.Float64() < -math.Expm1(-rate*every) {
				h.Changes++
				h.Busy += d
				busy = append(busy, every)
			} else {
				h.Quiet += d
			}
		}
		if got, want := h.rate(0), likelihood(busy, days(h.Quiet)); math.Abs(got/want-1) > 0.1 {
			t.Errorf("rate %v, %d changes: %.4f, want near %.4f", rate, len(busy), got, want)
		}
	}
}

// TestRateUnbiased: the estimate from 16 checks is near the truth on average, where
// a check finds a change as often as not, or less often.
func TestRateUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		rate  float64
		every time.Duration
	}{{0.02, 20 * day}, {0.1, 4 * day}, {0.1, 8 * day}, {0.5, 2 * day}} {
		var sum float64
		const pages = 4000
		for range pages {
			var h History
			for range fadeChecks {
				h = h.observed(c.every, 0, r.Float64() < -math.Expm1(-c.rate*days(c.every)))
			}
			sum += h.rate(priorTime)
		}
		if mean := sum / pages; math.Abs(mean/c.rate-1) > 0.2 {
			t.Errorf("rate %v seen every %v is estimated as %.4f", c.rate, c.every, mean)
		}
	}
}

// TestRateMonotone: a check that finds a change never makes the rate lower, nor the
// interval longer, than if it had found none, whatever was seen before and after.
func TestRateMonotone(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1, int64(400*day)).Draw(t, "every"))
		n := rapid.IntRange(1, 60).Draw(t, "checks")
		late := time.Duration(rapid.Int64Range(0, int64(100*day)).Draw(t, "late"))
		var less, more History
		for range n {
			changed := rapid.Bool().Draw(t, "changed")
			less = less.observed(every, 0, changed)
			more = more.observed(every, 0, changed || rapid.Bool().Draw(t, "more"))
		}
		if a, b := less.rate(priorTime), more.rate(priorTime); b < a*(1-1e-9) {
			t.Fatalf("%+v: %v, with more changes %+v: %v", less, a, more, b)
		}
		set := bounds(t)
		if a, b := interval(set, less, late, 0), interval(set, more, late, 0); b > a+a/1e6 {
			t.Fatalf("%+v: %v, with more changes %+v: %v", less, a, more, b)
		}
	})
}

// bounds draws settings with any min and max age.
func bounds(t *rapid.T) *Settings {
	shortest := rapid.Int64Range(0, int64(1000*day)).Draw(t, "min age")
	longest := rapid.Int64Range(shortest, math.MaxInt64/2).Draw(t, "max age")
	return settings(smart, func(s *Settings) { s.MinAge, s.MaxAge = time.Duration(shortest), time.Duration(longest) })
}

// TestIntervalBounds: whatever the sums are, jitter included.
func TestIntervalBounds(t *testing.T) {
	duration := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, int64(1000*day)), rapid.SampledFrom([]int64{0, 1, math.MaxInt64, math.MinInt64}))
	seeded.Check(t, func(t *rapid.T) {
		h := History{
			Checks: rapid.Uint32().Draw(t, "checks"), Changes: rapid.Uint32().Draw(t, "changes"),
			Quiet: time.Duration(duration.Draw(t, "quiet")), Busy: time.Duration(duration.Draw(t, "busy")),
		}
		set := bounds(t)
		rate := h.rate(min(priorTime, set.MaxAge))
		if !(rate > 0) || math.IsInf(rate, 0) {
			t.Fatalf("%+v: rate %v", h, rate)
		}
		late := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "late"))
		got := interval(set, h, late, rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "jitter"))
		if got < set.MinAge || got > set.MaxAge {
			t.Fatalf("%+v, %v late: %v, want %v to %v", h, late, got, set.MinAge, set.MaxAge)
		}
		h = h.observed(time.Duration(duration.Draw(t, "since")), time.Duration(duration.Draw(t, "quiet before")), rapid.Bool().Draw(t, "changed"))
		if rate := h.rate(0); !(rate > 0) || math.IsInf(rate, 0) {
			t.Fatalf("%+v: rate %v", h, rate)
		}
	})
}

// TestOptimal: the interval solves the equation up to the turning point, falls with
// the rate up to there and does not beyond, and rises with the pressure.
func TestOptimal(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		rate := math.Exp(rapid.Float64Range(-20, 10).Draw(t, "log rate"))
		pressure := math.Exp(rapid.Float64Range(-10, 10).Draw(t, "log pressure"))
		i := optimal(rate, pressure)
		if y := rate * pressure; y < turningPoint && y > 1e-6 {
			x := rate * i
			if got := -math.Expm1(-x) - x*math.Exp(-x); math.Abs(got/y-1) > 1e-4 {
				t.Fatalf("rate %v, pressure %v: interval %v gives %v", rate, pressure, i, got/rate)
			}
		}
		if faster := optimal(rate*1.5, pressure); faster > i*(1+1e-6) {
			t.Fatalf("rate %v, pressure %v: %v, and %v if it is faster", rate, pressure, i, faster)
		}
		if pressed := optimal(rate, pressure*1.5); pressed < i*(1-1e-6) {
			t.Fatalf("rate %v, pressure %v: %v, and %v if pressed more", rate, pressure, i, pressed)
		}
	})
}

// TestObserved: old evidence fades, and what cannot be is ignored.
func TestObserved(t *testing.T) {
	busy, quiet := History{}, History{}
	for range 40 {
		busy, quiet = busy.observed(day, 0, true), quiet.observed(day, 0, false)
	}
	if busy.Checks > fadeChecks || busy.rate(priorTime) < 1 || quiet.rate(priorTime) > 0.05 {
		t.Errorf("busy %+v %.3f, quiet %+v %.3f", busy, busy.rate(priorTime), quiet, quiet.rate(priorTime))
	}
	now, then := busy, quiet
	for range 20 {
		now, then = now.observed(day, 0, false), then.observed(day, 0, true)
	}
	if now.rate(priorTime) > 0.2 || then.rate(priorTime) < 0.5 {
		t.Errorf("quiet after 40 busy days: %+v %.3f; busy after 40 quiet ones: %+v %.3f", now, now.rate(priorTime), then, then.rate(priorTime))
	}
	for _, since := range []time.Duration{0, -1, -day, math.MinInt64} {
		if got := busy.observed(since, 0, true); got != busy {
			t.Errorf("since %v: %+v, want it ignored", since, got)
		}
	}
	if got, want := (History{}).observed(10*day, 4*day, true), (History{Checks: 1, Changes: 1, Quiet: 4 * day, Busy: 6 * day}); got != want {
		t.Errorf("changed, quiet at the end: %+v, want %+v", got, want)
	}
}

// TestSpread: pages that were found together come apart.
func TestSpread(t *testing.T) {
	set := settings(smart)
	for _, d := range []time.Duration{0, 3 * day, 100 * day} {
		first, last := spread(d, set, 0), spread(d, set, 0.999999)
		if last-first < 2*time.Hour {
			t.Errorf("%v: from %v to %v", d, first, last)
		}
	}
}

func TestQuietBefore(t *testing.T) {
	at := func(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
	now := start()
	for name, c := range map[string]struct {
		modified, date string
		want           time.Duration
	}{
		"none":                   {"", "", 0},
		"an hour before":         {at(now.Add(-time.Hour)), "", time.Hour},
		"by the server's clock":  {at(now.Add(-time.Hour)), at(now.Add(time.Hour)), 2 * time.Hour},
		"in the future":          {at(now.Add(time.Hour)), "", 0},
		"now":                    {at(now), at(now), 0},
		"seconds before":         {at(now.Add(-59 * time.Second)), at(now), 0},
		"in the server's future": {at(now.Add(-time.Hour)), at(now.Add(-2 * time.Hour)), 0},
		"nonsense":               {"yesterday", at(now), 0},
		"with a nonsense date":   {at(now.Add(-time.Hour)), "today", time.Hour},
		"centuries before":       {"Mon, 01 Jan 0001 00:00:00 GMT", at(now), math.MaxInt64},
	} {
		if got := quietBefore(&Result{LastModified: c.modified, Date: c.date}, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestHinted(t *testing.T) {
	now := start()
	timed := indexed()
	timed.State, timed.NextAt, timed.FetchedAt, timed.CheckedAt = Timed, now.Add(5*day), now.Add(-2*day), now.Add(-2*day)
	with := func(change func(*Record)) Record { r := timed; change(&r); return r }
	off := settings(smart, func(s *Settings) { s.SitemapHints = false })
	for name, c := range map[string]struct {
		rec     Record
		lastmod time.Duration // from now
		set     *Settings
		want    time.Duration // from now, if it is made due
		no      bool
	}{
		"changed since":      {rec: timed, lastmod: -time.Hour},
		"changed before":     {rec: timed, lastmod: -3 * day, no: true},
		"at the very visit":  {rec: timed, lastmod: -2 * day, no: true},
		"in the future":      {rec: timed, lastmod: time.Hour, no: true},
		"made with the map":  {rec: timed, lastmod: 0, no: true},
		"hints are off":      {rec: timed, lastmod: -time.Hour, set: off, no: true},
		"not before min age": {rec: with(func(r *Record) { r.CheckedAt = now.Add(-6 * time.Hour) }), lastmod: -time.Hour, want: 18 * time.Hour},
		"checked, not had":   {rec: with(func(r *Record) { r.CheckedAt, r.FetchedAt = time.Time{}, now.Add(-6*time.Hour) }), lastmod: -time.Hour, want: 18 * time.Hour},
		"due sooner anyhow":  {rec: with(func(r *Record) { r.NextAt = now }), lastmod: -time.Hour, no: true},
		"a retry":            {rec: with(func(r *Record) { r.Class, r.Errors = Temporary, 1 }), lastmod: -time.Hour, no: true},
		"a remembered error": {rec: with(func(r *Record) { r.Class = Permanent }), lastmod: -time.Hour},
		"excluded":           {rec: with(func(r *Record) { r.Class = Ignored }), lastmod: -time.Hour, no: true},
		"never fetched":      {rec: with(func(r *Record) { r.Class = Pending }), lastmod: -time.Hour, no: true},
		"waiting":            {rec: with(func(r *Record) { r.State = Waiting }), lastmod: -time.Hour, no: true},
		"at rest":            {rec: with(func(r *Record) { r.State = AtRest }), lastmod: -time.Hour, no: true},
	} {
		set := c.set
		if set == nil {
			set = settings(smart)
		}
		want := c.rec
		if !c.no {
			want.NextAt = now.Add(c.want)
		}
		got, ok := Hinted(c.rec, now.Add(c.lastmod), set, now)
		if ok == c.no || !got.NextAt.Equal(want.NextAt) || got.State != want.State {
			t.Errorf("%s: %v, due %v; want %v, due %v", name, ok, got.NextAt.Sub(now), !c.no, want.NextAt.Sub(now))
		}
	}
}

// TestRefreshAllocates nothing but the order.
func TestRefreshAllocates(t *testing.T) {
	h, set := history(12, 3, day), settings(smart)
	r := Result{LastModified: "Mon, 02 Jan 2006 15:04:05 GMT", Date: "Mon, 02 Jan 2006 15:04:05 GMT"}
	var sum time.Duration
	if n := testing.AllocsPerRun(100, func() {
		sum += interval(set, h.observed(day, quietBefore(&r, start()), true), time.Hour, 0.5)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWaitIsCounted: a page that is pressed is due earlier by the time that it will
// have to wait, so that it is visited after the optimal interval.
func TestWaitIsCounted(t *testing.T) {
	h := history(12, 0, 10*day)
	late := 2 * day
	want := optimal(h.rate(priorTime), days(late)/shortestInterval) - days(late)
	if got := days(interval(wide(), h, late, 0)); math.Abs(got-want*7/8) > 1e-6 {
		t.Errorf("%.3f days, want %.3f", got, want*7/8)
	}
}
