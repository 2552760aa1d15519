package crawl

import (
	"context"
	"log/slog"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// Release carries out deletions by order of the operator, as deletion.Owner.Release describes. It returns their number.
func (c *Crawl) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return c.deletions.Release(context.WithoutCancel(ctx), f)
}

// DropDeletions forgets deletions and fetches their URLs again. It returns how many there were.
func (c *Crawl) DropDeletions(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	defer c.frontier.Busy()()
	// A client that goes away must not keep the frontier from hearing of the work.
	return c.deletions.Drop(context.WithoutCancel(ctx), f)
}

// Losses returns the hosts that are ill or have pending losses, in no order, and the last edits of the rules, oldest
// first.
func (c *Crawl) Losses() ([]deletion.HostState, []deletion.Edit) {
	return c.deletions.States(), c.deletions.Edits()
}

// ReleaseStored is Crawl.Release for a store that no crawl has open.
func ReleaseStored(ctx context.Context, settings policy.Settings, store scheduler.Store, f scheduler.DeletionFilter, log *slog.Logger) (int, error) {
	d, err := deletion.New(ctx, scheduler.New(store, settings.Frontier, log), store, log)
	if err != nil {
		return 0, err
	}
	return d.Release(ctx, f)
}

// DropStored is Crawl.DropDeletions for a store that no crawl has open.
func DropStored(ctx context.Context, settings policy.Settings, store scheduler.Store, f scheduler.DeletionFilter, log *slog.Logger) (int, error) {
	d, err := deletion.New(ctx, scheduler.New(store, settings.Frontier, log), store, log)
	if err != nil {
		return 0, err
	}
	return d.Drop(ctx, f)
}
