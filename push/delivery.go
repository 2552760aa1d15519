package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second
	// stopGrace bounds the last checkpoint when the relay stops.
	stopGrace = 5 * time.Second
)

// delivery serves one target. Positions are sequence numbers and cursor <= sent <= read: entries up to cursor are safe
// at the target, those up to sent were pushed (or skipped), those up to read were pushed or are in batch.
type delivery struct {
	relay  *Relay
	name   string
	target Target
	set    TargetSettings
	wake   chan struct{} // capacity 1
	times  times

	// Owned by run's goroutine.
	known              bool // cursor was read from the outbox
	cursor, sent, read uint64
	delivering
	repeat   time.Time // see Claim; zero once done
	failures int       // consecutive failures
	doubtful bool      // a checkpoint failed or pushed orders were lost, so a successful push does not prove recovery

	// Guarded by relay.mu.
	looks  uint64 // counts requests to look at the outbox
	idle   bool   // at the last of them, no order waited and all were safe
	status TargetStatus
}

// delivering contains the entries that a delivery has read or pushed, but not yet confirmed.
type delivering struct {
	batch       []Entry
	moved       map[uint64]Entry // entries of the batch before narrow turned them into deletions
	batchBytes  int
	batchSince  time.Time
	unsafe      int       // entries between cursor and sent
	unsafeSince time.Time // age of the oldest of them
	pushed      bool      // some of them reached the target
}

func newDelivery(r *Relay, name string, s TargetSettings) *delivery {
	return &delivery{
		relay: r, name: name, target: s.Target, set: s,
		wake:   make(chan struct{}, 1),
		status: TargetStatus{Name: name},
	}
}

func (d *delivery) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.step(ctx)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			// Stopping, mostly the cause of err; but a loss stays one.
			d.known = d.known && !errors.Is(err, ErrRewind)
			continue
		}
		timer := time.NewTimer(d.failed(err))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
	d.stop(ctx)
}

// step does one thing: a checkpoint, a read, a push, or waiting for more.
func (d *delivery) step(ctx context.Context) error {
	looks, draining := d.look()
	d.repeats()
	if !d.known {
		if err := d.rewind(ctx); err != nil {
			return err
		}
	}
	// After a loss every batch is made safe at once: an indexer that restarts again
	// and again must not lose all of it each time.
	if d.sent > d.cursor && (d.doubtful || d.unsafe >= d.set.CheckpointEvery || time.Since(d.unsafeSince) >= d.set.CheckpointAge) {
		return d.checkpoint(ctx)
	}
	n, err := d.fill(ctx)
	if err != nil {
		return err
	}
	if len(d.batch) > 0 {
		if d.full() || time.Since(d.batchSince) >= d.set.BatchAge || (draining && n == 0) {
			return d.push(ctx)
		}
	}
	switch {
	case n > 0:
		return nil // there may be more
	case draining && d.sent > d.cursor:
		return d.checkpoint(ctx)
	case d.read == d.cursor && d.repeat.IsZero():
		d.settle(looks)
	}
	d.wait(ctx)
	return nil
}

// look returns the number of the request to look that is being served, and whether a caller of Drained waits.
func (d *delivery) look() (looks uint64, draining bool) {
	d.relay.mu.Lock()
	defer d.relay.mu.Unlock()
	return d.looks, d.relay.draining > 0
}

// settle records that no order waits, unless another request to look came after looks.
func (d *delivery) settle(looks uint64) {
	r := d.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.idle || d.looks != looks {
		return
	}
	d.idle = true
	close(r.settled)
	r.settled = make(chan struct{})
}

func (d *delivery) full() bool {
	return len(d.batch) >= d.set.BatchCount || d.batchBytes >= d.set.BatchBytes
}

// wait blocks until there may be work.
func (d *delivery) wait(ctx context.Context) {
	due := d.repeat
	if len(d.batch) > 0 {
		due = sooner(due, d.batchSince.Add(d.set.BatchAge))
	}
	if d.sent > d.cursor {
		due = sooner(due, d.unsafeSince.Add(d.set.CheckpointAge))
	}
	var expired <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-ctx.Done():
	case <-d.wake:
	case <-expired:
	}
}

// sooner returns the earlier of two times. A zero a means no time.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// rewind restarts after the stored cursor.
func (d *delivery) rewind(ctx context.Context) error {
	cursor, err := d.relay.outbox.Cursor(ctx, d.name)
	if err != nil {
		return fmt.Errorf("reading the cursor: %w", err)
	}
	d.known = true
	d.cursor, d.sent = cursor, cursor
	d.unsafe, d.pushed = 0, false
	d.dropBatch()
	d.report(func(*TargetStatus) {})
	return nil
}

func (d *delivery) dropBatch() {
	clear(d.batch) // releases the bodies
	clear(d.moved)
	d.batch, d.batchBytes, d.read = d.batch[:0], 0, d.sent
}

// fill reads once from the outbox into the batch and returns how many it read.
func (d *delivery) fill(ctx context.Context) (int, error) {
	if d.full() {
		return 0, nil
	}
	entries, err := d.relay.outbox.Entries(ctx, d.read, d.set.BatchCount-len(d.batch), d.set.BatchBytes-d.batchBytes)
	if err != nil {
		return 0, fmt.Errorf("reading the outbox: %w", err)
	}
	for _, e := range entries {
		d.read = e.Seq
		mine, ok, err := d.narrow(e)
		if err == nil && ok && mine.Damage != "" {
			ok, err = false, d.addDead(ctx, e, e.Damage)
		}
		if err != nil {
			return 0, err
		}
		if !ok {
			if len(d.batch) == 0 {
				d.advance(1)
			}
			continue
		}
		if len(d.batch) == 0 {
			d.batchSince = time.Now()
		}
		d.batch = append(d.batch, mine)
		d.batchBytes += len(e.Body) // which is kept also where narrow made a deletion of it
	}
	return len(entries), nil
}

// narrow applies the source filter: a document of another source is deleted from this target if it was there.
func (d *delivery) narrow(e Entry) (Entry, bool, error) {
	if d.set.Source == nil || e.Op == Delete || e.Source == *d.set.Source {
		return e, true, nil
	}
	if !e.Moved {
		return e, false, nil
	}
	body, err := json.Marshal(Deletion{URL: e.URL, Reason: "rule", At: time.Now().UTC()})
	if err != nil {
		return e, false, fmt.Errorf("creating the deletion of a document that changed its source: %w", err)
	}
	if d.moved == nil {
		d.moved = map[uint64]Entry{}
	}
	d.moved[e.Seq] = e
	e.Op, e.Body, e.Damage = Delete, body, ""
	return e, true, nil
}

// advance records that n more entries, up to read, were processed but are not yet safe.
func (d *delivery) advance(n int) {
	if d.sent == d.cursor {
		d.unsafeSince = time.Now()
	}
	d.sent = d.read
	d.unsafe += n
}

func (d *delivery) push(ctx context.Context) error {
	began := time.Now()
	var refused []Refusal
	err := d.permitted(ctx, func(ctx context.Context) (err error) {
		refused, err = d.target.Push(ctx, d.batch)
		return err
	})
	d.times.pushed(ctx, began)
	if err != nil {
		return fmt.Errorf("pushing: %w", err)
	}
	for _, r := range refused {
		if err := d.refuse(ctx, r); err != nil {
			return err
		}
	}
	var adds, deletions, bytes uint64
	for _, e := range d.batch {
		switch {
		case slices.ContainsFunc(refused, func(r Refusal) bool { return r.Seq == e.Seq }):
		case e.Op == Add:
			adds++
			bytes += uint64(len(e.Body))
		default:
			deletions++
		}
	}
	d.pushed = true
	d.advance(len(d.batch))
	d.dropBatch()
	if !d.doubtful {
		d.recover()
	}
	d.report(func(s *TargetStatus) {
		s.Adds += adds
		s.Bytes += bytes
		s.Deletions += deletions
		s.Refused += uint64(len(refused))
	})
	return nil
}

// checkpoint makes the sent orders safe. It does not call the target if nothing was pushed since the last checkpoint.
func (d *delivery) checkpoint(ctx context.Context) error {
	if d.pushed {
		began := time.Now()
		err := d.permitted(ctx, func(ctx context.Context) error { return d.target.Checkpoint(ctx, d.sent) })
		d.times.madeSafe(ctx, began)
		if err != nil {
			d.doubtful = d.doubtful || !errors.Is(err, permit.ErrEnded)
			return fmt.Errorf("confirming entries up to %d: %w", d.sent, err)
		}
	}
	if d.repeat.IsZero() { // else all of it is pushed again
		if err := d.relay.outbox.Safe(ctx, d.name, d.sent); err != nil {
			d.doubtful = true
			return fmt.Errorf("storing the cursor: %w", err)
		}
	}
	d.cursor, d.unsafe, d.pushed = d.sent, 0, false
	d.doubtful = false
	d.recover()
	d.report(func(*TargetStatus) {})
	return nil
}

// stop makes a last checkpoint if the target responds soon, so that the next start does not repeat orders.
func (d *delivery) stop(ctx context.Context) {
	if d.sent == d.cursor || d.failures > 0 || !d.known {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := d.checkpoint(ctx); err != nil {
		d.relay.log.Warn("stopped before all pushed documents were safe; the next run pushes the rest again", "target", d.name, "error", err)
	}
}
