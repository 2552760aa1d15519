package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/config"
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
	openID openid.Settings
	log    *slog.Logger

	config     *configuration
	configured int          // Crawlers in it when the service started
	stores     int          // that Open opens
	opened     atomic.Int32 // those of them that are open
	version    string       // as in Options
	memory     int64        // budget in bytes; 0 is the default one
	notify     *notifier
	notices    *notices.Notifier
	tickets    map[string]string // to tokens: links that sign in once; read when Run begins

	hangups   <-chan struct{} // SIGHUP; nil: none
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
	Listen   string // the address of the API and the console, "off" for none
	// Access names tokens and certificate; nil: there are no tokens.
	Access  *admin.AccessSettings
	OpenID  openid.Settings // where people may sign in to the console; zero: nowhere
	Log     *slog.Logger
	Version string // version of the program, for display
	Agent   string // the User-Agent of Crawlers that name none
	Memory  int64  // budget in bytes; 0 is the default one, NoMemoryLimit none
	Threads int    // of all Crawlers together; 0: as many as they have

	notify  *notifier // nil without systemd
	hangups <-chan struct{}
}

// Open opens everything that can fail, so that a service that starts runs.
func Open(ctx context.Context, o Options) (s *Service, err error) {
	s = &Service{
		log: o.Log, version: o.Version, configured: len(o.File.Crawlers), stores: len(o.Crawlers), memory: o.Memory, notify: o.notify, hangups: o.hangups,
		openID: o.OpenID,
	}
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
	if err := checkHomes(o.Data, o.File.Crawlers); err != nil {
		return s, err
	}
	opened, err := s.openDoor(ctx, o.Data, o.Listen, o.Access)
	if err != nil {
		return s, err
	}
	defer opened()
	s.config = newConfiguration(&o) // behind the socket's lock
	if err := s.openCrawls(ctx, &o); err != nil {
		return s, err
	}
	s.notices, err = s.notifier(o.File, o.Data)
	return s, err
}

func (s *Service) openCrawls(ctx context.Context, o *Options) error {
	if err := enoughFiles(o.Crawlers); err != nil {
		return err
	}
	memtable := memtableOf(o.Memory, len(o.Crawlers))
	slots := sharedSlots(o.Threads, o.Crawlers, o.Log)
	for _, crawler := range o.Crawlers {
		if err := ctx.Err(); err != nil { // a store may take long to open
			return err
		}
		r, err := openCrawl(ctx, crawler, HomeOf(o.File, crawler, o.Data), memtable, o)
		if err != nil {
			return err
		}
		s.crawls = append(s.crawls, r)
		s.opened.Add(1)
		s.notify.status(s.progressOfOpening())
		if slots != nil {
			r.ShareWorkers(slots)
		}
	}
	return nil
}

func (s *Service) progressOfOpening() string {
	return fmt.Sprintf("stores are being opened: %d of %d are open", s.opened.Load(), s.stores)
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
	return fmt.Errorf("this process may open %d files, and its Crawlers need %d: set ulimit -n, or LimitNOFILE= in the systemd unit, to %d or more",
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
	return nil, fmt.Errorf("no Crawler %q runs", c.Name())
}

// Crawlers returns the Crawlers of the service, for display.
func (s *Service) Crawlers() []admin.Crawler {
	out := make([]admin.Crawler, len(s.crawls))
	for i, r := range s.crawls {
		out[i] = r
	}
	return out
}
