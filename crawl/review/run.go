package review

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// When rules or crawl space change, Run judges every stored URL again. How far it is, and by
// which rules, is stored, so that it goes on after a restart; the same URL judged twice is
// changed once. Run is one goroutine, which the crawl starts; it reads the next batch in
// another while it stores the last, judges on all processors, and waits for both.

const (
	// passName is the key of the stored value with the pass.
	passName = "crawl.rules"
	passWhat = "the progress of judging the stored URLs"
	// passBatch is the number of URLs that are read, judged and changed together.
	passBatch = 1000
	// passPart is the number of URLs that justifies a goroutine.
	passPart = 200
	// passSave is the interval at which the pass's progress is stored.
	passSave = time.Second
	// passWait is the interval at which the pass, at its end, checks for pages in flight that began under other rules.
	passWait = 100 * time.Millisecond
)

// Run judges stored URLs by the rules in force until ctx ends, or the store fails.
func (v *Reviewer) Run(ctx context.Context) error {
	for {
		p := v.Crawl.Policy()
		at, due := v.pass.due(p)
		var pause time.Duration
		switch {
		case !due:
		case at.key == endKey() && v.Crawl.Superseded():
			pause = passWait
		default:
			began := time.Now()
			if _, err := v.Next(ctx, p); err != nil {
				return err
			}
			if v.Frontier.Snapshot().InFlight > 0 {
				pause = time.Since(began) // half of the time is the crawl's
			}
		}
		if err := v.awaitPass(ctx, due, pause); err != nil {
			return nil //nolint:nilerr // the end of ctx is the end
		}
	}
}

// awaitPass waits for a pause or, if nothing is due, for the next pass.
func (v *Reviewer) awaitPass(ctx context.Context, due bool, pause time.Duration) error {
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
	case <-v.pass.kick:
	case <-over:
	}
	return nil
}

// endKey is where the pass waits for pages that began under other rules.
func endKey() weburl.Key { return weburl.Key(bytes.Repeat([]byte{0xff}, len(weburl.Key{}))) }

// done is the result of a review of a URL.
type done struct {
	effect effect
	timed  timed
	change bool
}

// judged is a batch of stored URLs with the policy's verdicts.
type judged struct {
	policy *policy.Policy
	from   place
	next   weburl.Key
	// last means that there are no others. firm is false if a page that began under other rules was in flight.
	last, firm bool
	read       uint64
	found      findings
}

// findings are the reviews of URLs that change, in order of keys. expected counts those that wait and lose their
// documents.
type findings struct {
	reviews  []keyed
	expected uint64
}

// keyed is the review of one URL.
type keyed struct {
	key  weburl.Key
	lost bool // as loses, when the URL was judged
	review
}

// of returns the review of a record that may have changed since the URL was judged. It judges the URL again if a link
// leads to it in fewer steps now.
func (k *keyed) of(r *scheduler.Record) *review {
	if int(r.Depth) == k.link.Depth {
		return &k.review
	}
	u, ok := weburl.FromCanonical(r.URL)
	if !ok {
		return &k.review
	}
	o := reviewOf(k.policy, u, r)
	o.retiming = k.retiming
	o.explain()
	return &o
}

// Next judges the next batch of URLs by p; due is false if no batch is left. It is not safe for concurrent use: only
// Run calls it.
func (v *Reviewer) Next(ctx context.Context, p *policy.Policy) (due bool, err error) {
	at, due := v.pass.due(p)
	if !due {
		return false, nil
	}
	return true, v.judgeBatch(ctx, p, at)
}

// judgeBatch judges the URLs from a place on. While it stores changes it reads the next batch. It is not safe for
// concurrent use.
func (v *Reviewer) judgeBatch(ctx context.Context, p *policy.Policy, from place) error {
	b := v.prefetched
	v.prefetched = nil
	if b == nil || b.policy != p || b.from != from {
		var err error
		if b, err = v.readAhead(ctx, p, from); err != nil {
			return err
		}
	}
	var reading errgroup.Group
	if !b.last {
		reading.Go(func() (err error) {
			v.prefetched, err = v.readAhead(ctx, p, place{from.turn, b.next})
			return err
		})
	}
	n := Counts{Judged: b.read, Expected: b.found.expected}
	err := v.apply(ctx, b.found.reviews, &n)
	_ = reading.Wait() // a failed batch is read again, and its error reported then
	if err != nil {
		return err
	}
	next := place{from.turn, b.next}
	if b.last && !b.firm {
		next.key = endKey()
	}
	if err := v.pass.advance(ctx, p, next, b.last, b.firm, n); err != nil {
		return err
	}
	if s, _ := v.pass.status(); s.Done && s.by(p) {
		v.Log.Info("judged all stored URLs", "rules", s.Rules, "judged", s.Judged, "excluded", s.Excluded, "elsewhere", s.Elsewhere,
			"readmitted", s.Readmitted, "moved", s.Moved, "unindexed", s.Unindexed, "leaving", s.Leaving, "retimed", s.Retimed, "reread", s.Reread, "renewed", s.Renewed)
	}
	return nil
}

// readAhead reads and judges the URLs from a place on.
func (v *Reviewer) readAhead(ctx context.Context, p *policy.Policy, from place) (*judged, error) {
	// A page that began under other rules may still be stored after its key was
	// passed. It is judged then, but a crash before that would lose it: after a crash only the keys count that were passed
	// when no such page was left.
	b := &judged{policy: p, from: from, firm: !v.Crawl.Superseded()}
	batch, next, last, err := scheduler.ReadBatch(ctx, v.Store, from.key, passBatch, passBatch, func(r *scheduler.Record) bool {
		b.read++
		return r.State != scheduler.Waiting || r.Indexed
	})
	if err != nil {
		return nil, err
	}
	b.next, b.last = next, last
	b.found = judgeAll(p, batch, v.pass.retiming(p))
	return b, nil
}

// judgeAll judges URLs, on all processors.
func judgeAll(p *policy.Policy, batch []scheduler.KeyedRecord, retiming *retiming) (all findings) {
	parts := min(runtime.GOMAXPROCS(0), 1+len(batch)/passPart)
	size := (len(batch) + parts - 1) / parts
	found := make([]findings, parts)
	var judges errgroup.Group
	for i := range parts {
		judges.Go(func() error {
			found[i] = judgePart(p, batch[min(i*size, len(batch)):min((i+1)*size, len(batch))], retiming)
			return nil
		})
	}
	_ = judges.Wait() // none fails
	for _, f := range found {
		all.reviews, all.expected = append(all.reviews, f.reviews...), all.expected+f.expected
	}
	return all
}

func judgePart(p *policy.Policy, batch []scheduler.KeyedRecord, retiming *retiming) (found findings) {
	var scratch actionrules.Scratch
	for i := range batch {
		r := &batch[i].Record
		u, ok := weburl.FromCanonical(r.URL)
		if !ok {
			continue // the frontier ends it when it is taken
		}
		o := reviewWith(p, u, r, &scratch)
		if r.State == scheduler.Waiting {
			if o.loses(r, o.effect(r)) {
				found.expected++
			}
			continue
		}
		o.retiming = retiming
		if e := o.effect(r); e != unaffected || o.timed(r) != untimed {
			o.explain()
			found.reviews = append(found.reviews, keyed{batch[i].Key, o.loses(r, e), o})
		}
	}
	return found
}

// apply changes the URLs of the reviews, which are sorted by key.
func (v *Reviewer) apply(ctx context.Context, reviews []keyed, n *Counts) error {
	if len(reviews) == 0 {
		return nil
	}
	var renamed []scheduler.Link
	keys := make([]weburl.Key, len(reviews))
	for i := range reviews {
		o := &reviews[i]
		keys[i] = o.key
		if !o.rewritten {
			continue
		}
		if l, _, ok := o.policy.Link(o.link); ok {
			l.Referrer = o.referrer
			renamed = append(renamed, l)
		}
	}
	if len(renamed) > 0 {
		if _, err := v.Frontier.Add(ctx, renamed, false); err != nil {
			return err
		}
	}
	did := make([]*done, len(reviews)) // by the last call about each
	var gone []weburl.Key
	// Not cancelled half-way: the store calls the function until it returns.
	changed, err := v.Frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
		i, ok := slices.BinarySearchFunc(reviews, k, func(o keyed, k weburl.Key) int { return o.key.Compare(k) })
		if !ok {
			return nil
		}
		o := reviews[i].of(&r)
		if !v.Crawl.Policy().Same(o.policy) { // r may be of a page that began under the rules in force; their pass judges it
			did[i] = &done{}
			return nil
		}
		change := o.change(&r)
		did[i] = &done{o.effect(&r), o.timed(&r), change != nil}
		if change != nil && change.Delete != "" && r.Indexed && o.policy.Settings.Frontier.Deletions.Off {
			gone = append(gone, k) // else they are reported when they leave
		}
		return change
	})
	if err != nil {
		return err
	}
	left := -changed
	for _, d := range did {
		if d == nil || d.change {
			left++
		}
		if d != nil {
			n.count(d.effect, d.timed)
		}
	}
	if left > 0 {
		if err := v.expect(ctx, reviews, n); err != nil {
			return err
		}
	}
	return v.Freed(ctx, gone)
}

// expect counts the URLs of reviews that became due before they were changed: their visits find their losses.
func (v *Reviewer) expect(ctx context.Context, reviews []keyed, n *Counts) error {
	for i := range reviews {
		if !reviews[i].lost {
			continue
		}
		r, err := scheduler.Find(ctx, v.Store, reviews[i].key)
		if err != nil {
			return err
		}
		if r != nil && r.State == scheduler.Waiting && reviews[i].loses(r, reviews[i].effect(r)) {
			n.Expected++
		}
	}
	return nil
}

// JudgeAgain judges the URL of a finished page if the rules changed after the page began. Until it returns, the page
// must count as in flight.
func (v *Reviewer) JudgeAgain(ctx context.Context, began *policy.Policy, key weburl.Key) error {
	for done := began; ; {
		p := v.Crawl.Policy()
		if p.Same(done) {
			return nil
		}
		r, err := v.Store.Lookup(ctx, key)
		if errors.Is(err, scheduler.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if u, ok := weburl.FromCanonical(r.URL); ok {
			o := reviewOf(p, u, &r)
			o.retiming = v.pass.retiming(p)
			o.explain()
			if err := v.apply(ctx, []keyed{{key, false, o}}, &Counts{}); err != nil {
				return err
			}
		}
		done = p
	}
}

// Await waits until no review is running.
func (v *Reviewer) Await(ctx context.Context) error {
	_, done := v.pass.status()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
