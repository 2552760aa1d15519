package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/openid"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// Service.reloading is the lock of a reload: it is held from its begin to its end, and by the
// end of the crawls, so that none begins after it.

// Service is all that one process runs: its Crawlers and the door to them.
type Service struct {
	crawls []*running
	open   net.Listener // nil for --listen off
	owner  net.Listener // nil if the socket's path is too long
	access *admin.Access
	log    *slog.Logger

	options  Options // those of the start
	config   *configuration
	members  []*member              // one for each Crawler on PostgreSQL
	opened   atomic.Int32           // stores that are open
	standing atomic.Pointer[string] // why the process stands by; nil: it does not
	notify   *notifier
	notices  *notices.Notifier
	tickets  map[string]string // to tokens: links that sign in once; read when Run begins

	reloading sync.Mutex      // held while the configuration is reloaded
	judged    string          // configFiles when it was last reloaded; guarded by reloading
	ending    atomic.Bool     // no reload begins any more
	stops     context.Context // ended by Stop, with stopped
	stopped   context.CancelFunc
}

// Options are the options of a service.
type Options struct {
	Path     string       // of the configuration
	File     *config.File // the same, read
	Crawlers []config.Crawler
	Data     string // the data directory
	// Database is the connection string of the PostgreSQL that has the stores; empty: they are in the data directory.
	Database secret.Value
	Listen   string // the address of the API and the console, "off" for none
	// Access names tokens and certificate; nil: there are no tokens.
	Access  *admin.AccessSettings
	OpenID  openid.Settings // where people may sign in to the console; zero: nowhere
	Log     *slog.Logger
	Version string // version of the program, for display
	Agent   string // the User-Agent of Crawlers that name none
	Memory  int64  // budget in bytes; 0 is the default one, NoMemoryLimit none
	Threads int    // maximum of all Crawlers together; 0 for the sum of theirs

	notify  *notifier       // nil without systemd
	hangups <-chan struct{} // SIGHUP; nil: none
	once    bool            // it ends by itself, so it does not stand by
	life    context.Context //nolint:containedctx // it ends when the run must end at once; nil: never
}

// home returns a Crawler's part of the data directory, or its store in the database.
func (o *Options) home(crawler config.Crawler) Home {
	return HomeOf(o.File, crawler, o.Data, o.Database)
}

// Open opens everything that can fail, so that a service that starts runs.
func Open(ctx context.Context, o Options) (s *Service, err error) {
	s = &Service{options: o, log: o.Log, notify: o.notify}
	s.stops, s.stopped = context.WithCancel(context.WithoutCancel(ctx))
	if s.notify == nil {
		s.notify = &notifier{log: o.Log}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := os.MkdirAll(o.Data, 0o750); err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	if err := checkHomes(o.Data, o.File.Crawlers); err != nil && o.Database.IsEmpty() {
		return s, err
	}
	opened, err := s.openDoor(ctx, o.Data, o.Listen, o.Access)
	if err != nil {
		return s, err
	}
	defer opened()
	s.config = newConfiguration(&o) // behind the socket's lock
	o.life = cmp.Or(o.life, context.WithoutCancel(ctx))
	if err := s.joinCrawls(ctx, &o); err != nil {
		return s, err
	}
	if err := s.openCrawls(ctx, &o); err != nil {
		return s, err
	}
	s.notices, err = s.notifier(o.File, o.Data)
	return s, err
}

// joinCrawls returns when this process holds all its Crawlers, which are taken in order: two processes never wait for
// each other. It does nothing without a database.
func (s *Service) joinCrawls(ctx context.Context, o *Options) error {
	if o.Database.IsEmpty() {
		return nil
	}
	for _, crawler := range o.Crawlers {
		m, err := o.home(crawler).join(ctx, o.life, o.Log)
		if err == nil {
			s.members = append(s.members, m)
			err = m.take(ctx, o.once, s.standBy)
		}
		if err != nil {
			return err
		}
	}
	s.standing.Store(nil)
	s.reread(o)
	return nil
}

// reread reads the configuration again, which may have changed since the process started.
func (s *Service) reread(o *Options) {
	parsed, report, err := config.LoadWith(o.Path, s.config.own.Lookups())
	if err == nil {
		err = report.Err()
	}
	var now []config.Crawler
	for _, before := range o.Crawlers {
		if err != nil {
			break
		}
		i := slices.IndexFunc(parsed.Crawlers, func(c config.Crawler) bool { return c.Name == before.Name })
		if i < 0 {
			err = fmt.Errorf("it has no Crawler %q any more", before.Name)
			break
		}
		now = append(now, parsed.Crawlers[i])
	}
	if err != nil {
		s.log.Error("the configuration cannot be read again: the one of the start stays in force", "error", err)
		return
	}
	o.File, o.Crawlers = parsed, now
}

// standBy reports why the process waits for a Crawler.
func (s *Service) standBy(words string) {
	if before := s.standing.Swap(&words); before == nil || *before != words {
		s.log.Info("standing by", "because", words)
		s.notify.ready("standing by: " + words)
	}
	s.notify.alive()
}

func (s *Service) openCrawls(ctx context.Context, o *Options) error {
	if err := enoughFiles(o.Crawlers); err != nil {
		return err
	}
	memtable := memtableOf(o.Memory, len(o.Crawlers))
	slots := sharedSlots(o.Threads, o.Crawlers, o.Log)
	for i, crawler := range o.Crawlers {
		if err := ctx.Err(); err != nil { // a store may take long to open
			return err
		}
		var m *member
		if len(s.members) > 0 {
			m = s.members[i]
		}
		r, err := openCrawl(ctx, crawler, o.home(crawler), m, memtable, o)
		if err != nil {
			return err
		}
		s.crawls = append(s.crawls, r)
		s.opened.Add(1)
		s.notify.status(s.progressOfOpening().Words)
		if slots != nil {
			r.ShareWorkers(slots)
		}
	}
	return nil
}

func (s *Service) progressOfOpening() admin.ReadinessProblem {
	if words := s.standing.Load(); words != nil {
		return admin.StandingBy(*words)
	}
	return admin.Starting(fmt.Sprintf("stores are being opened: %d of %d are open", s.opened.Load(), len(s.options.Crawlers)))
}

// enoughFiles fails if the process may open too few files for the Crawlers: their pages would
// become temporary errors, and their documents would wait at their targets.
func enoughFiles(crawlers []config.Crawler) error {
	need := uint64(64 + 16*len(crawlers)) // a new store has 10, and more as it grows
	for _, c := range crawlers {
		need += uint64(max(c.Workers, 0)) // a connection each
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) >= need { //nolint:unconvert // it is signed on FreeBSD
		return err
	}
	return fmt.Errorf("this process may open %d files, but its Crawlers require %d: set ulimit -n, or LimitNOFILE= in the systemd unit, to %d or more",
		limit.Cur, need, 4*need)
}

// Close closes the stores and everything else. It closes the socket last, which until then responds that the service is
// stopping.
func (s *Service) Close() error {
	var errs []error
	closed := admin.Closing(s.owner)
	for _, r := range s.crawls {
		r.documents.Close()
		r.pages.Close()
		errs = append(errs, r.store.Close())
	}
	for _, m := range s.members {
		errs = append(errs, m.Close())
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

// Address returns the address of the API and the console, "off" if there is none.
func (s *Service) Address() string {
	if s.open == nil {
		return "off"
	}
	return s.open.Addr().String()
}

// sharedSlots bound the threads of all Crawlers together; nil if each has its own.
func sharedSlots(threads int, crawlers []config.Crawler, log *slog.Logger) *crawl.Slots {
	if threads == 0 {
		return nil
	}
	sum := 0
	for _, c := range crawlers {
		sum += c.Workers
	}
	if threads >= sum {
		return nil
	}
	log.Info("the Crawlers share threads", "threads", threads, "nthreads", sum)
	return crawl.NewSlots(threads)
}

// crawlOf finds the crawl behind a Crawler of the API.
func (s *Service) crawlOf(c admin.Crawler) (*running, error) {
	for _, r := range s.crawls {
		if r.Name() == c.Name() {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no Crawler %q is running", c.Name())
}

// Crawlers returns the Crawlers of the service, for display.
func (s *Service) Crawlers() []admin.Crawler {
	out := make([]admin.Crawler, len(s.crawls))
	for i, r := range s.crawls {
		out[i] = r
	}
	return out
}
