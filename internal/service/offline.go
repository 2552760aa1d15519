package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
	"github.com/sextant-crawler/sextant/weburl"
)

// Offline gives commands access to the store of a Crawler while no service runs.
type Offline struct {
	Home  Home
	Store store.Options
	// Crawler is the Crawler's element, zero if the configuration is not read, and Settings are made of it. Commands
	// that only read need neither.
	Crawler  config.Crawler
	Settings policy.Settings
	Agent    string // the User-Agent of a Crawler that names none
	Log      *slog.Logger
}

// Ask opens the store and calls fn with a client that is served by the routes of the API in this process, as in a
// service. It closes the store afterwards.
func (o Offline) Ask(ctx context.Context, fn func(*admin.Client) error) error {
	return o.withStored(ctx, func(ctx context.Context, own stored) error {
		crawler := &offline{stored: own, name: o.Home.Crawler, settings: o.Settings, log: o.Log}
		return fn(admin.InProcess(crawler, noService{o.Crawler}, &configuration{agent: o.Agent}))
	})
}

// withStored opens the store, calls fn, and closes it.
func (o Offline) withStored(ctx context.Context, fn func(context.Context, stored) error) (err error) {
	o.Store.Logger = o.Log
	own, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, own.store.Close()) }()
	if own.node != nil {
		return own.node.during(ctx, func(ctx context.Context) error { return fn(ctx, own) })
	}
	return fn(ctx, own)
}

// open opens the store. In a database it reads beside the node that crawls, and writes only if no node crawls.
func (o Offline) open(ctx context.Context) (own stored, err error) {
	switch {
	case o.Home.Database.IsEmpty():
		return openStore(ctx, o.Home, nil, o.Store)
	case !o.Store.ReadOnly:
		return o.take(ctx)
	}
	reader, err := pgkv.Read(ctx, o.Home.Database.Reveal(), pgkv.Schema(o.Home.Crawler))
	if err != nil {
		return own, fmt.Errorf("the database: %w", err)
	}
	own.db = &reader.Engine
	if own.store, err = store.On(reader, o.Home.name(), o.Store); err != nil {
		err = errors.Join(err, reader.Close())
	}
	return own, err
}

// take opens the store in a database for writing.
func (o Offline) take(ctx context.Context) (own stored, err error) {
	m, err := o.Home.join(ctx, ctx, o.Log)
	if err != nil {
		return own, err
	}
	err = m.take(ctx, true, func(words string) { o.Log.Info("waiting", "because", words) })
	if err == nil {
		own, err = openStore(ctx, o.Home, m, o.Store)
	}
	if err != nil {
		err = errors.Join(err, m.Close())
	}
	return own, err
}

// Restore creates the store from a backup. One in a database must be empty.
func (o Offline) Restore(ctx context.Context, backup io.Reader) (store.BackupReport, error) {
	if o.Home.Database.IsEmpty() {
		return store.Restore(ctx, o.Home.Store(), backup, store.Options{Logger: o.Log})
	}
	m, err := o.Home.join(ctx, ctx, o.Log)
	if err != nil {
		return store.BackupReport{}, err
	}
	defer func() { _ = m.Close() }() // RestoreInto has closed it, or there is another error
	if err := m.take(ctx, true, func(string) {}); err != nil {
		return store.BackupReport{}, err
	}
	return store.RestoreInto(ctx, m, o.Home.name(), backup, store.Options{Logger: o.Log})
}

// noService represents a service that does not run. It implements admin.Service.
type noService struct{ crawler config.Crawler }

var errNoService = &admin.Declined{Err: errors.New("no service runs")}

// Reload implements admin.Service.
func (noService) Reload(context.Context, admin.ReloadOptions) (admin.Reloaded, error) {
	return admin.Reloaded{}, errNoService
}

// Fetch implements admin.Service.
func (noService) Fetch(context.Context, admin.Crawler, string, weburl.URL) (*admin.Fetched, error) {
	return nil, errNoService
}

// IndexOf implements admin.Service.
func (n noService) IndexOf(c admin.Crawler, target string) (compare.Index, error) {
	return c.(*offline).indexOf(n.crawler, target)
}

// offline is a Crawler that no service runs. It implements admin.Crawler.
type offline struct {
	stored
	name     string // empty if only the store knows it
	settings policy.Settings
	log      *slog.Logger
}

// Name implements admin.Crawler.
func (o *offline) Name() string { return o.name }

// Settings implements admin.Crawler.
func (o *offline) Settings() policy.Settings { return o.settings }

// Status implements admin.Crawler.
func (o *offline) Status(ctx context.Context) (s admin.Status, err error) {
	if s.Status, err = crawl.StoredStatus(ctx, o.name, o.store); err != nil {
		return s, err
	}
	s.Idle = admin.NotRunning
	if err := o.addFigures(ctx, &s); err != nil {
		return s, err
	}
	l, err := o.Losses(ctx)
	if err != nil {
		return s, err
	}
	return s, s.AddDeletions(ctx, o.store, &admin.PendingTally{}, l)
}

// Losses implements admin.Crawler.
func (o *offline) Losses(ctx context.Context) (*admin.Losses, error) {
	edits, err := deletion.StoredEdits(ctx, o.store)
	if err != nil {
		return nil, err
	}
	set := o.settings.Frontier.Deletions
	if set == (scheduler.Deletions{}) { // no configuration was read
		set = scheduler.DefaultSettings().Deletions
	}
	states, err := deletion.StoredStates(ctx, o.store, &set, time.Now())
	if err != nil {
		return nil, err
	}
	return admin.NewLosses(states, edits, set), nil
}

// Traps implements admin.Crawler.
func (o *offline) Traps(ctx context.Context) (policy.TrapCounts, error) {
	return policy.StoredTraps(ctx, o.store)
}

// HostURLs implements admin.Crawler.
func (o *offline) HostURLs(ctx context.Context, u weburl.URL) (int, error) {
	return policy.StoredHostURLs(ctx, o.store, u)
}

// frontier returns a frontier that is not run and only reads the store.
func (o *offline) frontier() *scheduler.Frontier {
	return scheduler.New(o.store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler))
}

// Hosts implements admin.Crawler. It does not know the hours of a Throttle.
func (o *offline) Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error {
	return o.frontier().Hosts(ctx, n, func(info scheduler.HostInfo) error {
		state, err := o.store.Host(ctx, info.Host)
		if err != nil {
			return err
		}
		if state.NextAt.After(time.Now()) {
			info.Until, info.Errors = state.NextAt, state.Errors
			switch {
			case state.Errors > 0:
				info.Closing = scheduler.ByBackoff
			case state.Delay > 0:
				info.Closing = scheduler.ByCrawlDelay
			}
		}
		return fn(info)
	})
}

// Host implements admin.Crawler.
func (o *offline) Host(ctx context.Context, host weburl.HostKey) (scheduler.HostInfo, error) {
	return o.frontier().Host(ctx, host)
}

// Ill implements admin.Crawler. Only a crawl judges hosts.
func (o *offline) Ill() []scheduler.IllHost { return nil }

// Snapshot implements admin.Crawler.
func (o *offline) Snapshot() scheduler.Snapshot { return scheduler.Snapshot{} }

// LastRound implements admin.Crawler.
func (o *offline) LastRound() time.Time { return time.Time{} }

// HostTime implements admin.Crawler.
func (o *offline) HostTime(weburl.HostKey) time.Duration { return 0 }

// HostPages implements admin.Crawler.
func (o *offline) HostPages(weburl.HostKey) *meter.HostPagesStatus { return nil }

// Note implements admin.Crawler.
func (o *offline) Note(ctx context.Context, e events.Event) error {
	return events.NewLog(o.store).Add(ctx, e)
}

// Submit implements admin.Crawler.
func (o *offline) Submit(ctx context.Context, urls []string) ([]crawl.Submitted, error) {
	return crawl.Submit(ctx, o.settings, o.store, urls)
}

// Refresh implements admin.Crawler.
func (o *offline) Refresh(ctx context.Context, s crawl.Selection) (crawl.Refreshed, error) {
	return crawl.RefreshStored(ctx, o.settings, o.store, s, o.log)
}

// Remove implements admin.Crawler.
func (o *offline) Remove(ctx context.Context, s crawl.Selection) (crawl.Removed, error) {
	return crawl.RemoveStored(ctx, o.settings, o.store, s)
}

// Pause implements admin.Crawler.
func (o *offline) Pause(context.Context) error {
	return errNoService
}

// Resume implements admin.Crawler: it ends a pause that a service left behind.
func (o *offline) Resume(ctx context.Context) error { return crawl.ResumeStored(ctx, o.store) }

// Release implements admin.Crawler.
func (o *offline) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return crawl.ReleaseStored(ctx, o.settings, o.store, f, o.log)
}

// DropDeletions implements admin.Crawler.
func (o *offline) DropDeletions(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return crawl.DropStored(ctx, o.settings, o.store, f, o.log)
}
