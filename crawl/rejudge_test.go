package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// memoryStore is a store in memory with no outbox to speak of.
type memoryStore struct{ scheduler.Store }

func (memoryStore) OutboxBytes() uint64 { return 0 }

func newMemoryStore() memoryStore { return memoryStore{storetest.NewMemory()} }

// TestPassAtRestart: rules that change between two runs reach the stored URLs, and
// nothing is asked of those that are out.
func TestPassAtRestart(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6})
	b := newBench(t, site.URL())
	b.once()
	all := b.indexed()
	b.newOrders()
	hits := site.Hits(testsite.Path(4))
	url := site.Origins()[0] + testsite.Path(4)

	b.settings.Space.Exclude = text(testsite.Path(4))
	b.once()
	if r, _ := b.record(url); r.Status != StatusExcluded || r.Class != "ignored" || !strings.Contains(r.LastError, "exclude gate") {
		t.Errorf("%+v, want status 760 and the gate", r)
	}
	if got := b.newOrders(); len(got) != 1 || !strings.HasPrefix(got[0], "delete "+url+": exclude gate") {
		t.Errorf("orders %v, want one deletion that names the gate", got)
	}
	if site.Hits(testsite.Path(4)) != hits {
		t.Error("an excluded page was asked for")
	}
	b.once()
	if got := b.newOrders(); len(got) != 0 {
		t.Errorf("a restart with the same rules gave orders %v", got)
	}
	b.settings.Space.Exclude = crawlspace.Text{}
	b.once()
	if diff := cmp.Diff(all, b.indexed()); diff != "" {
		t.Errorf("inside again, documents (-want +got):\n%s", diff)
	}
	if r, _ := b.record(url); r.Class != "ok" || r.Status != 200 {
		t.Errorf("%+v, want it crawled again", r)
	}
}

// TestPassGlobalRules walks one host through the four cases of the global crawl space.
func TestPassGlobalRules(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 8, Hosts: 2})
	b := newBench(t, site.Origins()[0]+"/", site.Origins()[1]+"/")
	b.once()
	b.newOrders()
	all := b.indexed()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.Origins()[1], "http://"), ":")
	var other []string
	for _, u := range all {
		if strings.HasPrefix(u, site.Origins()[1]) {
			other = append(other, u)
		}
	}
	step := func(what string, status int, deletions, adds int) {
		t.Helper()
		b.once()
		n := map[string]int{}
		for _, o := range b.newOrders() {
			verb, _, _ := strings.Cut(o, " ")
			n[verb]++
		}
		if n["delete"] != deletions || n["add"] != adds {
			t.Errorf("%s: %v, want %d deletions and %d adds", what, n, deletions, adds)
		}
		for _, u := range other {
			if r, _ := b.record(u); r.Status != status || r.Indexed != (status != StatusExcluded) {
				t.Errorf("%s: %s has status %d, indexed %v; want %d", what, u, r.Status, r.Indexed, status)
			}
		}
	}
	host := "forbid domain 127.*:" + port
	b.settings.Space.CrawlRules, b.settings.Space.GlobalRules = file("crawl.rules", host), file("global.rules", "allow domain 127.*")
	step("another crawler has it", crawlspace.StatusElsewhere, 0, 0)
	b.settings.Space.GlobalRules = file("global.rules", "forbid domain *")
	step("not any more", StatusExcluded, len(other), 0)
	b.settings.Space.GlobalRules = file("global.rules", "allow domain 127.*")
	b.once()
	if r, _ := b.record(other[0]); r.Status != crawlspace.StatusElsewhere || r.Indexed {
		t.Errorf("%+v, want 761 without document", r)
	}
	b.newOrders()
	b.settings.Space.CrawlRules = nil
	step("inside again", 200, 0, len(other))
}

// TestPassUnindexes: documents that rules or kill lists no longer want are deleted
// by the pass; the page stays known.
func TestPassUnindexes(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6})
	b := newBench(t, site.URL())
	b.once()
	b.newOrders()
	b.settings.Space.KillExact = file("kill_exact.cfg", site.Origins()[0]+testsite.Path(2))
	b.settings.Rules.Rules = []actionrules.Rule{{
		If:   actionrules.Path(testsite.Path(3), actionrules.NormNorm, false, actionrules.Position{}),
		Then: []actionrules.Action{{Verb: actionrules.NoIndex}},
	}}
	b.once()
	want := []string{
		"delete " + site.Origins()[0] + testsite.Path(2) + ": kill gate, kill_exact.cfg:1: " + site.Origins()[0] + testsite.Path(2),
		"delete " + site.Origins()[0] + testsite.Path(3) + ": not indexed by rule",
	}
	if diff := cmp.Diff(want, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if r, _ := b.record(site.Origins()[0] + testsite.Path(2)); r.Class != "ok" || r.Indexed {
		t.Errorf("%+v, want it known and not indexed", r)
	}
}

// TestChangedRulesFetchOnceWithoutValidators: pages stored under other rules are
// fetched whole at their next refresh, so that links that were ignored are found.
func TestChangedRulesFetchOnceWithoutValidators(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	origin := site.Origins()[0]
	site.Set("/start", testsite.HTML("s", "s", "/new"))
	site.Set("/new", html("new"))
	b := newBench(t, origin+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.settings.Space.Exclude = text("/new")
	b.once()
	b.settings.Space.Exclude = crawlspace.Text{}
	b.once(origin + "/start")
	if diff := cmp.Diff([]string{"/new", "/start"}, b.paths(origin)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if got := lastStatus(site, "/start"); got != http.StatusOK {
		t.Errorf("the first refresh under new rules was answered %d, want 200", got)
	}
	b.once(origin + "/start")
	if got := lastStatus(site, "/start"); got != http.StatusNotModified {
		t.Errorf("the second refresh was answered %d, want 304", got)
	}
}

// TestReloadWhilePageIsInFlight: a page that began under other rules finishes under
// them and is judged by the new ones then; the pass is not done before.
func TestReloadWhilePageIsInFlight(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		close(asked)
		<-release
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>t</title>text"))
	}))
	defer server.Close()
	b := newBench(t, server.URL+"/page")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.with(func(c *Crawl, store *badgerstore.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, Once{}) }()
		<-asked
		changed := b.settings
		changed.Space.Exclude = text("/page")
		if err := c.Reload(ctx, changed); err != nil {
			t.Fatal(err)
		}
		s, err := c.Status(ctx)
		if err != nil || s.Rules == nil || !s.Rules.Running {
			t.Errorf("status %+v, %v; want the pass running while an old page is in flight", s.Rules, err)
		}
		close(release)
		if err := c.passed(ctx); err != nil {
			t.Fatal(err)
		}
		r, _, err := StoredOne(ctx, store, parse(t, server.URL+"/page"))
		if err != nil || r.Status != StatusExcluded || r.Indexed {
			t.Errorf("%+v, %v; want 760 and no document", r, err)
		}
		if s, err = c.Status(ctx); err != nil || s.Rules.Running || s.Rules.Judged == 0 {
			t.Errorf("status %+v, %v; want the pass done", s.Rules, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestReload(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 4})
	b := newBench(t, site.URL())
	b.with(func(c *Crawl, store *badgerstore.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, Once{}) }()
		if err := c.frontier.Drained(ctx); err != nil {
			t.Fatal(err)
		}
		other := b.settings
		other.Name = "other"
		if err := c.Reload(ctx, other); err == nil || !strings.Contains(err.Error(), `"test"`) {
			t.Errorf("a new name gave %v, want an error that tells the old one", err)
		}
		broken := b.settings
		broken.Space.Exclude = text("regexp:(")
		before := c.judge.current.Load()
		if err := c.Reload(ctx, broken); err == nil || c.judge.current.Load() != before {
			t.Errorf("broken rules gave %v, want an error and the old rules in force", err)
		}
		if err := c.Reload(ctx, b.settings); err != nil || c.judge.current.Load().fingerprint != before.fingerprint {
			t.Errorf("the same settings gave %v", err)
		}
		if s, _ := c.pass.status(); !s.Done {
			t.Error("the same rules began a pass")
		}
		// A new root is fetched at once, and a new weight counts.
		changed := b.settings
		site.Set("/island.html", html("island"))
		changed.Rules.Roots = append(slices.Clone(changed.Rules.Roots), actionrules.Root{URL: parse(t, site.Origins()[0]+"/island.html"), Site: true})
		if err := c.Reload(ctx, changed); err != nil {
			t.Fatal(err)
		}
		if err := c.drained(ctx); err != nil {
			t.Fatal(err)
		}
		if r, _, err := StoredOne(ctx, store, parse(t, site.Origins()[0]+"/island.html")); err != nil || !r.Indexed {
			t.Errorf("the new root is %+v, %v; want it indexed", r, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// seed stores n URLs as if they had been crawled, half of them timed; every tenth waits.
func seed(t testing.TB, store scheduler.Store, n int) {
	t.Helper()
	ctx := context.Background()
	var links []scheduler.Link
	for i := range n {
		links = append(links, scheduler.Link{URL: parse(t, fmt.Sprintf("http://h%d.test/dir%d/page-%d.html?id=%d", i%100, i%37, i, i)), Fifo: scheduler.IndexFollow, Referrer: "http://from.test/"})
	}
	places, _, err := store.Add(ctx, links, false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	next := make(chan scheduler.Place)
	for range 16 {
		go func() {
			for p := range next {
				done <- seedPlace(ctx, store, p)
			}
		}()
	}
	go func() {
		for _, p := range places {
			next <- p
		}
		close(next)
	}()
	for range places {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func seedPlace(ctx context.Context, store scheduler.Store, p scheduler.Place) error {
	urls, err := store.Queue(ctx, p, 0, 1<<20)
	if err != nil {
		return err
	}
	for i, w := range urls {
		if i%10 == 9 {
			continue
		}
		c := scheduler.Completion{Key: w.Key, Taken: p, Seq: w.Seq, Next: w.Record}
		c.Next.State, c.Next.Class, c.Next.Status, c.Next.Settled = scheduler.AtRest, scheduler.OK, 200, true
		c.Next.Indexed, c.Next.FetchedAt, c.Next.ETag = true, time.Now(), `"0123456789abcdef"`
		if i%2 == 0 {
			c.Next.State, c.Next.NextAt = scheduler.Timed, time.Now().Add(time.Hour*24)
		}
		if _, err := store.Complete(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// newPassCrawl is a crawl that only judges.
func newPassCrawl(t testing.TB, s Settings, store scheduler.Store) *Crawl {
	t.Helper()
	c, err := New(context.Background(), s, memoryStore{store}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func everything() Settings {
	s := Settings{Frontier: scheduler.DefaultSettings()}
	s.Frontier.Brake.On = false
	s.Rules.DefaultAccept, s.Rules.DefaultIndex, s.Rules.DefaultFollow = true, true, true
	return s
}

// statuses counts the stored URLs by status.
func statuses(t *testing.T, store scheduler.Store) map[int]int {
	t.Helper()
	n := map[int]int{}
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error { n[r.Status]++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPassGoesOnAfterCrash ends the pass at each of its steps, as a crash would,
// also with the answer of a write lost: the next run goes on, and in the end each
// URL is judged and has one deletion.
func TestPassGoesOnAfterCrash(t *testing.T) {
	const urls = 6 * passBatch
	crash := errors.New("crash")
	for _, method := range []string{"Revise", "SetValue", "Inspect"} {
		for _, after := range []bool{false, true} {
			if method == "Inspect" && after {
				continue // changes nothing
			}
			synctest.Test(t, func(t *testing.T) {
				memory := storetest.NewMemory()
				seed(t, memory, urls)
				s := everything()
				s.Space.Exclude = text("7.html")
				var excludedURLs, runs int
				for done := false; !done; runs++ {
					ctx, cancel := context.WithCancel(t.Context())
					faulty := &storetest.Faulty{Store: memory}
					left := 2
					hook := func(_ context.Context, m string) error {
						if m != method {
							return nil
						}
						if left--; left > 0 {
							return nil
						}
						cancel()
						return crash
					}
					if after {
						faulty.After = hook
					} else {
						faulty.Before = hook
					}
					c := newPassCrawl(t, s, faulty)
					if err := c.start(ctx); err == nil {
						go func() {
							if c.passed(ctx) == nil {
								cancel()
							}
						}()
						if err := c.rejudge(ctx); err != nil {
							t.Error(err)
						}
						state, _ := c.pass.status()
						done = state.Done
					}
					cancel()
					synctest.Wait()
					memory = memory.Reopen()
					time.Sleep(2 * passSave) // so that the next run stores where it is
					if runs > 50 {
						t.Fatalf("%s, after %v: the pass does not end", method, after)
					}
				}
				n := statuses(t, memory)
				excludedURLs = n[StatusExcluded]
				counts, err := memory.Counts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if want := wantExcluded(t, memory); excludedURLs != want || counts.Outbox.Waiting != uint64(want) || want < urls/20 {
					t.Errorf("%s, after %v: %d excluded and %d deletions after %d runs, want %d", method, after, excludedURLs, counts.Outbox.Waiting, runs, want)
				}
			})
		}
	}
}

// wantExcluded counts the URLs that do not wait and that the test's rule excludes.
func wantExcluded(t *testing.T, store scheduler.Store) int {
	t.Helper()
	n := 0
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		if r.State != scheduler.Waiting && strings.Contains(r.URL, "7.html") {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPassBeginsAnewWithOtherRules: rules that change in the middle of a pass, or
// back to what they were before it, begin another one.
func TestPassBeginsAnewWithOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		seed(t, store, 3*passBatch)
		judge := func(s Settings, batches int) {
			t.Helper()
			c := newPassCrawl(t, s, store)
			if err := c.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			p := c.judge.current.Load()
			for range batches {
				key, due := c.pass.due(p)
				if !due {
					return
				}
				time.Sleep(2 * passSave)
				if err := c.judgeBatch(t.Context(), p, key); err != nil {
					t.Fatal(err)
				}
			}
		}
		judge(everything(), 10)
		narrow := everything()
		narrow.Space.Exclude = text("page")
		judge(narrow, 1)
		if n := statuses(t, store)[StatusExcluded]; n == 0 || n > passBatch {
			t.Fatalf("%d excluded after one batch", n)
		}
		judge(everything(), 10) // back again: what was excluded is readmitted
		if n := statuses(t, store); n[StatusExcluded] != 0 {
			t.Errorf("statuses %v, want none excluded", n)
		}
		judge(narrow, 10)
		if n := statuses(t, store); n[200] != 0 {
			t.Errorf("statuses %v, want all that do not wait excluded", n)
		}
	})
}

// TestReloadInTheMiddleOfAPass: the pass begins anew, at the first URL.
func TestReloadInTheMiddleOfAPass(t *testing.T) {
	store := storetest.NewMemory()
	seed(t, store, 3*passBatch)
	c := newPassCrawl(t, everything(), store)
	if err := c.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	batch := func() bool {
		p := c.judge.current.Load()
		key, due := c.pass.due(p)
		if due {
			if err := c.judgeBatch(t.Context(), p, key); err != nil {
				t.Fatal(err)
			}
		}
		return due
	}
	batch()
	batch()
	narrow := everything()
	narrow.Space.Exclude = text("page")
	if err := c.Reload(t.Context(), narrow); err != nil {
		t.Fatal(err)
	}
	for batch() {
	}
	if n := statuses(t, store); n[200] != 0 || n[StatusExcluded] == 0 {
		t.Errorf("statuses %v, want all that do not wait excluded", n)
	}
}

// TestHeldDeletionsAreCancelled: when the rules let URLs in again, or another
// crawler has them, the deletions that the brake holds are dropped.
func TestHeldDeletionsAreCancelled(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 8})
	for _, toElsewhere := range []bool{false, true} {
		b := newBench(t, site.URL())
		b.settings.Frontier.Brake = scheduler.Brake{On: true, Min: 1, Percent: 1, Window: time.Hour}
		held := func() uint64 {
			var n uint64
			b.with(func(c *Crawl, _ *badgerstore.Store) {
				s, err := c.Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				n = s.Outbox.Held
			})
			return n
		}
		b.once()
		all := len(b.indexed())
		b.settings.Space.CrawlRules = file("crawl.rules", "forbid domain *")
		b.once()
		if got := held(); got != uint64(all-1) || len(b.indexed()) != all-1 {
			t.Fatalf("%d deletions held and %d documents left, want all but one of %d held", got, len(b.indexed()), all)
		}
		if toElsewhere {
			b.settings.Space.GlobalRules = file("global.rules", "allow domain *")
		} else {
			b.settings.Space.CrawlRules = nil
		}
		b.once()
		if got := held(); got != 0 {
			t.Errorf("elsewhere %v: %d deletions are held still", toElsewhere, got)
		}
		if toElsewhere && len(b.indexed()) != all-1 || !toElsewhere && len(b.indexed()) != all {
			t.Errorf("elsewhere %v: %d of %d documents", toElsewhere, len(b.indexed()), all)
		}
	}
}

// TestReadmissionDropsHeldDeletionAtOnce: not only when the page was fetched again.
func TestReadmissionDropsHeldDeletionAtOnce(t *testing.T) {
	store := storetest.NewMemory()
	seed(t, store, 100)
	all := func(s Settings) scheduler.Counts {
		s.Frontier.Brake = scheduler.Brake{On: true, Min: 1, Percent: 1, Window: time.Hour}
		c := newPassCrawl(t, s, store)
		if err := c.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.judgeBatch(t.Context(), c.judge.current.Load(), weburl.Key{}); err != nil {
			t.Fatal(err)
		}
		n, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	narrow := everything()
	narrow.Space.Exclude = text("page")
	if n := all(narrow); n.Outbox.Held == 0 {
		t.Fatalf("%+v, want deletions held", n)
	}
	if n := all(everything()); n.Outbox.Held != 0 {
		t.Errorf("%+v, want no deletion held", n)
	}
}

// TestRejectListIsReadAgain: a changed list is in force at once, one that cannot be
// read changes nothing.
func TestRejectListIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		seed(t, store, 50)
		s := everything()
		s.Space.RejectList = file("reject.patterns", "nothing-so-far")
		var list atomic.Pointer[crawlspace.File] // nil: it cannot be read
		list.Store(file("reject.patterns", "nothing-so-far"))
		s.ReadRejectList = func() (*crawlspace.File, error) {
			if f := list.Load(); f != nil {
				return f, nil
			}
			return nil, errors.New("no such file")
		}
		c := newPassCrawl(t, s, store)
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.start(ctx); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		go func() { ended <- c.watchRejectList(ctx) }()
		go func() { ended <- c.rejudge(ctx) }()
		if err := c.passed(ctx); err != nil {
			t.Fatal(err)
		}
		first := c.judge.current.Load()
		time.Sleep(3 * time.Minute)
		if c.judge.current.Load() != first {
			t.Error("a list that did not change is put in force again")
		}
		list.Store(nil)
		time.Sleep(2 * time.Minute)
		if c.judge.current.Load() != first {
			t.Error("a list that cannot be read is in force")
		}
		list.Store(file("reject.patterns", "7.html"))
		time.Sleep(rejectListEvery + time.Second)
		synctest.Wait()
		if n := statuses(t, store); n[StatusExcluded] != wantExcluded(t, store) || n[StatusExcluded] == 0 {
			t.Errorf("statuses %v, want what the new list rejects excluded", n)
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
