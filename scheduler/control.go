package scheduler

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// controlSample is how many other documents of a host are asked for before one of its
	// documents is deleted; all of them must be good.
	controlSample = 4
	// controlPatience is how long their answers are waited for, in the Frontier's active time.
	controlPatience = time.Hour
	// controlFirst is after when a control round that failed is tried again, doubled with
	// each up to controlPatience.
	controlFirst = time.Minute
)

// control is a round of asking for documents of a host that are there, to see whether its
// bad answers can be believed. The mutex of Deletions guards it.
type control struct {
	at    int64 // active time
	left  []weburl.Key
	good  int
	bad   bool
	ended int64 // 0 while answers are missing
}

// answered takes in an answer, and says whether the round has ended by it.
func (c *control) answered(document weburl.Key, t tells) (over bool) {
	if c == nil || c.ended != 0 {
		return false
	}
	i := slices.Index(c.left, document)
	if i < 0 {
		return false
	}
	c.left = slices.Delete(c.left, i, i+1)
	switch t {
	case tellsGood:
		c.good++
	case tellsBad:
		c.bad = true
	case tellsNothing: // it is no document any more, and tells nothing
	}
	return c.bad || len(c.left) == 0
}

// passed says that all documents of a round were good which began after a time.
func (c *control) passed(after int64) bool {
	return c != nil && c.at >= after && !c.bad && len(c.left) == 0 && c.good > 0
}

// over says that a round is of no use any more.
func (c *control) over(now int64) bool {
	return c == nil || c.bad || len(c.left) == 0 && c.good == 0 || now-c.at >= int64(controlPatience)
}

// askAgain asks for what is missing: the URLs of deletions, and other documents of the
// host, chosen at random.
func (b *bench) askAgain(ctx context.Context) error {
	if len(b.ask) == 0 && !b.wantControl {
		return nil
	}
	d, h := b.d, b.host
	d.mu.Lock()
	pause := controlFirst << min(h.tries, 16)
	pause = min(pause, controlPatience)
	fresh := h.control.over(b.now)
	tooSoon := h.control != nil && h.tries > 0 && b.now-h.control.at < int64(pause)
	finished := b.finishing && h.tries > 0
	d.mu.Unlock()
	own := b.unasked()
	switch {
	case finished, fresh && tooSoon && len(own) == 0:
		b.wakeAt(b.now + int64(pause))
		return nil
	case !fresh && len(own) == 0: // answers are on their way
		b.wakeAt(b.now + int64(controlPatience))
		return nil
	}
	var others []weburl.Key
	if fresh && !tooSoon && b.wantControl {
		var err error
		if others, err = b.choose(ctx); err != nil {
			return err
		}
	}
	asked := time.Now()
	d.mu.Lock()
	for _, one := range b.ask {
		if a := h.arrival(one.seq); a.asked.IsZero() {
			a.asked = asked
		}
	}
	if fresh && !tooSoon {
		h.control = &control{at: b.now, left: slices.Clone(others)}
		h.tries++
	}
	d.mu.Unlock()
	b.wakeAt(b.now + int64(pause))
	keys := append(own, others...)
	if len(keys) == 0 {
		return nil
	}
	b.asked = len(keys)
	return d.f.askFor(ctx, keys)
}

// unasked are the URLs of the deletions that were not asked for again yet.
func (b *bench) unasked() []weburl.Key {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	var keys []weburl.Key
	for _, one := range b.ask {
		if b.host.arrival(one.seq).asked.IsZero() {
			keys = append(keys, one.key)
		}
	}
	return keys
}

// choose gives some documents of the host that are not to be deleted; of an ill host any.
func (b *bench) choose(ctx context.Context) ([]weburl.Key, error) {
	sample := slices.Clone(b.documents.Sample)
	rand.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	most := controlSample
	if b.ill {
		most = wellAnswers
	}
	var chosen []weburl.Key
	for _, k := range sample {
		if len(chosen) == most {
			break
		}
		r, err := b.d.f.store.Lookup(ctx, k)
		if err != nil {
			continue // it was removed just now
		}
		if r.Indexed && r.Kind == KindPage && (r.Deletion == NoDeletion || b.ill) {
			chosen = append(chosen, k)
		}
	}
	return chosen, ctx.Err()
}

// askFor has URLs fetched soon, but for those that wait already.
func (f *Frontier) askFor(ctx context.Context, keys []weburl.Key) error {
	f.mu.Lock()
	source := User
	for s, w := range f.set.Weights {
		if w > f.set.Weights[source] {
			source = Source(s) //nolint:gosec // fewer than 256
		}
	}
	f.mu.Unlock()
	_, err := f.Revise(ctx, keys, func(_ weburl.Key, r Record) *Change {
		r.State, r.Source, r.NextAt = Waiting, source, time.Time{}
		return &Change{Next: r}
	})
	return err
}
