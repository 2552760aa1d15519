package crawl

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// file is a file of the crawl space.
func file(name string, lines ...string) *crawlspace.File {
	return &crawlspace.File{Name: name, Content: []byte(strings.Join(lines, "\n") + "\n")}
}

func text(s string) crawlspace.Text { return crawlspace.Text{Value: s} }

// paths are the documents without their origin.
func (b *bench) paths(origin string) []string {
	var all []string
	for _, u := range b.indexed() {
		all = append(all, strings.TrimPrefix(u, origin))
	}
	return all
}

func html(body string) testsite.Page { return testsite.HTML("t", body) }

// TestGates: each gate keeps links out, unseen and unstored.
func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		space func(*crawlspace.Settings)
		want  []string
	}{
		"exclude": {func(s *crawlspace.Settings) { s.Exclude = text("/b") }, []string{"/a", "/a/deep/er", "/c.css", "/q?id=1&x=1", "/q?id=1&x=2", "/start"}},
		"extensions": {func(s *crawlspace.Settings) { s.Extensions = &crawlspace.Extensions{} },
			[]string{"/a", "/a/deep/er", "/b", "/q?id=1&x=1", "/q?id=1&x=2", "/start"}},
		"path depth": {func(s *crawlspace.Settings) { s.MaxPathDepth = &crawlspace.Limit{Max: 1} },
			[]string{"/a", "/b", "/c.css", "/q?id=1&x=1", "/start"}},
		"link depth": {func(s *crawlspace.Settings) { s.MaxLinkDepth = &crawlspace.Limit{Max: 1} },
			[]string{"/a", "/b", "/c.css", "/q?id=1&x=1", "/start"}},
		"query filter": {func(s *crawlspace.Settings) { s.QueryFilter = new(text("id")) },
			[]string{"/a", "/a/deep/er", "/b", "/c.css", "/q?id=1", "/start"}},
		"prefix": {func(s *crawlspace.Settings) { s.CrawlRules = file("crawl.rules", "forbid prefix http://*/a") },
			[]string{"/b", "/c.css", "/q?id=1&x=1", "/start"}},
		"kill": {func(s *crawlspace.Settings) { s.KillPatterns = file("kill_pattern.cfg", "/a") },
			[]string{"/b", "/c.css", "/q?id=1&x=1", "/q?id=1&x=2", "/start"}},
	} {
		t.Run(name, func(t *testing.T) {
			site := testsite.New(t, testsite.Options{Pages: 1})
			origin := site.Origins()[0]
			site.Set("/start", testsite.HTML("s", "start", "/a", "/b", "/c.css", "/q?id=1&x=1"))
			site.Set("/a", testsite.HTML("a", "a", "/a/deep/er"))
			site.Set("/a/deep/er", testsite.HTML("d", "deep", "/q?x=2&id=1", "/q?id=1&x=2"))
			for _, p := range []string{"/b", "/c.css", "/q", "/q?id=1", "/q?id=1&x=1", "/q?id=1&x=2", "/q?x=2&id=1"} {
				site.Set(p, html("page "+p))
			}
			b := newBench(t, origin+"/start")
			b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
			c.space(&b.settings.Space)
			b.once()
			got := b.paths(origin)
			if name != "query filter" {
				got = without(got, "/q?x=2&id=1") // another URL without a filter
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			if _, known := b.record(origin + "/b"); name == "exclude" && (known || site.Hits("/b") > 0) {
				t.Error("an excluded link is stored or was asked for")
			}
		})
	}
}

func without(list []string, s string) []string {
	var out []string
	for _, e := range list {
		if e != s {
			out = append(out, e)
		}
	}
	return out
}

// TestMIMEGate: an answer of an excluded type has no document and no links, and
// its body is left unread.
func TestMIMEGate(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<a href="/film">x</a>`))
		case "/film":
			w.Header().Set("Content-Type", "video/mp4")
			w.Header().Set("Content-Length", "1000000000")
			for {
				n, err := w.Write(make([]byte, 64<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	b := newBench(t, server.URL+"/")
	b.settings.Fetcher.MaxBodyBytes = 1 << 30
	b.settings.Space.MIME = &crawlspace.MIMETypes{Types: []crawlspace.Text{text("video/*")}}
	b.once()
	r, ok := b.record(server.URL + "/film")
	if !ok || r.Status != 200 || r.Class != "ok" || r.Indexed || !strings.Contains(r.LastError, "video/*") {
		t.Errorf("the film is %+v (known %v), want a page without document that names the rule", r, ok)
	}
	if sent.Load() > 100<<20 {
		t.Errorf("%d bytes were sent, want the body left unread", sent.Load())
	}
}

// TestAddressRules: a host of which the rules forbid all addresses is excluded with
// status 760, its document deleted; the built-in refusal deletes nothing, and an
// explicit allow overrides it.
func TestAddressRules(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 3, Hosts: 2})
	root, other := site.Origins()[0], site.Origins()[1]
	b := newBench(t, root+"/")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	site.Set("/other.html", testsite.HTML("o", "o", other+"/p/1.html"))
	b.settings.Space.CrawlRules = file("crawl.rules", "allow address 127.0.0.0 255.0.0.0")
	b.once(root+"/other.html", other+"/p/1.html")
	if r, _ := b.record(other + "/p/1.html"); !r.Indexed {
		t.Fatalf("a page at an address that is allowed is %+v", r)
	}
	b.newOrders()
	b.settings.Space.CrawlRules = nil
	b.once(other + "/p/1.html")
	if r, _ := b.record(other + "/p/1.html"); !r.Indexed || r.Status == policy.StatusExcluded {
		t.Errorf("refused by the guard: %+v, want the document kept", r)
	}
	b.settings.Space.CrawlRules = file("crawl.rules", "forbid address 127.0.0.0 255.0.0.0")
	b.once(other + "/p/1.html")
	r, _ := b.record(other + "/p/1.html")
	if r.Indexed || r.Status != policy.StatusExcluded || !strings.Contains(r.LastError, "crawl.rules:1: forbid address 127.0.0.0 255.0.0.0") {
		t.Errorf("forbidden: %+v, want 760 and the rule", r)
	}
	if got := b.newOrders(); len(got) != 1 || !strings.HasPrefix(got[0], "delete "+other+"/p/1.html") {
		t.Errorf("orders %v, want the deletion", got)
	}
}

// TestShorterWay: a link that shortens the way to a known page counts, so that its own links come within the limit.
func TestShorterWay(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	site.Set("/start", testsite.HTML("s", "start", "/one"))
	site.Set("/one", testsite.HTML("o", "one", "/two"))
	site.Set("/two", testsite.HTML("t", "two", "/three"))
	site.Set("/three", testsite.HTML("h", "three"))
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.settings.Space.MaxLinkDepth = &crawlspace.Limit{Max: 2}
	b.settings.Unconditional = true // links are read again
	b.once()
	site.Set("/start", testsite.HTML("s", "start again", "/one", "/two"))
	b.once(site.Origins()[0] + "/start")
	b.once(site.Origins()[0] + "/two")
	if diff := cmp.Diff([]string{"/one", "/start", "/three", "/two"}, b.paths(site.Origins()[0])); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestHostSpelling: domain rules tell the case of the link apart that admitted a
// URL; the spelling is kept for when the URL is judged again.
func TestHostSpelling(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	port := site.Origins()[0][strings.LastIndex(site.Origins()[0], ":"):]
	site.Set("/start", testsite.HTML("s", "s", "http://LocalHost"+port+"/spelled", "http://localhost"+port+"/plain"))
	site.Set("/spelled", testsite.HTML("a", "a", "/relative"))
	site.Set("/plain", html("plain"))
	site.Set("/relative", html("relative"))
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.settings.Fetcher.Exempt = []string{"localhost" + port}
	b.settings.Space.CrawlRules = file("crawl.rules", "allow domain 127.*", "allow domain LocalHost", "forbid domain *")
	b.once()
	local := "http://localhost" + port
	want := []string{site.Origins()[0] + "/start", local + "/relative", local + "/spelled"}
	if diff := cmp.Diff(want, b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	b.settings.Space.CrawlRules = file("crawl.rules", "allow domain 127.*", "allow domain localhost", "forbid domain *")
	b.once()
	if r, _ := b.record(local + "/spelled"); r.Status != policy.StatusExcluded {
		t.Errorf("%+v, want it excluded by its spelling", r)
	}
}

// TestSubmittedAndRootsPassTheGates: neither gets in where a link does not, and
// the refusal names the gate.
func TestSubmittedAndRootsPassTheGates(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 2})
	b := newBench(t, site.URL(), site.Origins()[0]+testsite.Path(1))
	b.settings.Space.CrawlRules = file("crawl.rules", "# no pages", "forbid prefix http://*/p/")
	b.settings.Space.QueryFilter = new(text("id"))
	got, err := Submit(t.Context(), b.settings, teststore.New(t), []string{site.Origins()[0] + testsite.Path(1), site.URL() + "?id=2&sid=3"})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Result != SubmitIgnored || got[0].Words != "prefix gate, crawl.rules:2: forbid prefix http://*/p/" {
		t.Errorf("%+v, want the gate's refusal", got[0])
	}
	if got[1].Result != SubmitQueued || got[1].Canonical != site.URL()+"?id=2" {
		t.Errorf("%+v, want it queued without what the query filter drops", got[1])
	}
	b.once()
	if _, known := b.record(site.Origins()[0] + testsite.Path(1)); known {
		t.Error("a root that a gate refuses is stored")
	}
}

// TestRulesDecideOver761: what the action rules ignore anyway no other crawler has.
func TestRulesDecideOver761(t *testing.T) {
	s := policy.Settings{Rules: actionrules.RuleSet{DefaultAccept: true, DefaultIndex: true}}
	s.Rules.Rules = []actionrules.Rule{{
		If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/no"},
		Then: []actionrules.Action{{Verb: actionrules.Ignore}},
	}}
	s.Space.CrawlRules = file("crawl.rules", "forbid domain *")
	s.Space.GlobalRules = file("global.rules", "allow domain a.test")
	p, err := policy.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{"http://a.test/yes": 761, "http://a.test/no": 760, "http://b.test/yes": 760} {
		v := p.Judge(crawlspace.Link{URL: parse(t, url)})
		if v.Status != want || v.Inside() {
			t.Errorf("%s: status %d, want %d", url, v.Status, want)
		}
		if x := p.Exclusion(&v); x.Keep != (want == 761) || x.Words == "" {
			t.Errorf("%s: exclusion %+v", url, x)
		}
	}
}

// TestQueryFilterRenames: URLs that are stored or wait when the filter comes give
// way to those without the parameters that it drops.
func TestQueryFilterRenames(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	origin := site.Origins()[0]
	site.Set("/start", testsite.HTML("s", "s", "/q?id=1&sid=7"))
	redirect := testsite.Page{Status: http.StatusFound, Header: map[string]string{"Location": "/loop?id=1&sid=9"}}
	site.Set("/loop?id=1", redirect)
	site.Set("/loop", redirect)
	for _, path := range []string{"/q", "/q?id=1", "/q?id=1&sid=7", "/w", "/w?id=2", "/w?id=2&sid=8"} {
		site.Set(path, html("page "+path))
	}
	b := newBench(t, origin+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.once()
	if diff := cmp.Diff([]string{"/q?id=1&sid=7", "/start"}, b.paths(origin)); diff != "" {
		t.Fatalf("documents (-want +got):\n%s", diff)
	}
	b.with(func(c *Crawl, _ *store.Store) { // it waits when the filter comes
		if _, err := c.Submit(t.Context(), []string{origin + "/w?id=2&sid=8"}); err != nil {
			t.Fatal(err)
		}
	})
	b.settings.Space.QueryFilter = new(text("id"))
	b.once(origin + "/loop?id=1")
	if diff := cmp.Diff([]string{"/q?id=1", "/start", "/w?id=2"}, b.paths(origin)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	for _, old := range []string{"/q?id=1&sid=7", "/w?id=2&sid=8"} {
		if r, _ := b.record(origin + old); r.Status != policy.StatusExcluded || !strings.Contains(r.LastError, "query-filter gate") {
			t.Errorf("%s: %+v, want 760 by the query filter", old, r)
		}
	}
	if r, _ := b.record(origin + "/loop?id=1"); r.Class != "permanent" {
		t.Errorf("a redirect to itself but for a dropped parameter is %+v, want a permanent error", r)
	}
}
