package admin

import (
	"context"
	"io"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Explained is the part of a Crawler that explanations need.
type Explained interface {
	// Reports returns the store, for reading only.
	Reports() report.Store
	// Losses returns when pending deletions leave.
	Losses(ctx context.Context) (*Losses, error)
	// Traps returns the counts of traps, and HostURLs how many URLs of an origin are known.
	Traps(ctx context.Context) (policy.TrapCounts, error)
	HostURLs(ctx context.Context, u weburl.URL) (int, error)
}

// Crawler is the API's access to one Crawler: a running crawl, or only its store if no service runs.
type Crawler interface {
	Explained
	Name() string
	Status(ctx context.Context) (Status, error)
	// Settings returns the settings in force.
	Settings() policy.Settings
	// Verify checks the store's invariants and calls fn for each fault.
	Verify(ctx context.Context, fn func(fault string)) (records uint64, err error)
	// Backup writes a copy of the store, as of one moment.
	Backup(ctx context.Context, w io.Writer) error
	// Note stores an event, which events.List then finds in Reports.
	Note(ctx context.Context, e events.Event) error

	// Hosts calls fn for the n hosts with the longest queues, then for up to n more
	// that rest longest.
	Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error
	// Host returns one host, and Ill the hosts that are ill, as scheduler.Frontier does.
	Host(ctx context.Context, host weburl.HostKey) (scheduler.HostInfo, error)
	Ill() []scheduler.IllHost
	// Snapshot returns the state of the frontier, the zero value if no service runs.
	Snapshot() scheduler.Snapshot
	// HostTime returns the mean response time of a host, 0 if unknown.
	HostTime(host weburl.HostKey) time.Duration
	// HostPages counts a host's pages that were rendered or searched, nil for none.
	HostPages(host weburl.HostKey) *meter.HostPagesStatus
	// LastRound returns when the last round of discovery began, zero for none.
	LastRound() time.Time

	Submit(ctx context.Context, urls []string) ([]crawl.Submitted, error)
	Refresh(ctx context.Context, s crawl.Selection) (crawl.Refreshed, error)
	Remove(ctx context.Context, s crawl.Selection) (crawl.Removed, error)
	// Pause stops taking URLs until Resume; both persist over restarts.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Release carries out the selected deletions, and DropDeletions drops them. Both return their number.
	Release(ctx context.Context, f scheduler.DeletionFilter) (int, error)
	DropDeletions(ctx context.Context, f scheduler.DeletionFilter) (int, error)
	// Sent returns the newest order of the outbox about a URL, nil for none, with the document that it sends: nil for a
	// deletion, and if its body is gone.
	Sent(ctx context.Context, url string) (*push.Listed, *push.Document, error)
	// RetryDead sends the orders of the selected dead letters again, and DropDead drops them. Both return their number.
	RetryDead(ctx context.Context, sel push.Selection) (int, error)
	DropDead(ctx context.Context, sel push.Selection) (int, error)
}
