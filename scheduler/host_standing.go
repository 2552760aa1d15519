package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// shedAfter is the length of a rest from which a host keeps no URLs in memory.
const shedAfter = time.Minute

// place moves a host to the list where it belongs after any change: the ready hosts (first or last), those with closed
// gates, or none. The mutex is held.
func (f *Frontier) place(h *host, first bool) {
	if h.share.leaving {
		f.withdraw(h, noList)
		return
	}
	f.count(h)
	awaits := f.awaitsTurn(h)
	switch now := f.now(); {
	case h.full(f.set):
		f.withdraw(h, occupied)
	case now < h.gate:
		f.withdraw(h, resting)
		f.closed.put(h)
		f.wakeBy(h.gate)
		if h.gate-now > int64(shedAfter) {
			f.shed(h)
		}
	case awaits:
		f.withdraw(h, inTurn)
	default:
		f.enlist(h, first)
	}
	f.tidy(h)
}

// withdraw removes a host from all lists.
func (f *Frontier) withdraw(h *host, s hostList) {
	if s != resting {
		f.closed.remove(h)
	}
	for q := h.queues; q != nil; q = q.sibling {
		if q.listed {
			f.unlist(q)
		}
	}
	f.setList(h, s)
}

// enlist adds a host's ready queues to the lists of their sources.
func (f *Frontier) enlist(h *host, first bool) {
	f.closed.remove(h)
	list := noList
	for q := h.queues; q != nil; q = q.sibling {
		switch {
		case q.listed && !q.ready():
			f.unlist(q)
		case !q.listed && q.ready() && first:
			f.lists[q.source].pushFront(q)
			f.ready |= 1 << q.source
			f.listed(q)
		case !q.listed && q.ready():
			f.lists[q.source].pushBack(q)
			f.ready |= 1 << q.source
			f.listed(q)
		}
		if q.listed {
			list = listed
		}
	}
	f.setList(h, list)
	f.wake()
}

func (f *Frontier) unlist(q *queue) {
	f.unlisted(q)
	l := &f.lists[q.source]
	l.remove(q)
	if l.head == nil {
		f.ready &^= 1 << q.source
	}
}

// setList sets a host's list and counts the hosts of each.
func (f *Frontier) setList(h *host, s hostList) {
	f.tally(h, -1)
	h.list = s
	f.tally(h, 1)
}

func (f *Frontier) tally(h *host, n int) {
	if h.list == resting {
		f.restingFor[h.why] += n
	}
}

// count updates the number of hosts with work.
func (f *Frontier) count(h *host) {
	switch working := h.working(); {
	case working && !h.counted:
		f.working++
		h.counted = true
	case !working && h.counted:
		f.working--
		h.counted = false
	}
}

// shed drops the buffers of a host that can be read again.
func (f *Frontier) shed(h *host) {
	for q := h.queues; q != nil; q = q.sibling {
		if q.first() != nil && len(q.reading.inFlight) == 0 && !q.filling {
			f.buffered -= len(q.reading.buffer)
			q.reading, q.more, q.blocked = nil, true, false
		}
	}
}

// tidy drops idle state: queues, the live part if it can be read again, and the host once its gate is open.
func (f *Frontier) tidy(h *host) {
	for p := &h.queues; *p != nil; {
		if (*p).idle() {
			*p = (*p).sibling
		} else {
			p = &(*p).sibling
		}
	}
	if h.live != nil && h.quiet() && (h.live.known() || h.queues == nil) && !f.bound(h) {
		h.live = nil
		for q := h.queues; q != nil; q = q.sibling {
			q.reading = nil
		}
	}
	if h.queues == nil && h.live == nil && h.list == noList && f.hosts[h.key] == h {
		f.tally(h, -1)
		delete(f.hosts, h.key)
		delete(f.silent, h.key)
	}
}

// quiet reports whether no URL of a host is in flight, in memory or being read.
func (h *host) quiet() bool {
	if h.live.requests > 0 || len(h.live.inFlight) > 0 {
		return false
	}
	for q := h.queues; q != nil; q = q.sibling {
		if q.filling || q.first() != nil {
			return false
		}
	}
	return true
}

// entry returns a host's entry, which it creates if needed; nil if the host's part is not adopted.
func (f *Frontier) entry(key weburl.HostKey) *host {
	if h := f.hosts[key]; h != nil {
		return h
	}
	if of := f.shareOf(key); of != nil {
		return f.entryIn(key, of)
	}
	return nil
}

// entryIn is entry for a host whose share is known.
func (f *Frontier) entryIn(key weburl.HostKey, of *share) *host {
	h := f.hosts[key]
	if h == nil {
		h = &host{key: key, heap: -1, share: of}
		f.hosts[key] = h
		f.tally(h, 1)
		if f.parted != nil && f.now() < of.notBefore {
			f.closeUntil(h, of.notBefore, ByThrottle)
		}
	}
	return h
}
