package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// moveBatch is the number of losses that are moved at once.
const moveBatch = 500

// moving is an operation on pending losses.
type moving struct {
	set     *scheduler.Settings
	move    scheduler.DeletionMove
	counted bool         // they count as losses
	any     bool         // include those whose URL is being fetched
	drops   bool         // drop them, except those of edits, and queue their URLs
	out     []weburl.Key // whose losses are carried out; duplicates are possible, since the store may call twice for one
}

// revise returns the change of one loss and its record.
func (m *moving) revise(s scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
	if !m.any && r.State == scheduler.Waiting {
		return nil // the response decides
	}
	v := &scheduler.Revision{Next: r, Move: m.move}
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
		if s.Reason != scheduler.ReasonTarget {
			m.out = append(m.out, s.Key)
		}
	}
	return v
}

// moveAll moves losses in batches and returns how many there were.
func (d *Owner) moveAll(ctx context.Context, keys []weburl.Key, m *moving) (int, error) {
	n := 0
	for batch := range slices.Chunk(keys, moveBatch) {
		if m.move == scheduler.SendDeletion {
			if err := d.f.NoteLists(ctx, batch); err != nil {
				return n, err
			}
		}
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
		if err := errors.Join(d.f.ReadLists(ctx), ctx.Err()); err != nil {
			return n, err
		}
	}
	return n, nil
}

// apply carries out what is decided.
func (b *hostLosses) apply(ctx context.Context) error {
	if err := b.move(ctx, b.replaced, &moving{set: b.set, move: scheduler.SendDeletion}); err != nil {
		return err
	}
	if len(b.out) > 0 {
		if err := b.carryOut(ctx); err != nil {
			return err
		}
	}
	_, err := b.d.moveAll(ctx, b.well, &moving{set: b.set, move: scheduler.MarkWell, any: true})
	return err
}

// carryOut counts losses and carries them out, in this order: after a crash between the two they count twice.
func (b *hostLosses) carryOut(ctx context.Context) error {
	if err := b.count(ctx, b.counts, b.gone); err != nil {
		return err
	}
	before := b.pending
	// Of a host that is gone those too whose URL waits for the next of many retries: no response is expected.
	err := b.move(ctx, b.out, &moving{set: b.set, move: scheduler.SendDeletion, counted: true, any: b.group.HostGone})
	n := before - b.pending
	if less := b.counts - n; less > 0 { // their URLs are being fetched
		err = errors.Join(err, b.count(ctx, -less, -min(less, b.gone)))
	}
	if n > 0 && b.group.HostGone {
		b.d.log.Warn("a host is gone; deleting its documents", "host", b.state.Origin, "documents", n)
	}
	return err
}

// count counts n losses, gone of them documents that leave, in the ledgers.
func (b *hostLosses) count(ctx context.Context, n, gone int) error {
	b.ledger.carriedOut(b.now, n, gone)
	if err := b.ledger.store(ctx, b.d.store, ledgerName(b.key), b.now); err != nil || !b.state.Pooled {
		return err
	}
	b.d.pool.carriedOut(b.now, n, gone)
	return b.d.pool.store(ctx, b.d.store, poolName, b.now)
}

// move moves losses. It passes over those whose URL is being fetched: the response decides, and if it is not
// conclusive, they are judged again.
func (b *hostLosses) move(ctx context.Context, keys []weburl.Key, m *moving) error {
	n, err := b.d.moveAll(ctx, keys, m)
	if b.pending -= n; n < len(keys) {
		b.wakeAt(b.now.Add(roundFirst))
	}
	return err
}

// Release carries out the selected losses on the operator's request, regardless of their host and their number, but no
// loss that is found later. It returns their number. The error is ErrNotFound if f selects only an edit, and that edit
// is unknown.
func (d *Owner) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	n, err := d.moveSelected(ctx, f, &moving{set: d.f.Settings(), move: scheduler.SendDeletion, any: true, counted: true})
	if err != nil || f.Edit == 0 || len(f.URLs) > 0 || f.Host != "" || f.Reason != scheduler.NoReason {
		return n, err
	}
	found := n > 0
	err = d.changeEdits(ctx, func(list []Edit) []Edit {
		if i := slices.IndexFunc(list, func(e Edit) bool { return e.Number == f.Edit }); i >= 0 {
			found = true
			if e := &list[i]; e.State == EditHeld {
				e.State, e.Sent = EditSent, e.Deletions
			}
		}
		return list
	})
	if err == nil && !found {
		err = fmt.Errorf("edit %d of the rules: %w", f.Edit, scheduler.ErrNotFound)
	}
	return n, err
}

// Drop drops the selected losses and queues their URLs in the refresh source, except those that already wait. It passes
// over losses of edits, which the rules would cause again. It returns their number.
func (d *Owner) Drop(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	return d.moveSelected(ctx, f, &moving{drops: true, any: true})
}

// moveSelected moves the losses that f selects.
func (d *Owner) moveSelected(ctx context.Context, f scheduler.DeletionFilter, m *moving) (int, error) {
	keys, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	return d.moveAll(ctx, keys, m)
}

// selected returns the keys of the losses that f selects, oldest first.
func (d *Owner) selected(ctx context.Context, f scheduler.DeletionFilter) (keys []weburl.Key, err error) {
	err = d.store.PendingDeletions(ctx, f, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		return nil
	})
	return keys, err
}
