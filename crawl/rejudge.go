package crawl

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// When rules or crawl space change, every stored URL is judged again in the
// background: this pass. URLs that wait or are in flight are left to the worker
// that takes them. How far the pass is, and by which rules, is stored, so that it
// goes on after a restart; the same URL judged twice is changed once.

const (
	// passName is the store's value that keeps the pass.
	passName = "crawl.rules"
	// passBatch is how many URLs are read, judged and changed at once.
	passBatch = 1000
	// passSave is how often it is stored how far the pass is.
	passSave = time.Second
	// passRetry is how long the pass rests after an error of the store.
	passRetry = 5 * time.Second
	// passWait is how long the pass rests at its end before it looks again whether
	// pages are in flight that began under other rules.
	passWait = 100 * time.Millisecond
)

// rejudge runs passes until ctx ends.
func (c *Crawl) rejudge(ctx context.Context) error {
	for {
		p := c.judge.current.Load()
		key, due := c.pass.due(p)
		var pause time.Duration
		switch {
		case !due:
		case key == endKey() && c.judge.superseded():
			pause = passWait
		default:
			began := time.Now()
			err := c.judgeBatch(ctx, p, key)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && unrecoverable(err):
				return err
			case err != nil:
				c.log.Error("stored URLs cannot be judged by the new rules", "pause", passRetry, "error", err)
				pause = passRetry
			case c.frontier.Snapshot().InFlight > 0:
				pause = time.Since(began) // half of the time is the crawl's
			}
		}
		if err := c.awaitPass(ctx, due, pause); err != nil {
			return nil //nolint:nilerr // the end of ctx is the end
		}
	}
}

// awaitPass waits for a pause, or, where nothing is due, for the next pass.
func (c *Crawl) awaitPass(ctx context.Context, due bool, pause time.Duration) error {
	if due && pause == 0 {
		return ctx.Err()
	}
	var over <-chan time.Time
	if due {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.pass.kick:
	case <-over:
	}
	return nil
}

// endKey is where the pass waits for the pages that began under other rules.
func endKey() weburl.Key { return weburl.Key(bytes.Repeat([]byte{0xff}, len(weburl.Key{}))) }

// errBatchFull ends the reading of a batch.
var errBatchFull = errors.New("the batch is full")

// judgeBatch judges the URLs from a key on.
func (c *Crawl) judgeBatch(ctx context.Context, p *policy, from weburl.Key) error {
	// A page that began under other rules may still be stored after its key was
	// passed. It is judged then, but a crash before that would lose it: only what
	// is passed when no such page is left counts after a crash.
	firm := !c.judge.superseded()
	opinions := map[weburl.Key]opinion{}
	var n passCounts
	next, last := from, true
	err := c.store.Inspect(ctx, scheduler.Filter{From: from}, func(k weburl.Key, r scheduler.Record) error {
		if n.Judged == passBatch {
			next, last = k, false
			return errBatchFull
		}
		n.Judged++
		if r.State == scheduler.Waiting {
			return nil
		}
		u, ok := weburl.FromCanonical(r.URL)
		if !ok {
			return nil // the frontier ends it when it is taken
		}
		if o := p.opine(u, &r); o.effect(&r) != unaffected {
			o.explain()
			opinions[k] = o
		}
		return nil
	})
	if err != nil && !errors.Is(err, errBatchFull) {
		return err
	}
	if err := c.apply(ctx, opinions, &n); err != nil {
		return err
	}
	if last && !firm {
		next = endKey()
	}
	return c.pass.advance(ctx, p, next, last, firm, n)
}

// apply changes the URLs that opinions say something of.
func (c *Crawl) apply(ctx context.Context, opinions map[weburl.Key]opinion, n *passCounts) error {
	if len(opinions) == 0 {
		return nil
	}
	var renamed []scheduler.Link
	keys := make([]weburl.Key, 0, len(opinions))
	for k, o := range opinions {
		keys = append(keys, k)
		if !o.rewritten {
			continue
		}
		if l, _, ok := o.policy.link(crawlspace.Link{URL: o.url, Depth: o.depth}); ok {
			renamed = append(renamed, l)
		}
	}
	if len(renamed) > 0 {
		if _, err := c.frontier.Add(ctx, renamed, false); err != nil {
			return err
		}
	}
	var done passCounts
	// Not cancelled half-way: the store calls the function until it returns.
	_, err := c.frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
		o := opinions[k]
		done.count(o.effect(&r))
		return o.change(&r)
	})
	if err == nil {
		n.add(done)
	}
	return err
}

// judgeAgain judges the URL of a page that ended, if other rules than those that
// it began under have come into force. Until it returns, the page must count as
// in flight.
func (c *Crawl) judgeAgain(ctx context.Context, began *policy, key weburl.Key) error {
	for done := began; ; {
		p := c.judge.current.Load()
		if p.fingerprint == done.fingerprint {
			return nil
		}
		r, err := c.store.Lookup(ctx, key)
		if errors.Is(err, scheduler.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if u, ok := weburl.FromCanonical(r.URL); ok {
			o := p.opine(u, &r)
			o.explain()
			if err := c.apply(ctx, map[weburl.Key]opinion{key: o}, &passCounts{}); err != nil {
				return err
			}
		}
		done = p
	}
}

// passAgain begins the pass anew, because a URL could not be judged.
func (c *Crawl) passAgain(ctx context.Context) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	defer c.pass.wake()
	return c.pass.begin(ctx, c.judge.current.Load())
}

// passed waits until no pass is under way.
func (c *Crawl) passed(ctx context.Context) error {
	_, done := c.pass.status()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
