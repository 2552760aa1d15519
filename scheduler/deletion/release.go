package deletion

import (
	"context"

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
	return d.moveSelected(ctx, f, &moving{set: d.f.Settings(), move: scheduler.SendDeletion, any: true, counted: true})
}

// Drop drops the selected losses and has their URLs fetched again, in the refresh source, except those that wait
// already. It passes over those of edits, which the rules would make again. It returns how many there were.
func (d *Owner) Drop(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	return d.moveSelected(ctx, f, &moving{drops: true, any: true})
}

// moveSelected moves the losses that f selects.
func (d *Owner) moveSelected(ctx context.Context, f scheduler.DeletionFilter, m *moving) (int, error) {
	var keys []weburl.Key
	err := d.store.PendingDeletions(ctx, f, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		m.targets = m.targets || s.Reason == scheduler.ReasonTarget
		return nil
	})
	if err != nil {
		return 0, err
	}
	return d.moveAll(ctx, keys, m)
}
