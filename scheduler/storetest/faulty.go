package storetest

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Faulty is a Store whose calls can be delayed and made to fail. The hooks get
// the method's name ("Add", "Complete", ...); a nil hook does nothing. They are
// called by several goroutines at once and may block.
type Faulty struct {
	scheduler.Store
	// Before runs before the call; its error is the call's, and nothing happens.
	Before func(ctx context.Context, method string) error
	// After runs after a call that changed something and succeeded; its error is
	// the call's all the same: the change is stored and the caller does not know.
	After func(ctx context.Context, method string) error
}

func (f *Faulty) before(ctx context.Context, method string) error {
	if f.Before == nil {
		return nil
	}
	return f.Before(ctx, method)
}

func (f *Faulty) after(ctx context.Context, method string, err error) error {
	if err != nil || f.After == nil {
		return err
	}
	return f.After(ctx, method)
}

// Add implements scheduler.Store.
func (f *Faulty) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	if err := f.before(ctx, "Add"); err != nil {
		return nil, 0, err
	}
	p, n, err := f.Store.Add(ctx, links, requeue)
	if err = f.after(ctx, "Add", err); err != nil {
		return nil, 0, err
	}
	return p, n, nil
}

// Complete implements scheduler.Store.
func (f *Faulty) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	if err := f.before(ctx, "Complete"); err != nil {
		return err
	}
	return f.Store.Complete(ctx, c, func(is scheduler.Completed) {
		if err := f.after(ctx, "Complete", is.Err); err != nil {
			is = scheduler.Completed{Err: err}
		}
		settled(is)
	})
}

// Revise implements scheduler.Store.
func (f *Faulty) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	if err := f.before(ctx, "Revise"); err != nil {
		return nil, 0, err
	}
	p, n, err := f.Store.Revise(ctx, keys, fn)
	if err = f.after(ctx, "Revise", err); err != nil {
		return nil, 0, err
	}
	return p, n, nil
}

// ReviseDeletions implements scheduler.Store.
func (f *Faulty) ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	if err := f.before(ctx, "ReviseDeletions"); err != nil {
		return nil, 0, err
	}
	p, n, err := f.Store.ReviseDeletions(ctx, keys, fn)
	if err = f.after(ctx, "ReviseDeletions", err); err != nil {
		return nil, 0, err
	}
	return p, n, nil
}

// Deletions implements scheduler.Store.
func (f *Faulty) Deletions(ctx context.Context, g scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	if err := f.before(ctx, "Deletions"); err != nil {
		return err
	}
	return f.Store.Deletions(ctx, g, fn)
}

// DeletionGroups implements scheduler.Store.
func (f *Faulty) DeletionGroups(ctx context.Context, fn func(scheduler.DeletionGroup, uint64) error) error {
	if err := f.before(ctx, "DeletionGroups"); err != nil {
		return err
	}
	return f.Store.DeletionGroups(ctx, fn)
}

// PendingDeletions implements scheduler.Store.
func (f *Faulty) PendingDeletions(ctx context.Context, filter scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	if err := f.before(ctx, "PendingDeletions"); err != nil {
		return err
	}
	return f.Store.PendingDeletions(ctx, filter, fn)
}

// Documents implements scheduler.Store.
func (f *Faulty) Documents(ctx context.Context, h weburl.HostKey) (scheduler.HostDocuments, error) {
	if err := f.before(ctx, "Documents"); err != nil {
		return scheduler.HostDocuments{}, err
	}
	return f.Store.Documents(ctx, h)
}

// Inspect implements scheduler.Store.
func (f *Faulty) Inspect(ctx context.Context, filter scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	if err := f.before(ctx, "Inspect"); err != nil {
		return err
	}
	return f.Store.Inspect(ctx, filter, fn)
}

// Queue implements scheduler.Store.
func (f *Faulty) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	if err := f.before(ctx, "Queue"); err != nil {
		return nil, err
	}
	return f.Store.Queue(ctx, p, after, n)
}

// Due implements scheduler.Store.
func (f *Faulty) Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, time.Time, error) {
	if err := f.before(ctx, "Due"); err != nil {
		return nil, time.Time{}, err
	}
	p, next, err := f.Store.Due(ctx, now, refresh, n)
	if err = f.after(ctx, "Due", err); err != nil {
		return nil, time.Time{}, err
	}
	return p, next, nil
}

// Places implements scheduler.Store.
func (f *Faulty) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	if err := f.before(ctx, "Places"); err != nil {
		return err
	}
	return f.Store.Places(ctx, fn)
}

// Waits implements scheduler.Store.
func (f *Faulty) Waits(ctx context.Context, p scheduler.Place) (uint64, error) {
	if err := f.before(ctx, "Waits"); err != nil {
		return 0, err
	}
	return f.Store.Waits(ctx, p)
}

// Host implements scheduler.Store.
func (f *Faulty) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	if err := f.before(ctx, "Host"); err != nil {
		return scheduler.HostState{}, err
	}
	return f.Store.Host(ctx, h)
}

// Value implements scheduler.Store.
func (f *Faulty) Value(ctx context.Context, name scheduler.ValueName) ([]byte, error) {
	if err := f.before(ctx, "Value"); err != nil {
		return nil, err
	}
	return f.Store.Value(ctx, name)
}

// SetValue implements scheduler.Store.
func (f *Faulty) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	if err := f.before(ctx, "SetValue"); err != nil {
		return err
	}
	return f.after(ctx, "SetValue", f.Store.SetValue(ctx, name, value))
}
