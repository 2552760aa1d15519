package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// memoryTarget is an indexer in memory that also keeps every order it got.
type memoryTarget struct {
	mu        sync.Mutex
	documents map[string]push.Document
	orders    []string // "add URL", "delete URL: reason"
}

func (m *memoryTarget) Name() string { return "memory" }

func (m *memoryTarget) Push(_ context.Context, entries []push.Entry) ([]push.Refusal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		if e.Op == push.Delete {
			var d push.Deletion
			if err := json.Unmarshal(e.Body, &d); err != nil {
				return nil, err
			}
			delete(m.documents, d.URL)
			m.orders = append(m.orders, "delete "+d.URL+": "+d.Reason)
			continue
		}
		var d push.Document
		if err := json.Unmarshal(e.Body, &d); err != nil {
			return nil, err
		}
		m.documents[d.URL] = d
		m.orders = append(m.orders, "add "+d.URL)
	}
	return nil, nil
}

func (m *memoryTarget) Checkpoint(context.Context, uint64) error { return nil }
func (m *memoryTarget) Close() error                             { return nil }

// bench is a crawl of a test site into memory, over one store.
type bench struct {
	t        *testing.T
	disk     memkv.Engine
	target   *memoryTarget
	settings policy.Settings
	log      slog.Handler                    // nil: none
	wrap     func(*memoryTarget) push.Target // if not nil, what stands before target
}

// newBench crawls everything below roots as fast as it goes.
func newBench(t *testing.T, roots ...string) *bench {
	t.Helper()
	s := policy.Settings{Name: "test", Workers: 4, RobotsAgent: "Sextant", MaxRedirects: 10, Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings()}
	s.Frontier.Aggressive = true
	s.Frontier.IndexRedirectSources = true
	s.Frontier.Deletions.Off = true
	s.Rules.DefaultFollowRoots = true
	for _, r := range roots {
		u, err := weburl.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: u, Site: true, Group: "default"})
	}
	return &bench{t: t, target: &memoryTarget{documents: map[string]push.Document{}}, settings: s}
}

// read opens the store for fn.
func (b *bench) read(fn func(*store.Store)) {
	b.t.Helper()
	store := teststore.Open(b.t, &b.disk)
	defer func() {
		if err := store.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	fn(store.Store)
}

// with opens the store and a crawl over it for fn.
func (b *bench) with(fn func(*Crawl, *store.Store)) {
	b.t.Helper()
	b.read(func(s *store.Store) { b.crawl(s, fn) })
}

func (b *bench) crawl(store *store.Store, fn func(*Crawl, *store.Store)) {
	b.t.Helper()
	var target push.Target = b.target
	if b.wrap != nil {
		target = b.wrap(b.target)
	}
	relay, err := push.NewRelay(store.Outbox(), []push.TargetSettings{{Target: target}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if b.log != nil {
		log = slog.New(b.log)
	}
	c, err := New(b.t.Context(), b.settings, store, relay, log)
	if err != nil {
		b.t.Fatal(err)
	}
	fn(c, store)
}

// once crawls until nothing is left, after the submitted URLs were queued.
func (b *bench) once(submit ...string) {
	b.t.Helper()
	b.with(func(c *Crawl, _ *store.Store) {
		for _, u := range submit {
			got, err := c.Submit(b.t.Context(), []string{u})
			if err != nil || got[0].Result != SubmitQueued {
				b.t.Fatalf("submitting %s: %+v, %v", u, got, err)
			}
		}
		if err := c.Run(b.t.Context(), Once{Drain: true}); err != nil {
			b.t.Fatal(err)
		}
	})
	b.verify()
}

func (b *bench) verify() {
	b.t.Helper()
	b.read(func(s *store.Store) {
		if _, err := s.Verify(b.t.Context(), func(f store.Fault) { b.t.Errorf("verify: %+v", f) }); err != nil {
			b.t.Error(err)
		}
	})
}

// record looks a URL up.
func (b *bench) record(url string) (r report.StoredURL, ok bool) {
	b.t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		b.t.Fatal(err)
	}
	b.read(func(s *store.Store) {
		if r, ok, err = report.LookUp(b.t.Context(), s, u); err != nil {
			b.t.Fatal(err)
		}
	})
	return r, ok
}

func (b *bench) indexed() []string {
	return slices.Sorted(maps.Keys(b.target.documents))
}

// newOrders are the orders since the last call.
func (b *bench) newOrders() []string {
	orders := b.target.orders
	b.target.orders = nil
	slices.Sort(orders)
	return orders
}

func TestCrawlIndexesWhatItShould(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 60, Hosts: 2})
	b := newBench(t, site.Origins()[0]+"/", site.Origins()[1]+"/")
	b.once()
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if n := site.Hits("/private/secret.html"); n != 0 {
		t.Errorf("a URL that robots.txt forbids was asked for %d times", n)
	}
	for path, want := range map[string]string{"/missing.html": "permanent", "/noindex.html": "ok", "/moved": "redirect", "/private/secret.html": "ignored"} {
		if r, ok := b.record(site.Origins()[0] + path); !ok || r.Class != want || r.Indexed {
			t.Errorf("%s: known %v, %+v, want class %s and not indexed", path, ok, r, want)
		}
	}
}

// TestNoHostIsVisitedEarly measures the pause at the server, robots.txt included.
func TestNoHostIsVisitedEarly(t *testing.T) {
	const throttle = 30 * time.Millisecond
	site := testsite.New(t, testsite.Options{Pages: 12, Hosts: 3})
	var roots []string
	for _, o := range site.Origins() {
		roots = append(roots, o+"/")
	}
	b := newBench(t, roots...)
	b.settings.Workers = 8
	b.settings.Frontier.Aggressive, b.settings.Frontier.Throttle = false, throttle
	b.once()
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	for _, v := range site.Origins() {
		gap, ok := site.ShortestGap(strings.TrimPrefix(v, "http://"))
		if !ok || gap < throttle {
			t.Errorf("%s: the shortest gap between two requests is %v (known %v), want %v or more", v, gap, ok, throttle)
		}
	}
}

func TestRefresh(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5})
	b := newBench(t, site.URL())
	b.once()
	b.newOrders()
	page := func(i int) string { return site.Origins()[0] + testsite.Path(i) }

	b.once(page(1))
	if got := b.newOrders(); len(got) != 0 {
		t.Errorf("an unchanged page gave orders %v", got)
	}
	if n := lastStatus(site, testsite.Path(1)); n != http.StatusNotModified {
		t.Errorf("an unchanged page was answered with %d, want a 304 to a conditional GET", n)
	}

	site.Set(testsite.Path(2), testsite.HTML("New title", "new text"))
	b.once(page(2))
	if diff := cmp.Diff([]string{"add " + page(2)}, b.newOrders()); diff != "" {
		t.Errorf("changed page (-want +got):\n%s", diff)
	}

	site.Remove(testsite.Path(3))
	b.once(page(3))
	got := b.newOrders()
	if len(got) != 1 || !strings.HasPrefix(got[0], "delete "+page(3)+": ") || !strings.Contains(got[0], "404") {
		t.Errorf("removed page: orders %v, want one deletion that names 404", got)
	}
	if r, ok := b.record(page(3)); !ok || r.Class != "permanent" || r.Indexed || r.Reason != scheduler.ReasonNotFound.String() || r.NextAt == nil {
		t.Errorf("%+v, want a page that was gone on refresh known, and asked for again", r)
	}
}

func lastStatus(site *testsite.Site, path string) int {
	status := 0
	for _, v := range site.Visits() {
		if v.Path == path {
			status = v.Status
		}
	}
	return status
}

func TestRulesChangedBetweenRuns(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5})
	b := newBench(t, site.URL())
	b.once()
	b.newOrders()
	b.settings.Rules.Rules = []actionrules.Rule{{
		If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: testsite.Path(4)},
		Then: []actionrules.Action{{Verb: actionrules.Ignore}},
		At:   actionrules.Position{File: "CrawlConfig.xml", Line: 7, Column: 3},
	}}
	b.with(func(c *Crawl, _ *store.Store) {
		got, err := c.Submit(t.Context(), []string{site.Origins()[0] + testsite.Path(4), "nonsense", site.Origins()[0] + "/a#b"})
		if err != nil {
			t.Fatal(err)
		}
		var results []string
		for _, s := range got {
			results = append(results, s.Result)
		}
		if diff := cmp.Diff([]string{SubmitIgnored, SubmitInvalid, SubmitQueued}, results); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !strings.Contains(got[0].Words, "CrawlConfig.xml:7:3") {
			t.Errorf("the refusal %q does not say where the rule is", got[0].Words)
		}
		// A URL that was queued under other rules is judged again when it is taken.
		u, err := weburl.Parse(site.Origins()[0] + testsite.Path(4))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.frontier.Add(t.Context(), []scheduler.Link{{URL: u, Fifo: scheduler.Index}}, true); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	})
	url := site.Origins()[0] + testsite.Path(4)
	if got := b.newOrders(); len(got) != 1 || !strings.HasPrefix(got[0], "delete "+url+": ") {
		t.Errorf("orders %v, want the deletion of the excluded page", got)
	}
	if r, _ := b.record(url); r.Status != policy.StatusExcluded || r.Class != "ignored" {
		t.Errorf("the excluded URL is %+v, want status 760, ignored", r)
	}
}

func TestDirectivesAndRedirects(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	origin := site.Origins()[0]
	html := func(head, body string) testsite.Page {
		p := testsite.HTML("", "")
		p.Body = "<html><head><title>t</title>" + head + "</head><body>" + body + "</body></html>"
		return p
	}
	tagged := html("", "tagged")
	tagged.Header = map[string]string{"X-Robots-Tag": "noindex"}
	site.Set("/start.html", html("", `<a href="canon-a.html">x</a> <a href="canon-b.html">x</a> <a href="refresh.html">x</a>
		<a href="tagged.html">x</a> <a href="nofollow.html">x</a> <a rel=nofollow href="unseen.html">x</a>
		<a href="slow.html">x</a> <a href="loop-a.html">x</a> <a href="self.html">x</a> <a href="chain/0">x</a>`))
	site.Set("/canon-a.html", html(`<link rel="canonical" href="/canon.html">`, "a"))
	site.Set("/canon.html", html(`<link rel="canonical" href="/canon.html">`, "the real one"))
	site.Set("/canon-b.html", html(`<link rel="canonical" href="http://elsewhere.example/">`, "b"))
	site.Set("/refresh.html", html(`<meta http-equiv="refresh" content="0; url=/target.html">`, "gone"))
	site.Set("/slow.html", html(`<meta http-equiv="refresh" content="60; url=/later.html">`, "still here"))
	site.Set("/target.html", html("", "target"))
	site.Set("/later.html", html("", "later"))
	site.Set("/tagged.html", tagged)
	site.Set("/nofollow.html", html(`<meta name="robots" content="nofollow">`, `<a href="unseen.html">x</a>`))
	site.Set("/unseen.html", html("", "unseen"))
	site.Set("/loop-a.html", html(`<link rel="canonical" href="/loop-b.html">`, "loop a"))
	site.Set("/loop-b.html", html(`<link rel="canonical" href="/loop-a.html">`, "loop b"))
	redirect := func(to string) testsite.Page {
		return testsite.Page{Status: http.StatusFound, Header: map[string]string{"Location": to}}
	}
	site.Set("/self.html", redirect("/self.html"))
	for i := range 20 {
		site.Set(fmt.Sprintf("/chain/%d", i), redirect(fmt.Sprintf("/chain/%d", i+1)))
	}
	b := newBench(t, origin+"/start.html")
	b.settings.Workers = 1
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.settings.Rules.Rules = []actionrules.Rule{{
		If:   actionrules.Atom{Field: actionrules.FieldHost, Kind: actionrules.KindExact, Norm: actionrules.NormNorm, Value: "elsewhere.example"},
		Then: []actionrules.Action{{Verb: actionrules.Ignore}},
	}}
	b.once()
	var want []string
	for _, path := range []string{"canon-b.html", "canon.html", "later.html", "loop-b.html", "nofollow.html", "slow.html", "start.html", "target.html"} {
		want = append(want, origin+"/"+path)
	}
	if diff := cmp.Diff(want, b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{origin + "/refresh.html"}, b.target.documents[origin+"/target.html"].Metas["alias"]); diff != "" {
		t.Errorf("alias of a redirect's target (-want +got):\n%s", diff)
	}
	if site.Hits("/unseen.html") != 0 {
		t.Error("a nofollow link was followed")
	}
	for path, class := range map[string]string{"/self.html": "permanent", "/refresh.html": "redirect", "/chain/10": "permanent", "/canon-a.html": "ok"} {
		if r, ok := b.record(origin + path); !ok || r.Class != class {
			t.Errorf("%s: known %v, class %q, want %q (%+v)", path, ok, r.Class, class, r)
		}
	}
	if _, ok := b.record(origin + "/chain/11"); ok {
		t.Error("the chain of redirects did not end after 10")
	}
}

func TestMaxPagesIsExact(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 50})
	b := newBench(t, site.URL())
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Run(t.Context(), Once{Drain: true, MaxPages: 7}); err != nil {
			t.Fatal(err)
		}
	})
	pages := 0
	for _, v := range site.Visits() {
		if v.Path != "/robots.txt" {
			pages++
		}
	}
	if pages != 7 {
		t.Errorf("%d pages were asked for, want 7", pages)
	}
	b.once()
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("after the trial, documents (-want +got):\n%s", diff)
	}
}

// TestMovedSite: the site that a root's home page redirects to is crawled in its
// place, also over two steps, and this is remembered; an answer of the old home
// page ends it.
func TestMovedSite(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5, Hosts: 3})
	old, between, moved := site.Origins()[0], site.Origins()[1], site.Origins()[2]
	b := newBench(t, old+"/")
	b.settings.Fetcher.Exempt = []string{strings.TrimPrefix(between, "http://"), strings.TrimPrefix(moved, "http://")} // loopback is refused elsewhere
	redirect := func(to string) testsite.Page {
		return testsite.Page{Status: http.StatusMovedPermanently, Header: map[string]string{"Location": to}}
	}
	site.Set("/", redirect(between+"/step.html"))
	site.Set("/step.html", redirect(moved+"/home.html"))
	site.Set("/home.html", testsite.HTML("home", "home", "/p/1.html", "/p/2.html"))
	b.once()
	b.once() // the move is remembered
	want := []string{moved + "/home.html"}
	for i := 1; i < 5; i++ {
		want = append(want, moved+testsite.Path(i))
	}
	if diff := cmp.Diff(want, b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	site.Set("/", testsite.HTML("home again", "home again", "/p/3.html"))
	b.once(old + "/")
	if !slices.Contains(b.indexed(), old+"/p/3.html") {
		t.Errorf("after the old home page came back its site is not crawled: %v", b.indexed())
	}
}

// TestMaintenancePage: a temporary redirect of a crawled site's home page does not
// move the site, and costs no other page its place.
func TestMaintenancePage(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5, Hosts: 2})
	old, other := site.Origins()[0], site.Origins()[1]
	b := newBench(t, old+"/")
	b.settings.Fetcher.Exempt = []string{strings.TrimPrefix(other, "http://")}
	b.once()
	before := b.indexed()
	home := testsite.HTML("home", "home", "/p/1.html")
	site.Set("/", testsite.Page{Status: http.StatusFound, Header: map[string]string{"Location": other + "/maintenance.html"}})
	site.Set("/maintenance.html", testsite.HTML("maintenance", "we are back soon"))
	b.once(old+"/", old+testsite.Path(1))
	site.Set("/", home)
	b.once(old+"/", old+testsite.Path(1))
	if diff := cmp.Diff(before, b.indexed()); diff != "" {
		t.Errorf("documents after a maintenance (-before +after):\n%s", diff)
	}
}
