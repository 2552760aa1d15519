package scheduler

import (
	"context"
)

// Ready blocks until a URL may be fetched, though another caller may take it first. It returns the errors of Next. A
// caller that does not call TryNext afterwards must call PassOn.
func (f *Frontier) Ready(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			f.PassOn()
			return err
		}
		w, err := f.readiness()
		if w == nil {
			return err
		}
		f.await(ctx, w)
	}
}

// readiness returns a channel to wait on, nil if work is ready.
func (f *Frontier) readiness() (chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.stopped:
		return nil, ErrStopped
	case f.stride.sum(f.pickable()) > 0:
		return nil, nil
	}
	w := make(chan struct{}, 1)
	f.waiters = append(f.waiters, w)
	return w, nil
}

// TryNext is Next without waiting: it returns nil and no error where Next would block.
func (f *Frontier) TryNext(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// PassOn wakes another caller of Ready or Next in place of this one.
func (f *Frontier) PassOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake()
}

// Alive blocks until Run completes another round, or ctx ends, and returns ctx's error. It ignores ctx while it waits
// for the Frontier's mutex: a Frontier that hangs is not alive.
func (f *Frontier) Alive(ctx context.Context) error {
	f.mu.Lock()
	if f.round == nil {
		f.round = make(chan struct{})
	}
	round := f.round
	f.mu.Unlock()
	f.kickRun()
	select {
	case <-round:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// completeRound wakes the callers of Alive.
func (f *Frontier) completeRound() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.round != nil {
		close(f.round)
		f.round = nil
	}
}

// Pause stops handing out URLs until Resume: every Next blocks. Leases are ended as before.
func (f *Frontier) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.paused {
		f.paused, f.pausedAt = true, f.now()
	}
}

// Resume ends a Pause.
func (f *Frontier) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused {
		f.paused = false
		f.pausedFor += f.now() - f.pausedAt
	}
	f.wake()
}

// Active returns how long the frontier has been handing out URLs: its time, without the pauses.
func (f *Frontier) Active() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.paused {
		now = f.pausedAt
	}
	return now - f.pausedFor
}

// Paused reports whether Pause is in effect.
func (f *Frontier) Paused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}
