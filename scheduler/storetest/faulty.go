package storetest

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Faulty is a Store whose calls can be delayed and made to fail. The hooks get the method's name ("Add", "Complete",
// ...); a nil hook does nothing. They are called concurrently and may block.
type Faulty struct {
	scheduler.Store
	// Before runs before the call; if it returns an error, the call returns it and has no effect.
	Before func(ctx context.Context, method string) error
	// After runs after a call that changed something and succeeded; its error is returned although the change is stored.
	After func(ctx context.Context, method string) error
}

func (f *Faulty) read(ctx context.Context, method string, call func() error) error {
	if f.Before != nil {
		if err := f.Before(ctx, method); err != nil {
			return err
		}
	}
	return call()
}

func (f *Faulty) change(ctx context.Context, method string, call func() error) error {
	return f.read(ctx, method, func() error { return f.after(ctx, method, call()) })
}

func (f *Faulty) after(ctx context.Context, method string, err error) error {
	if err != nil || f.After == nil {
		return err
	}
	return f.After(ctx, method)
}

// Add implements scheduler.Store.
func (f *Faulty) Add(
	ctx context.Context, links []scheduler.Link, requeue bool,
) (p []scheduler.Place, n int, err error) {
	err = f.change(ctx, "Add", func() error { p, n, err = f.Store.Add(ctx, links, requeue); return err })
	return p, n, err
}

// Complete implements scheduler.Store.
func (f *Faulty) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	return f.read(ctx, "Complete", func() error {
		return f.Store.Complete(ctx, c, func(is scheduler.Completed) {
			if err := f.after(ctx, "Complete", is.Err); err != nil {
				is = scheduler.Completed{Err: err}
			}
			settled(is)
		})
	})
}

// Revise implements scheduler.Store.
func (f *Faulty) Revise(
	ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision,
) (p []scheduler.Place, n int, err error) {
	err = f.change(ctx, "Revise", func() error { p, n, err = f.Store.Revise(ctx, keys, fn); return err })
	return p, n, err
}

// ReviseDeletions implements scheduler.Store.
func (f *Faulty) ReviseDeletions(
	ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision,
) (p []scheduler.Place, n int, err error) {
	err = f.change(ctx, "ReviseDeletions", func() error { p, n, err = f.Store.ReviseDeletions(ctx, keys, fn); return err })
	return p, n, err
}

// Deletions implements scheduler.Store.
func (f *Faulty) Deletions(
	ctx context.Context, g scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error,
) error {
	return f.read(ctx, "Deletions", func() error { return f.Store.Deletions(ctx, g, fn) })
}

// Inspect implements scheduler.Store.
func (f *Faulty) Inspect(
	ctx context.Context, filter scheduler.Filter, fn func(weburl.Key, scheduler.Record) error,
) error {
	return f.read(ctx, "Inspect", func() error { return f.Store.Inspect(ctx, filter, fn) })
}

// Queue implements scheduler.Store.
func (f *Faulty) Queue(
	ctx context.Context, p scheduler.Place, after uint64, n int,
) (urls []scheduler.WaitingURL, err error) {
	err = f.read(ctx, "Queue", func() error { urls, err = f.Store.Queue(ctx, p, after, n); return err })
	return urls, err
}

// Due implements scheduler.Store.
func (f *Faulty) Due(
	ctx context.Context, now time.Time, refresh scheduler.Source, n int,
) (p []scheduler.Place, next time.Time, err error) {
	err = f.change(ctx, "Due", func() error { p, next, err = f.Store.Due(ctx, now, refresh, n); return err })
	return p, next, err
}

// Places implements scheduler.Store.
func (f *Faulty) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	return f.read(ctx, "Places", func() error { return f.Store.Places(ctx, fn) })
}

// Waits implements scheduler.Store.
func (f *Faulty) Waits(ctx context.Context, p scheduler.Place) (n uint64, err error) {
	err = f.read(ctx, "Waits", func() error { n, err = f.Store.Waits(ctx, p); return err })
	return n, err
}

// Host implements scheduler.Store.
func (f *Faulty) Host(ctx context.Context, h weburl.HostKey) (s scheduler.HostState, err error) {
	err = f.read(ctx, "Host", func() error { s, err = f.Store.Host(ctx, h); return err })
	return s, err
}

// SetValue implements scheduler.Store.
func (f *Faulty) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	return f.change(ctx, "SetValue", func() error { return f.Store.SetValue(ctx, name, value) })
}
