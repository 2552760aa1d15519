package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// wide leaves the policy free: what Nutch's rule may do, except for a shorter interval.
func wide() *Settings {
	return settings(smart, func(s *Settings) { s.MinAge, s.MaxAge = time.Hour, 365*day })
}

func spreads() map[string]rates { return map[string]rates{"web": webRates, "quiet": quietRates} }

// ours, uniform and adaptive are the three schedules over one simulation.
func (s simulation) ours(set *Settings) score {
	return s.simulate(newOurs(s.pages+s.burst, set, s.seed, false))
}

func (s simulation) uniform() score { return s.simulate(uniform{}) }

func (s simulation) adaptive() score {
	return s.simulate(newNutch(s.pages+s.burst, time.Minute, 365*day))
}

func (s score) mustBeat(t *testing.T, what, name string, other score) {
	t.Helper()
	if s.fresh <= other.fresh || s.age >= other.age {
		t.Errorf("%s: freshness %.4f and age %.3f days; %s reaches %.4f and %.3f", what, s.fresh, s.age, name, other.fresh, other.age)
	}
}

// TestRefreshBeatsOthers: the estimate and its policy reach more freshness, and
// less age, than visiting all pages in turn and than Nutch's rule.
func TestRefreshBeatsOthers(t *testing.T) {
	for name, spread := range spreads() {
		for _, perDay := range []float64{30, 60, 120} {
			for seed := range uint64(2) {
				s := simulation{pages: 600, perDay: perDay, warmUp: 120, days: 150, rates: spread, seed: seed}
				what, us := fmt.Sprintf("%s, %v fetches a day, seed %d", name, perDay, seed), s.ours(wide())
				us.mustBeat(t, what, "uniform", s.uniform())
				us.mustBeat(t, what, "Nutch", s.adaptive())
			}
		}
	}
}

// TestRefreshRatesChange: the same while in mid-time half of the pages begin to
// change at quite another rate.
func TestRefreshRatesChange(t *testing.T) {
	for name, spread := range spreads() {
		s := simulation{pages: 1000, perDay: 200, warmUp: 150, days: 240, rates: spread, later: spread, seed: 3}
		us := s.ours(wide())
		us.mustBeat(t, name, "uniform", s.uniform())
		us.mustBeat(t, name, "Nutch", s.adaptive())
	}
}

// TestRefreshBurst: as many new pages again, which all must be fetched once, make
// the others wait except for a time; afterwards they share.
func TestRefreshBurst(t *testing.T) {
	s := simulation{pages: 1000, perDay: 200, warmUp: 150, days: 240, rates: webRates, burst: 1000, seed: 4}
	us := s.ours(wide())
	us.mustBeat(t, "burst", "uniform", s.uniform())
	us.mustBeat(t, "burst", "Nutch", s.adaptive())
}

// TestRefreshEqualPages: where all pages are alike nothing beats visiting them in
// turn; not to lose much to it is what is asked. Where pages never change, slots may stay empty.
func TestRefreshEqualPages(t *testing.T) {
	for _, every := range []time.Duration{time.Hour, 10 * day, 1000 * day} {
		rate := 1 / days(every)
		s := simulation{pages: 500, perDay: 50, warmUp: 150, days: 180, rates: always(rate), seed: 5}
		us, even := s.ours(wide()), s.uniform()
		if us.fresh < even.fresh-0.03 || us.age > even.age*1.25+0.05 {
			t.Errorf("all change every %v: freshness %.4f and age %.3f days; uniform reaches %.4f and %.3f", every, us.fresh, us.age, even.fresh, even.age)
		}
		if us.fetches < 0.85*s.perDay {
			t.Errorf("all change every %v: %.1f fetches a day of %v", every, us.fetches, s.perDay)
		}
	}
}

// TestRefreshIdle: where there is capacity for all, pages that never change are
// visited more and more seldom, and those that always change at the min age.
func TestRefreshIdle(t *testing.T) {
	set := settings(smart)
	for _, c := range []struct {
		rate     float64
		from, to float64 // fetches a day and page
	}{{1e-9, 1.0 / 7, 1.0 / 6.1}, {24, 0.85, 1}} {
		s := simulation{pages: 100, perDay: 10_000, warmUp: 60, days: 60, rates: always(c.rate), seed: 6}
		if got := s.ours(set).fetches / 100; got < c.from || got > c.to {
			t.Errorf("rate %v: %.3f fetches a day and page, want %.3f to %.3f", c.rate, got, c.from, c.to)
		}
	}
}

// TestRefreshStable: the waiting settles down after a burst; it does not swing. From
// then on every slot is used, and the longest wait of a week stays near the mean.
func TestRefreshStable(t *testing.T) {
	s := simulation{pages: 1000, perDay: 100, warmUp: 150, days: 400, rates: webRates, burst: 2000, seed: 7}
	o := &watched{ours: newOurs(s.pages+s.burst, wide(), s.seed, false)}
	sc := s.simulate(o)
	if sc.fetches < 0.99*s.perDay {
		t.Errorf("%.1f fetches a day of %v", sc.fetches, s.perDay)
	}
	var sum, most float64
	last := o.weeks[len(o.weeks)-20:]
	for _, w := range last {
		sum, most = sum+w, max(most, w)
	}
	if mean := sum / float64(len(last)); most > 1.5*mean {
		t.Errorf("lateness in the last weeks is up to %.1f days with a mean of %.1f: %.1f", most, mean, o.weeks)
	}
}

// watched notes the mean lateness of each week.
type watched struct {
	*ours
	weeks []float64
	n     int
}

func (w *watched) visited(page int, now time.Time, changed bool, modified time.Time) time.Time {
	week := int(now.Sub(start()) / (7 * day))
	if week >= len(w.weeks) {
		w.weeks, w.n = append(w.weeks, make([]float64, week+1-len(w.weeks))...), 0
	}
	w.n++
	w.weeks[week] += (days(lateness(&w.records[page], now)) - w.weeks[week]) / float64(w.n)
	return w.ours.visited(page, now, changed, modified)
}

// TestRefreshDated: Last-Modified does no harm, and a server's lies do little.
func TestRefreshDated(t *testing.T) {
	s := simulation{pages: 1000, perDay: 100, warmUp: 60, days: 120, rates: webRates, seed: 8}
	us, dated := s.ours(wide()), s.simulate(newOurs(s.pages, wide(), s.seed, true))
	if dated.fresh < us.fresh-0.01 || dated.age > us.age*1.05 {
		t.Errorf("with dates freshness is %.4f and age %.3f; without %.4f and %.3f", dated.fresh, dated.age, us.fresh, us.age)
	}
}

// BenchmarkRefresh is the whole comparison: 10,000 pages, a year after 150 days of
// warm-up. Freshness is in percent, age in days.
func BenchmarkRefresh(b *testing.B) {
	bounded := settings(smart)
	for name, spread := range spreads() {
		for _, perDay := range []float64{500, 1000, 2000} {
			s := simulation{pages: 10_000, perDay: perDay, warmUp: 150, days: 365, rates: spread}
			if testing.Short() {
				s.pages, s.perDay = s.pages/20, s.perDay/20
			}
			for what, run := range map[string]func(simulation) score{
				"ours":            func(s simulation) score { return s.ours(wide()) },
				"ours, 1d to 7d":  func(s simulation) score { return s.ours(bounded) },
				"uniform":         simulation.uniform,
				"Nutch":           simulation.adaptive,
				"ours, dates":     func(s simulation) score { return s.simulate(newOurs(s.pages, wide(), s.seed, true)) },
				"ours, changing":  func(s simulation) score { s.later = s.rates; return s.ours(wide()) },
				"even, changing":  func(s simulation) score { s.later = s.rates; return s.uniform() },
				"Nutch, changing": func(s simulation) score { s.later = s.rates; return s.adaptive() },
			} {
				b.Run(fmt.Sprintf("%s/%v a day/%s", name, perDay, what), func(b *testing.B) {
					var sum score
					for i := range b.N {
						s.seed = uint64(i)
						got := run(s)
						sum.fresh, sum.age, sum.fetches = sum.fresh+got.fresh, sum.age+got.age, sum.fetches+got.fetches
					}
					n := float64(b.N)
					b.ReportMetric(100*sum.fresh/n, "fresh%")
					b.ReportMetric(sum.age/n, "age-days")
					b.ReportMetric(sum.fetches/n, "fetches/day")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
