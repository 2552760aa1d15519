package crawl

import (
	"context"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Snapshot is what the crawl's frontier is doing at a moment.
func (c *Crawl) Snapshot() scheduler.Snapshot { return c.frontier.Snapshot() }

// Hosts calls fn for hosts with work, as scheduler.Frontier.Hosts does.
func (c *Crawl) Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error {
	return c.frontier.Hosts(ctx, n, fn)
}
