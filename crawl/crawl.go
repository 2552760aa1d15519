// Package crawl takes URLs through all stages: frontier, rules, robots.txt,
// fetch, read, judge the links, commit, push.
package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// ErrIndexerDown says that an indexer did not take all that was pushed.
var ErrIndexerDown = errors.New("the indexer did not take everything")

// ErrNoRoot says that a crawl that was to run once could fetch none of its roots.
var ErrNoRoot = errors.New("no root could be fetched")

// Store is what a crawl needs of its store beyond the frontier's part.
type Store interface {
	scheduler.Store
	// OutboxBytes are the bodies that no target has safely yet, in constant time.
	OutboxBytes() uint64
}

// Crawl is one Crawler element at work. Its methods may be called at once.
type Crawl struct {
	settings Settings
	log      *slog.Logger
	store    Store
	frontier *scheduler.Frontier
	judge    *judge
	robots   *robots.Cache
	fetcher  *fetcher.Fetcher
	relay    *push.Relay

	requests, pages, bytes atomic.Int64
	pace                   pace
	outboxFull             atomic.Int32    // workers that wait for the outbox
	robotsInFlight         sync.Map        // host keys whose robots.txt is being fetched
	stopping               context.Context // ended by Stop
	stop                   context.CancelFunc
}

// tickets bound how many pages are fetched. A worker takes one before it asks
// for a URL and hands it back where it fetched none.
type tickets struct {
	limited bool
	left    atomic.Int64
}

func (t *tickets) take() bool {
	for t.limited {
		left := t.left.Load()
		if left == 0 {
			return false
		}
		if t.left.CompareAndSwap(left, left-1) {
			break
		}
	}
	return true
}

func (t *tickets) back() { t.left.Add(1) }

// Once makes Run end when the work is done.
type Once struct {
	// Drain waits for the frontier and the outbox to be empty.
	Drain bool
	// DrainTimeout is how long an indexer that is down is waited for; 0 is for ever.
	DrainTimeout time.Duration
	// MaxPages ends the crawl after so many answers; 0 is no end.
	MaxPages int64
}

// New puts a crawl together. It owns none of store and relay's targets.
func New(ctx context.Context, s Settings, store Store, relay *push.Relay, log *slog.Logger) (*Crawl, error) {
	judge, err := newJudge(ctx, s.Rules, store)
	if err != nil {
		return nil, err
	}
	s.Frontier.DeletionBody = deletionBody
	for _, root := range s.Rules.Roots {
		s.Fetcher.Exempt = append(s.Fetcher.Exempt, net.JoinHostPort(root.URL.Host(), root.URL.Port()))
	}
	stopping, stop := context.WithCancel(context.Background())
	return &Crawl{
		stopping: stopping, stop: stop, settings: s, log: log, store: store, judge: judge, relay: relay,
		frontier: scheduler.New(store, s.Frontier, log),
		robots:   robots.NewCache(store, s.Robots),
		fetcher:  fetcher.New(s.Fetcher, log),
	}, nil
}

// Run crawls until ctx ends (then at once), Stop was called (then after the
// pages in flight), or what once asks for is done. The order of stopping stands
// here: workers, outbox, frontier and relay. It is called once.
func (c *Crawl) Run(ctx context.Context, once Once) error {
	defer c.fetcher.Close()
	if err := c.addRoots(ctx); err != nil {
		return err
	}
	background, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	owners, background := errgroup.WithContext(background)
	owners.Go(func() error { return c.frontier.Run(background) })
	owners.Go(func() error { return c.relay.Run(background) })
	owners.Go(func() error { return c.pace.run(background, c) })

	// A component that fails ends the crawl, or it would stand still unseen.
	err := c.runWorkers(background, once)
	if err == nil && (once.Drain || once.MaxPages > 0) {
		err = c.drainOutbox(background, once)
	}
	stopBackground()
	if failed := owners.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return ignoreStop(err)
}

// runWorkers fetches pages until the frontier is stopped, or drained where once
// asks for an end, or has given out once.MaxPages.
func (c *Crawl) runWorkers(ctx context.Context, once Once) error {
	workers, ctx := errgroup.WithContext(ctx)
	tickets := &tickets{limited: once.MaxPages > 0}
	tickets.left.Store(once.MaxPages)
	for range max(c.settings.Workers, 1) {
		workers.Go(func() error { return c.work(ctx, tickets) })
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var watch errgroup.Group
	if once.Drain || once.MaxPages > 0 {
		watch.Go(func() error {
			if err := c.frontier.Drained(watching); err != nil {
				return ignoreStop(err)
			}
			c.frontier.Stop()
			return nil
		})
	}
	err := workers.Wait()
	stopWatching()
	return errors.Join(err, watch.Wait())
}

// Stop takes no new URL; Run ends when the pages in flight are committed.
func (c *Crawl) Stop() {
	c.frontier.Stop()
	c.stop()
}

// drainOutbox waits until every target has safely what the outbox holds.
func (c *Crawl) drainOutbox(ctx context.Context, once Once) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if once.DrainTimeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, once.DrainTimeout)
		defer cancel()
	}
	defer context.AfterFunc(c.stopping, cancel)()
	err := c.relay.Drained(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w within %s: what is unsent stays in the outbox for the next run", ErrIndexerDown, once.DrainTimeout)
	}
	return err
}

// ignoreStop makes the end of a wait that was stopped no error.
func ignoreStop(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, scheduler.ErrStopped) {
		return nil
	}
	return err
}

// addRoots puts the configured roots in; known ones are not crawled sooner for it.
func (c *Crawl) addRoots(ctx context.Context) error {
	var links []scheduler.Link
	for _, root := range c.judge.roots() {
		d := c.judge.decide(root.URL)
		if !d.Crawl() {
			c.log.Warn("a root is not crawled: the rules ignore it", "url", root.URL.String(),
				"by", c.judge.exclusion(root.URL).Words)
			continue
		}
		links = append(links, scheduler.Link{URL: root.URL, Root: true, Fifo: fifoOf(d), Shift: int8(d.Shift)})
	}
	_, err := c.frontier.Add(ctx, links, false)
	return err
}

// RootsFailed returns ErrNoRoot if there are roots and the last answer of each was bad.
func (c *Crawl) RootsFailed(ctx context.Context) error {
	roots := c.judge.roots()
	if len(roots) == 0 {
		return nil
	}
	for _, root := range roots {
		record, err := c.store.Lookup(ctx, root.URL.Key())
		if errors.Is(err, scheduler.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if record.Class == scheduler.OK || record.Class == scheduler.Redirect {
			return nil
		}
	}
	return ErrNoRoot
}
