package crawl

import (
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Snapshot returns the state of the crawl's frontier.
func (c *Crawl) Snapshot() scheduler.Snapshot { return c.frontier.Snapshot() }

// Hosts calls fn for hosts with work, as scheduler.Frontier.Hosts does.
func (c *Crawl) Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error {
	return c.frontier.Hosts(ctx, n, fn)
}

// Host describes one host, like scheduler.Frontier.Host.
func (c *Crawl) Host(ctx context.Context, host weburl.HostKey) (scheduler.HostInfo, error) {
	return c.frontier.Host(ctx, host)
}

// Ill returns the ill hosts, like scheduler.Frontier.Ill.
func (c *Crawl) Ill() []scheduler.IllHost { return c.frontier.Ill() }

// HostTime returns the mean response time of a host since the process started, or 0 if unknown.
func (c *Crawl) HostTime(host weburl.HostKey) time.Duration { return c.meter.HostTimes.Mean(host) }

// HostPages counts pages of a host that were rendered or searched since the process started, and names its log-ins; nil
// if there are none.
func (c *Crawl) HostPages(host weburl.HostKey) *meter.HostPagesStatus {
	return c.meter.HostPages.Status(host)
}

// aliveName is the value that a proof of life stores.
const aliveName = "alive"

// Alive proves that the crawl makes progress: it blocks until the frontier's loop has completed an iteration and the
// store has responded to a write. It returns an error if ctx ends first. It ignores errors of the store, which the
// affected pages report. The crawl must be running.
func (c *Crawl) Alive(ctx context.Context) error {
	if err := c.frontier.Alive(ctx); err != nil {
		return fmt.Errorf("the frontier's loop is stuck: %w", err)
	}
	if err := c.store.SetValue(ctx, scheduler.CrawlValue(aliveName), nil); err != nil && ctx.Err() != nil {
		return fmt.Errorf("the store does not respond: %w", err)
	}
	return nil
}
