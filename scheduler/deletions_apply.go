package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// moveBatch is how many deletions are moved at once.
const moveBatch = 500

// moving moves deletions, counted in notes that are stored with them.
type moving struct {
	set   *Settings
	move  DeletionMove
	hold  Hold
	notes []Note
	left  []weburl.Key // whose documents leave; the store may ask twice for one
	// any says that those that are held, or whose URL is being asked for, are moved too.
	any bool
}

// revise is what becomes of one deletion and of the record; nil where it is cancelled.
func (m *moving) revise(s StoredDeletion, r Record) *Revision {
	if !m.any && (s.State != DeletionResting || r.State == Waiting) {
		return nil // its answer decides
	}
	now := time.Now()
	v := &Revision{Next: r, Move: m.move, Hold: m.hold, Notes: m.notes}
	if m.move != SendDeletion {
		return v
	}
	if leave(&v.Next, m.set, now) {
		v.Forget, v.Gone = true, gone(&r, &v.Next, now.Truncate(time.Second))
	}
	v.Next.stamp(&r, now.Truncate(time.Second))
	m.left = append(m.left, s.Key)
	return v
}

// moveAll moves deletions in batches and gives how many there were.
func (d *Deletions) moveAll(ctx context.Context, keys []weburl.Key, m *moving) (int, error) {
	n := 0
	for len(keys) > 0 {
		batch := keys[:min(moveBatch, len(keys))]
		keys = keys[len(batch):]
		// Not cancelled half-way: the store calls the function until it returns.
		places, moved, err := d.f.store.ReviseDeletions(context.WithoutCancel(ctx), batch, m.revise)
		n += moved
		if err != nil {
			return n, err
		}
		d.f.Announce(places)
		if m.move == SendDeletion {
			d.f.lookForDue()
			if d.onLeave != nil && len(m.left) > 0 {
				if err := d.onLeave(ctx, m.left); err != nil {
					return n, err
				}
			}
			m.left = nil
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func keysOfResting(list []restingOne) []weburl.Key {
	keys := make([]weburl.Key, len(list))
	for i := range list {
		keys[i] = list[i].key
	}
	return keys
}

// apply moves what is decided. What leaves the index beyond what may leave at all is held.
func (b *bench) apply(ctx context.Context) error {
	d := b.d
	if _, err := d.moveAll(ctx, keysOfResting(b.pass), &moving{set: b.set, move: SendDeletion}); err != nil {
		return err
	}
	if len(b.hold) > 0 {
		m := &moving{set: b.set, move: HoldDeletion, hold: b.holdAs}
		if b.holdAs == HeldForHost {
			b.ledger.held.add(b.wall, oneDay, len(b.hold))
			m.notes = []Note{b.ledger.note(b.key, b.wall)}
		}
		n, err := d.moveAll(ctx, keysOfResting(b.hold), m)
		if n > 0 {
			d.f.log.Warn("deletions are held: `sextant deletions` lists them", "host", b.host.origin, "deletions", n, "why", b.holdAs)
		}
		if err != nil {
			return err
		}
	}
	return b.send(ctx)
}

// send lets deletions leave.
func (b *bench) send(ctx context.Context) error {
	if len(b.leave) == 0 {
		return nil
	}
	d := b.d
	counts, err := d.f.store.Counts(ctx)
	if err != nil {
		return err
	}
	note, admitted := d.admit(b.set.Brake, counts.Indexed, len(b.leave), b.wall)
	b.ledger.left.add(b.wall, oneDay, admitted)
	m := &moving{set: b.set, move: SendDeletion, notes: []Note{note, b.ledger.note(b.key, b.wall)}}
	if _, err := d.moveAll(ctx, keysOfResting(b.leave[:admitted]), m); err != nil {
		return err
	}
	if admitted == len(b.leave) {
		return nil
	}
	n, err := d.moveAll(ctx, keysOfResting(b.leave[admitted:]), &moving{set: b.set, move: HoldDeletion, hold: HeldForAll})
	d.f.log.Warn("deletions are held: too many documents of the index are to go; `sextant deletions` lists them", "deletions", n)
	return err
}

// restAgain has the deletions rest that were held because a host was ill.
func (b *bench) restAgain(ctx context.Context) error {
	var keys []weburl.Key
	err := b.d.f.store.HeldDeletions(ctx, DeletionFilter{Host: b.host.origin}, func(s StoredDeletion) error {
		if s.Hold == HeldIll {
			keys = append(keys, s.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = b.d.moveAll(ctx, keys, &moving{set: b.set, move: RestDeletion, any: true})
	return err
}

// sortReplaced takes those out of what rests that are replaced, and lets them pass: the
// page has moved for good to one of its own that is in the index.
func (b *bench) sortReplaced(ctx context.Context) error {
	d := b.d
	d.mu.Lock()
	redirected := b.host.redirected
	b.host.redirected = nil
	d.mu.Unlock()
	targets := map[weburl.Key]int{}
	var found []replacement
	for _, one := range b.resting {
		if one.reason != ReasonRedirect && one.reason != ReasonMoved {
			continue
		}
		r, ok, err := d.replacement(ctx, one.key)
		if err != nil {
			return err
		}
		if ok {
			r.one = one
			found = append(found, r)
		}
		targets[r.target]++
	}
	replaced := map[weburl.Key]bool{}
	for _, r := range found {
		a := b.host.arrival(r.one.seq)
		if ready := a.at + int64(b.set.Brake.Rest); b.now < ready && !b.finishing {
			b.wakeAt(ready) // others may turn out to lead there too
		} else if targets[r.target] == 1 && r.alone {
			replaced[r.one.key] = true
		}
	}
	var rest []restingOne
	for _, one := range b.resting {
		switch {
		case replaced[one.key]:
			b.pass = append(b.pass, one)
		case one.reason == ReasonMoved && b.now-b.host.arrival(one.seq).at < int64(restLongest):
			b.moving++ // the page at the new place may not have been crawled yet
			b.wakeAt(b.now + int64(budgetPause))
		default:
			rest = append(rest, one)
		}
	}
	b.resting = rest
	return b.passHeld(ctx, redirected)
}

// passHeld lets held deletions leave whose documents are replaced by now.
func (b *bench) passHeld(ctx context.Context, keys []weburl.Key) error {
	var replaced []weburl.Key
	for _, k := range keys {
		r, ok, err := b.d.replacement(ctx, k)
		if err != nil {
			return err
		}
		if ok && r.alone {
			replaced = append(replaced, k)
		}
	}
	_, err := b.d.moveAll(ctx, replaced, &moving{set: b.set, move: SendDeletion, any: true})
	return err
}

// replacement is the page that another has moved to.
type replacement struct {
	one    restingOne
	target weburl.Key
	alone  bool // no other document led there
}

// replacement says whether a URL redirects for good to a document that is in the index.
func (d *Deletions) replacement(ctx context.Context, k weburl.Key) (r replacement, ok bool, err error) {
	old, err := d.f.store.Lookup(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	u, is := weburl.FromCanonical(old.RedirectTo)
	if !is {
		return r, false, nil
	}
	r.target = u.Key()
	if old.Reason != ReasonMoved && !isReplacement(old.Status) {
		return r, false, nil
	}
	t, err := d.f.store.Lookup(ctx, r.target)
	if errors.Is(err, ErrNotFound) {
		return r, false, nil
	}
	if err != nil || !t.Indexed || t.Deletion != NoDeletion {
		return r, false, err
	}
	r.alone, err = d.leadsAlone(ctx, &old, &t)
	return r, true, err
}

// leadsAlone says that no other document is known to have redirected to a page.
func (d *Deletions) leadsAlone(ctx context.Context, old, target *Record) (bool, error) {
	for _, alias := range target.Aliases {
		u, ok := weburl.FromCanonical(alias)
		if !ok || alias == old.URL {
			continue
		}
		r, err := d.f.store.Lookup(ctx, u.Key())
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		wasDocument := r.Indexed || !r.ChangedAt.IsZero() && !r.Entered
		if r.Class == Redirect && r.RedirectTo == target.URL && wasDocument {
			return false, nil
		}
	}
	return true, nil
}
