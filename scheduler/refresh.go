package scheduler

import (
	"math"
	"net/http"
	"time"
)

const (
	// fadeChecks is the number of comparisons after which the sums are halved, so that old observations count for
	// little and a page that becomes quiet or busy is noticed.
	fadeChecks = 16
	// dateGrain is the minimum age of a Last-Modified or lastmod, relative to the response, to be credible: younger ones
	// come from programs that stamp each response.
	dateGrain = time.Minute
)

// observed adds one comparison to the sums: the time since the last one, in which the page changed or did not. If it
// changed, quiet is the part at the end of that time in which it is known to have stayed the same. Impossible times (a
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

// faded halves the sums. Changes are rounded down, and the busy time with them; the estimate stays, because the prior's
// half is added.
func (h History) faded() History {
	if h.Changes > 0 {
		h.Busy = h.Busy / time.Duration(h.Changes) * time.Duration(h.Changes/2)
	}
	h.Checks, h.Changes, h.Quiet = h.Checks/2, h.Changes/2, h.Quiet/2
	return h
}

// added returns the sum of two durations that are not negative, at most the longest Duration.
func added(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// The prior: a Gamma distribution of the rate, as if priorChanges had been seen in priorTime, or in the max age if that
// is shorter. It alone decides until a page has been compared, and weighs less with each comparison.
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
	if h.Changes == 0 || h.Busy <= 0 { // no interval: the limit of the formula below
		return changes / max(quiet, shortestTime)
	}
	mean := days(h.Busy) / float64(h.Changes)
	return math.Log1p(changes*mean/(quiet+mean/2)) / mean
}

// shortestTime is the shortest time in days that the estimate uses: a tenth of a second.
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

// optimal returns the interval in days for a rate in changes a day and a pressure in days, both above zero.
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
	if x < 1e-4 { // the terms cancel out; the first one of the series suffices
		return x
	}
	x += y * (2.0 / 3)
	for range 4 {
		e := math.Exp(-x)
		x -= (1 - e - x*e - y) / (x * e)
	}
	return x
}

// lateness returns the delay of a visit after its due time that a backlog of the host or the whole crawl caused.
// Retries and refreshes by an operator do not count.
func lateness(old *Record, now time.Time) time.Duration {
	if old.CheckedAt.IsZero() || old.Class != OK && old.Class != Redirect {
		return 0
	}
	return max(now.Sub(old.CheckedAt)-old.Interval, 0)
}

// interval returns the time to the next visit, between MinAge and MaxAge.
//
// How many fetches are left for refresh is not known in advance: it depends on weights, throttles and new pages. A page
// that is visited late shows that there are too few. The pressure is such that the shortest interval is this lateness,
// or MinAge if that is longer, since no page can be visited more often. The next visit is due earlier by the lateness,
// since it will come later by as much. This needs only the record's state, so it survives a restart; each host finds
// its own; and it ends with the backlog, so it cannot wind up.
func interval(set *Settings, h History, late time.Duration, jitter float64) time.Duration {
	pressure := max(days(max(set.MinAge, late))/shortestInterval, shortestTime)
	d := optimal(h.rate(min(priorTime, set.MaxAge)), pressure) - days(late)
	return spread(time.Duration(min(max(d, 0), days(set.MaxAge))*float64(24*time.Hour)), set, jitter)
}

// spread moves an interval by up to an eighth, within MinAge and MaxAge, so that pages that were found together drift
// apart.
func spread(d time.Duration, set *Settings, jitter float64) time.Duration {
	d = max(min(d, set.MaxAge), set.MinAge)
	from := max(d-d/8, set.MinAge)
	return from + time.Duration(jitter*float64(min(d/8, max(set.MaxAge-from, 0))))
}

// quietBefore returns how long before its response the page last changed (Last-Modified), by the server's own clock; 0
// if that is absent or not credible.
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
