package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// running is one Crawler with what it owns.
type running struct {
	*crawl.Crawl
	log   *slog.Logger
	agent string // the User-Agent of a configuration without one
	store *badgerstore.Store
	// cookieFile is where the Crawler's cookies outlive the process.
	cookieFile string
	// opened is what the Crawler was started with; weights are those in force.
	opened  config.Crawler
	weights atomic.Pointer[[6]int]
	inForce atomic.Pointer[config.Crawler]
	// configError is why the last reload failed, nil if it did not.
	configError atomic.Pointer[string]
	// documents are read by it, unless readDocuments is off.
	documents *documents.Pool
	renderer  *render.Renderer // pages whose Fetch has render
	// pages are searched by it.
	pages  *documents.Pool
	held   admin.HeldTally
	events *events.Log
	// loaded is when the configuration in force was.
	loaded atomic.Pointer[time.Time]
}

// Run is the crawl's, with what renders its pages beside it.
func (r *running) Run(ctx context.Context, once crawl.Once) error {
	defer runBeside(ctx, r.renderer)()
	if r.inForce.Load().Renders() {
		defer r.tryBrowser(ctx)()
	}
	return r.Crawl.Run(ctx, once)
}

// Status implements admin.Crawler.
func (r *running) Status(ctx context.Context) (crawl.Status, error) {
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

// Details implements admin.Crawler.
func (r *running) Details(ctx context.Context) (admin.Details, error) {
	d, err := StoredDetails(ctx, r.store)
	if err == nil {
		err = d.AddDeletions(ctx, r.store, &r.held, r.Edits())
	}
	d.AddSnapshot(r.Snapshot())
	d.ConfigLoadedAt = r.loaded.Load()
	for _, s := range r.Schedules() {
		d.Schedules = append(d.Schedules, admin.ScheduleStatus{Schedule: s.Spec, Group: s.Group, Next: s.Next})
	}
	return d, err
}

// StoredDetails are what a store alone can tell.
func StoredDetails(ctx context.Context, store *badgerstore.Store) (admin.Details, error) {
	lag, err := outboxLag(ctx, store)
	if err != nil {
		return admin.Details{}, err
	}
	s, err := store.Stats()
	return admin.Details{OutboxLag: lag, Store: &admin.StoreStatus{
		TableBytes: s.TableBytes, LogBytes: s.LogBytes, BodyBytes: s.BodyBytes + s.ValueBytes,
		Commits: s.Batches, Writes: s.Writes, WritesWaiting: s.Waiting,
		LastCommitS: s.LastCommit.Seconds(), LongestCommitS: s.LongestCommit.Seconds(), CommitTimes: s.CommitTimes,
		DiskFree: s.DiskFree, DiskSize: s.DiskSize, DiskNeeded: s.MinFree,
		Fingerprints: s.Fingerprints, FingerprintBytes: s.FingerprintBytes, FingerprintLoading: s.Loading,
		DocumentsAdded: s.Entered, DocumentsUpdated: s.Changed, DocumentsDeleted: s.Left,
	}}, err
}

// Reports implements admin.Crawler.
func (r *running) Reports() report.Store { return r.store }

// Backup implements admin.Crawler.
func (r *running) Backup(ctx context.Context, w io.Writer) error {
	_, err := r.store.Backup(ctx, w)
	return err
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

// Verify implements admin.Crawler.
func (r *running) Verify(ctx context.Context, fn func(string)) (uint64, error) {
	report, err := r.store.Verify(ctx, func(f badgerstore.Fault) { fn(FaultWords(f)) })
	return report.URLs, err
}

// openCrawl opens a Crawler's store and targets.
func openCrawl(ctx context.Context, crawler config.Crawler, h Home, memtable int64, o *Options) (*running, error) {
	log := o.Log.With("crawler", crawler.Name)
	if half, ok := badgerstore.HalfRestored(h.Store()); ok {
		return nil, fmt.Errorf("%s is left of a restore that did not end, and there is no store: wait for it, or remove that folder and restore again, or remove it to begin with an empty store", half)
	}
	options := StoreOptions(crawler, log)
	options.MemtableBytes, options.Stores = memtable, len(o.Crawlers)
	store, err := openPatiently(ctx, h, options)
	if err != nil {
		return nil, err
	}
	r, err := newCrawl(ctx, crawler, h, store, o.Agent, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, nil
}

// newCrawl makes the crawl on an open store, and opens its targets.
func newCrawl(
	ctx context.Context, crawler config.Crawler, h Home, store *badgerstore.Store, agent string, log *slog.Logger,
) (*running, error) {
	relay, err := relayOf(crawler, h, store.Outbox(), log)
	if err != nil {
		return nil, err
	}
	r := &running{
		log: log, agent: agent, store: store, cookieFile: filepath.Join(h.Dir, cookieFile), opened: crawler,
		documents: documents.NewPool(crawler.Reading, log), pages: documents.NewPool(crawler.Reading.ForPages(), log),
		renderer: render.New(crawler.Browser, log), events: events.NewLog(store),
	}
	r.comesIntoForce(&crawler)
	r.weights.Store(&crawler.Frontier.Weights)
	r.Crawl, err = crawl.New(ctx, r.settings(crawler), store, relay, log)
	return r, err
}

// configured notes a configuration that came into force while the Crawler runs, and
// logs what takes effect only after a restart.
func (r *running) configured(crawler *config.Crawler, log *slog.Logger) {
	r.weights.Store(&crawler.Frontier.Weights)
	r.comesIntoForce(crawler)
	for what, same := range map[string]bool{
		"Push":             slices.EqualFunc(crawler.Push, r.opened.Push, config.Push.Same),
		"durability":       crawler.Durability == r.opened.Durability,
		"pages of Browser": max(crawler.Browser.Pages, 1) == max(r.opened.Browser.Pages, 1),
		"documentWorkers":  crawler.Reading.Workers == r.opened.Reading.Workers,
	} {
		if !same {
			log.Warn("takes effect after a restart", "crawler", r.Name(), "what", what)
		}
	}
}

// comesIntoForce notes which configuration is in force, and since when.
func (r *running) comesIntoForce(crawler *config.Crawler) {
	now := time.Now().UTC()
	r.inForce.Store(crawler)
	r.loaded.Store(&now)
}

// Note implements admin.Crawler.
func (r *running) Note(ctx context.Context, e events.Event) error { return r.events.Add(ctx, e) }

// Settings implements admin.Crawler.
func (r *running) Settings() policy.Settings { return r.settings(*r.inForce.Load()) }

// Sent implements admin.Crawler.
func (r *running) Sent(ctx context.Context, url string) (*push.Listed, *push.Document, error) {
	var newest *push.Listed
	err := r.store.Orders(ctx, push.Selection{URLs: []string{url}}, func(l push.Listed) error {
		if newest == nil || l.Seq > newest.Seq {
			newest = &l
		}
		return nil
	})
	if err != nil || newest == nil || newest.State != push.Waiting || newest.Op != push.Add {
		return newest, nil, err
	}
	entries, err := r.store.Outbox().Entries(ctx, newest.Seq-1, 1, 1)
	if err != nil || len(entries) == 0 || entries[0].Seq != newest.Seq || entries[0].Damage != "" {
		return newest, nil, err // it was sent meanwhile, or its body is lost
	}
	document := new(push.Document)
	return newest, document, json.Unmarshal(entries[0].Body, document)
}

// outboxLag tells how far the outbox is behind.
func outboxLag(ctx context.Context, store *badgerstore.Store) (*admin.OutboxDetails, error) {
	f, err := store.OutboxFigures(ctx)
	if err != nil {
		return nil, err
	}
	lag := &admin.OutboxDetails{Bytes: f.Bytes, Behind: map[string]time.Time{}}
	if !f.Oldest.IsZero() {
		lag.Oldest = &f.Oldest
	}
	for target, at := range f.Behind {
		if !at.IsZero() {
			lag.Behind[target] = at
		}
	}
	return lag, nil
}

// RetryDead implements admin.Crawler.
func (r *running) RetryDead(ctx context.Context, sel push.Selection) (int, error) {
	return r.store.RetryDead(ctx, sel)
}

// DropDead implements admin.Crawler.
func (r *running) DropDead(ctx context.Context, sel push.Selection) (int, error) {
	return r.store.DropDead(ctx, sel)
}

// FaultWords is a fault as an operator reads it.
func FaultWords(f badgerstore.Fault) string {
	if f.URL == "" {
		return f.Words
	}
	return f.URL + ": " + f.Words
}
