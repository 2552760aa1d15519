package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// moveBatch is how many losses are moved at once.
const moveBatch = 500

// moving moves losses, counted in notes that are stored with them.
type moving struct {
	set     *scheduler.Settings
	move    scheduler.DeletionMove
	notes   []scheduler.Note
	counted bool         // they count as losses
	any     bool         // those whose URL is being fetched are moved too
	drops   bool         // they are dropped, except those of edits, and their URLs fetched again
	out     []weburl.Key // whose losses are carried out; the store may ask twice for one
}

// revise is what becomes of one loss and of the record.
func (m *moving) revise(s scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
	if !m.any && r.State == scheduler.Waiting {
		return nil // its response decides
	}
	v := &scheduler.Revision{Next: r, Move: m.move, Notes: m.notes}
	if n := &v.Next; m.drops {
		if s.Edit != 0 {
			return nil
		}
		if n.State != scheduler.Waiting {
			n.State, n.Source, n.NextAt = scheduler.Waiting, scheduler.Refresh, time.Time{}
		}
		n.Misses, v.CancelDeletion = 0, true
	}
	if m.move == scheduler.SendDeletion {
		v.CarryOut(&s, &r, m.set, m.counted, time.Now())
		m.out = append(m.out, s.Key)
	}
	return v
}

// moveAll moves losses in batches and returns how many there were.
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
		d.f.LookForDue()
		if d.onCarryOut != nil && len(m.out) > 0 {
			if err := d.onCarryOut(ctx, m.out); err != nil {
				return n, err
			}
		}
		m.out = nil
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// apply carries out what is decided.
func (b *bench) apply(ctx context.Context) error {
	if err := b.move(ctx, b.replaced, &moving{set: b.set, move: scheduler.SendDeletion}); err != nil {
		return err
	}
	if len(b.out) > 0 {
		if err := b.carryOut(ctx); err != nil {
			return err
		}
	}
	if len(b.well) == 0 {
		return nil
	}
	_, err := b.d.moveAll(ctx, b.well, &moving{set: b.set, move: scheduler.MarkWell, any: true})
	return err
}

// carryOut carries losses out and counts them.
func (b *bench) carryOut(ctx context.Context) error {
	d := b.d
	m := &moving{set: b.set, move: scheduler.SendDeletion, counted: true}
	if err := b.count(m, b.counts, b.gone); err != nil {
		return err
	}
	before := b.done
	err := b.move(ctx, b.out, m)
	if less := b.counts - (b.done - before); less > 0 { // their URLs are being fetched
		if err := b.count(&moving{}, -less, -min(less, b.gone)); err != nil {
			return err
		}
	}
	if n := b.done - before; n > 0 && b.group.HostGone {
		d.log.Warn("a host is gone: its documents are deleted", "host", b.host.origin, "documents", n)
	}
	return err
}

// count counts n losses, gone of them documents that leave, in the ledgers, which are stored with what m moves.
func (b *bench) count(m *moving, n, gone int) error {
	ledgers := map[scheduler.ValueName]*ledger{ledgerName(b.key): &b.ledger}
	if b.state.Pooled {
		ledgers[poolName] = &b.d.pool
	}
	for name, l := range ledgers {
		l.carriedOut(b.now, n, gone)
		note, err := l.note(name, b.now)
		if err != nil {
			return err
		}
		m.notes = append(m.notes, note)
	}
	return nil
}

// move moves losses. It passes over those whose URL is being fetched: the response decides,
// and if it says nothing, they are judged again.
func (b *bench) move(ctx context.Context, keys []weburl.Key, m *moving) error {
	n, err := b.d.moveAll(ctx, keys, m)
	if b.done += n; n < len(keys) {
		b.wakeAt(b.now.Add(roundFirst))
	}
	return err
}
