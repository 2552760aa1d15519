package crawl

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// waitsEvery is the interval at which a crawl with --once logs the reason why it waits.
const waitsEvery = time.Minute

// logWaits logs the reason why the crawl waits, until ctx ends. Otherwise a run under cron that obeys a Retry-After
// seems to hang. Errors of the store are left to callers that need it.
func logWaits(ctx context.Context, c *Crawl) error {
	tick := time.NewTicker(waitsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := logWait(ctx, c); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot determine why the crawl waits", "error", err)
		}
	}
}

func logWait(ctx context.Context, c *Crawl) error {
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return err
	}
	resting, err := c.frontier.Resting(ctx)
	if err != nil {
		return err
	}
	var urls uint64
	for source, n := range counts.Pending {
		if c.policy().Settings.Frontier.Weights[source] > 0 {
			urls += n
		}
	}
	f, pages := c.Snapshot(), c.meter.Totals().Pages
	switch {
	case f.IdleCode == scheduler.IdleStopped:
		c.log.Info("waiting for the indexer", "orders", counts.Outbox.Waiting, "pages", pages)
	case resting.Hosts > 0:
		last := &resting.Last
		c.log.Info("waiting", "hosts", resting.Hosts, "host", last.Origin, "until", last.Until.Truncate(time.Second),
			"why", last.Closing, "urls", resting.URLs, "of", urls, "pages", pages)
	case urls == 0 && f.InFlight == 0:
		c.log.Info("waiting to request missing pages again", "deletions", counts.Outbox.Pending, "pages", pages)
	default:
		c.log.Info("crawling", "urls", urls, "pages", pages)
	}
	return nil
}
