package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/scheduler"
)

// work takes lease after lease until the frontier stops, the tickets are used up, or ctx ends. Results come later,
// because pages are handed over to the store.
func (c *Crawl) work(ctx context.Context, tickets *tickets, ended func(*scheduler.Lease, error)) error {
	slot := c.meter.Activities.Begin()
	defer slot.Close()
	slot.Now(meter.WaitsForOutbox)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	for {
		if !tickets.take() {
			return nil
		}
		if err := c.awaitOutbox(ctx, tickets.patience); err != nil {
			return err
		}
		slot.Now(meter.WaitsForStore)
		c.visitor.AwaitRoom()
		slot.Now(meter.WaitsForRate)
		token, err := c.gates.limits.begin(waiting)
		if err != nil {
			return ignoreStop(errors.Join(ctx.Err(), c.stopping.Err()))
		}
		if err := permit.Await(ctx, c.gates.permit); err != nil {
			return err
		}
		slot.Now(meter.WaitsForURL)
		lease, done, err := c.next(ctx)
		c.gates.limits.got(&token)
		if errors.Is(err, scheduler.ErrStopped) {
			return nil
		}
		if err != nil {
			return err
		}
		slot.Begin()
		asked := c.page(ctx, lease, slot, func(err error) { ended(lease, err) })
		slot.End(&c.meter.Latencies, asked == visit.AskedPage)
		done()
		if asked < visit.AskedPage {
			tickets.back()
		}
		if asked == visit.AskedNothing {
			c.gates.limits.back(token)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// ended receives the result of a page. After an error the frontier offers its URL again; it logs faults of the store,
// and fail ends the crawl.
func (c *Crawl) ended(ctx context.Context, lease *scheduler.Lease, err error, fail context.CancelCauseFunc) {
	c.rounds.visited(lease.Key)
	switch {
	case err == nil || ctx.Err() != nil:
	case unrecoverable(err):
		fail(err)
	default:
		c.log.Error("page not completed", "url", lease.URL.String(), "error", err)
	}
}

// unrecoverable errors of the store end the crawl: fetching is useless if nothing can be stored, and the message must
// be noticed.
func unrecoverable(err error) bool {
	return errors.Is(err, scheduler.ErrFull) || errors.Is(err, scheduler.ErrDamaged) || errors.Is(err, scheduler.ErrClosed)
}

// outboxPause is the interval at which a waiting worker checks whether the outbox has room.
const outboxPause = 200 * time.Millisecond

// outboxIsFull uses the limit in force, because a reload can raise it.
func (c *Crawl) outboxIsFull(bytes uint64) bool {
	limit := c.policy().Settings.OutboxMaxBytes
	return limit > 0 && bytes >= uint64(limit)
}

// awaitOutbox waits while the outbox is full, so that an indexer that is down does not fill the disk. It returns
// ErrIndexerDown if the outbox does not shrink within patience, unless that is 0.
func (c *Crawl) awaitOutbox(ctx context.Context, patience time.Duration) error {
	least := c.store.OutboxBytes()
	if !c.outboxIsFull(least) {
		return nil
	}
	if c.gates.outboxFull.Add(1) == 1 {
		c.log.Warn("the outbox is full; waiting for the indexer", "bytes", least, "outboxMaxBytes", c.policy().Settings.OutboxMaxBytes)
	}
	defer c.gates.outboxFull.Add(-1)
	defer c.relay.Flush()()
	for since := time.Now(); ; {
		held := c.store.OutboxBytes()
		switch {
		case !c.outboxIsFull(held):
			return nil
		case held < least:
			least, since = held, time.Now()
		case patience > 0 && time.Since(since) >= patience:
			return indexerDown(patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.stopping.Done():
			return nil
		case <-time.After(outboxPause):
		}
	}
}

// finishRounds limits how often URLs are requested again at the end of a crawl with --once: for a host that is ill,
// well again, and has a deletion to confirm.
const finishRounds = 8

// drained waits until all stored URLs have been judged and there is nothing left to crawl. finish then decides about
// resting deletions, for which some URLs are requested again. A deleted document frees its copies, one of which
// replaces it: drained waits for that too.
func (c *Crawl) drained(ctx context.Context, finish bool) error {
	for round := 0; ; {
		if err := c.reviewer.Await(ctx); err != nil {
			return err
		}
		if err := c.frontier.Drained(ctx); err != nil {
			return err
		}
		// The last page may have moved a site.
		if !c.reviewer.Progress().Done {
			continue
		}
		if again, err := c.copies.Recheck(ctx); err != nil || again > 0 && round < finishRounds {
			if round++; err != nil {
				return err
			}
			continue
		}
		if !finish {
			return nil
		}
		asked, err := c.deletions.Finish(ctx)
		if err != nil {
			return err
		}
		if idle, err := c.frontier.Idle(ctx); err != nil || asked == 0 && idle {
			return err
		}
		round++
		finish = round < finishRounds
	}
}

// indexerDown is ErrIndexerDown with its consequences.
func indexerDown(after time.Duration) error {
	return fmt.Errorf("%w within %s: unsent documents stay in the outbox for the next run", ErrIndexerDown, after)
}

// drainOutbox waits until every target has stored the whole outbox safely.
func (c *Crawl) drainOutbox(ctx context.Context, once Once) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if once.DrainTimeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, once.DrainTimeout)
		defer cancel()
	}
	defer context.AfterFunc(c.stopping, cancel)()
	err := c.relay.Drained(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		return indexerDown(once.DrainTimeout)
	}
	return err
}

// ignoreStop returns nil if a wait ended because it was stopped.
func ignoreStop(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, scheduler.ErrStopped) {
		return nil
	}
	return err
}
