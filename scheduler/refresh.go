package scheduler

import (
	"math"
	"net/http"
	"time"
)

const (
	// fadeChecks is how many comparisons are summed up before the sums are halved:
	// what was seen long ago then weighs little, and a page that becomes quiet or
	// busy is noticed.
	fadeChecks = 16
	// dateGrain is how much older than the answer a Last-Modified or lastmod must be
	// to be believed: younger ones are made by programs that stamp each answer.
	dateGrain = time.Minute
)

// observed adds one comparison to the sums: the time since the last one, in which
// the page changed or did not. If the page changed, quiet is the part at the
// end of that time in which it is known not to have. Times that cannot be (a
// clock was set back) are ignored.
func (h History) observed(since, quiet time.Duration, changed bool) History {
	if since <= 0 {
		return h
	}
	if h.Checks >= fadeChecks {
		h = h.faded()
	}
	h.Checks++
	if !changed {
		h.Quiet = added(h.Quiet, since)
		return h
	}
	quiet = min(max(quiet, 0), since)
	h.Changes++
	h.Quiet, h.Busy = added(h.Quiet, quiet), added(h.Busy, since-quiet)
	return h
}

// faded halves the sums. Changes are rounded down, which keeps the estimate, since
// the prior's half comes on top, and busy time goes with them.
func (h History) faded() History {
	if h.Changes > 0 {
		h.Busy = h.Busy / time.Duration(h.Changes) * time.Duration(h.Changes/2)
	}
	h.Checks, h.Changes, h.Quiet = h.Checks/2, h.Changes/2, h.Quiet/2
	return h
}

// added is the sum of two durations that are not negative, or the longest there is.
func added(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// The prior: a Gamma distribution of the rate, as if priorChanges had been seen in
// priorTime, or in the max age if that is shorter. It decides alone while a page
// was never compared, and weighs less with each comparison.
const (
	priorChanges = 0.5
	priorTime    = 5 * 24 * time.Hour
)

// rate estimates how often a page changes, in changes a day: as a Poisson process
// of which each visit tells only whether there was a change since the last one.
//
// Cho and Garcia-Molina, "Estimating Frequency of Change" (ACM TOIT 3(3), 2003),
// give the likelihood equation for irregular intervals: the sum of
// b/(exp(rate b)-1) over the busy intervals b is the sum of the quiet ones. With
// the mean of the busy intervals in place of each its solution is
// log(1 + Busy/Quiet) / mean, for which sums suffice. Half a mean interval more on
// the quiet side, and half a change, make it for equal intervals their
// bias-reduced estimator, -log((n-X+0.5)/(n+0.5)) changes an interval for X
// changes in n checks: finite if every check found a change. The prior's time
// keeps it from zero if none did, and from much on little evidence.
func (h History) rate(prior time.Duration) float64 {
	changes := float64(h.Changes) + priorChanges
	quiet := days(h.Quiet) + days(prior)
	if h.Changes == 0 || h.Busy <= 0 { // no interval to speak of: the limit of what follows
		return changes / max(quiet, shortestTime)
	}
	mean := days(h.Busy) / float64(h.Changes)
	return math.Log1p(changes*mean/(quiet+mean/2)) / mean
}

// shortestTime is the least time in days that is reckoned with: a tenth of a second.
const shortestTime = 1e-6

func days(d time.Duration) float64 { return float64(max(d, 0)) / float64(24*time.Hour) }

// Freshness is highest with limited fetches if each page, of rate r, is visited
// after an interval i for which
//
//	(1 - exp(-r i) - r i exp(-r i)) / r = pressure,
//
// with one pressure for all pages (Cho and Garcia-Molina, "Effective Page Refresh
// Policies for Web Crawlers", ACM TODS 28(4), 2003, by Lagrange multipliers): far
// from in proportion to their rates, and ever more seldom above the turning point,
// where rate times pressure is turningPoint and the interval is shortest,
// shortestInterval times the pressure. The rule here follows it up to there and
// visits faster pages as often as those at the point, not less: it costs little
// freshness, since rates above are never known well, and saves much age.
const (
	turningPoint     = 0.53516
	shortestInterval = 3.35092
)

// optimal is the interval in days for a rate in changes a day and a pressure in
// days, both above zero.
func optimal(rate, pressure float64) float64 {
	y := rate * pressure
	if y >= turningPoint {
		return shortestInterval * pressure
	}
	return gammaQuantile(y) / rate
}

// gammaQuantile solves 1 - exp(-x) - x exp(-x) = y for y from 0 to turningPoint, by
// Newton's method.
func gammaQuantile(y float64) float64 {
	x := math.Sqrt(2 * y)
	if x < 1e-4 { // where the terms cancel out, the first one of the series is all
		return x
	}
	x += y * (2.0 / 3)
	for range 4 {
		e := math.Exp(-x)
		x -= (1 - e - x*e - y) / (x * e)
	}
	return x
}

// lateness is how long after it was due a page is visited: it had to wait because
// its host, or the whole crawl, has more to do than it may. Visits that were not
// made because the page was due (a retry, a wish of the operator) tell nothing.
func lateness(old *Record, now time.Time) time.Duration {
	if old.CheckedAt.IsZero() || old.Class != OK && old.Class != Redirect {
		return 0
	}
	return max(now.Sub(old.CheckedAt)-old.Interval, 0)
}

// interval is the time to the next visit, between MinAge and MaxAge.
//
// Nobody knows beforehand how many fetches there are for refresh: it depends on
// weights, throttles and new pages. A page that is visited late shows that there
// are too few. The pressure is such that the shortest interval is this lateness,
// or MinAge if that is longer: more often no page can be visited. The next visit
// is due earlier by the lateness, since it will come later by as much. This needs
// no state but the record's, so it survives a restart; each host finds its own;
// and it ends with the backlog, so it cannot wind up.
func interval(set *Settings, h History, late time.Duration, jitter float64) time.Duration {
	pressure := max(days(max(set.MinAge, late))/shortestInterval, shortestTime)
	d := optimal(h.rate(min(priorTime, set.MaxAge)), pressure) - days(late)
	return spread(time.Duration(min(max(d, 0), days(set.MaxAge))*float64(24*time.Hour)), set, jitter)
}

// spread puts an interval between MinAge and MaxAge and moves it there by up to an
// eighth, so that pages that were found together do not stay together.
func spread(d time.Duration, set *Settings, jitter float64) time.Duration {
	d = max(min(d, set.MaxAge), set.MinAge)
	from := max(d-d/8, set.MinAge)
	return from + time.Duration(jitter*float64(min(d/8, max(set.MaxAge-from, 0))))
}

// quietBefore is for how long before its answer the page says that it has not
// changed (Last-Modified), by the server's own clock; 0 if it says nothing
// that can be believed.
func quietBefore(r *Result, now time.Time) time.Duration {
	modified, err := http.ParseTime(r.LastModified)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(r.Date); err == nil {
		now = date
	}
	if quiet := now.Sub(modified); quiet >= dateGrain {
		return quiet
	}
	return 0
}
