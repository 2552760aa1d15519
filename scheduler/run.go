package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// dueBatch is how many due URLs are moved at once.
	dueBatch = 1000
	// gatesName is the store's value that keeps, from one run to the next, the
	// gates that no completion stored.
	gatesName = "scheduler.gates"
)

// gate is a host's state in gatesName.
type gate struct {
	Host weburl.HostKey
	HostState
}

// Run reads where work waits and then opens gates and moves due URLs until ctx
// ends, which is no error. End it after the last lease was ended: what it stores
// at its end keeps the next run polite.
func (f *Frontier) Run(ctx context.Context) error {
	// Though ctx may have ended already, gates are loaded: saveGates replaces them.
	if err := f.loadGates(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("reading which hosts must rest: %w", err)
	}
	if err := f.readPlaces(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("reading what waits to be crawled: %w", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return f.saveGates(context.WithoutCancel(ctx))
		case <-f.kick:
		case <-timer.C:
		}
		f.openGates()
		f.moveDue(ctx)
		if at := f.nextWake(); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
	}
}

// loadGates closes the hosts that the last run closed without storing it, and
// all of them if it did not end cleanly.
func (f *Frontier) loadGates(ctx context.Context) error {
	stored, err := f.store.Value(ctx, gatesName)
	if err != nil {
		return err
	}
	var gates []gate
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &gates); err != nil {
			return fmt.Errorf("the stored %s: %w", gatesName, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.store.ClosedCleanly() {
		f.notBefore = time.Now().Add(f.set.Throttle)
	}
	for _, h := range f.hosts { // that Add brought before
		h.closeUntil(f.notBefore)
		f.place(h, false)
	}
	for _, g := range gates {
		h := f.entry(g.Host, g.Origin)
		h.unsaved, h.backoff, h.errors = true, g.Backoff, g.Errors
		h.closeUntil(g.NextAt)
		f.place(h, false)
	}
	f.gated = true
	f.wake()
	f.dueAt = time.Now()
	return nil
}

// readPlaces announces all that waits.
func (f *Frontier) readPlaces(ctx context.Context) error {
	return f.store.Places(ctx, func(p Place, _ uint64) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.announce([]Place{p})
		return nil
	})
}

// saveGates stores the gates that the next run would not know of.
func (f *Frontier) saveGates(ctx context.Context) error {
	gates, now := []gate{}, time.Now()
	f.mu.Lock()
	for _, h := range f.hosts {
		if h.unsaved && h.nextAt.After(now) {
			gates = append(gates, gate{h.key, *h.state()})
		}
	}
	f.mu.Unlock()
	b, err := json.Marshal(gates)
	if err != nil {
		return err
	}
	if err := f.store.SetValue(ctx, gatesName, b); err != nil {
		return fmt.Errorf("storing which hosts must rest: %w", err)
	}
	return nil
}

// openGates makes those hosts ready whose time has come.
func (f *Frontier) openGates() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for now := time.Now(); len(f.closed) > 0 && !now.Before(f.closed[0].nextAt); {
		f.place(f.closed[0], false)
	}
}

// moveDue moves the timed URLs whose time has come. After an error it looks for
// work everywhere: some may have been moved.
func (f *Frontier) moveDue(ctx context.Context) {
	f.mu.Lock()
	now := time.Now()
	due, refresh := !f.dueAt.IsZero() && !now.Before(f.dueAt), Index
	if f.set.SmartRefresh {
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
				f.log.Error("due URLs cannot be moved", "pause", errorPause, "error", err)
				if err := f.readPlaces(ctx); err != nil {
					f.log.Error("places of work cannot be read", "error", err)
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

// nextWake is when Run must look again, zero if a kick will tell.
func (f *Frontier) nextWake() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.dueAt
	if len(f.closed) > 0 && (at.IsZero() || f.closed[0].nextAt.Before(at)) {
		at = f.closed[0].nextAt
	}
	f.wakeAt = at
	return at
}

// Drained blocks until no URL waits and none is in flight: sources of weight 0 do
// not count, nor do retries and refreshes that lie in the future. It gives ctx's
// error or the store's.
func (f *Frontier) Drained(ctx context.Context) error {
	for {
		f.mu.Lock()
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed, set := f.changed, f.set
		due := f.moving || !f.dueAt.IsZero() && !time.Now().Before(f.dueAt)
		quiet := f.started && f.inFlight == 0 && f.busy == 0 && !due
		f.mu.Unlock()
		if quiet {
			c, err := f.store.Counts(ctx)
			if err != nil {
				return err
			}
			if pending(c, set) == 0 {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pending counts what waits in sources that are not switched off.
func pending(c Counts, s *Settings) uint64 {
	var n uint64
	for i, w := range s.Weights {
		if w > 0 {
			n += c.Pending[i]
		}
	}
	return n
}
