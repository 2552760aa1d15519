package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Bounds of the backoff of a failing host: it begins with the third failure in a row and doubles up to a minute, before
// jitter, which adds up to a quarter. A Retry-After is added to it.
const (
	hostFailuresFree   = 2
	hostBackoffFirst   = 2 * time.Second
	hostBackoffLongest = time.Minute
	// silentAfter is the number of failures in a row after which a host counts as silent: about four minutes of
	// backoff. Drained no longer waits for its work.
	silentAfter = 10
)

// judge updates a host's errors and backoff after a response.
func (f *Frontier) judge(h *host, r *Result) {
	switch {
	case !showsHostState(r.Fault):
		return
	case !hostFails(r):
		h.live.errors, h.live.backoff = 0, 0
		delete(f.silent, h.key)
		return
	}
	if h.live.errors++; h.live.errors >= silentAfter && !h.share.gone {
		f.silent[h.key] = struct{}{}
	}
	if n := h.live.errors - hostFailuresFree; n > 0 {
		pause := min(hostBackoffFirst<<min(n-1, 16), hostBackoffLongest)
		h.live.backoff = pause + time.Duration(f.jitter()*float64(pause)/4)
	}
	if r.HasRetryAfter && r.RetryAfter > 0 {
		f.closeUntil(h, f.now()+int64(min(r.RetryAfter, afterLongest)), ByRetryAfter)
	}
}

// Delay sets the Crawl-delay of a host, from robots.txt, or 0 for none: its pause, including the current one, is at
// least d. Call it with each lease, before the page is requested. It returns false if d has not passed since the last
// request: give the lease back then.
func (f *Frontier) Delay(key weburl.HostKey, d time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil || h.live == nil {
		return true
	}
	h.live.delay = d
	if h.live.ended > 0 {
		f.closeUntil(h, h.live.ended+int64(d), ByCrawlDelay)
	} else if h.share.unclean {
		f.closeUntil(h, h.share.lostAt+int64(d), ByCrawlDelay)
	}
	f.place(h, false)
	return f.now() >= h.gate
}

// learn loads the stored state of a host. A time that an earlier run stored is capped at the longest pause that a host
// may ask for, in case the clock was changed; a time of this run is not.
func (f *Frontier) learn(h *host, s HostState) {
	l := h.live
	if l.loaded {
		return
	}
	l.loaded = true
	l.backoff, l.errors, l.delay = s.Backoff, s.Errors, s.Delay
	l.health = health{responses: s.Responses, ill: s.Ill, since: s.IllSince, badAt: s.BadAt, goods: s.Goods}
	latest := h.share.loadedAt + int64(max(afterLongest, f.set.longestPause()))
	if at := min(f.instant(s.NextAt), latest); at > f.now() {
		l.storedGate = at
		f.closeUntil(h, l.storedGate, ByRetryAfter)
		h.unsaved = h.gate != l.storedGate
	}
	if h.share.unclean {
		pause, why := h.pause(f.set, nil)
		f.closeUntil(h, h.share.lostAt+int64(pause), why)
	}
	s.NextAt = time.Time{}
	l.stored = s
	if s.Ill && !h.share.gone {
		f.ill[h.key] = IllHost{h.key, s.Origin, s.IllSince.UTC(), h.share}
	}
}

// state returns the state that the store must have of the host, except for its gate.
func (l *live) state() HostState {
	return HostState{
		Backoff: l.backoff, Errors: l.errors, Delay: l.delay,
		Responses: l.health.responses, Ill: l.health.ill, IllSince: l.health.since, BadAt: l.health.badAt,
		Goods: l.health.goods,
	}
}

// known reports whether the store has the host's current state, except for its gate.
func (l *live) known() bool {
	if !l.loaded {
		return true
	}
	s := l.stored
	s.Origin = ""
	return l.state() == s
}

// changedState returns the host's state that a completion must store, or nil if the store already has it and the next
// run, even after a crash, would let the host rest equally long without it. It also returns the gate that is stored.
func (f *Frontier) changedState(h *host, origin string) (*HostState, int64) {
	covered, _ := h.pause(f.set, f.set.wholeThrottle(h))
	gate := h.storedGate()
	if gate <= f.now()+int64(covered) {
		gate = 0
	}
	if h.live.known() && (gate == 0 || gate == h.live.storedGate) {
		return nil, 0
	}
	s := h.live.state()
	s.Origin = origin
	if gate > 0 {
		s.NextAt = f.time(gate)
	}
	return &s, gate
}
