package crawl

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
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

func (memoryStore) OutboxBytes() uint64            { return 0 }
func (memoryStore) OnWork(func([]scheduler.Place)) {}

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
	if r, _ := b.record(url); r.Status != policy.StatusExcluded || r.Class != "ignored" || !strings.Contains(r.LastError, "exclude gate") {
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
	b.settings.Frontier.MinimumAged = time.Hour // or pages are read again where rules let more in
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
			if r, _ := b.record(u); r.Status != status || r.Indexed != (status != policy.StatusExcluded) {
				t.Errorf("%s: %s has status %d, indexed %v; want %d", what, u, r.Status, r.Indexed, status)
			}
		}
	}
	host := "forbid domain 127.*:" + port
	b.settings.Space.CrawlRules, b.settings.Space.GlobalRules = file("crawl.rules", host), file("global.rules", "allow domain 127.*")
	step("another crawler has it", crawlspace.StatusElsewhere, 0, 0)
	b.settings.Space.GlobalRules = file("global.rules", "forbid domain *")
	step("not any more", policy.StatusExcluded, len(other), 0)
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
		If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: testsite.Path(3)},
		Then: []actionrules.Action{{Verb: actionrules.NoIndex}},
	}}
	b.once()
	want := []string{
		"delete " + site.Origins()[0] + testsite.Path(2) + ": kill gate, kill_exact.cfg:1: " + site.Origins()[0] + testsite.Path(2),
		"delete " + site.Origins()[0] + testsite.Path(3) + ": not indexed, by rule",
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
	b.with(func(c *Crawl, store *store.Store) {
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
		if err := c.reviewer.Await(ctx); err != nil {
			t.Fatal(err)
		}
		r, _, err := report.LookUp(ctx, store, parse(t, server.URL+"/page"))
		if err != nil || r.Status != policy.StatusExcluded || r.Indexed {
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
	b.with(func(c *Crawl, store *store.Store) {
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
		before := c.policy()
		if err := c.Reload(ctx, broken); err == nil || c.policy() != before {
			t.Errorf("broken rules gave %v, want an error and the old rules in force", err)
		}
		if err := c.Reload(ctx, b.settings); err != nil || c.policy().Fingerprint != before.Fingerprint {
			t.Errorf("the same settings gave %v", err)
		}
		if !c.reviewer.Progress().Done {
			t.Error("the same rules began a pass")
		}
		// A new root is fetched at once, and a new weight counts.
		changed := b.settings
		site.Set("/island.html", html("island"))
		changed.Rules.Roots = append(slices.Clone(changed.Rules.Roots), actionrules.Root{URL: parse(t, site.Origins()[0]+"/island.html"), Site: true})
		if err := c.Reload(ctx, changed); err != nil {
			t.Fatal(err)
		}
		if err := c.drained(ctx, false); err != nil {
			t.Fatal(err)
		}
		if r, _, err := report.LookUp(ctx, store, parse(t, site.Origins()[0]+"/island.html")); err != nil || !r.Indexed {
			t.Errorf("the new root is %+v, %v; want it indexed", r, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
