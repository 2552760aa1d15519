package crawl

import (
	"context"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Host tells of one host, as scheduler.Frontier.Host does.
func (c *Crawl) Host(ctx context.Context, host weburl.HostKey) (scheduler.HostInfo, error) {
	return c.frontier.Host(ctx, host)
}

// Ill names the hosts whose documents turn bad, as scheduler.Frontier.Ill does.
func (c *Crawl) Ill() []scheduler.IllHost { return c.frontier.Ill() }

// takenCounts are the URLs that workers took, by source.
type takenCounts [scheduler.Sources]atomic.Uint64

// count adds a lease, if there is one.
func (t *takenCounts) count(l *scheduler.Lease) {
	if l != nil && int(l.Record.Source) < len(t) {
		t[l.Record.Source].Add(1)
	}
}

func (t *takenCounts) counts() map[string]uint64 {
	out := map[string]uint64{}
	for source := range t {
		out[scheduler.Source(source).String()] = t[source].Load()
	}
	return out
}
