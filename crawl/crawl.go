// Package crawl runs one Crawler: it starts and stops the parts of a crawl, gives leases to workers, applies changed
// settings, and executes commands. Package visit processes a page.
//
// Run starts the workers, and one goroutine for each job, and waits for all of them. Three mutexes order changes of a
// whole crawl: replacing is held while other rules come into force, pausing while it is paused or resumed, and that of
// inForce while a page begins or ends. None is held while a page is fetched.
package crawl

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/crawllog"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// ErrIndexerDown means that an indexer did not accept everything that was pushed.
var ErrIndexerDown = errors.New("the indexer did not accept all documents and deletions")

// Store contains the methods of the store that a crawl uses in addition to the frontier's.
type Store interface {
	scheduler.Store
	// OutboxBytes returns the length of the bodies of all waiting orders, in constant time.
	OutboxBytes() uint64
	// OnWork registers fn, which is called with places that get work from the relay's and operators' changes of the
	// outbox. fn must not wait for a change of the store.
	OnWork(fn func([]scheduler.Place))
}

// Relay pushes the outbox. A *push.Relay is one.
type Relay interface {
	Run(ctx context.Context) error
	Flush() (done func())
	Drained(ctx context.Context) error
	Status() []push.TargetStatus
	Times() []push.Times
}

// Crawl is one Crawler element at work. Its methods may be called concurrently.
type Crawl struct {
	name       string
	workers    int
	log        *slog.Logger
	store      Store
	frontier   *scheduler.Frontier
	deletions  *deletion.Owner
	relay      Relay
	rules      *inForce
	visitor    *visit.Visitor
	reviewer   *review.Reviewer
	copies     *copies.Detector // nil if copies are not detected
	patterns   *copies.Patterns // nil if patterns are not learnt
	meter      meter.Meter
	crawlLog   *crawllog.Log
	persistent persistent
	gates      gates
	schedules  schedules
	rounds     rounds

	replacing sync.Mutex  // held while other rules come into force, and before pages are fetched
	allowed   atomic.Bool // AllowNextEdit
	pausing   sync.Mutex  // held while the crawl is paused or resumed
	stopping  stopping
}

// persistent holds the parts of a Crawl that outlive reloads.
type persistent struct {
	names   *fetcher.Names   // DNS answers, for all fetchers
	jar     *auth.Jar        // cookies of all sites, with EnableCookies
	cookies *auth.CookieFile // stores cookies, also those of log-ins; nil for none
	hosts   *visit.HostURLs
	former  atomic.Pointer[map[weburl.Key]bool] // former roots that are still pending
}

// gates are the limits that a worker passes before it takes a URL.
type gates struct {
	limits     *limits
	permit     permit.Permit // to ask sites for anything; nil: always
	share      *share        // of the slots of all Crawls; nil: not shared
	outboxFull atomic.Int32  // workers that wait for the outbox
}

// stopping is ended by Stop.
type stopping struct {
	context.Context
	end context.CancelFunc
}

// tickets limit the number of pages that are fetched. A worker takes one before it takes a URL, and returns it if it
// fetched nothing.
type tickets struct {
	patience time.Duration // with an indexer that is down while the outbox is full; 0 means forever
	limited  bool
	left     atomic.Int64
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

// Once makes Run end when the work is done. With the zero value it runs until it is stopped.
type Once struct {
	// Drain waits for the frontier and the outbox to be empty.
	Drain bool
	// DrainTimeout limits the wait for an indexer that is down; 0 means forever.
	DrainTimeout time.Duration
	// MaxPages ends the crawl after this many responses; 0 means no limit.
	MaxPages int64
	// RenewNow is Change.RenewNow for a reload.
	RenewNow bool
}

// ends reports whether Run ends when the work is done.
func (o *Once) ends() bool { return o.Drain || o.MaxPages > 0 }

// New returns a crawl. It does not own the store or the relay's targets.
func New(ctx context.Context, s policy.Settings, store Store, relay Relay, log *slog.Logger) (*Crawl, error) {
	p, err := policy.Stored(ctx, s, store)
	if err != nil {
		return nil, err
	}
	ended, end := context.WithCancel(context.Background())
	c := &Crawl{
		name: s.Name, workers: max(s.Workers, 1), log: log, store: store, relay: relay, rounds: newRounds(),
		persistent: persistent{names: fetcher.NewNames(), jar: auth.NewJar(), hosts: &visit.HostURLs{}},
		gates:      gates{limits: newLimits(&s), permit: s.Fetcher.Permit},
		schedules:  schedules{changed: make(chan struct{}, 1)}, stopping: stopping{ended, end}, crawlLog: crawllog.New(log),
	}
	if s.CookieFile != "" {
		c.persistent.cookies = auth.OpenCookieFile(s.CookieFile, log)
		if s.EnableCookies && s.KeepCookies {
			c.persistent.cookies.ResumeSites(c.persistent.jar)
		}
	}
	now := &visit.Rules{Policy: p}
	if now.FetchState, err = c.fetchState(ctx, p, nil); err != nil {
		return nil, err
	}
	c.rules = newInForce(now)
	c.frontier = scheduler.New(store, policy.FrontierSettings(p), log)
	store.OnWork(c.frontier.Announce)
	if c.deletions, err = deletion.New(ctx, c.frontier, store, log); err != nil {
		return nil, err
	}
	key, err := hashKey(ctx, store)
	if err != nil {
		return nil, err
	}
	c.visitor = visit.New(visit.Parts{
		HashKey: key, Frontier: c.frontier, Store: store, Log: log, Sites: visitSites{c}, Hosts: c.persistent.hosts, Meter: &c.meter, CrawlLog: c.crawlLog,
	})
	if err := c.lookForCopies(ctx, &s); err != nil {
		return nil, err
	}
	c.reviewer = review.New(review.Parts{
		Frontier: c.frontier, Deletions: c.deletions, Store: store, Log: log, Crawl: c.rules, Freed: c.copies.Free,
	})
	paused, err := storedPause(ctx, store)
	if err != nil {
		return nil, err
	}
	if paused {
		log.Warn("the crawl is still paused from its last run: sextant resume")
		c.frontier.Pause()
	}
	// Last, so that no error leaves the file open: Run closes it.
	if err := c.crawlLog.Reopen(s.CrawlLog); err != nil {
		return nil, err
	}
	return c, nil
}

// lookForCopies creates the detector of duplicates, if the settings enable it.
func (c *Crawl) lookForCopies(ctx context.Context, s *policy.Settings) error {
	if !s.NearDuplicates {
		return nil
	}
	c.copies = copies.New(c.store, c.visitor.Requeue, c.log)
	c.deletions.OnCarryOut(c.copies.Free)
	if s.DetectPatterns {
		stored, err := copies.StoredPatterns(ctx, c.store)
		if err != nil {
			return err
		}
		c.patterns = copies.NewPatterns(stored)
	}
	c.visitor.LookForCopies(c.copies, c.patterns)
	return nil
}

// inForce returns the rules in force.
func (c *Crawl) inForce() *visit.Rules { return c.rules.now.Load() }

// policy returns the policy in force.
func (c *Crawl) policy() *policy.Policy { return c.inForce().Policy }

// endedPause is the rest of a host after the permit for a request to it ended.
const endedPause = 100 * time.Millisecond

// page takes one lease through all stages. ended is called once, after its outcome is stored or has failed, and its URL
// was judged again if other rules came into force meanwhile. A page that is interrupted because the permit ended stays
// in its queue, without an error.
func (c *Crawl) page(ctx context.Context, lease *scheduler.Lease, slot *meter.Slot, ended func(error)) visit.Asked {
	under, leave, err := permit.Begin(ctx, c.gates.permit)
	if err != nil {
		c.frontier.GiveBack(lease, false, time.Now().Add(endedPause))
		ended(nil)
		return visit.AskedNothing
	}
	defer leave()
	page := c.rules.begin()
	return c.visitor.Page(under, page.rules, lease, slot, func(err error) {
		if permit.Ended(ctx, under, err) {
			err = nil
		}
		ctx := context.WithoutCancel(ctx)
		if again := c.reviewer.JudgeAgain(ctx, page.rules.Policy, lease.Key); again != nil {
			err = errors.Join(err, again, c.reviewAgain(ctx))
		}
		c.rules.end(page)
		ended(err)
	})
}

// Run crawls until ctx ends (then at once), Stop was called (then after the pages in flight), or the work of once is
// done. It stops workers, outbox, frontier and relay, in this order. It must be called once.
func (c *Crawl) Run(ctx context.Context, once Once) (err error) {
	defer func() { c.inForce().FetchState.Accesses.Close() }()
	defer func() { err = errors.Join(err, c.crawlLog.Close()) }()
	if c.frontier.Paused() && once.ends() {
		return ErrPaused
	}
	if err := c.start(ctx, once.RenewNow); err != nil {
		return err
	}
	background, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	owners, background := errgroup.WithContext(background)
	for _, j := range c.jobs(once.Drain || once.MaxPages > 0) {
		owners.Go(func() error { return j.run(background) })
	}

	// A component that fails ends the crawl; otherwise it would stop unnoticed.
	err = c.runWorkers(background, once)
	if err == nil && once.ends() {
		err = c.drainOutbox(background, once)
	}
	stopBackground()
	if failed := owners.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return ignoreStop(err)
}

// runWorkers fetches pages until the frontier is stopped, or drained if once requires an end, or has leased
// once.MaxPages pages.
func (c *Crawl) runWorkers(ctx context.Context, once Once) error {
	crawling, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ended := func(l *scheduler.Lease, err error) { c.ended(crawling, l, err, fail) }
	workers, ctx := errgroup.WithContext(crawling)
	tickets := &tickets{limited: once.MaxPages > 0, patience: once.DrainTimeout}
	tickets.left.Store(once.MaxPages)
	for range c.workers {
		workers.Go(func() error { return c.work(ctx, tickets, ended) })
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var watch errgroup.Group
	if once.ends() {
		watch.Go(func() error {
			if err := c.drained(watching, once.Drain); err != nil {
				return ignoreStop(err)
			}
			c.frontier.Stop()
			return nil
		})
	}
	err := workers.Wait()
	c.visitor.AwaitStored()
	if failed := context.Cause(crawling); unrecoverable(failed) {
		err = failed
	}
	stopWatching()
	return errors.Join(err, watch.Wait())
}

// start prepares the first page. The reload of the roots and the
// judging of stored URLs exclude each other.
func (c *Crawl) start(ctx context.Context, renew bool) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	p := c.policy()
	if err := c.sign(ctx); err != nil {
		return err
	}
	if err := c.reviewer.Open(ctx, p, c.allowed.Swap(false), renew); err != nil {
		return err
	}
	if err := c.copies.Begin(ctx); err != nil {
		return err
	}
	if err := c.addRoots(ctx, p); err != nil || !p.LimitsHosts() {
		return err
	}
	return c.countHosts(ctx)
}

// Stop makes the crawl take no new URL; Run returns when the pages in flight are committed.
func (c *Crawl) Stop() {
	c.frontier.Stop()
	c.stopping.end()
}

// reviewAgain restarts the review, because a URL could not be judged.
func (c *Crawl) reviewAgain(ctx context.Context) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	defer c.reviewer.Wake()
	return c.reviewer.Begin(ctx, c.policy(), false)
}
