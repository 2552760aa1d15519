package scheduler

import (
	"context"
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
	// any says that held deletions, and those whose URL is being fetched, are moved too.
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

// moveAll moves deletions in batches and returns how many there were.
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

// apply carries out what is decided. Deletions beyond what may leave the index are held.
func (b *bench) apply(ctx context.Context) error {
	d := b.d
	if _, err := d.moveAll(ctx, b.passHeld, &moving{set: b.set, move: SendDeletion, any: true}); err != nil {
		return err
	}
	if err := b.move(ctx, b.pass, &moving{set: b.set, move: SendDeletion}); err != nil {
		return err
	}
	if len(b.hold) > 0 {
		m := &moving{set: b.set, move: HoldDeletion, hold: b.holdAs}
		if b.holdAs == HeldForHost {
			b.ledger.held.add(b.wall, oneDay, len(b.hold))
			m.notes = []Note{b.ledger.note(b.key, b.wall)}
		}
		before := b.moved
		err := b.move(ctx, b.hold, m)
		if n := b.moved - before; n > 0 {
			d.f.log.Warn("deletions are held: `sextant deletions` lists them", "host", b.origin, "deletions", n, "why", b.holdAs.String())
		}
		if err != nil {
			return err
		}
	}
	return b.send(ctx)
}

// move moves deletions. It passes over those whose URL is being fetched: the answer decides,
// and if it tells nothing, they are judged again.
func (b *bench) move(ctx context.Context, list []restingOne, m *moving) error {
	n, err := b.d.moveAll(ctx, keysOfResting(list), m)
	if b.moved += n; n < len(list) {
		b.wakeAt(b.now + int64(controlFirst))
	}
	return err
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
	if admitted > 0 {
		b.ledger.left.add(b.wall, oneDay, admitted)
		m := &moving{set: b.set, move: SendDeletion, notes: []Note{note, b.ledger.note(b.key, b.wall)}}
		before := b.moved
		err := b.move(ctx, b.leave[:admitted], m)
		d.takeBack(admitted - (b.moved - before))
		if err != nil {
			return err
		}
	}
	if admitted == len(b.leave) {
		return nil
	}
	before := b.moved
	err = b.move(ctx, b.leave[admitted:], &moving{set: b.set, move: HoldDeletion, hold: HeldForAll})
	if n := b.moved - before; n > 0 {
		d.f.log.Warn("deletions are held: too many documents of the index are to go; `sextant deletions` lists them", "deletions", n)
	}
	return err
}
