package admin

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// fakeReports is the store of a fakeCrawler, without links.
type fakeReports struct {
	*teststore.Store
	broken error
}

func (f fakeCrawler) Reports() report.Store { return fakeReports{f.store, f.broken} }

func (f fakeCrawler) Traps(ctx context.Context) (policy.TrapCounts, error) {
	return policy.StoredTraps(ctx, f.store)
}

func (f fakeCrawler) HostURLs(ctx context.Context, u weburl.URL) (int, error) {
	return policy.StoredHostURLs(ctx, f.store, u)
}

func (fakeReports) Outlinks(context.Context, weburl.Key, func(weburl.Key, scheduler.LinkPrints) error) error {
	return nil
}

func (fakeReports) Gone(context.Context, weburl.Key, func(weburl.Key, scheduler.Gone) error) error {
	return nil
}
