package service

import (
	"context"
	"io"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned/union"
	"github.com/sextant-crawler/sextant/weburl"
)

// Store is a Crawler's: one, or the partitions of a cluster that are here.
type Store interface {
	measured
	crawl.Store
	report.Store
	// OutboxOf is the outbox in which a URL's orders wait.
	OutboxOf(u weburl.URL) (push.Outbox, error)
	RetryDead(ctx context.Context, sel push.Selection) (int, error)
	DropDead(ctx context.Context, sel push.Selection) (int, error)
	Backup(ctx context.Context, w io.Writer) (badgerstore.BackupReport, error)
	Verify(ctx context.Context, fn func(badgerstore.Fault)) (badgerstore.Report, error)
	Close() error
}

// measured is what figures are read from.
type measured interface {
	OutboxFigures(ctx context.Context) (badgerstore.OutboxFigures, error)
	Stats() (badgerstore.Stats, error)
}

// single is a store that has all of a crawl.
type single struct{ *badgerstore.Store }

var (
	_ Store = single{}
	_ Store = union.Store{}
)

// OutboxOf implements Store.
func (s single) OutboxOf(weburl.URL) (push.Outbox, error) { return s.Outbox(), nil }
