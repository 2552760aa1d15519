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
// the page changed or did not. Of a page that changed, quiet is the part at the
// end of that time in which it is known not to have. Times that cannot be (a
// clock was set back) are ignored.
func (h History) observed(since, quiet time.Duration, changed bool) History {
	if since <= 0 {
		return h
	}
	if h.Checks >= fadeChecks {
		// Rounding changes down keeps the estimate, because the prior's half comes on top.
		h.Checks, h.Changes, h.Quiet, h.Busy = h.Checks/2, h.Changes/2, h.Quiet/2, h.Busy/2
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

// added is the sum of two durations that are not negative, or the longest there is.
func added(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// The prior: a Gamma distribution of the rate, as if priorChanges had been seen
// in priorTime. It decides alone while a page was never compared, and fades as
// comparisons come in.
const (
	priorChanges = 0.5
	priorTime    = 5 * 24 * time.Hour
)

// rate estimates how often the page changes, in changes a day, from its
// comparisons: a Poisson process of which each visit tells only whether there was
// a change since the last one.
//
// The likelihood equation for irregular intervals (Cho and Garcia-Molina,
// "Estimating Frequency of Change", ACM TOIT 3(3), 2003, section 5) is: the sum
// over the busy intervals b of b/(exp(rate b)-1) equals the sum of the quiet
// ones. With each b replaced by the mean of the busy intervals it has the
// solution log(1 + Busy/Quiet) / mean, which needs sums only. Half a mean
// interval on the quiet side makes it their bias-reduced estimator
// (section 4.2: -log((n-X+0.5)/(n+0.5)) changes an interval, of n checks with X
// changes), which stays finite when every check found a change. The prior keeps
// it above zero when none did.
func (h History) rate() float64 {
	changes := float64(h.Changes) + priorChanges
	busy := days(h.Busy) + priorChanges*days(priorTime)/8
	mean := busy / changes
	quiet := days(h.Quiet) + days(priorTime) + mean/2
	return math.Log1p(busy/quiet) / mean
}

func days(d time.Duration) float64 { return float64(max(d, 0)) / float64(24*time.Hour) }

// The optimum of freshness visits a page with rate r after an interval i for which
//
//	(1 - exp(-r i) - r i exp(-r i)) / r = pressure,
//
// with one pressure for all pages (Cho and Garcia-Molina, "Effective Page Refresh
// Policies for Web Crawlers", ACM TODS 28(4), 2003, section 5.3, solved by a
// Lagrange multiplier). A page that changes faster than once in the pressure would
// never be visited: whatever is fetched is stale at once. The interval is
// shortest, shortestInterval times the pressure, where rate times pressure is
// turningPoint; faster pages are visited less often, but no less than after
// hopelessInterval times the pressure, which bounds their age.
const (
	turningPoint     = 0.5352
	shortestInterval = 3.350
	hopelessInterval = 6.0
)

// optimal is the interval in days for a rate in changes a day and a pressure in
// days, both above zero.
func optimal(rate, pressure float64) float64 {
	y := rate * pressure
	if y < 1e-9 {
		return math.Sqrt(2 * pressure / rate)
	}
	longest := math.Inf(1)
	if y > turningPoint {
		longest = hopelessInterval * pressure
		// Beyond this the solution is longer than that in any case.
		y = min(y, 0.99)
	}
	return min(gammaQuantile(y)/rate, longest)
}

// gammaQuantile solves 1 - exp(-x) - x exp(-x) = y for x by Newton's method.
func gammaQuantile(y float64) float64 {
	x := math.Sqrt(2*y) * (1 + y)
	for range 8 {
		e := math.Exp(-x)
		step := (1 - e - x*e - y) / (x * e)
		x = max(x-step, x/4)
		if math.Abs(step) < 1e-6*x {
			break
		}
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

// pressureGain is the pressure that a lateness exerts, in parts of it.
const pressureGain = 0.5

// interval is the time to the next visit, between MinAge and MaxAge.
//
// Nobody knows beforehand how many fetches there are for refresh: it depends on
// weights, throttles and new pages. A page that is visited late shows that there
// are too few, and so its lateness is the pressure. This needs no state but the
// record, so it survives a restart; it is each host's own; it cannot wind up, since
// it ends with the backlog; and nothing presses when there is capacity for all.
func interval(set *Settings, h History, late time.Duration, jitter float64) time.Duration {
	pressure := max(days(set.MinAge)/shortestInterval, pressureGain*days(late), 1e-6)
	d := optimal(h.rate(), pressure)*float64(24*time.Hour) - float64(late)
	return spread(time.Duration(min(max(d, 0), math.MaxInt64/2)), set, jitter)
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
