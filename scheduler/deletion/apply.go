package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// moveBatch is how many deletions are moved at once.
const moveBatch = 500

// moving moves deletions, counted in notes that are stored with them.
type moving struct {
	set   *scheduler.Settings
	move  scheduler.DeletionMove
	hold  scheduler.Hold
	notes []scheduler.Note
	left  []weburl.Key // whose documents leave; the store may ask twice for one
	// any says that held deletions, and those whose URL is being fetched, are moved too.
	any bool
}

// revise is what becomes of one deletion and of the record; nil where it is cancelled.
func (m *moving) revise(s scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
	if !m.any && (s.State != scheduler.DeletionResting || r.State == scheduler.Waiting) {
		return nil // its answer decides
	}
	now := time.Now()
	v := &scheduler.Revision{Next: r, Move: m.move, Hold: m.hold, Notes: m.notes}
	if m.move != scheduler.SendDeletion {
		return v
	}
	v.Left(&r, m.set, now)
	m.left = append(m.left, s.Key)
	return v
}

// moveAll moves deletions in batches and returns how many there were.
func (d *Owner) moveAll(ctx context.Context, keys []weburl.Key, m *moving) (int, error) {
	n := 0
	for len(keys) > 0 {
		batch := keys[:min(moveBatch, len(keys))]
		keys = keys[len(batch):]
		// Not cancelled half-way: the store calls the function until it returns.
		places, moved, err := d.store.ReviseDeletions(context.WithoutCancel(ctx), batch, m.revise)
		n += moved
		if err != nil {
			return n, err
		}
		d.f.Announce(places)
		if m.move == scheduler.SendDeletion {
			d.f.LookForDue()
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
	if _, err := d.moveAll(ctx, b.passHeld, &moving{set: b.set, move: scheduler.SendDeletion, any: true}); err != nil {
		return err
	}
	if err := b.move(ctx, b.pass, &moving{set: b.set, move: scheduler.SendDeletion}); err != nil {
		return err
	}
	if len(b.hold) > 0 {
		m := &moving{set: b.set, move: scheduler.HoldDeletion, hold: b.holdAs}
		if b.holdAs == scheduler.HeldForHost {
			b.ledger.held.Add(b.wall, oneDay, len(b.hold))
			m.notes = []scheduler.Note{b.ledger.note(b.key, b.wall)}
		}
		before := b.moved
		err := b.move(ctx, b.hold, m)
		if n := b.moved - before; n > 0 {
			d.log.Warn("deletions are held: `sextant deletions` lists them", "host", b.origin, "deletions", n, "why", b.holdAs.String())
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
	counts, err := d.store.Counts(ctx)
	if err != nil {
		return err
	}
	note, admitted := d.f.Brake().Admit(b.set.Brake, counts.Indexed, len(b.leave), b.wall)
	if admitted > 0 {
		b.ledger.left.Add(b.wall, oneDay, admitted)
		m := &moving{set: b.set, move: scheduler.SendDeletion, notes: []scheduler.Note{note, b.ledger.note(b.key, b.wall)}}
		before := b.moved
		err := b.move(ctx, b.leave[:admitted], m)
		d.f.Brake().TakeBack(admitted - (b.moved - before))
		if err != nil {
			return err
		}
	}
	if admitted == len(b.leave) {
		return nil
	}
	before := b.moved
	err = b.move(ctx, b.leave[admitted:], &moving{set: b.set, move: scheduler.HoldDeletion, hold: scheduler.HeldForAll})
	if n := b.moved - before; n > 0 {
		d.log.Warn("deletions are held: too many documents of the index are to go; `sextant deletions` lists them", "deletions", n)
	}
	return err
}
