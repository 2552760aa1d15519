package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// besidePause is after when a host is asked again whose requests are on their way.
const besidePause = time.Second

// Beside begins a request to a host that is for a URL of another one, as a log-in may
// need. With ok it may be made, no lease of the host is given out meanwhile where one
// request at a time is allowed, and end is to be called after it: the host's pause
// follows. Without, the host is busy or rests, until then. A host without URLs that
// wait has no pause to keep.
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

// RestsUntil is until when a host is not to be asked, a past time if it may be now.
func (f *Frontier) RestsUntil(key weburl.HostKey) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil {
		return time.Time{}
	}
	return f.time(h.gate)
}

// Rest has a host rest that was asked so many times for a page of another one.
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
