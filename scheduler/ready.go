package scheduler

import (
	"context"
)

// Ready blocks until a URL may be fetched, which another may take first. Its errors
// are those of Next. A caller that then does not call TryNext must call PassOn.
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

// readiness returns a channel to wait on, nil where there is no need to.
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

// TryNext is Next, but gives neither lease nor error where Next would wait.
func (f *Frontier) TryNext(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// PassOn lets another one that waits in Ready or Next have what the caller was woken for.
func (f *Frontier) PassOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake()
}

// Alive blocks until Run has gone round once more, or ctx ends, whose error it gives.
// It blocks without regard to ctx while the Frontier's mutex cannot be had: a
// Frontier that hangs is not alive.
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

// wentRound tells those who wait in Alive.
func (f *Frontier) wentRound() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.round != nil {
		close(f.round)
		f.round = nil
	}
}

// Pause ends the giving out of URLs until Resume: every Next blocks. Leases are
// ended as before.
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

// Active is for how long the frontier has given out URLs: its time, without the pauses.
func (f *Frontier) Active() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.paused {
		now = f.pausedAt
	}
	return now - f.pausedFor
}

// Paused reports whether URLs are not given out because of Pause.
func (f *Frontier) Paused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}
