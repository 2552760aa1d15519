package deletion

import (
	"context"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Release carries out the selected losses on the operator's request, whatever their host is like and however many there
// are, but none that is found later. It returns their number. The error is ErrNotFound if f selects only an edit, and
// that edit is unknown.
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
	keys, err := d.selected(ctx, f, m)
	if err != nil {
		return 0, err
	}
	return d.moveAll(ctx, keys, m)
}

// selected returns the keys of the losses that f selects, oldest first, and sets m.targets if moves are among them.
func (d *Owner) selected(ctx context.Context, f scheduler.DeletionFilter, m *moving) (keys []weburl.Key, err error) {
	err = d.store.PendingDeletions(ctx, f, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		m.targets = m.targets || s.Reason == scheduler.ReasonTarget
		return nil
	})
	return keys, err
}
