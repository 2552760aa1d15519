package crawl

import (
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Status is the output of the status command for one Crawler.
type Status struct {
	Crawler  string            `json:"crawler"`
	Known    uint64            `json:"known"`
	Pending  map[string]uint64 `json:"pending"` // waiting or in flight, by source
	Timed    uint64            `json:"timed"`   // retries and refreshes that lie in the future
	InFlight int               `json:"in_flight"`
	ByClass  map[string]uint64 `json:"by_class"`
	Indexed  uint64            `json:"indexed"`
	// Lost are indexed documents that were lost to disk damage before they were sent. They are refetched.
	Lost   uint64       `json:"lost,omitempty"`
	Outbox OutboxStatus `json:"outbox"`
	Hosts  HostsStatus  `json:"hosts"`
	Rates  meter.Rates  `json:"rates"`
	Totals meter.Totals `json:"totals"`
	// Paused means that the operator paused the crawl.
	Paused bool `json:"paused,omitempty"`
	// Idle describes why workers wait, IdleCode in one of the Idle words; both are empty while URLs are leased. With
	// IdleSlotsFull no worker is idle, and Idle is empty.
	Idle     string `json:"idle,omitempty"`
	IdleCode string `json:"idle_code,omitempty"`
	// Spent is the workers' time by activity since the process started, in seconds: url, rate, outbox, store and fetch are
	// waiting, work is reading and judging.
	Spent   map[string]float64 `json:"spent_s,omitempty"`
	Targets []TargetStatus     `json:"targets,omitempty"`
	// DeletionBrake is on, or off if losses are carried out at once.
	DeletionBrake string       `json:"deletion_brake"`
	Rules         *RulesStatus `json:"rules,omitempty"`
	// RootsFailing lists the configured roots that cannot be crawled, among the first thousand.
	RootsFailing []RootStatus `json:"roots_failing,omitempty"`
	// Taken counts the URLs that workers took since the process started, by source.
	Taken map[string]uint64 `json:"taken,omitempty"`
	// Errors counts the visits that ended in an error since the process started, by the
	// classes of the reports.
	Errors map[string]uint64 `json:"errors,omitempty"`
	// Robots describes origins whose robots.txt became stricter; nil if there are none.
	Robots *review.RobotsStatus `json:"robots,omitempty"`
	// Trapped links were refused by Traps since the process started.
	Trapped int64 `json:"trapped,omitempty"`
	// Documents counts documents other than pages; nil if there were none.
	Documents *meter.DocumentsStatus `json:"documents,omitempty"`
	// Rendered counts the pages rendered since the process started; nil for none.
	Rendered *meter.RenderedStatus `json:"rendered,omitempty"`
	// Browser describes rendering; nil if it is off. Its owner sets it.
	Browser *render.Status `json:"browser,omitempty"`
	// Shells counts pages that only scripts fill, since the process started; nil for none.
	Shells *meter.ShellsStatus `json:"shells,omitempty"`
	// Fields counts the pages with Fields; nil if there were none.
	Fields *meter.FieldsStatus `json:"fields,omitempty"`
	// Duplicates describes the detection of duplicates; nil if it is off.
	Duplicates *copies.Status `json:"duplicates,omitempty"`
	// Patterns are the patterns of URLs that lead to copies; nil if none is known.
	Patterns *copies.PatternsStatus `json:"patterns,omitempty"`
	// Sessions are the accounts that Fetch elements log in with.
	Sessions []visit.SessionStatus `json:"sessions,omitempty"`
	// Unavailable pages were fetched when their unavailable_after was over.
	Unavailable int64 `json:"unavailable,omitempty"`
	// Timings and CrawlLogFailures, the writes of the crawl log that failed since the
	// process started, are for metrics alone.
	Timings          meter.Timings `json:"-"`
	CrawlLogFailures int64         `json:"-"`
	// ConfigError is the reason why the configuration could not be reloaded; the old one is in force then. The caller of
	// Reload sets it.
	ConfigError string `json:"config_error,omitempty"`
}

// RulesStatus identifies the rules in force and counts the stored URLs judged by them. The counts are those of the last
// change of the rules.
type RulesStatus struct {
	Version string    `json:"version"` // identifies rules and crawl space
	Since   time.Time `json:"since"`
	// Running means that stored URLs are still being judged by these rules, in the background: Judged of Known so far.
	Running    bool   `json:"running"`
	Judged     uint64 `json:"judged"`
	Known      uint64 `json:"known"`
	Excluded   uint64 `json:"excluded"`   // now 760
	Elsewhere  uint64 `json:"elsewhere"`  // now 761
	Readmitted uint64 `json:"readmitted"` // back in their fifo
	Moved      uint64 `json:"moved"`      // to another fifo
	Unindexed  uint64 `json:"unindexed"`  // crawled as before, but no longer a document
	// Retimed are due at another time, because the settings of refresh changed. Reread are
	// fetched again, because they may have links that were outside. Renewed get other metas, or
	// another source, at their next visit.
	Retimed uint64 `json:"retimed"`
	Reread  uint64 `json:"reread"`
	Renewed uint64 `json:"renewed"`
}

// versionDigits of a fingerprint are shown.
const versionDigits = 12

func newRulesStatus(s review.Progress, known uint64) *RulesStatus {
	return &RulesStatus{
		Version: s.Rules[:min(len(s.Rules), versionDigits)], Since: s.Since.UTC(), Running: !s.Done, Known: known,
		Judged: s.Judged, Excluded: s.Excluded, Elsewhere: s.Elsewhere, Readmitted: s.Readmitted, Moved: s.Moved, Unindexed: s.Unindexed,
		Retimed: s.Retimed, Reread: s.Reread, Renewed: s.Renewed,
	}
}

// OutboxStatus counts orders by state.
type OutboxStatus struct {
	Waiting uint64 `json:"waiting"`
	// Pending deletions leave when they are confirmed, or a good response cancels them.
	Pending uint64 `json:"pending"`
	Dead    uint64 `json:"dead"`
}

// HostsStatus counts hosts.
type HostsStatus struct {
	Known    uint64 `json:"known"`
	WithWork int    `json:"with_work"`
	Closed   int    `json:"closed"` // hosts with work that must not be visited yet
}

// TargetStatus is the state of a push target, for the operator. Counts are since the process started.
type TargetStatus struct {
	Name      string     `json:"name"`
	Unsafe    int        `json:"unsafe"` // pushed, and not yet safe
	Adds      uint64     `json:"adds"`
	Deletions uint64     `json:"deletions"`
	Refused   uint64     `json:"refused"`
	Bytes     uint64     `json:"bytes"`   // of documents that it took
	Rewinds   uint64     `json:"rewinds"` // times that the indexer lost unsafe orders
	DownSince *time.Time `json:"down_since,omitempty"`
	LastError string     `json:"last_error,omitempty"`
	// Times are for metrics alone.
	Times push.Times `json:"-"`
}

func newTargetStatus(t push.TargetStatus) TargetStatus {
	s := TargetStatus{
		Name: t.Name, Unsafe: t.Unsafe, Adds: t.Adds, Deletions: t.Deletions,
		Refused: t.Refused, Bytes: t.Bytes, Rewinds: t.Rewinds, LastError: t.LastError,
	}
	if !t.DownSince.IsZero() {
		at := t.DownSince.UTC()
		s.DownSince = &at
	}
	return s
}

// String returns a line for people.
func (t TargetStatus) String() string {
	line := fmt.Sprintf("%s: %d documents and %d deletions sent and %d refused since the start, %d unconfirmed", t.Name, t.Adds, t.Deletions, t.Refused, t.Unsafe)
	if t.DownSince != nil {
		line += fmt.Sprintf("; down since %s: %s", clock.Stamp(*t.DownSince), t.LastError)
	}
	return line
}

// nameName is the key of the stored value with the Crawler's name: a store alone in its data directory, or a restored
// one, has no other source for it.
const nameName = "crawl.name"

// sign stores the name of the Crawler.
func (c *Crawl) sign(ctx context.Context) error {
	was, err := c.store.Value(ctx, scheduler.CrawlValue(nameName))
	if err != nil || string(was) == c.name {
		return err
	}
	return c.store.SetValue(ctx, scheduler.CrawlValue(nameName), []byte(c.name))
}

// StoredStatus returns the part of the status that the store contains.
func StoredStatus(ctx context.Context, name string, store scheduler.Reader) (Status, error) {
	counts, err := store.Counts(ctx)
	if err != nil {
		return Status{}, err
	}
	if name == "" {
		stored, err := store.Value(ctx, scheduler.CrawlValue(nameName))
		if err != nil {
			return Status{}, err
		}
		name = string(stored)
	}
	s := Status{
		Crawler: name, Known: counts.Known, Timed: counts.Timed, Indexed: counts.Indexed, Lost: counts.Lost,
		Pending: map[string]uint64{}, ByClass: map[string]uint64{},
		Outbox: OutboxStatus(counts.Outbox),
		Hosts:  HostsStatus{Known: counts.Hosts},
	}
	for source, n := range counts.Pending {
		s.Pending[scheduler.Source(source).String()] = n
	}
	pass, _, err := review.Stored(ctx, store)
	if err != nil {
		return Status{}, err
	}
	if pass.Rules != "" {
		s.Rules = newRulesStatus(pass, counts.Known)
	}
	if s.Paused, err = storedPause(ctx, store); err != nil {
		return Status{}, err
	}
	if s.RootsFailing, err = storedFailing(ctx, store); err != nil {
		return Status{}, err
	}
	for class := scheduler.Pending; class <= scheduler.Permanent; class++ {
		s.ByClass[class.String()] = counts.ByClass[class]
	}
	return s, nil
}

// Status returns the state of the crawl.
func (c *Crawl) Status(ctx context.Context) (Status, error) {
	s, err := StoredStatus(ctx, c.name, c.store)
	if err != nil {
		return s, err
	}
	if progress := c.reviewer.Progress(); progress.Rules != "" {
		s.Rules = newRulesStatus(progress, s.Known)
	}
	s.RootsFailing = append(s.RootsFailing, refusedRoots(c.policy())...)
	f := c.frontier.Snapshot()
	a := c.meter.Activities.Snapshot()
	s.InFlight, s.Paused = f.InFlight, c.frontier.Paused()
	s.IdleCode, s.Idle = c.idle(f, a)
	s.Spent = map[string]float64{}
	for what, d := range a.Spent {
		s.Spent[meter.Activity(what).String()] = d.Seconds()
	}
	s.Hosts.WithWork, s.Hosts.Closed = f.Hosts, f.HostsClosed
	s.DeletionBrake = "on"
	if c.policy().Settings.Frontier.Deletions.Off {
		s.DeletionBrake = "off"
	}
	s.Robots, s.Trapped = c.reviewer.RobotsStatus(), c.meter.Trapped.Load()
	s.Taken = c.meter.Taken.Counts()
	s.Documents, s.Duplicates, s.Shells = c.meter.Documents.Status(), c.copies.Status(), c.meter.Shells.Status()
	if s.Duplicates != nil {
		if s.Duplicates.Freed, err = c.copies.Freed(ctx); err != nil {
			return s, err
		}
	}
	s.Patterns, s.Fields = c.patterns.Status(), c.meter.Fields.Status()
	s.Rendered = c.meter.Rendered.Status()
	s.Timings, s.Unavailable = c.meter.Timings(c.frontier.QueueWaits()), c.meter.Unavailable.Load()
	s.CrawlLogFailures = c.crawlLog.Failures.Load()
	s.Sessions = c.inForce().FetchState.Accesses.Sessions()
	s.Errors = c.errors()
	s.Totals = c.meter.Totals()
	s.Rates = c.meter.Rates()
	times := c.relay.Times()
	for i, t := range c.relay.Status() {
		s.Targets = append(s.Targets, newTargetStatus(t))
		s.Targets[i].Times = times[i]
	}
	return s, nil
}

// errors counts failed visits by the classes of the reports.
func (c *Crawl) errors() map[string]uint64 {
	n := map[string]uint64{}
	c.meter.Outcomes.Each(func(class scheduler.Class, reason scheduler.Reason, visits uint64) {
		if of := report.ErrorClassOf(class, reason); of != "" {
			n[of] += visits
		}
	})
	return n
}
