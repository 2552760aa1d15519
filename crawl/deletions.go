package crawl

import (
	"context"
	"log/slog"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Release is the operator's word for deletions, as scheduler.Deletions.Release takes it. It
// gives how many left.
func (c *Crawl) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return c.frontier.Deletions().Release(context.WithoutCancel(ctx), f)
}

// DropDeletions forgets deletions and fetches their URLs again. It returns how many there were.
func (c *Crawl) DropDeletions(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	defer c.frontier.Busy()()
	// A client that goes away must not keep the frontier from hearing of the work.
	return c.frontier.Deletions().Drop(context.WithoutCancel(ctx), f)
}

// Edits are the last edits of the rules, oldest first.
func (c *Crawl) Edits() []scheduler.Edit { return c.frontier.Deletions().Edits() }

// ReleaseStored does what Crawl.Release does with a store that no crawl has open.
func ReleaseStored(ctx context.Context, settings policy.Settings, store scheduler.Store, f scheduler.DeletionFilter, log *slog.Logger) (int, error) {
	return scheduler.New(store, settings.Frontier, log).Deletions().Release(ctx, f)
}

// DropStored does what Crawl.DropDeletions does with a store that no crawl has open.
func DropStored(ctx context.Context, settings policy.Settings, store scheduler.Store, f scheduler.DeletionFilter, log *slog.Logger) (int, error) {
	return scheduler.New(store, settings.Frontier, log).Deletions().Drop(ctx, f)
}
