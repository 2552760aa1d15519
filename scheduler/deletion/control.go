package deletion

import (
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// controlSample is how many other documents of a host are asked for before one of its
	// documents is deleted; all of them must be good.
	controlSample = 4
	// controlPatience is how long to wait for their answers, in the Frontier's active time.
	controlPatience = time.Hour
	// controlFirst is the time to the next control round after one that failed. It doubles
	// with each, up to controlPatience, or up to scheduler.RetryLongest if the host is ill, which may
	// last for ever.
	controlFirst = time.Minute
	// controlLasts is how long before a deletion is due a round may have begun to count for
	// it, if many deletions rest.
	controlLasts = 10 * time.Minute
	// badShare is the part of the documents to choose from that may already be bad.
	badShare = 3
)

// control is a round of fetching documents of a host that are not to be deleted, to see
// whether its bad answers can be believed. The mutex of Owner guards it.
type control struct {
	at   int64 // active time
	left []weburl.Key
	good int
	none int // that told nothing
	bad  bool
	// alone says that there was no document to ask for: none is left beside those whose
	// deletion rests, or they are items of a feed, which cannot be asked for.
	alone bool
	// unsure says that the round before was bad. That this one is good may be chance, so
	// another one must be good, too.
	unsure bool
}

// answered takes in an answer. It returns whether the document belongs to the round, and
// whether the round is over now.
func (c *control) answered(document weburl.Key, t scheduler.Tells) (belongs, over bool) {
	if c == nil {
		return false, false
	}
	i := slices.Index(c.left, document)
	if i < 0 {
		return false, false
	}
	c.left = slices.Delete(c.left, i, i+1)
	switch t {
	case scheduler.TellsGood:
		c.good++
	case scheduler.TellsBad, scheduler.TellsBadAgain, scheduler.TellsMoved:
		c.bad = true
	case scheduler.TellsNothing: // the operator does not want it any more, or it could not be asked for
		c.none++
	}
	return true, c.bad || len(c.left) == 0
}

// allGood reports whether no document of a round was bad, and most were good.
func (c *control) allGood() bool {
	return c != nil && !c.bad && len(c.left) == 0 && (c.good > c.none || c.alone)
}

// passed reports whether a round that began since a time found all documents good, and that
// this is enough.
func (c *control) passed(since int64) bool { return c.allGood() && !c.unsure && c.at >= since }

// round returns whether a control round must begin now, because none that passed has begun
// since a time, and when to look again.
func (h *restingHost) round(now, since int64, ill bool) (begins bool, at int64) {
	c := h.control
	if c == nil {
		return true, now + int64(controlPatience)
	}
	waiting := !c.bad && len(c.left) > 0 && now-c.at < int64(controlPatience)
	longest := controlPatience
	if ill {
		longest = scheduler.RetryLongest
	}
	again := c.at + int64(min(controlFirst<<min(h.tries, 16), longest))
	switch {
	case waiting, c.passed(since):
		return false, max(c.at, now) + int64(controlPatience)
	case c.allGood() && c.unsure:
		again = c.at + int64(controlFirst)
	case c.allGood():
		again = now
	}
	if now < again {
		return false, again
	}
	return true, now + int64(controlPatience)
}

// begin forgets what was asked for so far.
func (h *restingHost) begin() {
	h.control, h.tries = nil, 0
	for i := range h.arrivals {
		h.arrivals[i].asked = time.Time{}
	}
}

// askAgain asks for what is missing: the URLs of deletions, and other documents of the
// host, chosen at random.
func (b *bench) askAgain(ctx context.Context) error {
	if len(b.ask) == 0 && !b.wantControl {
		return nil
	}
	d, h := b.d, b.host
	d.mu.Lock()
	begins, at := h.round(b.now, b.roundSince, b.ill)
	begins = begins && b.wantControl && (!b.finishing || h.tries == 0)
	d.mu.Unlock()
	b.wakeAt(at)
	var round *control
	if begins {
		var err error
		if round, err = b.choose(ctx); err != nil {
			return err
		}
		if len(round.left) == 0 { // no answer will tell that it has ended
			b.wakeAt(b.now + int64(judgePause))
		}
	}
	keys, arrivals := b.unasked()
	asked := time.Now()
	d.mu.Lock()
	for _, a := range arrivals {
		a.asked = asked
	}
	before := h.control
	if round != nil {
		h.control = round
		keys = append(keys, round.left...)
	}
	d.mu.Unlock()
	if len(keys) > 0 {
		if err := d.askFor(ctx, keys); err != nil { // nobody was asked, or not everybody
			d.mu.Lock()
			defer d.mu.Unlock()
			h.control = before
			for _, a := range arrivals {
				a.asked = time.Time{}
			}
			return err
		}
	}
	if begins {
		d.mu.Lock()
		h.tries++
		d.mu.Unlock()
	}
	b.asked = len(keys)
	return nil
}

// unasked are the URLs of the deletions that were not asked for again yet, and their arrivals.
func (b *bench) unasked() (keys []weburl.Key, arrivals []*arrival) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for _, one := range b.ask {
		a := b.host.arrival(one.seq)
		if !a.asked.IsZero() {
			continue
		}
		arrivals = append(arrivals, a)
		if !one.confirmed {
			keys = append(keys, one.key)
		}
	}
	return keys, arrivals
}

// choose begins a round with some documents of the host that are not to be deleted. If the
// host is ill it takes others, too, but those first.
func (b *bench) choose(ctx context.Context) (*control, error) {
	sample := slices.Clone(b.documents.Sample)
	b.d.f.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	var good, doubtful []weburl.Key
	bad, held := 0, false
	for _, k := range sample {
		r, err := b.d.store.Lookup(ctx, k)
		switch {
		case err != nil || !r.Indexed || r.Kind != scheduler.KindPage: // it was removed just now, or cannot be asked for
		case r.Deletion == scheduler.NoDeletion:
			good = append(good, k)
		default:
			doubtful = append(doubtful, k)
			held = held || r.Deletion == scheduler.DeletionHeld
			if !r.Reason.Operators() {
				bad++
			}
		}
	}
	c := &control{at: b.now, left: good[:min(controlSample, len(good))], alone: len(good) == 0 && !held}
	switch before := b.host.control; {
	case b.ill:
		good = append(good, doubtful...)
		c.left, c.alone = good[:min(scheduler.WellAnswers, len(good))], false
	case len(good) > 0 && bad > max(2, (len(good)+len(doubtful))/badShare): // what is left tells of the good ones alone
		c.left, c.bad = nil, true
	case before != nil:
		c.unsure = before.bad || before.unsure && !before.allGood()
	}
	c.left = slices.Clone(c.left)
	return c, ctx.Err()
}

// askFor has URLs fetched soon, except those that wait already, and for items, whose
// pages would be indexed in their place.
func (d *Owner) askFor(ctx context.Context, keys []weburl.Key) error {
	source, weights := scheduler.User, d.f.Settings().Weights
	for s, w := range weights {
		if w > weights[source] {
			source = scheduler.Source(s) //nolint:gosec // fewer than 256
		}
	}
	_, err := d.f.Revise(ctx, keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		if r.Kind == scheduler.KindItem {
			return nil
		}
		r.State, r.Source, r.NextAt = scheduler.Waiting, source, time.Time{}
		return &scheduler.Change{Next: r}
	})
	return err
}
