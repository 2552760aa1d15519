package cluster

// right.go: the right to act. right.mu guards all its fields but clock; the node's beats, the
// watch and whoever acts take it.

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Reasons for which an owner stops acting; they are the causes of contexts.
var (
	// ErrFenced says that the claim is over: another node has the partition, or may have it.
	ErrFenced = errors.New("the claim on the partition is over")
	// ErrPaused says that no beat was confirmed in time. It ends with the next one, unless
	// somebody else has claimed meanwhile.
	ErrPaused = errors.New("no sign of life was confirmed in time")
)

// right is how long an owner may ask sites and indexers for anything. The log needs no such
// right: it compares epochs. What lies outside of the log cannot, so this ends by the node's own
// clock before anybody else can claim.
type right struct {
	clock Clock

	mu      sync.Mutex
	until   time.Duration
	lost    error                   // set once
	stretch context.Context         // ends when the right does, or pauses
	end     context.CancelCauseFunc // of stretch
	next    context.Context         // ends at the next change
	tell    context.CancelFunc      // of next
}

func newRight(c Clock, until time.Duration) *right {
	r := &right{clock: c, until: until}
	r.stretch, r.end = context.WithCancelCause(context.Background())
	r.next, r.tell = context.WithCancel(context.Background())
	return r
}

// holds ends the stretch if its time is over: a process that was stopped may ask before its
// timers, and so before the watch, have woken up.
func (r *right) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return false
	}
	if r.clock.Now() < r.until {
		return true
	}
	r.end(ErrPaused)
	return false
}

// over is why the right was lost, nil if it was not.
func (r *right) over() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// extend takes a beat that was confirmed and gives the right until then. A stretch whose
// end is late goes on: the beat proves that nobody had claimed.
func (r *right) extend(until time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return
	}
	r.until = max(r.until, until)
	if r.stretch.Err() != nil && r.clock.Now() < r.until {
		r.stretch, r.end = context.WithCancelCause(context.Background())
	}
	r.change()
}

// lose ends the right for good.
func (r *right) lose(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = why
		r.end(why)
		r.change()
	}
}

func (r *right) change() {
	r.tell()
	r.next, r.tell = context.WithCancel(context.Background())
}

// watch ends stretches when their time has come. It returns when the right is lost, and
// calls lost then, or when ctx ends.
func (r *right) watch(ctx context.Context, lost func(error)) {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.change()
	})()
	for ctx.Err() == nil {
		left, next, why := r.look()
		if why != nil {
			lost(why)
			return
		}
		_ = r.clock.Sleep(next, left) // the loop looks again, whatever ended it
	}
}

func (r *right) look() (left time.Duration, next context.Context, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left = r.until - r.clock.Now(); left <= 0 {
		r.end(ErrPaused)
		left = time.Hour // the next change wakes
	}
	return left, r.next, r.lost
}

// acting waits until the right holds, and returns ctx, ended besides when the right ends.
func (r *right) acting(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		r.mu.Lock()
		why, held, stretch, next := r.lost, r.clock.Now() < r.until, r.stretch, r.next
		r.mu.Unlock()
		switch {
		case why != nil:
			return nil, nil, why
		case held && stretch.Err() == nil:
			ctx, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(stretch, func() { cancel(context.Cause(stretch)) })
			return ctx, func() { stop(); cancel(nil) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-next.Done():
		}
	}
}
