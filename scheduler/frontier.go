package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// ErrStopped is what Next gives after Stop.
var ErrStopped = errors.New("the frontier gives out no more URLs")

const (
	// batch is how many URLs of a queue are read at once while fewer than
	// bufferedMax are in memory; above it one by one.
	batch       = 16
	bufferedMax = 16 << 10
	// errorPause is how long work rests at which the store failed.
	errorPause = 5 * time.Second
)

// Lease is a URL that may be fetched now. Its holder ends it with exactly one of
// Complete, GiveBack and Wait.
type Lease struct {
	Place  Place
	Key    weburl.Key
	Seq    uint64
	URL    weburl.URL
	Record Record

	queue *queue
	ended bool // guarded by the Frontier's mutex
}

// Frontier decides which URL is fetched next. Each source is a queue per host on
// disk; in memory is one small entry a host that has work. A pick shares by
// weight among the sources that have a ready host, and takes the ready host that
// waits longest; its cost depends neither on how many URLs wait nor on how many
// hosts. All sources of a host share one gate, which keeps requests apart.
//
// All methods may be called at once by any number of goroutines. Run must run
// for gates to open and for retries and refreshes to become due.
type Frontier struct {
	store Store
	log   *slog.Logger
	kick  chan struct{} // wakes Run; capacity 1

	mu      sync.Mutex
	set     *Settings // replaced, never changed
	stride  stride
	brake   brake
	hosts   map[weburl.HostKey]*host
	lists   [Sources]list
	ready   uint8 // bit s: lists[s] is not empty
	closed  closed
	stopped bool
	paused  bool
	// notBefore keeps all hosts closed after an unclean end.
	notBefore time.Time
	waiters   []chan struct{} // of Next, each with capacity 1
	changed   chan struct{}   // closed when Drained must look again; nil if nobody waits

	buffered, inFlight, working int
	busy                        int // callers of Busy that are not done

	gated           bool      // Run has loaded the gates
	started, moving bool      // Run has read what waits; is moving what is due
	dueAt           time.Time // when the first timed URL is due, zero if none is known
	wakeAt          time.Time // until when Run sleeps
}

// New makes a Frontier on a store. It reads nothing before Run.
func New(store Store, s Settings, log *slog.Logger) *Frontier {
	return &Frontier{
		store: store, log: log, kick: make(chan struct{}, 1),
		set: &s, stride: newStride(s.Weights), hosts: map[weburl.HostKey]*host{},
	}
}

// Next blocks until a URL may be fetched. It gives ErrStopped after Stop, ctx's
// error when that ends, and the store's when it is closed or damaged; other
// errors of the store are logged and the host in question rests for a while.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			f.passOn() // ctx may have ended just after this one was woken
			return nil, err
		}
		p, err := f.choose()
		switch {
		case err != nil:
			return nil, err
		case p.wait != nil:
			f.await(ctx, p.wait)
			continue
		case p.lease == nil:
			if p.lease, err = f.fill(ctx, p); err != nil {
				return nil, err
			}
		}
		if p.lease != nil && f.readable(ctx, p.lease) {
			return p.lease, nil
		}
	}
}

// readable parses the URL. One that is none can only come from a damaged record
// and is ended as a permanent error.
func (f *Frontier) readable(ctx context.Context, l *Lease) bool {
	u, err := weburl.Parse(l.Record.URL)
	if err == nil {
		l.URL = u
		return true
	}
	r := Result{Fault: BadRedirect, Words: "the stored URL cannot be read: " + err.Error(), Decided: l.Record.Fifo}
	if err := f.Complete(ctx, l, r); err != nil {
		f.log.Error("a stored URL cannot be read", "url", l.Record.URL, "error", err)
	}
	return false
}

// pick is what choose found: a lease, a queue that must be read first, or
// nothing, with a channel to wait on.
type pick struct {
	lease *Lease
	queue *queue
	ready uint8 // the sources that were ready
	wait  chan struct{}
}

// choose reserves a connection of the host that is to be visited next.
func (f *Frontier) choose() (pick, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return pick{}, ErrStopped
	}
	ready := f.pickable()
	s, ok := f.stride.pick(ready)
	if !ok {
		w := make(chan struct{}, 1)
		f.waiters = append(f.waiters, w)
		return pick{wait: w}, nil
	}
	q := f.lists[s].head
	q.host.requests++
	f.unlist(q)
	p := pick{queue: q, ready: ready}
	if q.host.loaded && len(q.buffer) > 0 && !q.buffer[0].check {
		p.lease = f.take(q)
	} else {
		q.filling = true
		f.place(q.host, false)
	}
	f.wake()
	return p, nil
}

// pickable are the sources that hold ready work: none before Run knows which
// hosts must rest.
func (f *Frontier) pickable() uint8 {
	if !f.gated || f.paused {
		return 0
	}
	return f.ready
}

// take makes a lease of the queue's first URL.
func (f *Frontier) take(q *queue) *Lease {
	b := q.buffer[0]
	if q.buffer = q.buffer[1:]; len(q.buffer) == 0 {
		q.buffer = nil
	}
	f.buffered--
	q.inFlight++
	f.inFlight++
	f.place(q.host, false)
	return &Lease{Place: q.place(), Key: b.Key, Seq: b.Seq, Record: b.Record, queue: q}
}

// await blocks until w is signalled or ctx ends; the caller passes a signal on
// that it does not use.
func (f *Frontier) await(ctx context.Context, w chan struct{}) {
	select {
	case <-w:
		return
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.waiters, w); i >= 0 {
		f.waiters = slices.Delete(f.waiters, i, i+1)
	}
}

// passOn wakes another waiting Next in place of one that gives up.
func (f *Frontier) passOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake()
}

// wake signals one waiting Next if there is something to pick. Who is woken
// wakes the next one.
func (f *Frontier) wake() {
	if len(f.waiters) == 0 || !f.stopped && f.stride.sum(f.pickable()) == 0 {
		return
	}
	f.waiters[0] <- struct{}{}
	f.waiters = f.waiters[1:]
}

// Stop ends the giving out of URLs: every Next, waiting or to come, gives
// ErrStopped. Leases are ended as before.
func (f *Frontier) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for len(f.waiters) > 0 {
		f.wake()
	}
}

// Apply replaces the settings. Gates that are closed stay so.
func (f *Frontier) Apply(s Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set = &s
	for i, w := range s.Weights {
		f.stride.weight[i] = int64(w)
	}
	f.wake()
	f.signal()
}

// Delay sets the Crawl-delay of a host, from robots.txt: its throttle is at least
// d, the present pause included. It holds while the host has work in memory and
// is to be set again with each lease, before that ends.
func (f *Frontier) Delay(key weburl.HostKey, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[key]
	if h == nil {
		return
	}
	h.delay = d
	if !h.endedAt.IsZero() {
		h.closeUntil(h.endedAt.Add(d))
	}
	f.place(h, false)
}

// place puts a host where it belongs after any change: among the ready ones,
// first or last, among those with closed gates, or nowhere. The mutex is held.
func (f *Frontier) place(h *host, first bool) {
	f.count(h)
	switch {
	case h.requests >= h.limit(f.set):
		f.closed.remove(h)
		f.unlistAll(h)
	case time.Now().Before(h.nextAt):
		f.unlistAll(h)
		f.closed.put(h)
		if f.wakeAt.IsZero() || h.nextAt.Before(f.wakeAt) {
			f.kickRun()
		}
	default:
		f.closed.remove(h)
		f.enlist(h, first)
	}
}

// enlist lists what a host has, and forgets it if it has nothing.
func (f *Frontier) enlist(h *host, first bool) {
	used := h.requests > 0
	for i, q := range h.queues {
		switch {
		case q == nil:
			continue
		case q.idle():
			h.queues[i] = nil
			continue
		case q.listed && !q.ready():
			f.unlist(q)
		case !q.listed && q.ready() && first:
			f.lists[i].pushFront(q)
			f.ready |= 1 << i
		case !q.listed && q.ready():
			f.lists[i].pushBack(q)
			f.ready |= 1 << i
		}
		used = true
	}
	if !used {
		delete(f.hosts, h.key)
	}
	f.wake()
}

func (f *Frontier) unlistAll(h *host) {
	for _, q := range h.queues {
		if q != nil && q.listed {
			f.unlist(q)
		}
	}
}

func (f *Frontier) unlist(q *queue) {
	l := &f.lists[q.source]
	l.remove(q)
	if l.head == nil {
		f.ready &^= 1 << q.source
	}
}

// count keeps the number of hosts with work.
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

func (f *Frontier) kickRun() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// signal makes Drained look again. The mutex is held.
func (f *Frontier) signal() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}
