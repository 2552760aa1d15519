package scheduler

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// host is the entry in memory of a host with work or with a closed gate. A million of them may be resident, so it
// contains only what a pick needs; live contains the rest. The Frontier's mutex guards it.
type host struct {
	key    weburl.HostKey
	gate   int64  // no request before, in the Frontier's time (Frontier.now)
	queues *queue // with work, in no order
	live   *live
	share  *share
	heap   int32 // index in closed, -1 if not there
	list   hostList
	why    Closing // why the gate is closed
	// unsaved is set while the store does not know gate.
	unsaved bool
	counted bool // counted in Frontier.working
}

// hostList names the list of the Frontier that contains a host.
type hostList uint8

const (
	noList   hostList = iota // nothing to pick
	listed                   // in the lists of its sources
	occupied                 // no more requests may run at once
	resting                  // in closed until its gate opens
	inTurn                   // another host of its address comes first
)

// live is the state of a host while URLs of it are in memory or in flight, or while the store lacks part of it.
type live struct {
	// requests counts the leases whose request may still run, and the reads of a queue that are to become one.
	requests int
	// inFlight holds the leases without a stored outcome, in no order; marks holds a part of each key. throttled counts
	// the leases that a Throttle matches.
	inFlight  []*Lease
	marks     []uint32
	throttled int
	// room, if not 0, delays the next lease until fewer requests than room run.
	room int
	// loaded is set once the stored state was read. It is read when the host is picked, so that a start with a million
	// hosts reads none.
	loaded bool
	// fetched is set once a page of the host was fetched. Before, its robots.txt and the Crawl-delay in it may be
	// unknown.
	fetched bool

	ended   int64 // end of the last request, 0 if none is known
	rest    int64 // the gate, except for its Throttle's hours
	delay   time.Duration
	backoff time.Duration
	errors  int // failures in a row of the host as a whole
	health  health

	stored     HostState // without NextAt
	storedGate int64     // the gate in the store, 0 if none

	address *address // the address that it is bound to, nil if none
	waits   bool     // whether it is in address.waiting
	whole   int      // index of the first Throttle of the whole host, from wholeOf
	wholeOf *Settings
}

// queue holds the work of one source at one host.
type queue struct {
	host       *host
	sibling    *queue // the next queue of the host
	prev, next *queue // in its source's list of ready queues
	reading    *reading
	source     Source
	more       bool // the store may contain URLs after reading.after
	news       bool // work was announced during the read
	filling    bool
	// blocked is set while the first URL is in flight from another queue of the host.
	blocked bool
	listed  bool
}

// reading is the head of a queue, the only part in memory.
type reading struct {
	// buffer holds URLs in order; after is the highest Seq that was read. URLs up to after that are not in buffer are
	// in flight or done.
	buffer   []*Lease
	after    uint64
	inFlight []*Lease // leases without a stored outcome, in order of Seq
}

func (q *queue) place() Place { return Place{Source: q.source, Host: q.host.key} }

func (q *queue) first() *Lease {
	if q.reading == nil || len(q.reading.buffer) == 0 {
		return nil
	}
	return q.reading.buffer[0]
}

// ready reports whether the queue itself can be picked.
func (q *queue) ready() bool { return !q.filling && !q.blocked && (q.more || q.first() != nil) }

// idle reports whether the queue can be dropped. A queue with URLs in flight cannot: without after they would be read
// again.
func (q *queue) idle() bool {
	return !q.filling && !q.more && q.first() == nil && (q.reading == nil || len(q.reading.inFlight) == 0)
}

// unread puts a URL back at the front, in order of Seq.
func (q *queue) unread(l *Lease) {
	r := q.reading
	i, _ := slices.BinarySearchFunc(r.buffer, l.Seq, func(b *Lease, seq uint64) int {
		if b.Seq < seq {
			return -1
		}
		return 1
	})
	r.buffer = slices.Insert(r.buffer, i, l)
}

// floor returns the lowest Seq at which a URL may wait once l is done: that of a URL in flight or in memory, or the one
// after all that was read.
func (q *queue) floor(l *Lease) uint64 {
	floor := q.reading.after + 1
	if b := q.first(); b != nil {
		floor = min(floor, b.Seq)
	}
	for _, other := range q.reading.inFlight {
		if other != l {
			return min(floor, other.Seq)
		}
	}
	return floor
}

// queue returns the host's queue of a source, nil if it has none.
func (h *host) queue(s Source) *queue {
	for q := h.queues; q != nil; q = q.sibling {
		if q.source == s {
			return q
		}
	}
	return nil
}

// working reports whether a host has URLs that are not in flight.
func (h *host) working() bool {
	for q := h.queues; q != nil; q = q.sibling {
		if q.more || q.first() != nil {
			return true
		}
	}
	return false
}

// workingIn is working for the sources with a weight.
func (h *host) workingIn(weights *[Sources]int) bool {
	for q := h.queues; q != nil; q = q.sibling {
		if weights[q.source] > 0 && (q.more || q.first() != nil) {
			return true
		}
	}
	return false
}

// visit returns the live part, which it creates if needed.
func (h *host) visit() *live {
	if h.live == nil {
		h.live = &live{whole: -1}
	}
	return h.live
}

// pause returns the pause after a request that t, if any, matches, and the reason.
func (h *host) pause(s *Settings, t *Throttle) (time.Duration, Closing) {
	pause, why := s.pause(t), ByThrottle
	if h.live.delay > pause {
		pause, why = h.live.delay, ByCrawlDelay
	}
	if h.live.backoff > pause {
		pause, why = h.live.backoff, ByBackoff
	}
	return pause, why
}

// limit returns the number of concurrent requests allowed to the host, counting one that t, if any, matches. If a pause
// is set, the limit is one.
func (h *host) limit(s *Settings, t *Throttle) int {
	pause, _ := h.pause(s, t)
	switch {
	case pause > 0 || !h.live.fetched || s.PerAddress:
		return 1
	case t != nil && t.Connections > 0:
		return t.Connections
	case s.Aggressive:
		return max(s.MaxConnectionsPerHost, 1)
	default:
		return 1
	}
}

// full reports whether no further request may run at the host.
func (h *host) full(s *Settings) bool {
	if h.live == nil || h.live.requests == 0 {
		return false
	}
	most, running := h.live.room, 0
	if most == 0 {
		most = h.live.requests + 1
	}
	if h.live.throttled == 0 && len(s.Throttles) == 0 { // one limit for all URLs
		return h.live.requests >= min(most, h.limit(s, nil))
	}
	for _, l := range h.live.inFlight {
		if !l.ended {
			running++
			most = min(most, h.limit(s, l.throttle))
		}
	}
	if running < h.live.requests { // the rest are reads, whose throttles are unknown
		most = min(most, h.limit(s, s.wholeThrottle(h)))
	}
	return h.live.requests >= most
}

// list holds a source's ready queues, the one that has waited longest first.
type list struct{ head, tail *queue }

func (l *list) pushBack(q *queue) {
	q.prev, q.next, q.listed = l.tail, nil, true
	if l.tail != nil {
		l.tail.next = q
	} else {
		l.head = q
	}
	l.tail = q
}

func (l *list) pushFront(q *queue) {
	q.prev, q.next, q.listed = nil, l.head, true
	if l.head != nil {
		l.head.prev = q
	} else {
		l.tail = q
	}
	l.head = q
}

func (l *list) remove(q *queue) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		l.head = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		l.tail = q.prev
	}
	q.prev, q.next, q.listed = nil, nil, false
}
