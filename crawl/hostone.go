package crawl

import (
	"context"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Host tells of one host, as scheduler.Frontier.Host does.
func (c *Crawl) Host(ctx context.Context, host weburl.HostKey) (scheduler.HostInfo, error) {
	return c.frontier.Host(ctx, host)
}

// Ill names the hosts whose documents turn bad, as scheduler.Frontier.Ill does.
func (c *Crawl) Ill() []scheduler.IllHost { return c.frontier.Ill() }
