package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// pace is the pause between two requests to a host of a site.
const pace = 100 * time.Millisecond

var errDisk = errors.New("the disk is on fire")

// answer is what a page of a site says when it is asked for.
type answer func(l *scheduler.Lease) scheduler.Result

// crawl is one of a site whose answers a test chooses: one worker, the frontier
// and the deletions, as crawl runs them. All times are those of a synctest bubble.
type crawl struct {
	t      *testing.T
	memory *teststore.Store
	// store wraps memory for the crawl; nil: it does not.
	store func(scheduler.Store) scheduler.Store
	set   scheduler.Settings
	log   *strings.Builder
	// late holds up the owner's Run until it is closed; nil: it does not.
	late chan struct{}

	*scheduler.Frontier
	owner  *deletion.Owner
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	answers map[weburl.Key]answer
	asked   map[weburl.Key][]time.Time
	left    map[weburl.Key]time.Time // when a document's loss was carried out last
}

// crawling runs a test with a site whose crawl runs.
func crawling(t *testing.T, change func(*crawl), test func(*crawl)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &crawl{
			t: t, memory: teststore.New(t), set: scheduler.DefaultSettings(), log: new(strings.Builder),
			answers: map[weburl.Key]answer{}, asked: map[weburl.Key][]time.Time{}, left: map[weburl.Key]time.Time{},
		}
		s.set.Throttle = pace
		if change != nil {
			change(s)
		}
		s.begin()
		defer s.end()
		test(s)
	})
}

// opened returns the owner of a store's losses.
func opened(t *testing.T, f *scheduler.Frontier, store scheduler.Store, log *slog.Logger) *deletion.Owner {
	t.Helper()
	d, err := deletion.New(t.Context(), f, store, log)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// begin starts the crawl, as a new process would.
func (s *crawl) begin() {
	s.t.Helper()
	var store scheduler.Store = s.memory
	if s.store != nil {
		store = s.store(store)
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.Frontier = scheduler.New(store, s.set, log)
	s.Fix(1)
	s.owner = opened(s.t, s.Frontier, store, log)
	s.owner.OnCarryOut(func(_ context.Context, keys []weburl.Key) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range keys {
			s.left[k] = time.Now()
		}
		return nil
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	late := s.late
	owner := func(ctx context.Context) error {
		if late != nil {
			<-late
		}
		return s.owner.Run(ctx)
	}
	for _, run := range []func(context.Context) error{s.Run, owner, s.work} {
		s.all.Go(func() {
			if err := run(ctx); err != nil {
				s.t.Errorf("a part of the crawl ends: %v", err)
			}
		})
	}
	synctest.Wait()
}

func (s *crawl) end() {
	s.cancel()
	s.all.Wait()
}

// restart ends the process and begins another one.
func (s *crawl) restart() {
	s.t.Helper()
	s.end()
	s.memory = s.memory.Reopen()
	s.begin()
}

func (s *crawl) work(ctx context.Context) error {
	for {
		l, err := s.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.asked[l.Key] = append(s.asked[l.Key], time.Now())
		page := s.answers[l.Key]
		s.mu.Unlock()
		if page == nil {
			page = good
		}
		if err := s.finish(ctx, l, page(l)); err != nil && ctx.Err() == nil && !errors.Is(err, errDisk) {
			return err
		}
	}
}

// finish ends a lease with what its page says; robots.txt that cannot be had is not an answer.
func (s *crawl) finish(ctx context.Context, l *scheduler.Lease, r scheduler.Result) error {
	if r.Reason == scheduler.ReasonRobotsUnreachable {
		return s.Wait(ctx, l, time.Now().Add(time.Hour), r.Reason, "robots.txt cannot be had")
	}
	r.Decided = l.Record.Fifo
	return s.Complete(ctx, l, r)
}

// says has pages answer so from now on.
func (s *crawl) says(a answer, pages ...scheduler.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pages {
		s.answers[p.URL.Key()] = a
	}
}

// good is a document, the same each time.
func good(l *scheduler.Lease) scheduler.Result { return text(1)(l) }

// text is a document of this content: of each page its own, and nothing of it like another content.
func text(content uint64) answer {
	return func(l *scheduler.Lease) scheduler.Result { return document(l.Key, content, 0) }
}

// document is one of a page and a content. So many of its minima are the same for all pages and contents.
func document(k weburl.Key, content uint64, common int) scheduler.Result {
	d := &scheduler.Document{Body: []byte("{}"), Source: "s", Reading: 1}
	own := rand.New(rand.NewPCG(content, uint64(k[9])<<8|uint64(k[10])))
	all := rand.New(rand.NewPCG(1, 1))
	for i := range d.Sketch.Minima {
		v, w := byte(1+own.IntN(255)), byte(1+all.IntN(255))
		if i < common {
			v = w
		}
		d.Sketch.Minima[i] = v
	}
	d.Hash = [16]byte(d.Sketch.Minima[:16])
	d.Hash[0], d.Hash[1] = byte(content), byte(content>>8)
	return scheduler.Result{Status: 200, Document: d}
}

func status(code int) answer {
	return func(*scheduler.Lease) scheduler.Result {
		return scheduler.Result{Status: code, Words: fmt.Sprint("status ", code)}
	}
}

func fails(f fault.Fault) answer {
	return func(*scheduler.Lease) scheduler.Result { return scheduler.Result{Fault: f, Words: "fault"} }
}

// noDocument is a page that has none for a reason.
func noDocument(r scheduler.Reason) answer {
	return func(*scheduler.Lease) scheduler.Result {
		return scheduler.Result{Status: 200, Reason: r, NoDocument: r.String()}
	}
}

func forbidden(*scheduler.Lease) scheduler.Result {
	return scheduler.Result{Excluded: &scheduler.Exclusion{Reason: scheduler.ReasonRobots, Words: "robots.txt forbids it"}}
}

// leads is a redirect, whose target is crawled.
func leads(code int, to scheduler.Link) answer {
	return func(*scheduler.Lease) scheduler.Result {
		t := to
		return scheduler.Result{Status: code, Redirect: &t, Location: to.URL.String(), Moved: code == 301 || code == 308}
	}
}

// pages are the links of a host.
func pages(host string, n int) []scheduler.Link {
	return storetest.Links(n, "http://"+host+"/%d", scheduler.Index)
}

// index gives each page a document.
func (s *crawl) index(pages ...scheduler.Link) {
	s.t.Helper()
	if n, err := s.Add(s.t.Context(), pages, false); err != nil || n != len(pages) {
		s.t.Fatalf("Add = %d, %v; want %d", n, err, len(pages))
	}
	s.drain()
	for _, p := range pages {
		if r := s.record(p); !r.Indexed {
			s.t.Fatalf("%+v, want a document", r)
		}
	}
}

// indexed has n documents of one host in the index.
func (s *crawl) indexed(n int) []scheduler.Link {
	s.t.Helper()
	all := pages("a.test", n)
	s.index(all...)
	return all
}

// meets has pages visited that answer so from now on.
func (s *crawl) meets(a answer, pages ...scheduler.Link) {
	s.t.Helper()
	s.says(a, pages...)
	s.visit(pages...)
}

// visit has pages asked for at once, one after the other.
func (s *crawl) visit(pages ...scheduler.Link) {
	s.t.Helper()
	if _, err := s.Add(s.t.Context(), slices.Clone(pages), true); err != nil {
		s.t.Fatal(err)
	}
	s.drain()
}

// drain waits until nothing is left to ask for.
func (s *crawl) drain() {
	s.t.Helper()
	if err := s.Drained(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

// pass lets time go by.
func (s *crawl) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *crawl) record(p scheduler.Link) scheduler.Record {
	s.t.Helper()
	r, err := s.memory.Lookup(s.t.Context(), p.URL.Key())
	if err != nil {
		s.t.Fatalf("%v: %v", p.URL, err)
	}
	return r
}

// isIll reports whether a page's host is ill, as stored.
func (s *crawl) isIll(p scheduler.Link) bool {
	s.t.Helper()
	h, err := s.memory.Host(s.t.Context(), p.URL.HostKey())
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Ill
}

// visits is how often a page was asked for.
func (s *crawl) visits(p scheduler.Link) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked[p.URL.Key()])
}

// leftAt is when a page's document left, zero if it did not.
func (s *crawl) leftAt(p scheduler.Link) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left[p.URL.Key()]
}

// lost counts the documents that losses took out of the index, or replaced the text of.
func (s *crawl) lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.left)
}

// back wants documents to be in the index, with nothing pending and nothing lost.
func (s *crawl) back(pages ...scheduler.Link) {
	s.t.Helper()
	for _, p := range pages {
		if r := s.record(p); !r.Indexed || r.LossPending || !r.LostAt.IsZero() {
			s.t.Errorf("%s is not back: %+v", r.URL, r)
		}
	}
}

// deletions are those that f selects.
func (s *crawl) deletions(f scheduler.DeletionFilter) []scheduler.StoredDeletion {
	s.t.Helper()
	var all []scheduler.StoredDeletion
	if err := s.memory.PendingDeletions(s.t.Context(), f, func(d scheduler.StoredDeletion) error {
		all = append(all, d)
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// is expects so many losses to be pending, and so many to have been carried out.
func (s *crawl) is(when string, pending, left int) {
	s.t.Helper()
	c, err := s.memory.Counts(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	got := [2]int{int(c.Outbox.Pending), len(s.left)} //nolint:gosec // few
	s.mu.Unlock()
	if want := [2]int{pending, left}; got != want {
		s.t.Errorf("%s: %d are pending, %d were carried out; want %d, %d", when, got[0], got[1], pending, left)
	}
}

// every returns each nth of some pages, from the first on.
func every(n int, all []scheduler.Link) (some []scheduler.Link) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// releases releases losses, and checks how many there are.
func (s *crawl) releases(f scheduler.DeletionFilter, want int) {
	s.t.Helper()
	if n, err := s.owner.Release(s.t.Context(), f); n != want || err != nil {
		s.t.Fatalf("Release = %d, %v; want %d", n, err, want)
	}
}
