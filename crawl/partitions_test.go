package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	fleetParts = 6
	fleetHosts = 60
	fleetDepth = 4
	fleetPause = time.Second
)

// fleet is some nodes that crawl one site of many hosts over partitions, each page of which is linked from other hosts
// alone. The mutex guards what the site saw, and which nodes there are.
type fleet struct {
	t        *testing.T
	dir      string
	settings policy.Settings
	target   *memoryTarget
	down     push.Target // in place of it; nil: it is up
	nodes    []*crewNode
	owner    [fleetParts]*crewNode
	numbers  atomic.Uint64
	pages    map[string]string // by path, in place of those that link to each other; set before they are asked for
	schedule func(context.Context, string, func(time.Time) (time.Time, bool)) (time.Time, error)

	mu     sync.Mutex
	visits map[string]int
	asking map[string]bool      // hosts of which a page is being sent
	ended  map[string]time.Time // when the last page of a host was
	faults []string
}

// crewNode is one of them.
type crewNode struct {
	*Crawl
	permits [fleetParts]*testpermit.Switch
	cancel  context.CancelFunc
	ended   chan error
	dead    atomic.Bool
}

// uncleanly is a partition that a node which died has left.
type uncleanly struct{ *badgerstore.Store }

// ClosedCleanly implements scheduler.Store.
func (uncleanly) ClosedCleanly() bool { return false }

// Carry implements partitioned.Carrier.
func (f *fleet) Carry(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	f.mu.Lock()
	nodes := slices.Clone(f.nodes)
	f.mu.Unlock()
	for _, n := range nodes {
		if n.dead.Load() {
			continue
		}
		if is, err := n.partitions.Store.Receive(ctx, to, p); !errors.Is(err, scheduler.ErrElsewhere) {
			return is, err
		}
	}
	return scheduler.Receipt{}, scheduler.ErrElsewhere
}

func fleetHost(h int) string { return fmt.Sprintf("192.0.2.%d", 1+h%fleetHosts) }

// ServeHTTP implements http.Handler: /K of a host links to /K+1 of two others.
func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if page, ok := f.page(r.Host, r.URL.Path); ok {
		if r.URL.Path == "/robots.txt" { // which no pause is for
			f.visit(r.Host, r.URL.Path)
		} else {
			f.begins(r.Host, r.URL.Path)
			defer f.ends(r.Host)
		}
		_, _ = io.WriteString(w, page)
		return
	}
	var a, h, k int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &k); err != nil && r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	if _, err := fmt.Sscanf(r.Host, "192.0.%d.%d", &a, &h); err != nil {
		http.NotFound(w, r)
		return
	}
	h--
	f.begins(r.Host, r.URL.Path)
	defer f.ends(r.Host)
	select {
	case <-time.After(time.Duration(50+(h*37+k*11)%200) * time.Millisecond):
	case <-r.Context().Done(): // cut
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, "<title>t</title><p>This is page %d of host %d", k, h)
	if k < fleetDepth {
		for _, to := range []int{h*7 + k*13 + 1, h*11 + 5} {
			_, _ = fmt.Fprintf(w, ` <a href="http://%s/%d">a link</a>`, fleetHost(to), k+1)
		}
	}
}

// page is one that a host has, or that all have.
func (f *fleet) page(host, path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, ok := f.pages[host+path]
	if !ok {
		page, ok = f.pages[path]
	}
	return page, ok
}

func (f *fleet) visit(host, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.visits[host+path]++
}

func (f *fleet) begins(host, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking[host] {
		f.faults = append(f.faults, "two requests at once to "+host)
	}
	if last, ok := f.ended[host]; ok && time.Since(last) < fleetPause {
		f.faults = append(f.faults, fmt.Sprintf("%s is asked %v after the last request", host, time.Since(last)))
	}
	f.asking[host] = true
	f.visits[host+path]++
}

func (f *fleet) ends(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking[host], f.ended[host] = false, time.Now()
}

// inFleet runs fn in a bubble, with so many nodes that have divided the partitions among them.
func inFleet(t *testing.T, nodes int, fn func(f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, dir: t.TempDir(), target: &memoryTarget{documents: map[string]push.Document{}},
			visits: map[string]int{}, asking: map[string]bool{}, ended: map[string]time.Time{}}
		f.settings = policy.Settings{Name: "test", Workers: 8, RobotsAgent: "Sextant", MaxRedirects: 10, Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings()}
		f.settings.Frontier.Throttle = fleetPause
		f.settings.Rules.DefaultFollowRoots = true
		for h := range fleetHosts {
			f.settings.Rules.Roots = append(f.settings.Rules.Roots, actionrules.Root{URL: parse(t, "http://"+fleetHost(h)+"/"), Site: true, Group: "default"})
		}
		listener := testpipe.Listen()
		server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
		f.settings.Fetcher.Connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return listener.Dial(ctx) }
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		defer func() {
			for _, n := range f.nodes {
				f.stop(n)
			}
			_ = server.Close()
			<-served
			for _, fault := range f.faults[:min(len(f.faults), 5)] {
				t.Error(fault)
			}
		}()
		for range nodes {
			f.start()
		}
		for i := range fleetParts {
			f.adopt(i, f.nodes[i%nodes], false)
		}
		fn(f)
	})
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) start() {
	f.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	s, err := partitioned.New(partitioned.Options{Partitions: fleetParts, Values: storetest.NewMemory(), Carrier: f})
	f.must(err)
	c, err := NewOver(f.t.Context(), f.settings, &Partitions{Store: s, Relays: push.NewRelays(logger), Number: fleetParts, Start: f.schedule}, logger)
	f.must(err)
	ctx, cancel := context.WithCancel(f.t.Context())
	n := &crewNode{Crawl: c, cancel: cancel, ended: make(chan error, 1)}
	go func() { n.ended <- c.Run(ctx, Once{}) }()
	f.mu.Lock()
	f.nodes = append(f.nodes, n)
	f.mu.Unlock()
	synctest.Wait()
}

// adopt opens a partition at a node.
func (f *fleet) adopt(i int, at *crewNode, unclean bool) {
	f.t.Helper()
	store, err := badgerstore.Open(filepath.Join(f.dir, fmt.Sprint(i)), badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true,
		Numbers: func() uint64 { return f.numbers.Add(1) }})
	f.must(err)
	target := push.Target(f.target)
	if f.down != nil {
		target = f.down
	}
	relay, err := push.NewRelay(store.Outbox(), []push.TargetSettings{{Target: target}}, slog.New(slog.DiscardHandler))
	f.must(err)
	var p scheduler.Partition = store
	if unclean {
		p = uncleanly{store}
	}
	at.permits[i] = testpermit.New()
	f.must(at.Adopt(f.t.Context(), Owned{Number: i, Store: p, Permit: at.permits[i], Relay: relay}))
	f.owner[i] = at
}

// move hands a partition over to another node.
func (f *fleet) move(i int, to *crewNode) {
	f.t.Helper()
	p, err := f.owner[i].Yield(f.t.Context(), i)
	f.must(err)
	f.must(p.Close())
	f.adopt(i, to, false)
}

// kill ends a node with all requests that are under way, and has the others adopt what it had.
func (f *fleet) kill(n *crewNode, others []*crewNode) {
	f.t.Helper()
	for _, p := range n.permits {
		if p != nil {
			p.Take()
		}
	}
	n.dead.Store(true)
	gone, cancel := context.WithCancel(f.t.Context())
	cancel()
	for i, at := range f.owner {
		if at != n {
			continue
		}
		p, err := n.Yield(gone, i)
		f.must(err)
		f.must(p.Close())
		f.adopt(i, others[i%len(others)], true)
	}
	f.stop(n)
}

func (f *fleet) stop(n *crewNode) {
	if n.ended == nil {
		return
	}
	n.Stop()
	n.cancel()
	if err := <-n.ended; err != nil && !errors.Is(err, context.Canceled) {
		f.t.Errorf("Run: %v", err)
	}
	n.ended = nil
	if err := n.partitions.Store.Close(); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) documents() []string {
	f.target.mu.Lock()
	defer f.target.mu.Unlock()
	return slices.Sorted(maps.Keys(f.target.documents))
}

// await waits until there are so many documents, and then for a while.
func (f *fleet) await(n int) {
	f.t.Helper()
	for begun := time.Now(); len(f.documents()) < n; {
		if time.Since(begun) > time.Hour {
			f.t.Fatalf("%d of %d documents after an hour", len(f.documents()), n)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// check wants each page in the index, and each to have been fetched once, except so many.
func (f *fleet) check(twiceAtMost int) {
	f.t.Helper()
	const pages = fleetHosts * (fleetDepth + 1)
	f.await(pages)
	time.Sleep(time.Minute)
	if n := len(f.documents()); n != pages {
		f.t.Errorf("%d documents, want %d", n, pages)
	}
	twice := 0
	f.mu.Lock()
	for _, n := range f.visits {
		twice += n - 1
	}
	visits := len(f.visits)
	f.mu.Unlock()
	if visits != pages || twice > twiceAtMost {
		f.t.Errorf("%d pages were fetched, %d of them again; want %d, and at most %d again", visits, twice, pages, twiceAtMost)
	}
}

// TestFleet: three nodes crawl what one does, and fetch no page twice.
func TestFleet(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		inFleet(t, nodes, func(f *fleet) {
			f.check(0)
			for _, n := range f.nodes {
				if s := n.Snapshot(); s.InFlight > 0 {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// TestFleetMoves: partitions that are handed over in the middle cost no page and no second request.
func TestFleetMoves(t *testing.T) {
	inFleet(t, 3, func(f *fleet) {
		for i := range 2 * fleetParts {
			f.await(10 * (i + 1))
			f.move(i%fleetParts, f.nodes[(i+1)%3])
		}
		f.check(0)
	})
}

// TestFleetKilled: what one node had is adopted by the others; only what it was asking for is asked again, after the pause.
func TestFleetKilled(t *testing.T) {
	inFleet(t, 3, func(f *fleet) {
		f.await(fleetHosts)
		f.kill(f.nodes[1], []*crewNode{f.nodes[0], f.nodes[2]})
		f.check(f.settings.Workers * 2)
	})
}

// asked is how many pages of a partition's hosts were asked for, and of others.
func (f *fleet) asked(number int) (its, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := range f.visits {
		host, _, _ := strings.Cut(at, "/")
		if partitioned.Of(host, fleetParts) == number {
			its++
		} else {
			others++
		}
	}
	return its, others
}

// TestFleetAsksItsRight: no host is asked whose partition's right is over, while the others go on; when it is back nothing is missing.
func TestFleetAsksItsRight(t *testing.T) {
	inFleet(t, 1, func(f *fleet) {
		f.await(30)
		right := &f.nodes[0].partitions.rights
		right.set(0, elsewhere{})
		time.Sleep(time.Second) // what was being asked ends
		its, others := f.asked(0)
		time.Sleep(20 * time.Second)
		now, more := f.asked(0)
		if now != its || more == others {
			t.Errorf("%d pages of the partition were asked for, and %d of others", now-its, more-others)
		}
		right.set(0, f.nodes[0].permits[0])
		f.check(0)
	})
}

// fenced is a partition that takes no links any more once its claim is over.
type fenced struct {
	*badgerstore.Store
	over atomic.Bool
}

// Add implements scheduler.Store.
func (f *fenced) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	if f.over.Load() {
		return nil, 0, errors.New("the claim is over")
	}
	return f.Store.Add(ctx, links, requeue)
}

// TestFleetLosesOne: new roots are put into all partitions that are here, though one is lost meanwhile; who has that next puts its own in. While the
// right to it is not over, it is told that this failed.
func TestFleetLosesOne(t *testing.T) {
	inFleet(t, 1, func(f *fleet) {
		f.check(0)
		n := f.nodes[0]
		p, err := n.Yield(f.t.Context(), 0)
		f.must(err)
		store := &fenced{Store: p.(*badgerstore.Store)}
		f.must(n.Adopt(f.t.Context(), Owned{Number: 0, Store: store, Permit: n.permits[0]}))
		store.over.Store(true)
		f.settings.Rules.Roots = slices.Clone(f.settings.Rules.Roots)
		for h := range fleetHosts {
			f.settings.Rules.Roots = append(f.settings.Rules.Roots, actionrules.Root{URL: parse(t, "http://"+fleetHost(h)+"/9"), Site: true, Group: "default"})
		}
		if err := n.Reload(f.t.Context(), f.settings); err == nil {
			t.Error("roots that could not be put in are not told")
		}
		n.partitions.rights.set(0, elsewhere{})
		f.must(n.Reload(f.t.Context(), f.settings))
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		for h := range fleetHosts {
			visits, want := f.visits[fleetHost(h)+"/9"], 1
			if partitioned.Of(fleetHost(h), fleetParts) == 0 {
				want = 0
			}
			if visits != want {
				t.Errorf("the new root of host %d was fetched %d times, want %d", h, visits, want)
			}
		}
	})
}

// TestFleetPerAddress: what only one machine could keep to is refused.
func TestFleetPerAddress(t *testing.T) {
	s := policy.Settings{}
	s.Frontier.PerAddress = true
	if _, err := NewOver(t.Context(), s, &Partitions{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("perAddress is accepted")
	}
}

// TestFleetSchedules: a run of a schedule is done once by each partition, also by those that move meanwhile, and by one that was away when it was due.
func TestFleetSchedules(t *testing.T) {
	inFleet(t, 1, func(f *fleet) {
		f.check(0)
		var mu sync.Mutex
		var last time.Time
		begun := 0
		f.schedule = func(_ context.Context, _ string, due func(time.Time) (time.Time, bool)) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			if at, again := due(last); again {
				last = at
				begun++
			}
			return last, nil
		}
		const every = 3 * time.Hour
		f.settings.Refreshes = []policy.Refresh{{Schedule: cron.Every(every), Spec: "@every 3h"}}
		f.start()
		f.start()
		for i := range fleetParts {
			f.move(i, f.nodes[1+i%2])
		}
		time.Sleep(every - time.Hour)
		away, err := f.owner[0].Yield(f.t.Context(), 0)
		f.must(err)
		f.must(away.Close())
		time.Sleep(time.Hour + time.Minute)
		for i := range fleetParts {
			if i > 0 {
				f.move(i, f.nodes[1+(i+1)%2])
			}
		}
		f.adopt(0, f.nodes[2], false)
		ending := f.nodes[2].Ending()
		for over := false; !over; time.Sleep(10 * time.Millisecond) {
			over, err = ending.CrawlEnds(f.t.Context())
			f.must(err)
		}
		f.mu.Lock()
		for h := range fleetHosts {
			if host := fleetHost(h); partitioned.Of(host, fleetParts) == 0 && f.visits[host+"/"] != 2 {
				t.Errorf("the node has nothing left to do, though %s was not fetched for the schedule", host)
			}
		}
		f.mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		if begun != 2 { // the first is when the schedule was seen
			t.Errorf("a run began %d times, want once", begun-1)
		}
		mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		for url, n := range f.visits {
			if n != 2 {
				t.Errorf("%s was fetched %d times, want twice", url, n)
			}
		}
	})
}

// TestFleetJudges: a partition whose URLs were judged by other rules is judged by those of the node that adopts it, and one that was judged by the
// same is not judged again.
func TestFleetJudges(t *testing.T) {
	inFleet(t, 1, func(f *fleet) {
		const pages = fleetHosts * (fleetDepth + 1)
		f.check(0)
		before := f.nodes[0].reviewer.Progress()
		f.move(0, f.nodes[0])
		time.Sleep(time.Minute)
		if after := f.nodes[0].reviewer.Progress(); after.Judged != before.Judged || !after.Done {
			t.Errorf("a partition that comes back is judged again: %+v, before %+v", after, before)
		}
		f.settings.Rules.Roots = slices.Clone(f.settings.Rules.Roots[:fleetHosts/2])
		f.start()
		for i := range fleetParts {
			f.move(i, f.nodes[1])
		}
		time.Sleep(time.Minute)
		outside := 0
		f.must(f.nodes[1].partitions.Store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
			if r.Class == scheduler.Ignored {
				outside++
			}
			return nil
		}))
		if s := f.nodes[1].reviewer.Progress(); !s.Done || outside != pages/2 {
			t.Errorf("%d pages of the sites that are no roots any more are outside, want %d: %+v", outside, pages/2, s)
		}
	})
}
