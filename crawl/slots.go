package crawl

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Workers of all Crawls take and give back slots; the mutex of Slots guards them and the
// queues of all shares.

// Slots limit how many workers of several Crawls work at the same time. A worker acquires one when a URL is ready and
// before it leases the URL, so idle workers hold neither slots nor leases. A free slot goes to the waiting Crawl with
// the fewest slots, and among equals to the one that has waited longest, so none starves and no slot is idle.
type Slots struct {
	mu     sync.Mutex
	free   int
	order  uint64
	shares []*share
}

// share is one Crawl's part in Slots.
type share struct {
	slots *Slots
	used  int
	queue []slotWaiter // in order
}

type slotWaiter struct {
	order uint64
	given chan struct{} // closed when it has a slot
}

// NewSlots returns n slots, at least 1.
func NewSlots(n int) *Slots { return &Slots{free: max(n, 1)} }

// ShareWorkers makes the Crawl's workers take slots. It is called before Run.
func (c *Crawl) ShareWorkers(s *Slots) { c.gates.share = s.share() }

func (s *Slots) share() *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := &share{slots: s}
	s.shares = append(s.shares, sh)
	return sh
}

// take blocks until the Crawl gets a slot or ctx ends, in which case it returns ctx's error.
func (sh *share) take(ctx context.Context) error {
	s := sh.slots
	s.mu.Lock()
	if s.free > 0 { // then no worker waits
		s.free--
		sh.used++
		s.mu.Unlock()
		return nil
	}
	s.order++
	w := slotWaiter{order: s.order, given: make(chan struct{})}
	sh.queue = append(sh.queue, w)
	s.mu.Unlock()
	select {
	case <-w.given:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.IndexFunc(sh.queue, func(o slotWaiter) bool { return o.order == w.order })
	if i >= 0 {
		sh.queue = slices.Delete(sh.queue, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it was given one just now
		sh.back()
	}
	return ctx.Err()
}

// back returns a slot, to a waiting worker if there is one.
func (sh *share) back() {
	s := sh.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.used--
	var next *share
	for _, o := range s.shares {
		if len(o.queue) > 0 && (next == nil || o.used < next.used || o.used == next.used && o.queue[0].order < next.queue[0].order) {
			next = o
		}
	}
	if next == nil {
		s.free++
		return
	}
	next.used++
	close(next.queue[0].given)
	next.queue = next.queue[1:]
}

// waits reports whether workers of the Crawl wait for a slot.
func (sh *share) waits() bool {
	if sh == nil {
		return false
	}
	sh.slots.mu.Lock()
	defer sh.slots.mu.Unlock()
	return len(sh.queue) > 0
}

// next returns a lease, and the function to call when the worker is done with it.
func (c *Crawl) next(ctx context.Context) (lease *scheduler.Lease, done func(), err error) {
	lease, done, err = c.nextShared(ctx)
	c.meter.Taken.Count(lease)
	return lease, done, err
}

func (c *Crawl) nextShared(ctx context.Context) (lease *scheduler.Lease, done func(), err error) {
	if c.gates.share == nil {
		lease, err = c.frontier.Next(ctx)
		return lease, func() {}, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	for {
		if err := c.frontier.Ready(ctx); err != nil {
			return nil, nil, err
		}
		if err := c.gates.share.take(waiting); err != nil {
			c.frontier.PassOn()
			if ctx.Err() == nil {
				err = scheduler.ErrStopped
			}
			return nil, nil, errors.Join(err, ctx.Err())
		}
		lease, err := c.frontier.TryNext(ctx)
		if lease != nil {
			return lease, c.gates.share.back, nil
		}
		c.gates.share.back()
		if err != nil {
			return nil, nil, err
		}
	}
}
