package deletion

import (
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// sampleSize is the number of documents of a host that are visited before a loss is carried out, sampleGood the
	// number of good ones required: all if there are fewer.
	sampleSize, sampleGood = 4, 3
	// roundPatience is the time to wait for their responses.
	roundPatience = time.Hour
	// roundFirst is the pause after the first round that did not pass. It doubles with each, up to roundLongest.
	roundFirst, roundLongest = time.Minute, time.Hour
)

// round is a sample of documents that were queued for a visit. Owner's mutex guards it; nil is an empty round.
type round struct {
	at    time.Time
	last  time.Time // when the last response came
	left  []weburl.Key
	asked []weburl.Key
	goods []good
}

// answered records a response. It reports whether the document belongs to the round, and whether the round is now over.
func (r *round) answered(document weburl.Key, response scheduler.Response, now time.Time) (belongs, over bool) {
	if r == nil {
		return false, false
	}
	i := slices.Index(r.left, document)
	if i < 0 {
		return false, false
	}
	r.left, r.last = slices.Delete(r.left, i, i+1), now
	if response == scheduler.GoodResponse {
		r.goods = append(r.goods, good{document, now})
	}
	return true, len(r.left) == 0
}

// passed reports whether enough documents, without the given one, were good, and since when. If that document is in the
// round, all others count as visited after it, whatever the order: its loss was seen before the round. Otherwise a host
// whose pages are always visited in one order would never pass.
func (r *round) passed(document weburl.Key) (at time.Time, ok bool) {
	if r == nil {
		return at, false
	}
	goods, asked := 0, len(r.asked)
	for _, g := range r.goods {
		if g.document != document {
			goods++
			at = g.at
		}
	}
	if slices.Contains(r.asked, document) {
		asked--
		if !slices.Contains(r.left, document) {
			at = r.last
		}
	}
	return at, goods > 0 && goods >= min(sampleGood, asked)
}

// again returns when the next round may begin, whether or not this one is over.
func (r *round) again(tries int) time.Time {
	if len(r.left) > 0 {
		return r.at.Add(roundPatience)
	}
	return r.at.Add(min(roundFirst<<min(max(tries-1, 0), 16), roundLongest))
}

// ask queues other documents of the host, chosen at random, if a good response is missing, unless a round is running or
// it is too soon.
func (b *hostLosses) ask(ctx context.Context) error {
	if !b.asks {
		return nil
	}
	keys, err := b.sample(ctx)
	if err != nil {
		return err
	}
	d, h := b.d, b.host
	r := &round{at: b.now, asked: keys, left: slices.Clone(keys)}
	d.mu.Lock()
	before := h.round
	if before != nil {
		at := before.again(h.tries)
		tooSoon := b.now.Before(at)
		if finishing := d.finishing; !finishing.IsZero() { // one round at the end, regardless of earlier ones
			tooSoon = !before.at.Before(finishing)
		}
		if tooSoon {
			d.mu.Unlock()
			b.wakeAt(at)
			return nil
		}
	}
	h.tries++
	h.round = r
	b.wakeAt(r.again(h.tries))
	d.mu.Unlock()
	if err = d.askFor(ctx, keys); err != nil { // none were queued, or not all
		d.mu.Lock()
		defer d.mu.Unlock()
		h.round = before
		return err
	}
	b.asked = len(keys)
	return nil
}

// sample chooses documents of the host: those without a loss, then those whose text would be replaced, then, on an ill
// host, the others.
func (b *hostLosses) sample(ctx context.Context) ([]weburl.Key, error) {
	keys := slices.Clone(b.documents.Sample)
	b.d.f.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	b.d.mu.Lock()
	h := *b.host
	b.d.mu.Unlock()
	var good, replaced, others []weburl.Key
	for _, k := range keys {
		r, err := scheduler.Find(ctx, b.d.store, k)
		switch {
		case err != nil:
			return nil, err
		case r == nil || !r.Indexed || r.Kind != scheduler.KindPage || !h.older(r.FoundAt): // it cannot be visited, or is newer than the losses
		case !r.LossPending:
			good = append(good, k)
		case r.Reason == scheduler.ReasonNewText:
			replaced = append(replaced, k)
		default:
			others = append(others, k)
		}
	}
	n := sampleSize
	all := slices.Concat(good, replaced)
	if b.group.Ill {
		n, all = max(n, scheduler.WellResponses), append(all, others...)
	}
	return slices.Clone(all[:min(n, len(all))]), nil
}

// askFor queues URLs for an early visit, except those that already wait.
func (d *Owner) askFor(ctx context.Context, keys []weburl.Key) error {
	source, weights := scheduler.User, d.f.Settings().Weights
	for s, w := range weights {
		if w > weights[source] {
			source = scheduler.Source(s) //nolint:gosec // fewer than 256
		}
	}
	_, err := d.f.Revise(ctx, keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		r.State, r.Source, r.NextAt = scheduler.Waiting, source, time.Time{}
		return &scheduler.Change{Next: r}
	})
	return err
}

// returnPause is the least time between two times that all losses of a host are queued because one document is back.
const returnPause = time.Hour

// queueReturned queues the lost documents of hosts where one is back: the loss was a fault.
func (d *Owner) queueReturned(ctx context.Context) error {
	now := time.Now()
	var due []weburl.HostKey
	d.mu.Lock()
	for k, at := range d.returned {
		switch {
		case at.IsZero():
			due = append(due, k)
		case now.Sub(at) >= returnPause:
			delete(d.returned, k)
		}
	}
	d.mu.Unlock()
	for _, k := range due {
		keys, err := d.lost(ctx, k)
		if err == nil {
			err = d.askFor(ctx, keys)
		}
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			d.log.Info("a deleted document is back; requesting the others of its host again", "urls", len(keys))
		}
		d.mu.Lock()
		d.returned[k] = now
		d.mu.Unlock()
	}
	return nil
}

// lost returns the lost documents of a host, except those that already wait.
func (d *Owner) lost(ctx context.Context, host weburl.HostKey) (keys []weburl.Key, err error) {
	err = d.store.Inspect(ctx, scheduler.Filter{Host: &host}, func(k weburl.Key, r scheduler.Record) error {
		if !r.LostAt.IsZero() && r.State != scheduler.Waiting {
			keys = append(keys, k)
		}
		return nil
	})
	return keys, err
}
