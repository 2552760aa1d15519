package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// running is one Crawler with what it owns.
type running struct {
	*crawl.Crawl
	stored
	log   *slog.Logger
	agent string // the User-Agent of a configuration without one
	// cookieFile is where the Crawler's cookies outlive the process.
	cookieFile string
	// opened holds the configuration at the start; inForce is the one that applies.
	opened  config.Crawler
	inForce atomic.Pointer[config.Crawler]
	// configError is the error of the last reload, nil if it succeeded.
	configError atomic.Pointer[string]
	// documents are read by it, unless readDocuments is off.
	documents *documents.Pool
	renderer  *render.Renderer // pages whose Fetch has render
	// pages are searched by it.
	pages  *documents.Pool
	losses admin.PendingTally
	events *events.Log
	// loaded is the time when the configuration in force was loaded.
	loaded atomic.Pointer[time.Time]
}

// Run runs the crawl, together with the renderer of its pages.
func (r *running) Run(ctx context.Context, once crawl.Once) error {
	if r.node != nil {
		return r.node.during(ctx, func(ctx context.Context) error { return r.run(ctx, once) })
	}
	return r.run(ctx, once)
}

func (r *running) run(ctx context.Context, once crawl.Once) error {
	defer runBeside(ctx, r.renderer)()
	if r.inForce.Load().Renders() {
		defer r.tryBrowser(ctx)()
	}
	return r.Crawl.Run(ctx, once)
}

// Status implements admin.Crawler.
func (r *running) Status(ctx context.Context) (s admin.Status, err error) {
	if s.Status, err = r.figures(ctx); err != nil {
		return s, err
	}
	if err = r.addFigures(ctx, &s); err == nil {
		l, _ := r.Losses(ctx) // it has no errors
		err = s.AddDeletions(ctx, r.store, &r.losses, l)
	}
	s.AddSnapshot(r.Snapshot())
	s.ConfigLoadedAt = r.loaded.Load()
	s.Schedules = r.Schedules()
	return s, err
}

// figures are the crawl's own, with how its configuration and its browser do.
func (r *running) figures(ctx context.Context) (crawl.Status, error) {
	s, err := r.Crawl.Status(ctx)
	if words := r.configError.Load(); words != nil {
		s.ConfigError = *words
	}
	if r.inForce.Load().Renders() {
		browser := r.renderer.Status()
		s.Browser = &browser
	}
	return s, err
}

// Losses implements admin.Crawler.
func (r *running) Losses(context.Context) (*admin.Losses, error) {
	hosts, edits := r.Crawl.Losses()
	return admin.NewLosses(hosts, edits, r.inForce.Load().Frontier.Deletions), nil
}

// setConfigError notes how a reload ended.
func (r *running) setConfigError(err error) {
	if err == nil {
		r.configError.Store(nil)
		return
	}
	words := err.Error()
	r.configError.Store(&words)
}

// openCrawl opens a Crawler's store, that of a node if it has one, and targets.
func openCrawl(
	ctx context.Context, crawler config.Crawler, h Home, node *member, memtable int64, o *Options,
) (*running, error) {
	log := o.Log.With("crawler", crawler.Name)
	if half, ok := store.HalfRestored(h.Store()); ok && node == nil {
		return nil, fmt.Errorf("%s remains of a restore that did not end, and the store is missing: wait for the restore, or remove that folder and restore again, or remove it to start with an empty store", half)
	}
	options := StoreOptions(crawler)
	options.Logger, options.MemtableBytes, options.Stores = log, memtable, len(o.Crawlers)
	own, err := openStore(ctx, h, node, options)
	if err != nil {
		return nil, err
	}
	r, err := newCrawl(ctx, crawler, h, own, o.Agent, log)
	if err != nil {
		return nil, errors.Join(err, own.store.Close())
	}
	return r, nil
}

// newCrawl creates the crawl on an open store, and opens its targets.
func newCrawl(
	ctx context.Context, crawler config.Crawler, h Home, own stored, agent string, log *slog.Logger,
) (*running, error) {
	store := own.store
	relay, err := relayOf(crawler, h, store.Outbox(), log)
	if err != nil {
		return nil, err
	}
	var claim push.Claim
	if own.node != nil {
		if claim, err = own.node.claim(ctx, store); err != nil {
			return nil, err
		}
		relay.Under(claim)
	}
	r := &running{
		stored: own, log: log, agent: agent, opened: crawler,
		cookieFile: filepath.Join(h.Dir, cookieFile),
		documents:  documents.NewPool(crawler.Reading, log), pages: documents.NewPool(crawler.Reading.ForPages(), log),
		renderer: render.New(crawler.Browser, log), events: events.NewLog(store),
	}
	r.comesIntoForce(&crawler)
	if r.Crawl, err = crawl.New(ctx, r.settings(crawler), store, relay, log); err != nil {
		return r, err
	}
	return r, rememberSources(ctx, store, crawler.Push, log)
}

// configured records a configuration that came into force while the Crawler runs. It logs and returns what takes effect
// only after a restart.
func (r *running) configured(crawler *config.Crawler, log *slog.Logger) (later []string) {
	r.comesIntoForce(crawler)
	for _, is := range []struct {
		what string
		same bool
	}{
		{"Push", slices.EqualFunc(crawler.Push, r.opened.Push, config.Push.Same)},
		{"durability", crawler.Durability == r.opened.Durability},
		{"pages of Browser", max(crawler.Browser.Pages, 1) == max(r.opened.Browser.Pages, 1)},
		{"documentWorkers", crawler.Reading.Workers == r.opened.Reading.Workers},
	} {
		if !is.same {
			log.Warn("takes effect after a restart", "crawler", r.Name(), "what", is.what)
			later = append(later, is.what)
		}
	}
	return later
}

// comesIntoForce records which configuration is in force, and since when.
func (r *running) comesIntoForce(crawler *config.Crawler) {
	now := time.Now().UTC()
	r.inForce.Store(crawler)
	r.loaded.Store(&now)
}

// Note implements admin.Crawler.
func (r *running) Note(ctx context.Context, e events.Event) error { return r.events.Add(ctx, e) }

// Settings implements admin.Crawler.
func (r *running) Settings() policy.Settings { return r.settings(*r.inForce.Load()) }
