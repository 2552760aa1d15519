package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// dueBatch is the most due URLs that are moved at once.
	dueBatch = 1000
	// lookAgain is the longest that Run sleeps while something is due later: the clock may be set.
	lookAgain = time.Minute
)

// Run reads the places with work, then opens gates and moves due URLs until ctx ends, which is not an error. End it
// after the last lease has ended, because the state that it stores then keeps the next run polite.
func (f *Frontier) Run(ctx context.Context) error {
	// Load everything even if ctx has already ended, since save replaces it.
	if err := f.load(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := f.readPlaces(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("reading the URLs to be crawled: %w", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return f.save(context.WithoutCancel(ctx))
		case <-f.kick:
		case <-timer.C:
		}
		f.openGates()
		f.rereadPlaces(ctx)
		f.moveDue(ctx)
		f.completeRound()
		if d, ok := f.sleep(); ok {
			timer.Reset(d)
		}
	}
}

// readPlaces announces all stored work.
func (f *Frontier) readPlaces(ctx context.Context) error {
	return f.store.Places(ctx, func(p Place, _ uint64) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.announce([]Place{p})
		return nil
	})
}

// moveDue moves the timed URLs whose time has come. After an error it looks for work everywhere, since some may have
// been moved.
func (f *Frontier) moveDue(ctx context.Context) {
	f.mu.Lock()
	now := time.Now()
	due, refresh := !f.dueAt.IsZero() && !now.Before(f.dueAt), Index
	if f.set.SmartRefresh || len(f.set.Sections) > 0 { // a section that is always due must not starve new links
		refresh = Refresh
	}
	if due {
		f.dueAt, f.moving = time.Time{}, true
	}
	f.mu.Unlock()
	for due {
		places, next, err := f.store.Due(ctx, now, refresh, dueBatch)
		if err != nil {
			next = now.Add(errorPause)
			if ctx.Err() == nil {
				f.log.Error("cannot move due URLs", "pause", errorPause, "error", err)
				if err := f.readPlaces(ctx); err != nil {
					f.log.Error("cannot read the hosts with pending work", "error", err)
				}
			}
		}
		f.mu.Lock()
		f.announce(places)
		if due = err == nil && !next.IsZero() && !next.After(now); !due {
			f.dueBy(next)
			f.moving, f.started = false, true
			f.signal()
		}
		f.mu.Unlock()
	}
}

// sleep returns the time that Run may sleep, or false if it can wait for a kick.
func (f *Frontier) sleep() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.own.notBefore
	if len(f.closed) > 0 && (at == 0 || f.closed[0].gate < at) {
		at = f.closed[0].gate
	}
	if !f.dueAt.IsZero() {
		if due := max(f.instant(f.dueAt), 1); at == 0 || due < at {
			at = due
		}
	}
	if f.wakeAt = at; at == 0 {
		return 0, false
	}
	return min(time.Duration(at-f.now()), lookAgain), true
}

// load reads the state that the last run saved, before the first pick.
func (f *Frontier) load(ctx context.Context) error {
	if f.parted != nil {
		f.begun()
		return nil
	}
	if err := f.loadGates(ctx); err != nil {
		return fmt.Errorf("reading the resting hosts: %w", err)
	}
	return nil
}

// save stores the state that the next run would otherwise lose.
func (f *Frontier) save(ctx context.Context) error {
	if f.parted != nil {
		return f.saveShares(ctx)
	}
	return f.saveGates(ctx, &f.own, PartValue(0, restsName))
}

// Drained blocks until no URL waits and none is in flight. It ignores sources of weight 0, retries and refreshes that
// are due later, and the URLs of hosts that failed too often in a row or request a pause of more than leftAfter. It
// returns ctx's error or the store's.
func (f *Frontier) Drained(ctx context.Context) error {
	for {
		f.mu.Lock()
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		idle, silent, err := f.rests(ctx)
		if err != nil {
			return err
		}
		if idle {
			if silent.hosts > 0 {
				f.log.Warn("hosts do not respond, or request a long pause; their URLs wait for another run", "hosts", silent.hosts, "urls", silent.urls)
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Idle reports whether Drained would return at once.
func (f *Frontier) Idle(ctx context.Context) (bool, error) {
	idle, _, err := f.rests(ctx)
	return idle, err
}

// silence counts the work of hosts that do not respond.
type silence struct {
	hosts int
	urls  uint64
}

// rests reports whether no work is left except that of hosts that do not respond.
func (f *Frontier) rests(ctx context.Context) (bool, silence, error) {
	f.mu.Lock()
	set := f.set
	due := f.moving || !f.dueAt.IsZero() && !time.Now().Before(f.dueAt)
	quiet := f.started && f.adopting == 0 && !f.unplaced && f.inFlight == 0 && f.busy.Load() == 0 && !due
	f.mu.Unlock()
	if !quiet {
		return false, silence{}, nil
	}
	c, err := f.store.Counts(ctx)
	if err != nil {
		return false, silence{}, err
	}
	n := pending(c, set)
	if n == 0 {
		return true, silence{}, nil
	}
	hosts, only := f.onlySilent()
	return only, silence{hosts, n}, nil
}

// Busy keeps Drained waiting until the returned function is called. It is for callers that may add URLs after their
// lease has ended. The function may be called more than once. Each page calls Busy, so the mutex is taken only for the
// last caller.
func (f *Frontier) Busy() (done func()) {
	f.busy.Add(1)
	return sync.OnceFunc(func() {
		if f.busy.Add(-1) > 0 {
			return
		}
		// Drained counts under the mutex, and has registered its channel by then if it waits.
		f.mu.Lock()
		defer f.mu.Unlock()
		f.signal()
	})
}

// leftAfter is the longest pause that Drained waits for, if a server asks for it by Retry-After.
const leftAfter = time.Minute

// onlySilent reports whether all remaining work is that of hosts that do not respond, or that ask for a long pause, and
// how many such hosts there are.
func (f *Frontier) onlySilent() (silent int, only bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.silent) == 0 && f.restingFor[ByRetryAfter] == 0 {
		return 0, false
	}
	longest := f.now() + int64(leftAfter)
	for k, h := range f.hosts {
		switch _, is := f.silent[k]; {
		case !h.workingIn(&f.set.Weights):
		case is, h.why == ByRetryAfter && h.gate > longest:
			silent++
		default:
			return silent, false
		}
	}
	return silent, silent > 0
}

// pending counts the URLs that wait in sources with a weight.
func pending(c Counts, s *Settings) uint64 {
	var n uint64
	for i, w := range s.Weights {
		if w > 0 {
			n += c.Pending[i]
		}
	}
	return n
}
