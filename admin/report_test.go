package admin

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// fakeReports is a store without links and orders.
type fakeReports struct{ scheduler.Store }

func (f fakeCrawler) Reports() crawl.ReportStore { return fakeReports{f.store} }

func (fakeReports) Outlinks(context.Context, weburl.Key, func(weburl.Key, scheduler.LinkPrints) error) error {
	return nil
}

func (fakeReports) Gone(context.Context, weburl.Key, func(weburl.Key, scheduler.Gone) error) error {
	return nil
}

func (fakeReports) Orders(context.Context, push.Selection, func(push.Listed) error) error { return nil }
