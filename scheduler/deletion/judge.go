package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// hostLosses is the state of one host while its losses are judged.
type hostLosses struct {
	d     *Owner
	key   weburl.HostKey
	host  *host // only Run, under mu, changes the parts that judge reads
	set   *scheduler.Settings
	now   time.Time
	group Group
	state HostState

	documents scheduler.HostDocuments
	ledger    ledger
	losses    []scheduler.StoredDeletion // without replaced
	pending   int                        // losses not yet moved, replaced included

	next time.Time // when to judge again
	// few is the time when the first loss of class few can be confirmed, zero if none waits for that.
	few time.Time
	// replaced holds the documents that another document replaces, out those whose losses are carried out otherwise;
	// counts is the number of these that count.
	replaced, out, well []weburl.Key
	counts, gone        int  // gone: documents that leave
	asks                bool // a good response is missing
	asked               int  // URLs that were queued
}

// judge decides about the losses of one host. judging is held.
func (d *Owner) judge(ctx context.Context, k weburl.HostKey) (*hostLosses, error) {
	b := &hostLosses{d: d, set: d.f.Settings(), key: k, now: time.Now()}
	b.next = b.now.Add(judgeLongest)
	d.mu.Lock()
	b.host = d.hosts[k]
	events := b.host.events
	d.mu.Unlock()
	steps := []func(context.Context) error{b.read, b.findReplaced, b.classify, b.decide, b.apply, b.settle, b.ask}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h := b.host
	b.state.Pending = b.pending
	h.state, h.at = b.state, b.next
	switch {
	case h.events != events:
		h.at = b.now.Add(judgePause)
	case b.pending > 0:
	case b.group.Ill:
		h.began, h.born = b.now, 0
	default:
		delete(d.hosts, k)
	}
	return b, nil
}

// read reads everything that the decision depends on.
func (b *hostLosses) read(ctx context.Context) (err error) {
	d := b.d
	b.group.Deletions = b.set.Deletions
	if b.group.Ill, err = d.f.IsIll(ctx, b.key); err != nil {
		return err
	}
	b.group.Ill = b.group.Ill && !b.set.Deletions.Off
	if b.documents, err = d.store.Documents(ctx, b.key); err != nil {
		return err
	}
	if b.ledger, err = readLedger(ctx, d.store, ledgerName(b.key)); err != nil {
		return err
	}
	err = d.store.Deletions(ctx, scheduler.DeletionGroup{Host: b.key}, func(s scheduler.StoredDeletion) error {
		b.losses = append(b.losses, s)
		return nil
	})
	b.pending = len(b.losses)
	return err
}

// noteGoodResponses notes whether the host gave good responses since it was judged. The mutex is held.
func (b *hostLosses) noteGoodResponses() {
	h := b.host
	if _, ok := h.round.passed(weburl.Key{}); ok && h.spoke {
		h.tries = 0
	}
	if h.spoke || !h.judged { // it may have responded before its entry was made
		b.ledger.resetSilence()
	}
	if h.failed && !h.spoke {
		b.ledger.failed(b.now, &b.set.Deletions)
	}
	h.spoke, h.failed = false, false
	b.group.HostGone = b.ledger.gone(&b.set.Deletions, b.now)
}

// settle stores the ledger if it changed. A host that is forgotten, or has left, no longer counts as silent: its
// responses are not recorded from now on, and documents that return must not be gone at once.
func (b *hostLosses) settle(ctx context.Context) error {
	if b.pending == 0 {
		b.ledger.Born = 0
		if !b.group.Ill || b.group.HostGone {
			b.ledger.resetSilence()
		}
	}
	return b.ledger.store(ctx, b.d.store, ledgerName(b.key), b.now)
}

// classify determines the class of the host's losses.
func (b *hostLosses) classify(ctx context.Context) error {
	d, h := b.d, b.host
	d.mu.Lock()
	b.noteGoodResponses()
	for i := range b.losses {
		if l := &b.losses[i]; l.First.Before(h.began) {
			h.began = l.First
		}
	}
	h.born = max(h.born, b.ledger.Born)
	b.ledger.Born = h.born
	b.state = HostState{Host: b.key, Origin: h.state.Origin, Pending: len(b.losses), Ill: b.group.Ill}
	b.state.count(b.documents.Count, &b.ledger, &b.set.Deletions, b.now)
	if h.judged && h.state.Pending > 0 { // it stays in its group
		b.state.Pooled = h.state.Pooled
	}
	if b.state.Origin == "" && len(b.losses) > 0 {
		if u, ok := weburl.FromCanonical(b.losses[0].URL); ok {
			b.state.Origin = u.Origin()
		}
	}
	h.state, h.judged = b.state, true
	inPool, born := d.pooled()
	d.mu.Unlock()
	if b.state.Pooled {
		counts, err := d.store.Counts(ctx)
		if err != nil {
			return err
		}
		b.state.Class = max(b.state.Class, d.pool.class(inPool, counts.Pooled-min(born, counts.Pooled), b.now))
	}
	b.group.Class, b.group.Documents = b.state.Class, b.state.Documents-b.state.Deleted
	return nil
}

// poolMost is the number of losses of a host that count in the pool, so that one host that is gone does not hold up the
// others.
const poolMost = 2

// pooled returns how many losses of hosts in the pool are pending, and how many documents they gained since. The mutex
// is held.
func (d *Owner) pooled() (n int, born uint64) {
	for _, h := range d.hosts {
		if h.state.Pooled {
			n += min(h.state.Pending, poolMost)
			born += uint64(h.born) //nolint:gosec // a count
		}
	}
	return n, born
}

// decide sorts the losses by their verdicts.
func (b *hostLosses) decide(ctx context.Context) error {
	b.asks = b.group.Ill || b.isSilent()
	for i := range b.losses {
		l := &b.losses[i]
		g := b.group
		g.Good, g.Back = b.lastGoodExcept(l.Key)
		switch is := Decide(l, &g, b.now); is.Verdict {
		case CarryOut:
			b.out = append(b.out, l.Key)
			if !l.Replaces && l.Reason != scheduler.ReasonTarget {
				b.gone++
			}
			if first, err := b.isFirst(ctx, l); err != nil {
				return err
			} else if first {
				b.counts++
			}
		case Mark:
			b.well = append(b.well, l.Key)
			b.wakeAt(is.Until)
		case Ask, Wait:
			if b.asks = b.asks || is.Verdict == Ask; is.Verdict == Wait {
				b.wakeAt(is.Until)
			}
			if is.Class == scheduler.LossFew && !is.Until.IsZero() && (b.few.IsZero() || is.Until.Before(b.few)) {
				b.few = is.Until
			}
		case Hold:
		}
	}
	return nil
}

// isSilent reports whether the host has been silent for a day in which no other document was visited: the losses
// themselves do not show whether it is gone.
func (b *hostLosses) isSilent() bool {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	day, r := b.set.Deletions.Confirm, b.host.round
	return !b.ledger.Silent.IsZero() && b.now.Sub(b.ledger.Silent) >= day && (r == nil || b.now.Sub(r.at) >= day)
}

// isFirst reports whether a loss counts. The loss of a text does not if earlier ones of the page were carried out.
func (b *hostLosses) isFirst(ctx context.Context, l *scheduler.StoredDeletion) (bool, error) {
	if !l.Replaces {
		return true, nil
	}
	r, err := scheduler.Find(ctx, b.d.store, l.Key)
	return err == nil && r != nil && r.Lively == 0, err
}

// lastGoodExcept returns when a document other than this one gave the last good response, and when a loss was last
// cancelled.
func (b *hostLosses) lastGoodExcept(document weburl.Key) (at, back time.Time) {
	h := b.host
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for _, g := range h.goods {
		if g.document != document && g.at.After(at) {
			at = g.at
		}
	}
	if last, ok := h.round.passed(document); ok && last.After(at) {
		at = last
	}
	return at, h.back
}

// wakeAt schedules the next judgement of the host, but not at once. It ignores times in the past: such a loss waits for
// a visit, which triggers a judgement.
func (b *hostLosses) wakeAt(at time.Time) {
	if !at.After(b.now) {
		return
	}
	if soonest := b.now.Add(judgePause); at.Before(soonest) {
		at = soonest
	}
	if at.Before(b.next) {
		b.next = at
	}
}

// Finish judges the pending losses at the end of a crawl that runs once. It waits once for losses of class few to be
// seen again. It returns how many URLs must be fetched before all can be judged; call it again when they have been.
func (d *Owner) Finish(ctx context.Context) (asked int, err error) {
	until, asked, err := d.finish(ctx)
	if err != nil || asked > 0 || until.IsZero() {
		return asked, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Until(until)):
		return 1, nil
	}
}

// finish judges all hosts, and returns until when a loss of class few waits, zero if none does.
func (d *Owner) finish(ctx context.Context) (until time.Time, asked int, err error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	now := time.Now()
	d.mu.Lock()
	if d.finishing.IsZero() {
		d.finishing = now
	}
	deadline := d.finishing.Add(d.f.Settings().Deletions.Rest + 2*finishSlack)
	d.mu.Unlock()
	if err := d.judgeEdits(ctx); err != nil {
		return until, 0, err
	}
	for _, k := range d.due(now.AddDate(1, 0, 0)) { // all hosts
		b, err := d.judge(ctx, k)
		if err != nil {
			return until, asked, err
		}
		asked += b.asked
		at := b.few.Add(finishSlack)
		if b.few.After(now) && !at.After(deadline) && (until.IsZero() || at.Before(until)) {
			until = at
		}
	}
	return until, asked, nil
}

// finishSlack covers the rounding of stored times to seconds.
const finishSlack = 2 * time.Second
