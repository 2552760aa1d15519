package deletion

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// lookPause is the least time between two looks at a host's held deletions for documents
// that are replaced by now.
const lookPause = time.Minute

// sortReplaced takes out of the resting deletions those of replaced documents, and lets them
// pass when they have rested: such a page has moved for good to a page of its own that is in
// the index. It looks at deletions held because of a redirect, too: they may lead to the same
// place, and their replacement may be in the index only now.
func (b *bench) sortReplaced(ctx context.Context) error {
	if b.ill {
		return nil
	}
	found, ready, err := b.restingRedirects(ctx)
	if err != nil {
		return err
	}
	b.d.mu.Lock()
	looks := (ready || b.host.redirected) && b.origin != ""
	if at := b.host.lookedAt + int64(lookPause); looks && b.host.lookedAt != 0 && b.now < at && !b.finishing {
		looks = false
		b.wakeAt(at)
	}
	if looks {
		b.host.redirected, b.host.lookedAt = false, b.now
		b.wakeAt(b.now + int64(lookPause))
	}
	b.d.mu.Unlock()
	if looks {
		held, err := b.heldRedirects(ctx)
		if err != nil {
			return err
		}
		found = append(found, held...)
	}
	b.passReplaced(found, looks)
	return nil
}

// passReplaced lets deletions of replaced documents pass, if they were compared with the
// held ones; otherwise they at least do not count.
func (b *bench) passReplaced(found []replacement, compared bool) {
	leading := map[weburl.Key]int{}
	for _, r := range found {
		leading[r.target]++
	}
	replaced := map[weburl.Key]bool{}
	for _, r := range found {
		switch {
		case !r.is || !r.alone || leading[r.target] > 1:
		case r.one == nil:
			b.passHeld = append(b.passHeld, r.key)
		default:
			replaced[r.key] = true
			if ready := b.readyAt(r.one); b.now < ready {
				b.wakeAt(ready) // others may turn out to lead there too
			} else if compared {
				b.pass = append(b.pass, *r.one)
			}
		}
	}
	rest := b.resting[:0:0]
	for _, one := range b.resting {
		switch {
		case replaced[one.key]:
		case one.reason == scheduler.ReasonMoved && b.now-b.host.arrival(one.seq).at < int64(restLongest):
			b.wakeAt(b.now + int64(budgetPause)) // the page at the new place may not have been crawled yet
		default:
			rest = append(rest, one)
		}
	}
	b.resting = rest
}

// readyAt is when a deletion has rested for as long as any must.
func (b *bench) readyAt(one *restingOne) int64 {
	at := b.host.arrival(one.seq).at
	if !b.finishing {
		at += int64(b.set.Brake.Rest)
	}
	return at
}

// restingRedirects are the deletions that rest because of a redirect, and says whether one
// of them has rested for long enough.
func (b *bench) restingRedirects(ctx context.Context) (found []replacement, ready bool, err error) {
	for i := range b.resting {
		one := &b.resting[i]
		if !isRedirect(one.reason) {
			continue
		}
		r, err := b.d.replacement(ctx, one.key)
		if err != nil {
			return nil, false, err
		}
		r.one = one
		found = append(found, r)
		ready = ready || r.is && b.now >= b.readyAt(one)
	}
	return found, ready, nil
}

// heldRedirects are the deletions that are held because of a redirect.
func (b *bench) heldRedirects(ctx context.Context) (found []replacement, err error) {
	var keys []weburl.Key
	err = b.d.store.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld, Host: b.origin}, func(s scheduler.StoredDeletion) error {
		if isRedirect(s.Reason) {
			keys = append(keys, s.Key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		r, err := b.d.replacement(ctx, k)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// isReplacement reports whether the status moves a page for good (RFC 9110, 15.4.2 and 15.4.9).
func isReplacement(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
}

func isRedirect(r scheduler.Reason) bool {
	return r == scheduler.ReasonRedirect || r == scheduler.ReasonMoved
}

// replacement is the page that another has moved to.
type replacement struct {
	key, target weburl.Key
	one         *restingOne // nil of one that is held
	is          bool        // it is for good, and the target is in the index
	alone       bool        // no other document led there
}

// replacement says where a URL redirects to, and whether that replaces its document.
func (d *Owner) replacement(ctx context.Context, k weburl.Key) (replacement, error) {
	r := replacement{key: k}
	old, err := d.lookup(ctx, k)
	if err != nil {
		return r, err
	}
	u, ok := weburl.FromCanonical(old.RedirectTo)
	if !ok {
		return r, nil
	}
	r.target = u.Key()
	if old.Reason != scheduler.ReasonMoved && !isReplacement(old.Status) {
		return r, nil
	}
	t, err := d.lookup(ctx, r.target)
	if err != nil || !t.Indexed || t.Deletion != scheduler.NoDeletion {
		return r, err
	}
	r.is = true
	r.alone, err = d.leadsAlone(ctx, &old, &t)
	return r, err
}

// lookup returns the zero Record of a URL that is not known.
func (d *Owner) lookup(ctx context.Context, k weburl.Key) (scheduler.Record, error) {
	r, err := d.store.Lookup(ctx, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return scheduler.Record{}, nil
	}
	return r, err
}

// leadsAlone reports whether no other document is known to have redirected to a page.
func (d *Owner) leadsAlone(ctx context.Context, old, target *scheduler.Record) (bool, error) {
	for _, alias := range target.Aliases {
		u, ok := weburl.FromCanonical(alias)
		if !ok || alias == old.URL {
			continue
		}
		r, err := d.lookup(ctx, u.Key())
		if err != nil {
			return false, err
		}
		wasDocument := r.Indexed || !r.ChangedAt.IsZero() && !r.Entered
		if r.Class == scheduler.Redirect && r.RedirectTo == target.URL && wasDocument {
			return false, nil
		}
	}
	return true, nil
}
