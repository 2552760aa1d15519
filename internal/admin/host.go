package admin

import (
	"strings"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// HostDetails describes one host.
type HostDetails struct {
	HostStatus
	BySource map[string]uint64 `json:"by_source"` // waiting URLs, in flight ones included
	// DelayS is the Crawl-delay of its robots.txt, BackoffS the pause after failures; in seconds.
	DelayS   float64 `json:"delay_s"`
	BackoffS float64 `json:"backoff_s"`
	// Pages counts its pages that were rendered or searched since the service started, and names the log-ins; nil
	// without any.
	Pages *meter.HostPagesStatus `json:"pages,omitempty"`
	// Queue are the first waiting URLs of each source.
	Queue []QueuedURL `json:"queue"`
}

// QueuedURL is a waiting URL.
type QueuedURL struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// queueShown is the number of URLs listed per source.
const queueShown = 10

// host describes the host of a URL, or of an origin.
func (s *Server) host(c *call) (any, error) {
	written := c.query.Get("host")
	if written != "" && !strings.Contains(written, "://") {
		written = "http://" + written
	}
	u, err := weburl.Parse(written)
	if err != nil {
		return nil, wrong("host is a URL or its beginning: ?host=https%%3A%%2F%%2Fwww.example.com: %v", err)
	}
	ctx, key := c.r.Context(), u.HostKey()
	info, err := c.crawler.Host(ctx, key)
	if err != nil {
		return nil, err
	}
	state, err := c.crawler.Reports().Host(ctx, key)
	if err != nil {
		return nil, err
	}
	info.Origin = u.Origin() // also if nothing waits
	info.Delay, info.Backoff = max(info.Delay, state.Delay), max(info.Backoff, state.Backoff)
	info.Errors = max(info.Errors, state.Errors)
	out := HostDetails{
		HostStatus: NewHostStatus(info), BySource: map[string]uint64{}, Queue: []QueuedURL{},
		DelayS: info.Delay.Seconds(), BackoffS: info.Backoff.Seconds(), Pages: c.crawler.HostPages(key),
	}
	out.Ill = out.Ill || state.Ill
	for source, n := range info.Waiting {
		out.BySource[scheduler.Source(source).String()] = n
		if n == 0 {
			continue
		}
		waiting, err := c.crawler.Reports().Queue(ctx, scheduler.Place{Source: scheduler.Source(source), Host: key}, 0, queueShown)
		if err != nil {
			return nil, err
		}
		for _, w := range waiting {
			out.Queue = append(out.Queue, QueuedURL{w.Record.URL, scheduler.Source(source).String()})
		}
	}
	return out, nil
}
