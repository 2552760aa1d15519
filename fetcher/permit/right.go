package permit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The mutex of a Right guards all its fields except clock. The goroutine that beats, Watch and the callers of May and
// Acting take it.

// ErrPaused is the cause of contexts that end because no beat was confirmed in time. The next confirmed beat restores
// the right, unless Revoke has ended it.
var ErrPaused = errors.New("no heartbeat was confirmed in time")

// Lasts is the time for which a process may act after it sent a beat that was confirmed. Another process may take its
// place only after it saw no new beat for TakenAfter, counted from the end of the read that saw the last one. A beat is
// sent before it is stored, and stored before that read ends, so the right is over at least TakenAfter - Lasts before
// another process acts, as long as no two clocks differ in speed by more than TakenAfter / Lasts.
const (
	Lasts      = 3500 * time.Millisecond
	TakenAfter = 5 * time.Second
)

// Right is the Permit of a process that shares its work with others: it may act for Lasts after it sent a beat that was
// confirmed. Effects outside of the store, such as a request to a site, cannot be refused afterwards, so the right ends
// by the process's own clock.
type Right struct {
	clock Clock

	mu      sync.Mutex // guards the fields below
	until   time.Duration
	lost    error                   // set once
	stretch context.Context         // ends when the right does, or pauses
	end     context.CancelCauseFunc // of stretch
	next    context.Context         // ends at the next change
	tell    context.CancelFunc      // of next
}

var _ Permit = (*Right)(nil)

// NewRight returns the right from a confirmed beat that was sent at a time of the clock.
func NewRight(c Clock, sent time.Duration) *Right {
	r := &Right{clock: c, until: sent + Lasts}
	r.stretch, r.end = context.WithCancelCause(context.Background())
	r.next, r.tell = context.WithCancel(context.Background())
	return r
}

// May implements Permit. It ends the stretch if its time is over: a process that was stopped may call it before its
// timers, and so before Watch, have woken up.
func (r *Right) May() bool {
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

// Lost returns why the right was lost, nil if it was not.
func (r *Right) Lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Confirmed records a confirmed beat that was sent at a time of the clock. An expired stretch goes on: the beat proves
// that no other process took this one's place.
func (r *Right) Confirmed(sent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return
	}
	r.until = max(r.until, sent+Lasts)
	if r.stretch.Err() != nil && r.clock.Now() < r.until {
		r.stretch, r.end = context.WithCancelCause(context.Background())
	}
	r.change()
}

// Revoke ends the right permanently. why becomes the cause of the contexts that end.
func (r *Right) Revoke(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = why
		r.end(why)
		r.change()
	}
}

func (r *Right) change() {
	r.tell()
	r.next, r.tell = context.WithCancel(context.Background())
}

// Watch ends stretches when their time is over. It returns why the right was lost, or the error of ctx if that ends
// first.
func (r *Right) Watch(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.change()
	})()
	for ctx.Err() == nil {
		left, next, why := r.look()
		if why != nil {
			return why
		}
		_ = r.clock.Sleep(next, left) // the loop checks again in any case
	}
	return ctx.Err()
}

func (r *Right) look() (left time.Duration, next context.Context, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left = r.until - r.clock.Now(); left <= 0 {
		r.end(ErrPaused)
		left = time.Hour // the next change wakes
	}
	return left, r.next, r.lost
}

// Acting implements Permit: it waits until the right holds, and returns a ctx that also ends when the right does.
func (r *Right) Acting(ctx context.Context) (context.Context, context.CancelFunc, error) {
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
