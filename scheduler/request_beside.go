package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// besidePause is after when a host is tried again while requests to it are running.
const besidePause = time.Second

// Beside begins a request to a host on behalf of a URL of another host, as a log-in may need. If ok is true the request
// may be made; where one request at a time is allowed, no lease of the host is given out before end is called, and the
// host's pause follows. Otherwise the host is busy or rests until the given time. A host without waiting URLs has no
// pause to keep.
func (f *Frontier) Beside(key weburl.HostKey) (end func(), until time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil {
		return func() {}, time.Time{}, true
	}
	if h.gate > f.now() {
		return nil, f.time(h.gate), false
	}
	if h.visit().requests >= h.limit(f.set, f.set.wholeThrottle(h)) {
		return nil, time.Now().Add(besidePause), false
	}
	h.live.requests++
	f.place(h, false)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.visited(h, f.set.wholeThrottle(h), 1)
		h.live.requests--
		f.place(h, false)
	}, time.Time{}, true
}

// RestsUntil returns the time until which a host must not be contacted, a past time if it may be contacted now.
func (f *Frontier) RestsUntil(key weburl.HostKey) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil {
		return time.Time{}
	}
	return f.time(h.gate)
}

// Rest makes a host rest after a number of requests for a page of another host.
func (f *Frontier) Rest(key weburl.HostKey, requests int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil || requests == 0 {
		return
	}
	h.visit()
	f.visited(h, f.set.wholeThrottle(h), requests)
	f.place(h, false)
}
