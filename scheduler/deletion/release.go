package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Release is the operator's word: the selected losses are carried out, whatever their host is like, and
// none that is found later. It returns how many there were.
func (d *Owner) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	if f.Edit != 0 && len(f.URLs) == 0 && f.Host == "" && f.Reason == scheduler.NoReason {
		return d.AllowEdit(ctx, f)
	}
	d.judging.Lock()
	defer d.judging.Unlock()
	return d.release(ctx, f)
}

func (d *Owner) release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	keys, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	return d.moveAll(ctx, keys, &moving{set: d.f.Settings(), move: scheduler.SendDeletion, any: true, counted: true})
}

// selected are the keys of losses.
func (d *Owner) selected(ctx context.Context, f scheduler.DeletionFilter) (keys []weburl.Key, err error) {
	err = d.store.PendingDeletions(ctx, f, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		return nil
	})
	return keys, err
}

// Drop drops the selected losses and has their URLs fetched again, in the refresh
// source, except those that wait already. It passes over those of edits, which the rules would make again.
// It returns how many there were.
func (d *Owner) Drop(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	keys, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	n := 0
	for len(keys) > 0 {
		batch := keys[:min(moveBatch, len(keys))]
		keys = keys[len(batch):]
		places, dropped, err := d.store.ReviseDeletions(context.WithoutCancel(ctx), batch, func(s scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			if s.Edit != 0 {
				return nil
			}
			if r.State != scheduler.Waiting {
				r.State, r.Source, r.NextAt = scheduler.Waiting, scheduler.Refresh, time.Time{}
			}
			r.LossPending, r.Misses = false, 0
			return &scheduler.Revision{Next: r, CancelDeletion: true}
		})
		n += dropped
		if err != nil {
			return n, err
		}
		d.f.Announce(places)
	}
	return n, nil
}
