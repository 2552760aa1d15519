package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex alone guards the Frontier's state, in all files; busy is atomic. Workers take it for a few microseconds,
// never during a call of the store. Run is one goroutine, which queues due URLs.

// ErrStopped is returned by Next after Stop.
var ErrStopped = errors.New("the frontier is stopped")

// errorPause is the pause of a host or of due URLs after an error of the store.
const errorPause = 5 * time.Second

// Lease is a URL that may be fetched now. Its holder ends it with exactly one call of Complete, GiveBack or Wait, and
// must not change Record.
type Lease struct {
	Place  Place
	Key    weburl.Key
	Seq    uint64
	URL    weburl.URL
	Record Record

	asOf     uint64 // WaitingURL.AsOf
	queue    *queue
	set      *Settings // in force when the lease was taken
	whole    int       // index of its host's throttle, as in live; -1 if unknown
	throttle *Throttle // nil if none matches
	ready    uint8     // bit set of the sources that were ready when it was picked
	// The Frontier's mutex guards the rest.
	ended  bool
	check  bool // it may have left its queue
	slot   int  // index among the leases of its host in flight
	effect Effect
}

// Frontier decides which URL is fetched next. Each source is a queue per host on disk; memory holds one small entry for
// each host with work. A pick shares by weight among the sources that have a ready host, and takes the ready host that
// has waited longest. Its cost depends neither on the number of URLs nor on the number of hosts. All sources of a host
// share one gate, which keeps requests apart.
//
// All methods may be called concurrently. Run must be running for gates to open and for retries and refreshes to become
// due.
type Frontier struct {
	store Store
	log   *slog.Logger
	kick  chan struct{} // wakes Run; capacity 1

	epoch time.Time // the start of the Frontier's time
	// jitter returns 0 up to 1; shuffle is that of math/rand. Tests replace both.
	jitter  func() float64
	shuffle func(n int, swap func(i, j int))

	owner DeletionOwner // of the pending losses
	busy  atomic.Int64  // callers of Busy that have not finished
	// noLists is set when the store has no noted lists: see ReadLists.
	noLists atomic.Bool

	mu      sync.Mutex // guards all fields below
	set     *Settings  // replaced, never changed
	stride  stride
	ill     illHosts
	texts   texts // of hosts whose documents changed
	waits   waitSamples
	stopped bool

	// Hosts with work, or with state that must be kept.
	hosts     map[weburl.HostKey]*host
	silent    map[weburl.HostKey]struct{} // hosts that failed silentAfter times in a row
	addresses map[netip.Addr]*address
	lists     [Sources]list
	ready     uint8 // bit s: lists[s] is not empty

	own      share          // all hosts, unless the store is Parted
	parted   Parted         // the store, if it has parts
	shares   map[int]*share // those that are adopted
	adopting int            // parts whose places are being read
	unplaced bool           // a host received work, but its part is unknown

	paused    bool
	pausedAt  int64 // in the Frontier's time, as is pausedFor
	pausedFor int64 // total length of ended pauses

	waiters []chan struct{} // blocked callers of Next, each with capacity 1
	changed chan struct{}   // closed when Drained must check again; nil if no caller waits
	round   chan struct{}   // closed when Run completes a round; nil if no caller waits

	buffered, inFlight, working int
	restingFor                  [closings]int // resting hosts, by reason

	closed          closed
	gated           bool      // Run has loaded the gates
	wakeAt          int64     // when Run wakes, 0 if only when kicked; in the Frontier's time
	started, moving bool      // Run has read the places; is moving due URLs
	dueAt           time.Time // when the first timed URL is due, zero if unknown
}

// New returns a Frontier on a store. It does not read the store before Run.
func New(store Store, s Settings, log *slog.Logger) *Frontier {
	f := &Frontier{
		owner: noOwner{}, texts: texts{}, ill: illHosts{},
		store: store, log: log, kick: make(chan struct{}, 1),
		epoch: time.Now(), jitter: rand.Float64, shuffle: rand.Shuffle,
		set: &s, stride: newStride(s.Weights),
		hosts: map[weburl.HostKey]*host{}, silent: map[weburl.HostKey]struct{}{}, addresses: map[netip.Addr]*address{}, shares: map[int]*share{},
	}
	f.parted, _ = store.(Parted)
	return f
}

// Next blocks until a URL may be fetched. It returns ErrStopped after Stop, ctx.Err() when ctx ends, and the store's
// error if that is closed or damaged. Other errors of the store are logged, and the host in question rests for a while.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) { return f.next(ctx, true) }

func (f *Frontier) next(ctx context.Context, waits bool) (*Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			f.PassOn() // ctx may have ended just after this one was woken
			return nil, err
		}
		p, err := f.choose(waits)
		switch {
		case err != nil || p.none:
			return nil, err
		case p.wait != nil:
			f.await(ctx, p.wait)
			continue
		case p.lease == nil:
			if p.lease, err = f.fill(ctx, p); err != nil {
				return nil, err
			}
		}
		if p.lease != nil && f.readable(ctx, p.lease) && f.admit(ctx, p.lease) {
			return p.lease, nil
		}
	}
}

// readable parses the URL. A URL that does not parse comes from a damaged record and ends as a permanent error.
func (f *Frontier) readable(ctx context.Context, l *Lease) bool {
	u, err := weburl.Parse(l.Record.URL)
	if err == nil {
		l.URL = u.WithFragment(l.Record.Fragment)
		return true
	}
	r := Result{Fault: fault.BadRedirect, Words: "the stored URL cannot be read: " + err.Error(), Decided: l.Record.Fifo}
	if err := f.Complete(ctx, l, r); err != nil {
		f.log.Error("cannot read a stored URL", "url", l.Record.URL, "error", err)
	}
	return false
}

// pick is the result of choose: a lease, a queue that must be read first, or nothing, with a channel to wait on.
type pick struct {
	lease *Lease
	queue *queue
	ready uint8 // bit set of the ready sources
	wait  chan struct{}
	none  bool // no work, and the caller does not wait
}

// choose reserves a connection of the host to visit next.
func (f *Frontier) choose(waits bool) (pick, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.stopped {
		ready := f.pickable()
		s, ok := f.stride.pick(ready)
		if !ok && !waits {
			return pick{none: true}, nil
		}
		if !ok {
			w := make(chan struct{}, 1)
			f.waiters = append(f.waiters, w)
			return pick{wait: w}, nil
		}
		q := f.lists[s].head
		if f.isBlocked(q) {
			f.stride.refund(s, ready)
			f.unlist(q)
			continue
		}
		f.picked(q)
		l := q.host.visit()
		l.requests++
		l.room = 0
		f.unlist(q)
		p := pick{queue: q, ready: ready}
		if first := q.first(); l.loaded && first != nil && !first.check {
			p.lease = f.take(p)
		} else {
			q.filling, q.news = true, false
			f.place(q.host, false)
		}
		f.wake()
		return p, nil
	}
	return pick{}, ErrStopped
}

// isBlocked reports whether a queue's first URL is in flight from another queue of its host, because the operator moved
// it here. It is not fetched twice at once.
func (f *Frontier) isBlocked(q *queue) bool {
	l := q.first()
	q.blocked = l != nil && q.host.hasInFlight(l.Key)
	return q.blocked
}

// pickable returns the set of sources with ready work. It is empty until Run has read which hosts must rest.
func (f *Frontier) pickable() uint8 {
	if !f.gated || f.paused || f.now() < f.own.notBefore {
		return 0
	}
	return f.ready
}

// take makes the queue's first URL a lease.
func (f *Frontier) take(p pick) *Lease {
	q := p.queue
	r, h := q.reading, q.host
	l := r.buffer[0]
	r.buffer[0] = nil
	if r.buffer = r.buffer[1:]; len(r.buffer) == 0 {
		r.buffer = nil
	}
	f.buffered--
	f.inFlight++
	h.share.inFlight++
	l.queue, l.set, l.whole, l.ready = q, f.set, -1, p.ready
	h.live.lift(l)
	if h.live.wholeOf == f.set {
		l.whole = h.live.whole
	}
	f.place(h, false)
	return l
}

// await blocks until w is signalled or ctx ends. The caller must pass on a signal that it does not use.
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

// wake signals one waiting Next if a URL can be picked. The caller that wakes signals the next one.
func (f *Frontier) wake() {
	if len(f.waiters) == 0 || !f.stopped && f.stride.sum(f.pickable()) == 0 {
		return
	}
	f.waiters[0] <- struct{}{}
	f.waiters = f.waiters[1:]
}

// Stop ends the handing out of URLs: every pending or later Next returns ErrStopped. Leases are ended as before.
func (f *Frontier) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for len(f.waiters) > 0 {
		f.wake()
	}
}

// Apply replaces the settings. Closed gates stay closed, except those that the hours of a throttle closed.
func (f *Frontier) Apply(s Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.set.Deletions.Off && s.Deletions.Off {
		defer f.owner.SwitchedOff()
	}
	f.set = &s
	for i, w := range s.Weights {
		f.stride.weight[i] = int64(w)
	}
	if !s.PerAddress {
		f.freeAddresses()
	}
	f.reopen()
	f.wake()
	f.signal()
}

func (f *Frontier) kickRun() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// wakeBy makes Run look again at an instant. The mutex is held.
func (f *Frontier) wakeBy(at int64) {
	if f.wakeAt == 0 || at < f.wakeAt {
		f.kickRun()
	}
}

// signal makes Drained check again. The mutex is held.
func (f *Frontier) signal() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}
