package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/notices"
	"github.com/sextant-crawler/sextant/report"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// service is all that one process runs: its Crawlers and the door to them.
type service struct {
	crawls []*running
	open   net.Listener // nil for --listen off
	owner  net.Listener // nil where the socket's path is too long
	access *admin.Access
	log    *slog.Logger

	path       string // of the configuration; empty where it is not read again
	baseline   *baseline
	own        ownFiles
	configured int   // Crawlers in it when the service started
	memory     int64 // budget in bytes; 0 is the default one
	notify     *notifier
	hangups    <-chan struct{} // SIGHUP; nil: none
	reloading  sync.Mutex      // held while the configuration is reloaded
	judged     string          // configFiles when it was last reloaded; by reloading
	ending     atomic.Bool     // no reload begins any more
	stops      context.Context // ended by stop, with stopped
	stopped    context.CancelFunc
	notices    *notices.Notifier
}

// serviceOptions are what openService is to know beside the configuration.
type serviceOptions struct {
	log     *slog.Logger
	memory  int64 // as in service
	threads int   // of all Crawlers together; 0: as many as they have
	notify  *notifier
	hangups <-chan struct{}
	own     ownFiles
	// access reads tokens and certificate; nil: nobody has a token.
	access func() (*admin.Access, error)
}

// running is one Crawler with what it owns.
type running struct {
	*crawl.Crawl
	store *badgerstore.Store
	// opened is what the Crawler was started with; weights are those in force.
	opened  config.Crawler
	weights atomic.Pointer[[6]int]
	inForce atomic.Pointer[config.Crawler]
	// configError is why the last reload failed, nil if it did not.
	configError atomic.Pointer[string]
	// documents are read by it, unless readDocuments is off.
	documents *documents.Pool
	held      admin.HeldTally
}

// Status implements admin.Crawler.
func (r *running) Status(ctx context.Context) (crawl.Status, error) {
	s, err := r.Crawl.Status(ctx)
	if words := r.configError.Load(); words != nil {
		s.ConfigError = *words
	}
	return s, err
}

// Details implements admin.Crawler.
func (r *running) Details(ctx context.Context) (admin.Details, error) {
	d, err := storedDetails(ctx, r.store)
	if err == nil {
		err = d.AddDeletions(ctx, r.store, &r.held, r.Edits())
	}
	d.AddSnapshot(r.Snapshot())
	for _, s := range r.Schedules() {
		d.Schedules = append(d.Schedules, admin.ScheduleStatus{Schedule: s.Spec, Group: s.Group, Next: s.Next})
	}
	return d, err
}

// storedDetails are what a store alone can tell.
func storedDetails(ctx context.Context, store *badgerstore.Store) (admin.Details, error) {
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
	report, err := r.store.Verify(ctx, func(f badgerstore.Fault) { fn(faultWords(f)) })
	return report.URLs, err
}

// openService opens everything that can fail, so that a service that starts runs.
// Path is the configuration's.
func openService(ctx context.Context, path string, parsed *config.File, crawlers []config.Crawler, data, listen string, o serviceOptions) (s *service, err error) {
	log := o.log
	s = &service{log: log, path: path, configured: len(parsed.Crawlers), memory: o.memory, notify: o.notify, hangups: o.hangups, own: o.own}
	s.stops, s.stopped = context.WithCancel(context.WithoutCancel(ctx))
	if s.notify == nil {
		s.notify = &notifier{log: log}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := os.MkdirAll(data, 0o750); err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	if err := checkHomes(data, parsed.Crawlers); err != nil {
		return s, err
	}
	opened, err := s.openDoor(ctx, data, listen, o.access)
	if err != nil {
		return s, err
	}
	defer opened()
	s.baseline = newBaseline(path, data, log) // behind the socket's lock
	s.baseline.look()
	memtable := memtableOf(o.memory, len(crawlers))
	slots := sharedSlots(o.threads, crawlers, log)
	for _, crawler := range crawlers {
		if err := ctx.Err(); err != nil { // a store may take long to open
			return s, err
		}
		r, err := openCrawl(ctx, crawler, homeOf(parsed, crawler, data), memtable, log)
		if err != nil {
			return s, err
		}
		s.crawls = append(s.crawls, r)
		if slots != nil {
			r.ShareWorkers(slots)
		}
	}
	s.notices, err = s.notifier(parsed, data)
	return s, err
}

// openDoor opens the socket, which keeps other services away, reads who may ask over TCP,
// and listens there. Until opened is called, both answer that the service is starting.
func (s *service) openDoor(ctx context.Context, data, listen string, access func() (*admin.Access, error)) (opened func(), err error) {
	if s.owner, err = listenSocket(ctx, data, s.log); err != nil {
		return nil, err
	}
	if access != nil {
		if s.access, err = access(); err != nil {
			return nil, err
		}
	}
	if listen != "off" {
		if s.open, err = listenTCP(ctx, listen); err != nil {
			return nil, err
		}
	}
	answered, told := admin.Opening(s.open, s.access.TLS()), admin.Opening(s.owner, nil)
	return func() { answered(); told() }, nil
}

// openCrawl opens a Crawler's store and targets.
func openCrawl(ctx context.Context, crawler config.Crawler, h home, memtable int64, log *slog.Logger) (*running, error) {
	log = log.With("crawler", crawler.Name)
	options := storeOptions(crawler, log)
	options.MemtableBytes = memtableFor(h, memtable)
	store, err := openPatiently(ctx, h, options)
	if err != nil {
		return nil, err
	}
	relay, err := relayOf(crawler, h, store.Outbox(), log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r := &running{store: store, opened: crawler, documents: documents.NewPool(documentSettings(crawler), log)}
	r.inForce.Store(&crawler)
	if r.Crawl, err = crawl.New(ctx, r.settings(crawler), store, relay, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r.weights.Store(&crawler.Weights)
	return r, nil
}

// configured notes a configuration that came into force while the Crawler runs, and
// tells what of it counts from the next start only.
func (r *running) configured(crawler *config.Crawler, log *slog.Logger) {
	r.weights.Store(&crawler.Weights)
	r.inForce.Store(crawler)
	for what, same := range map[string]bool{
		"Push":            slices.EqualFunc(crawler.Push, r.opened.Push, config.Push.Same),
		"durability":      crawler.Durability == r.opened.Durability,
		"documentWorkers": crawler.Documents.Workers == r.opened.Documents.Workers,
	} {
		if !same {
			log.Warn("a change counts from the next start only", "crawler", r.Name(), "what", what)
		}
	}
}

// listenSocket listens on the socket of the data directory, which is also the
// first lock against a second service. A socket that nobody answers on is left
// over from a process that was killed.
func listenSocket(ctx context.Context, data string, log *slog.Logger) (net.Listener, error) {
	path := admin.SocketPath(data)
	if _, ok := admin.Dial(ctx, data, ""); ok {
		return nil, fmt.Errorf("%w: a service runs on %s already: stop it, or choose another --data", scheduler.ErrLocked, data)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s is in the way of the service's socket: move it away", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		if len(path) > 100 { // sun_path holds 108 bytes
			log.Warn("no socket: the path of the data directory is too long for one; commands cannot talk to this service", "path", path)
			return nil, nil
		}
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Reload implements admin.Service.
func (s *service) Reload(ctx context.Context, word bool) error { return s.reload(ctx, word) }

// close closes the stores and what else is open. The socket comes last, and tells what
// goes on meanwhile.
func (s *service) close() error {
	var errs []error
	closed := admin.Closing(s.owner)
	for _, r := range s.crawls {
		r.documents.Close()
		errs = append(errs, r.store.Close())
	}
	closed()
	for _, l := range []net.Listener{s.open, s.owner} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func sourceName(number int) string { return scheduler.Source(number).String() }

func join(parts []string) string { return strings.Join(parts, ", ") }

// address is where the API and the console are, "off" for nowhere.
func (s *service) address() string {
	if s.open == nil {
		return "off"
	}
	return s.open.Addr().String()
}
