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

// The Frontier's state is guarded by its mutex alone, whichever file a method stands in; busy is
// counted without it. Any worker's goroutine takes it for a few microseconds; it is not held while the store
// is asked. Run is one goroutine, which queues what is due.

// ErrStopped is what Next gives after Stop.
var ErrStopped = errors.New("the frontier is stopped")

// errorPause is how long work rests after the store failed on it.
const errorPause = 5 * time.Second

// Lease is a URL that may be fetched now. Its holder ends it with exactly one of
// Complete, GiveBack and Wait, and must not change Record.
type Lease struct {
	Place  Place
	Key    weburl.Key
	Seq    uint64
	URL    weburl.URL
	Record Record

	asOf     uint64 // the store's mark of Record
	queue    *queue
	set      *Settings // when it was taken
	whole    int       // its host's, as in live; -1 if it is not known
	throttle *Throttle // nil if none matches
	ready    uint8     // the sources that were ready when it was picked
	// The rest is guarded by the Frontier's mutex.
	ended  bool
	check  bool // it may have left its queue
	slot   int  // among those of its host that are in flight
	became Became
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

	epoch time.Time // the begin of the Frontier's time
	// jitter gives 0 up to 1, shuffle is that of math/rand: tests fix both.
	jitter  func() float64
	shuffle func(n int, swap func(i, j int))

	owner DeletionOwner // of the pending losses
	busy  atomic.Int64  // callers of Busy that are not done
	// noLists says that the store has no noted lists: see ReadLists.
	noLists atomic.Bool

	mu      sync.Mutex // guards all below
	set     *Settings  // replaced, never changed
	stride  stride
	ill     illHosts
	texts   texts // of hosts whose documents changed
	waits   waitSamples
	stopped bool

	// Hosts that have work, or of which something is to be remembered.
	hosts     map[weburl.HostKey]*host
	silent    map[weburl.HostKey]struct{} // hosts that failed silentAfter times in a row
	addresses map[netip.Addr]*address
	lists     [Sources]list
	ready     uint8 // bit s: lists[s] is not empty

	own      share          // all hosts, unless the store is Parted
	parted   Parted         // the store, if it has parts
	shares   map[int]*share // those of them that were adopted
	adopting int            // those whose places are being read
	unplaced bool           // a host received work, but its part is unknown

	paused    bool
	pausedAt  int64 // in the Frontier's time, as is pausedFor
	pausedFor int64 // sum of the pauses that are over

	waiters []chan struct{} // blocked callers of Next, each with capacity 1
	changed chan struct{}   // closed when Drained must look again; nil if nobody waits
	round   chan struct{}   // closed when Run has gone round; nil if nobody waits

	buffered, inFlight, working int
	restingFor                  [closings]int // resting hosts, by why

	closed          closed
	gated           bool      // Run has loaded the gates
	wakeAt          int64     // until when Run sleeps, 0 if until it is kicked; in the Frontier's time
	started, moving bool      // Run has read what waits; is moving what is due
	dueAt           time.Time // when the first timed URL is due, zero if none is known
}

// New makes a Frontier on a store. It reads nothing before Run.
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

// Next blocks until a URL may be fetched. It returns ErrStopped after Stop, ctx's
// error when that ends, and the store's when it is closed or damaged; other
// errors of the store are logged and the host in question rests for a while.
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

// readable parses the URL. One that does not parse can only come from a damaged record
// and is ended as a permanent error.
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

// pick is what choose found: a lease, a queue that must be read first, or
// nothing, with a channel to wait on.
type pick struct {
	lease *Lease
	queue *queue
	ready uint8 // the sources that were ready
	wait  chan struct{}
	none  bool // nothing, and the caller does not wait
}

// choose reserves a connection of the host that is to be visited next.
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

// isBlocked reports whether a queue's first URL is in flight from another queue of
// its host, where the operator took it from to put it into this one. It is not
// fetched twice at once.
func (f *Frontier) isBlocked(q *queue) bool {
	l := q.first()
	q.blocked = l != nil && q.host.flies(l.Key)
	return q.blocked
}

// pickable are the sources that hold ready work: none before Run knows which
// hosts must rest.
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

// wake signals one waiting Next if there is something to pick. The one that is woken
// wakes the next.
func (f *Frontier) wake() {
	if len(f.waiters) == 0 || !f.stopped && f.stride.sum(f.pickable()) == 0 {
		return
	}
	f.waiters[0] <- struct{}{}
	f.waiters = f.waiters[1:]
}

// Stop ends the giving out of URLs: every Next, waiting or later, returns
// ErrStopped. Leases are ended as before.
func (f *Frontier) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for len(f.waiters) > 0 {
		f.wake()
	}
}

// Apply replaces the settings. Gates that are closed stay so, except those that
// the hours of a throttle closed.
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

// wakeBy has Run look again at an instant. The mutex is held.
func (f *Frontier) wakeBy(at int64) {
	if f.wakeAt == 0 || at < f.wakeAt {
		f.kickRun()
	}
}

// signal makes Drained look again. The mutex is held.
func (f *Frontier) signal() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}
