package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/weburl"
)

// Throttle sets the pace of the hosts or URLs that it matches. It overrides the Crawler's settings, also aggressive;
// Crawl-delay, Retry-After and backoff still lengthen the pause.
type Throttle struct {
	// Match reports whether the throttle applies to a URL. It is called concurrently.
	Match func(weburl.URL) bool
	// WholeHost is set if Match uses only scheme, host and port, so that its result holds for all URLs of a host.
	WholeHost bool
	// Pause is the time after the end of such a request, if HasPause is set.
	Pause    time.Duration
	HasPause bool
	// Connections is the maximum number of such requests that run at once at a host without a pause; 0: not set.
	Connections int
	// Hours are the times of day at which such requests may be made; none: all.
	Hours []Hours
}

// Hours is a part of the day, in minutes of local time: From is included, To is not. If From is above To, it passes
// midnight; if both are equal, it is the whole day.
type Hours struct{ From, To int }

func (h Hours) contain(minute int) bool {
	if h.From < h.To {
		return h.From <= minute && minute < h.To
	}
	return h.From <= minute || minute < h.To
}

// open reports whether requests may be made at a time.
func (t *Throttle) open(at time.Time) bool {
	minute := at.Hour()*60 + at.Minute()
	return len(t.Hours) == 0 || slices.ContainsFunc(t.Hours, func(h Hours) bool { return h.contain(minute) })
}

// opens returns the next time at which requests may be made.
func (t *Throttle) opens(now time.Time) time.Time {
	var first time.Time
	y, m, d := now.Date()
	for day := range 3 {
		for _, h := range t.Hours {
			at := time.Date(y, m, d+day, 0, h.From, 0, 0, now.Location())
			if at.After(now) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	_, before := now.Zone()
	if _, after := first.Zone(); before == after && t.open(first) {
		return first
	}
	// If the clocks change before, a start time may be missing on that day, or occur twice.
	at := now.Add(-time.Duration(now.Second())*time.Second - time.Duration(now.Nanosecond()))
	for range 50 * 60 {
		if at = at.Add(time.Minute); t.open(at) {
			return at
		}
	}
	return first
}

// pause returns the pause after a request that t, if any, matches.
func (s *Settings) pause(t *Throttle) time.Duration {
	switch {
	case t != nil && t.HasPause:
		return t.Pause
	case s.Aggressive:
		return 0
	default:
		return s.Throttle
	}
}

func (s *Settings) longestPause() time.Duration {
	longest := s.pause(nil)
	for i := range s.Throttles {
		longest = max(longest, s.pause(&s.Throttles[i]))
	}
	return longest
}

// wholeThrottle returns the throttle that is known to match the whole host, nil if none is.
func (s *Settings) wholeThrottle(h *host) *Throttle {
	if l := h.live; l != nil && l.wholeOf == s && l.whole < len(s.Throttles) {
		return &s.Throttles[l.whole]
	}
	return nil
}

// match returns the first throttle of a URL, nil if there is none, and the index of the first one of its whole host.
// whole is that index if known, else -1.
func (s *Settings) match(u weburl.URL, whole int) (*Throttle, int) {
	if whole < 0 {
		whole = slices.IndexFunc(s.Throttles, func(t Throttle) bool { return t.WholeHost && t.Match(u) })
	}
	if whole < 0 {
		whole = len(s.Throttles)
	}
	for i := range s.Throttles[:whole] {
		if t := &s.Throttles[i]; !t.WholeHost && t.Match(u) {
			return t, whole
		}
	}
	if whole < len(s.Throttles) {
		return &s.Throttles[whole], whole
	}
	return nil, whole
}

// admit applies the throttle of a picked URL. It reports whether the URL may be fetched now; if not, it has ended the
// lease.
func (f *Frontier) admit(ctx context.Context, l *Lease) bool {
	set := l.set
	if len(set.Throttles) == 0 {
		return true
	}
	t, whole := set.match(l.URL, l.whole)
	now := time.Now()
	shut := t != nil && !t.open(now)
	if shut && !t.WholeHost {
		f.postpone(ctx, l, t.opens(now))
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h := l.queue.host
	h.live.throttle(l, t)
	h.live.whole, h.live.wholeOf = whole, set
	switch {
	case shut:
		f.closeUntil(h, f.instant(t.opens(now)), ByHours)
	case h.share.unclean && f.now() < h.share.lostAt+int64(set.pause(t)):
		f.closeUntil(h, h.share.lostAt+int64(set.pause(t)), ByThrottle)
	case h.live.requests > h.limit(set, t):
		h.live.room = h.limit(set, t)
	default:
		f.place(h, false) // its throttle may let more requests run
		return true
	}
	f.putBack(l)
	return false
}

// postpone makes a URL wait for the hours of its throttle, like Wait but without a request.
func (f *Frontier) postpone(ctx context.Context, l *Lease, until time.Time) {
	f.mu.Lock()
	f.endRequest(l)
	e := f.ending(l)
	f.mu.Unlock()
	words := "not at this time of day: the hours of its <Throttle> begin at " + clock.Stamp(until)
	c := waits(l, until, NoReason, words)
	err := await(func(settled func(error)) { f.commit(ctx, l, &c, e, settled) })
	if err != nil && ctx.Err() == nil {
		f.log.Error("cannot postpone a URL", "url", l.Record.URL, "error", err)
	}
}
