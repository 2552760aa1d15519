package scheduler

import (
	"container/heap"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// host is the entry in memory of a host that has work, or whose gate is closed.
// It is guarded by the Frontier's mutex.
type host struct {
	key    weburl.HostKey
	origin string
	queues [Sources]*queue
	// requests are the leases whose request may still run, and reads of a queue
	// that are to become one.
	requests int
	// loaded says that the stored state was read. It is read when the host is
	// first picked, so that a start with a million hosts reads none.
	loaded bool
	// greeted says that a lease of it has ended: before, its robots.txt and what
	// pause that asks for may not be known.
	greeted bool
	// unsaved says that the store does not know nextAt.
	unsaved bool

	nextAt  time.Time // no request before
	endedAt time.Time // end of the last request
	delay   time.Duration
	backoff time.Duration
	errors  int

	heapIndex int  // in closed, -1 if not there
	counted   bool // in Frontier.working
}

// queue is the work of one source at one host. Only its head is in memory.
type queue struct {
	host   *host
	source Source
	// buffer holds URLs in order; after is the highest Seq that was read. Those
	// between the two are in flight.
	buffer []buffered
	after  uint64
	more   bool // the store may hold URLs behind after
	// announced counts the news of new work, so that a read that was under way
	// meanwhile does not take the queue for exhausted.
	announced uint64
	filling   bool
	inFlight  int

	prev, next *queue // in its source's list of ready queues
	listed     bool
}

// buffered is a URL read from its queue. One with check set may have left it.
type buffered struct {
	WaitingURL
	check bool
}

func (q *queue) place() Place {
	return Place{Source: q.source, Host: q.host.key}
}

// ready says whether the queue can be picked as far as it alone matters.
func (q *queue) ready() bool { return !q.filling && (q.more || len(q.buffer) > 0) }

// idle queues are forgotten. Those with URLs in flight are not: after is what
// keeps these from being read again.
func (q *queue) idle() bool {
	return !q.filling && !q.more && len(q.buffer) == 0 && q.inFlight == 0
}

// unread puts a URL back in front, in order of Seq.
func (q *queue) unread(b buffered) {
	i, _ := slices.BinarySearchFunc(q.buffer, b.Seq, func(b buffered, seq uint64) int {
		if b.Seq < seq {
			return -1
		}
		return 1
	})
	q.buffer = slices.Insert(q.buffer, i, b)
}

// working says whether a host has URLs that are not in flight.
func (h *host) working() bool {
	for _, q := range h.queues {
		if q != nil && (q.more || len(q.buffer) > 0) {
			return true
		}
	}
	return false
}

// pause is what must pass between two requests to the host.
func (h *host) pause(s *Settings) time.Duration {
	pause := max(h.delay, h.backoff)
	if !s.Aggressive {
		pause = max(pause, s.Throttle)
	}
	return pause
}

// limit is how many requests may run at once at the host. Where a pause is
// asked for, there is no second one beside the first.
func (h *host) limit(s *Settings) int {
	if !s.Aggressive || h.delay > 0 || h.backoff > 0 || !h.greeted {
		return 1
	}
	return max(s.MaxConnectionsPerHost, 1)
}

// state is what the store keeps of the host.
func (h *host) state() *HostState {
	return &HostState{Origin: h.origin, NextAt: h.nextAt, Backoff: h.backoff, Errors: h.errors}
}

// Bounds of a failing host's back-off: it begins with the third failure in a row
// and doubles up to a minute. A Retry-After comes on top.
const (
	hostFailuresFree   = 2
	hostBackoffFirst   = 2 * time.Second
	hostBackoffLongest = time.Minute
)

// judge notes how the host answered.
func (h *host) judge(r *Result, now time.Time) {
	switch {
	case r.Fault == AddressFault || r.Fault == RobotsFault:
		return // which tell nothing new of the host
	case !hostFails(r):
		h.errors, h.backoff = 0, 0
		return
	}
	h.errors++
	if n := h.errors - hostFailuresFree; n > 0 {
		h.backoff = min(hostBackoffFirst<<min(n-1, 16), hostBackoffLongest)
	}
	if r.HasRetryAfter && r.RetryAfter > 0 {
		h.closeUntil(now.Add(min(r.RetryAfter, afterLongest)))
	}
}

// ended notes the end of a request.
func (h *host) ended(s *Settings, now time.Time) {
	h.endedAt, h.unsaved = now, true
	h.closeUntil(now.Add(h.pause(s)))
}

func (h *host) closeUntil(t time.Time) {
	if t.After(h.nextAt) {
		h.nextAt = t
	}
}

// list is a source's ready queues, the one that waits longest first.
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

// closed is a heap of hosts by the time at which their gates open.
type closed []*host

func (c closed) Len() int           { return len(c) }
func (c closed) Less(i, j int) bool { return c[i].nextAt.Before(c[j].nextAt) }
func (c closed) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].heapIndex, c[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (c *closed) Push(x any) {
	h := x.(*host)
	h.heapIndex = len(*c)
	*c = append(*c, h)
}

// Pop implements heap.Interface.
func (c *closed) Pop() any {
	last := len(*c) - 1
	h := (*c)[last]
	(*c)[last] = nil
	*c, h.heapIndex = (*c)[:last], -1
	return h
}

// put adds a host, or moves it to where its changed time belongs.
func (c *closed) put(h *host) {
	if h.heapIndex < 0 {
		heap.Push(c, h)
	} else {
		heap.Fix(c, h.heapIndex)
	}
}

func (c *closed) remove(h *host) {
	if h.heapIndex >= 0 {
		heap.Remove(c, h.heapIndex)
	}
}
