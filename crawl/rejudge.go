package crawl

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/actionrules"
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
	passWhat = "how far the stored URLs are judged"
	// passBatch is how many URLs are read, judged and changed at once.
	passBatch = 1000
	// passPart is how many of them are worth a goroutine.
	passPart = 200
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
		p := c.policy()
		key, due := c.pass.due(p)
		var pause time.Duration
		switch {
		case !due:
		case key == endKey() && c.rules.superseded():
			pause = passWait
		default:
			began := time.Now()
			if err := c.judgeBatch(ctx, p, key); err != nil {
				if err := c.goesOn(ctx, err, "stored URLs cannot be judged by the new rules", passRetry); err != nil {
					return ignoreStop(err)
				}
				pause = passRetry
			} else if c.frontier.Snapshot().InFlight > 0 {
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

// judged is a batch of stored URLs with what a policy says of them.
type judged struct {
	policy     *policy
	from, next weburl.Key
	// last says that there are no others. firm is false if a page that began under
	// other rules was in flight.
	last, firm bool
	read       uint64
	opinions   []keyed // of URLs that change, in order of keys
}

// keyed is the opinion of one URL.
type keyed struct {
	key weburl.Key
	opinion
}

// judgeBatch judges the URLs from a key on. While it stores what changes it reads
// the next ones. It is called by one goroutine at a time.
func (c *Crawl) judgeBatch(ctx context.Context, p *policy, from weburl.Key) error {
	b := c.ahead
	c.ahead = nil
	if b == nil || b.policy != p || b.from != from {
		var err error
		if b, err = c.readAhead(ctx, p, from); err != nil {
			return err
		}
	}
	var reading errgroup.Group
	if !b.last {
		reading.Go(func() (err error) {
			c.ahead, err = c.readAhead(ctx, p, b.next)
			return err
		})
	}
	n := passCounts{Judged: b.read}
	err := c.apply(ctx, b.opinions, &n)
	_ = reading.Wait() // what failed is read again, and the error told then
	if err != nil {
		return err
	}
	next := b.next
	if b.last && !b.firm {
		next = endKey()
	}
	if err := c.pass.advance(ctx, p, next, b.last, b.firm, n); err != nil {
		return err
	}
	if s, _ := c.pass.status(); s.Done && s.by(p) {
		c.log.Info("all stored URLs are judged", "rules", s.Rules, "judged", s.Judged, "excluded", s.Excluded, "elsewhere", s.Elsewhere,
			"readmitted", s.Readmitted, "moved", s.Moved, "unindexed", s.Unindexed, "retimed", s.Retimed, "reread", s.Reread)
	}
	return nil
}

// readAhead reads and judges the URLs from a key on.
func (c *Crawl) readAhead(ctx context.Context, p *policy, from weburl.Key) (*judged, error) {
	// A page that began under other rules may still be stored after its key was
	// passed. It is judged then, but a crash before that would lose it: only what
	// is passed when no such page is left counts after a crash.
	b := &judged{policy: p, from: from, firm: !c.rules.superseded()}
	batch, next, last, err := scheduler.ReadBatch(ctx, c.store, from, passBatch, passBatch, func(r *scheduler.Record) bool {
		b.read++
		return r.State != scheduler.Waiting
	})
	if err != nil {
		return nil, err
	}
	b.next, b.last = next, last
	b.opinions = p.judgeAll(batch, c.pass.again(p))
	return b, nil
}

// judgeAll gives the opinions of those that change, on all processors.
func (p *policy) judgeAll(batch []scheduler.KeyedRecord, again *again) []keyed {
	parts := min(runtime.GOMAXPROCS(0), 1+len(batch)/passPart)
	size := (len(batch) + parts - 1) / parts
	found := make([][]keyed, parts)
	var judges errgroup.Group
	for i := range parts {
		judges.Go(func() error {
			found[i] = p.judgePart(batch[min(i*size, len(batch)):min((i+1)*size, len(batch))], again)
			return nil
		})
	}
	_ = judges.Wait() // none fails
	return slices.Concat(found...)
}

func (p *policy) judgePart(batch []scheduler.KeyedRecord, again *again) []keyed {
	var found []keyed
	var scratch actionrules.Scratch
	for i := range batch {
		r := &batch[i].Record
		u, ok := weburl.FromCanonical(r.URL)
		if !ok {
			continue // the frontier ends it when it is taken
		}
		o := p.opineInto(u, r, &scratch)
		o.again = again
		if o.effect(r) != unaffected || o.timed(r) != untimed {
			o.explain()
			found = append(found, keyed{batch[i].Key, o})
		}
	}
	return found
}

// apply changes the URLs that opinions, in order of their keys, say something of.
func (c *Crawl) apply(ctx context.Context, opinions []keyed, n *passCounts) error {
	if len(opinions) == 0 {
		return nil
	}
	var renamed []scheduler.Link
	keys := make([]weburl.Key, len(opinions))
	for i := range opinions {
		o := &opinions[i]
		keys[i] = o.key
		if !o.rewritten {
			continue
		}
		if l, _, ok := o.policy.link(o.link); ok {
			l.Referrer = o.referrer
			renamed = append(renamed, l)
		}
	}
	if len(renamed) > 0 {
		if _, err := c.frontier.Add(ctx, renamed, false); err != nil {
			return err
		}
	}
	var done passCounts
	var gone []weburl.Key
	// Not cancelled half-way: the store calls the function until it returns.
	_, err := c.frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
		i, ok := slices.BinarySearchFunc(opinions, k, func(o keyed, k weburl.Key) int { return o.key.Compare(k) })
		if !ok {
			return nil
		}
		o := &opinions[i].opinion
		done.count(o.effect(&r), o.timed(&r))
		change := o.change(&r)
		if change != nil && change.Delete != "" && r.Indexed && !o.policy.settings.Frontier.Brake.On {
			gone = append(gone, k) // else they are told of when they leave
		}
		return change
	})
	if err != nil {
		return err
	}
	n.add(done)
	return c.copies.Free(ctx, gone)
}

// judgeAgain judges the URL of a page that ended, if other rules than those that
// it began under have come into force. Until it returns, the page must count as
// in flight.
func (c *Crawl) judgeAgain(ctx context.Context, began *policy, key weburl.Key) error {
	for done := began; ; {
		p := c.policy()
		if p.same(done) {
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
			o.again = c.pass.again(p)
			o.explain()
			if err := c.apply(ctx, []keyed{{key, o}}, &passCounts{}); err != nil {
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
	return c.pass.begin(ctx, c.policy())
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
