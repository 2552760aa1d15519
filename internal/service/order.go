package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	_ "net/http/pprof" // of http.DefaultServeMux

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// Run starts the goroutines of a running service and waits for all of them. After Open only judged and ending change:
// judged under reloading, ending as an atomic.

// Run runs all Crawlers and the door to them until they end: by s.Stop, because once
// asks for an end, because one of them fails (then all end), or because ctx ends. It is
// the one place for the order of stopping:
//
//  1. s.Stop, by the first signal: no reload begins any more, and no Crawler takes a new
//     URL. A reload that goes on is finished, it changes nothing on disk by halves.
//  2. Each crawl.Run: pages in flight are finished and committed, then the frontier
//     stores which hosts must rest, the relay ends (unsent orders stay in the outbox),
//     and the last lines of the crawl log are written.
//  3. The door: status and commands are answered as long as a page may be in flight.
//  4. The onlookers: notices, with a last one if a Crawler failed; the watch of
//     files, the memory's limit, the watchdog.
//  5. s.Close, by the caller, who reads the figures before: the readers of documents,
//     which nobody asks any more, and the stores, which write what they have in memory.
//     The socket answers meanwhile that the service is stopping, and is closed last: so it
//     keeps a second service away, as the stores' own locks do.
func (s *Service) Run(ctx context.Context, once crawl.Once) error {
	door, closeDoor := context.WithCancel(ctx)
	told, endNotices := context.WithCancel(ctx) // after the door, which reports the last round
	group, ctx := errgroup.WithContext(ctx)
	server := admin.NewServer(s.Crawlers(), s, s.config, s.access, s.log)
	server.Tell(admin.About{Version: s.options.Version, Notices: s.notices.Status, Round: s.notices.Tell, Once: once.Drain})
	server.Mount("GET /debug/pprof/", admin.Operator, http.DefaultServeMux)
	if err := s.mountConsole(server); err != nil {
		closeDoor()
		endNotices()
		return err
	}
	group.Go(func() error {
		defer endNotices()
		return server.Run(door, s.open, s.owner)
	})
	group.Go(func() error { return s.notices.Run(told) })
	group.Go(func() error { return s.watch(door) })
	group.Go(func() error { return s.limitMemory(door) })
	group.Go(func() error { return s.notifySystemd(door) })
	group.Go(func() error { return s.stopSlowly(door) })
	group.Go(func() error {
		defer closeDoor()
		crawls, ctx := errgroup.WithContext(ctx)
		for _, r := range s.crawls {
			crawls.Go(func() error { return r.Run(ctx, once) })
		}
		err := crawls.Wait()
		s.endReloads()
		s.notices.End(err)
		return err
	})
	return group.Wait()
}

// Stop is the first step of stopping. It does not wait.
func (s *Service) Stop() {
	if s.ending.Swap(true) {
		return
	}
	s.log.Info("stopping; pages in flight are finished, and a second signal ends at once")
	s.notify.stopping()
	s.stopped()
	for _, r := range s.crawls {
		r.Stop()
	}
}

// stopSlowly asks systemd for patience from the first step of stopping on, until ctx ends: pages in flight may take
// long.
func (s *Service) stopSlowly(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.stops.Done():
		defer s.notify.patience()()
		<-ctx.Done()
	}
	return nil
}

// endReloads waits for a reload in progress, and prevents further ones.
func (s *Service) endReloads() {
	s.ending.Store(true)
	s.reloading.Lock()
	defer s.reloading.Unlock()
}

// errEnding is the error of a reload while the service stops.
var errEnding = errors.New("the service is stopping: the changed configuration takes effect at its next start")

// Reload implements admin.Service: it reads the configuration again and puts it in force. A broken one leaves
// everything as it is, and is remembered for status and metrics. It is the one place for
// the order of reloading. With word the operator allows what changed rules delete:
//
//  1. One reload at a time; while the service stops none.
//  2. systemd is told that it begins.
//  3. The whole file is read and judged, for all Crawlers, before anything changes.
//  4. For all Crawlers log-ins, certificates and the like are made and the crawl log is
//     opened anew (crawl.Prepare); if that fails for one, none changes. Then, Crawler by
//     Crawler, the new policy comes into force in one step. Pages in flight keep the one
//     that they began under.
//  5. What a reload cannot change is named in the log.
//  6. Tokens and the certificate are read again; if they cannot be, the crawl goes by the
//     new configuration all the same.
//  7. Status, log and systemd are told how it ended; systemd with READY=1 in either case,
//     since the service goes on.
func (s *Service) Reload(ctx context.Context, o admin.ReloadOptions) (out admin.Reloaded, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.ending.Load() {
		return out, &admin.Declined{Err: errEnding}
	}
	s.notify.reloading()
	s.judged = s.configFiles()
	s.config.baseline.look()
	out.AfterRestart, err = s.applyConfig(ctx, o)
	for _, r := range s.crawls {
		r.setConfigError(err)
	}
	if err != nil {
		s.log.Error("cannot reload the configuration; the old one stays in force", "error", err)
		s.notify.ready("the changed configuration is refused; the old one stays in force: " + err.Error())
		return out, err
	}
	s.log.Info("configuration reloaded", "path", s.config.path)
	s.config.keep(s.log)
	if err := s.access.Reload(); err != nil {
		s.log.Error("cannot reload tokens and certificate; the old ones stay in force", "error", err)
		s.notify.ready("configuration reloaded, except for tokens and certificate: " + err.Error())
		return out, &admin.Declined{Err: fmt.Errorf("the configuration is in force, but tokens and certificate could not be reloaded: %w", err)}
	}
	s.notify.ready("configuration reloaded")
	return out, nil
}

// reloadChanged reloads unless the files are unchanged since the last reload, for example one requested by a command.
func (s *Service) reloadChanged(ctx context.Context) {
	s.reloading.Lock()
	same := s.judged != "" && s.judged == s.configFiles()
	s.reloading.Unlock()
	if !same {
		_, _ = s.Reload(ctx, admin.ReloadOptions{}) // it is logged, and stands in the status
	}
}

// notifySystemd notifies systemd that the service is ready once every Crawler crawls, and later of its state. From then
// on it obeys SIGHUP; an earlier one is not lost.
func (s *Service) notifySystemd(ctx context.Context) error {
	if s.alive(ctx) != nil { // it ended before it crawled
		return nil
	}
	s.notify.ready(s.words(ctx))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.keepNotifying(ctx) })
	group.Go(func() error { return s.keepAlive(ctx) })
	group.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-s.options.hangups:
				_, _ = s.Reload(ctx, admin.ReloadOptions{}) // it is logged, and stands in the status
			}
		}
	})
	return group.Wait()
}
