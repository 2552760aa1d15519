package admin

import (
	"context"
	"time"

	"log/slog"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func (f fakeCrawler) Host(ctx context.Context, k weburl.HostKey) (scheduler.HostInfo, error) {
	return scheduler.New(f.store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler)).Host(ctx, k)
}

func (f fakeCrawler) LastRound() (began time.Time) {
	if f.round != nil {
		began = *f.round
	}
	return began
}

func (f fakeCrawler) HostTime(weburl.HostKey) time.Duration { return 120 * time.Millisecond }

// HostPages returns those of any host.
func (fakeCrawler) HostPages(weburl.HostKey) *meter.HostPagesStatus {
	return &meter.HostPagesStatus{Rendered: 3, RenderFailed: 1, Searched: 5, NoField: 2, Main: 4, NoMain: 1, LogIns: []string{"wiki"}}
}

func (fakeCrawler) Snapshot() scheduler.Snapshot { return scheduler.Snapshot{Hosts: 7, IllHosts: 3} }

func (f fakeCrawler) Ill() []scheduler.IllHost {
	u, err := weburl.Parse("http://b.test/")
	if err != nil {
		return nil
	}
	return []scheduler.IllHost{{Host: u.HostKey(), Origin: "http://b.test"}}
}
