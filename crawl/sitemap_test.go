package crawl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// sitemapBench crawls a site of few pages, with its sitemaps.
func sitemapBench(t *testing.T, hosts int) (*testsite.Site, *bench) {
	t.Helper()
	site := testsite.New(t, testsite.Options{Pages: 2, Hosts: hosts})
	var roots []string
	for _, o := range site.Origins() {
		roots = append(roots, o+"/")
	}
	b := newBench(t, roots...)
	b.settings.CrawlSitemaps, b.settings.SitemapMaxBytes, b.settings.SitemapMaxLinks = true, 50<<20, 50_000
	return site, b
}

func robotsTxt(lines ...string) testsite.Page {
	return testsite.Page{Body: "User-agent: *\n" + strings.Join(lines, "\n"), ContentType: "text/plain", NoETag: true}
}

func xml(body string) testsite.Page {
	return testsite.Page{Body: body, ContentType: "application/xml"}
}

// urlset lists URLs with a lastmod if it is not empty.
func urlset(lastmod string, locs ...string) testsite.Page {
	var b strings.Builder
	for _, l := range locs {
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>%s</lastmod></url>\n", l, lastmod)
	}
	return xml("<urlset>" + b.String() + "</urlset>")
}

func index(locs ...string) testsite.Page {
	var b strings.Builder
	for _, l := range locs {
		fmt.Fprintf(&b, "<sitemap><loc>%s</loc></sitemap>\n", l)
	}
	return xml("<sitemapindex>" + b.String() + "</sitemapindex>")
}

// wantRecord looks a URL up that must be known.
func (b *bench) wantRecord(url string) report.StoredURL {
	b.t.Helper()
	r, ok := b.record(url)
	if !ok {
		b.t.Errorf("%s is not known", url)
	}
	return r
}

// TestSitemapChain: a redirect leads to an index, it to another, and that to a
// sitemap; a third index is too deep. Hosts have their pause all the while.
func TestSitemapChain(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Disallow: /s/", "Sitemap: /sitemap.xml"))
	site.Set("/sitemap.xml", testsite.Page{Status: 301, Header: map[string]string{"Location": "/s/1.xml"}})
	site.Set("/s/1.xml", index(o+"/s/2.xml", o+"/s/1.xml"))
	site.Set("/s/2.xml", index(o+"/s/3.xml", o+"/s/pages.xml"))
	site.Set("/s/3.xml", index(o+"/s/deep.xml"))
	site.Set("/s/pages.xml", urlset("", o+"/lonely.html", o+"/s/forbidden.html"))
	site.Set("/lonely.html", html("alone"))
	b.settings.Frontier.Aggressive, b.settings.Frontier.Throttle = false, 20*time.Millisecond
	b.once()
	if gap, _ := site.ShortestGap(strings.TrimPrefix(o, "http://")); gap < 20*time.Millisecond {
		t.Errorf("two requests %s apart", gap)
	}
	for path, want := range map[string]string{
		"/sitemap.xml": "redirect sitemap", "/s/1.xml": "ok sitemap", "/s/2.xml": "ok sitemap", "/s/3.xml": "ok sitemap",
		"/s/pages.xml": "ok sitemap", "/lonely.html": "ok ", "/s/forbidden.html": "ignored ",
	} {
		if r := b.wantRecord(o + path); r.Class+" "+r.Kind != want {
			t.Errorf("%s is %s %s, want %s: %s", path, r.Class, r.Kind, want, r.LastError)
		}
	}
	if site.Hits("/s/deep.xml") != 0 || site.Hits("/s/forbidden.html") != 0 {
		t.Error("fetched what is too deep or forbidden")
	}
	if r := b.wantRecord(o + "/lonely.html"); r.Depth != 1 || r.Referrer != o+"/s/pages.xml" || !r.Indexed {
		t.Errorf("%+v", r)
	}
	for _, u := range b.indexed() {
		if strings.HasSuffix(u, ".xml") {
			t.Errorf("%s is a document", u)
		}
	}
}

// TestCrossSubmits: what a sitemap lists of another host counts if that host's
// robots.txt names the sitemap, whichever of the two is read first.
func TestCrossSubmits(t *testing.T) {
	site, b := sitemapBench(t, 2)
	a, other := site.Origins()[0], site.Origins()[1]
	site.Set("/robots.txt", robotsTxt("Sitemap: "+a+"/named.xml", "Sitemap: /own.xml"))
	site.Set("/named.xml", index(a+"/child.xml"))
	site.Set("/child.xml", urlset("", other+"/named.html"))
	site.Set("/own.xml", urlset("", a+"/own.html", "http://third.example/"))
	for _, path := range []string{"/named.html", "/own.html"} {
		site.Set(path, html(path))
	}
	b.once()
	b.once(a + "/child.xml") // the index's child is read again in full where it was not sure
	if r := b.wantRecord(other + "/named.html"); !r.Indexed {
		t.Errorf("%+v", r)
	}
	if r := b.wantRecord(a + "/own.html"); !r.Indexed {
		t.Errorf("%+v", r)
	}
	for _, o := range []string{a, other} {
		if r := b.wantRecord(o + "/own.xml"); !strings.Contains(r.LastError, "of other hosts") {
			t.Errorf("%s: %s", r.URL, r.LastError)
		}
	}
	if _, known := b.record("http://third.example/"); known {
		t.Error("a URL of a third host is known")
	}
	if _, known := b.record(other + "/own.html"); known {
		t.Error("a URL of another host is known")
	}
}

// TestSitemapThatIsBig is stored in parts, all of it, and read again leaves no trace.
func TestSitemapThatIsBig(t *testing.T) {
	if testing.Short() {
		t.Skip("one worker reads it")
	}
	const n = 5000 + 2*2000 + 7 // more than are stored whole, and in several batches
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	locs := make([]string, n)
	for i := range locs {
		locs[i] = fmt.Sprintf("%s/big/%d", o, i)
	}
	site.Set("/robots.txt", robotsTxt("Sitemap: /sitemap.xml"))
	site.Set("/sitemap.xml", urlset("", locs...))
	b.settings.Workers = 1
	b.settings.SitemapMaxLinks = n - 1
	b.settings.Frontier.Weights[scheduler.IndexFollow] = 0 // what it lists is not fetched here
	known := func() (known uint64) {
		b.with(func(c *Crawl, store *store.Store) {
			if err := c.Run(t.Context(), Once{MaxPages: 3}); err != nil {
				t.Fatal(err)
			}
			counts, err := store.Counts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			known = counts.Known
		})
		return known
	}
	first := known()
	if r := b.wantRecord(o + "/sitemap.xml"); r.LastError != fmt.Sprintf("sitemap: %d entries; not read further: it has more than %d entries", n-1, n-1) {
		t.Errorf("%q", r.LastError)
	}
	if first < n || first > n+10 {
		t.Errorf("%d URLs are known, want %d and some pages", first, n-1)
	}
	b.refreshed(Selection{URLs: []string{o + "/sitemap.xml"}, Full: true})
	if again := known(); again != first || site.Hits("/sitemap.xml") != 2 {
		t.Errorf("%d URLs are known after the second of %d readings, %d after the first", again, site.Hits("/sitemap.xml"), first)
	}
	b.verify()
}

// TestSitemapHints: a lastmod after the last check makes a page due, if hints are on.
func TestSitemapHints(t *testing.T) {
	for _, on := range []bool{true, false} {
		site, b := sitemapBench(t, 1)
		o := site.Origins()[0]
		site.Set("/robots.txt", robotsTxt("Sitemap: /sitemap.xml"))
		site.Set("/sitemap.xml", urlset("2020-01-01", o+"/a.html", o+"/b.html"))
		site.Set("/a.html", html("a"))
		site.Set("/b.html", html("b"))
		b.settings.Frontier.SmartRefresh, b.settings.Frontier.MinAge, b.settings.Frontier.SitemapHints = true, 0, on
		b.once()
		b.checked(time.Now().Add(-2*time.Hour), o+"/a.html", o+"/b.html")
		site.Set("/a.html", html("a, changed"))
		list := urlset(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), o+"/a.html")
		list.Body = strings.Replace(list.Body, "</urlset>", "<url><loc>"+o+"/b.html</loc><lastmod>2020-01-01</lastmod></url></urlset>", 1)
		site.Set("/sitemap.xml", list)
		b.newOrders()
		b.refreshed(Selection{URLs: []string{o + "/sitemap.xml"}})
		var want []string
		if on {
			want = []string{"add " + o + "/a.html"}
		}
		if d := cmp.Diff(want, b.newOrders()); d != "" || site.Hits("/b.html") != 1 {
			t.Errorf("hints %v: %d requests for what has not changed; orders (-want +got):\n%s", on, site.Hits("/b.html"), d)
		}
	}
}

// checked makes URLs appear to have been fetched at a time.
func (b *bench) checked(at time.Time, urls ...string) {
	b.t.Helper()
	b.with(func(c *Crawl, _ *store.Store) {
		var keys []weburl.Key
		for _, u := range urls {
			keys = append(keys, parse(b.t, u).Key())
		}
		n, err := c.frontier.Revise(b.t.Context(), keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			r.FetchedAt, r.CheckedAt = at, at
			return &scheduler.Change{Next: r}
		})
		if err != nil || n != len(urls) {
			b.t.Fatalf("%d changed: %v", n, err)
		}
	})
}

// TestPageBecomesSitemap: a document whose URL is named as a sitemap is deleted, and
// read as what it is.
func TestPageBecomesSitemap(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Disallow: /private/"))
	list := urlset("", o+"/lonely.html")
	list.ContentType = "application/octet-stream" // of which nothing is known
	site.Set("/list", list)
	site.Set("/", testsite.HTML("home", "home", "/list"))
	site.Set("/lonely.html", html("alone"))
	b.once()
	if r := b.wantRecord(o + "/list"); !r.Indexed || r.Kind != "" {
		t.Fatalf("%+v", r)
	}
	site.Set("/robots.txt", robotsTxt("Sitemap: /list"))
	b.ageRobots(o)
	b.newOrders()
	b.refreshed(Selection{URLs: []string{o + "/"}})
	b.once()
	if d := cmp.Diff([]string{"add " + o + "/lonely.html", "delete " + o + "/list: " + policy.SourceDetail}, b.newOrders()); d != "" {
		t.Errorf("orders (-want +got):\n%s", d)
	}
	if r := b.wantRecord(o + "/list"); r.Indexed || r.Kind != "sitemap" {
		t.Errorf("%+v", r)
	}
	// It rests when robots.txt names it no more, and comes back when it does.
	for _, step := range []struct{ robots, class string }{{"Disallow: /x", "ignored"}, {"Sitemap: /list", "ok"}} {
		site.Set("/robots.txt", robotsTxt(step.robots))
		b.ageRobots(o)
		b.refreshed(Selection{URLs: []string{o + "/", o + "/list"}})
		b.once()
		if r := b.wantRecord(o + "/list"); r.Class != step.class || r.Kind != "sitemap" {
			t.Errorf("with %s: %+v", step.robots, r)
		}
	}
}

// TestNamedAgain: a sitemap that rests, and that an operator asks for, is read if robots.txt
// names it now, though the stored copy does not: it is not given up by what is old.
func TestNamedAgain(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/list", urlset("", o+"/lonely.html"))
	site.Set("/lonely.html", html("alone"))
	site.Set("/robots.txt", robotsTxt("Sitemap: /list"))
	b.once()
	for _, step := range []struct{ robots, class string }{{"Disallow: /x", "ignored"}, {"Sitemap: /list", "ok"}} {
		site.Set("/robots.txt", robotsTxt(step.robots))
		b.ageRobots(o)
		asked := site.Hits("/robots.txt")
		b.refreshed(Selection{URLs: []string{o + "/list"}})
		if r := b.wantRecord(o + "/list"); r.Class != step.class || site.Hits("/robots.txt") != asked+1 {
			t.Errorf("with %s, asked for %d times: %+v", step.robots, site.Hits("/robots.txt")-asked, r)
		}
	}
}

// TestSourcesObeyRobots: what the configuration names is asked for as pages are,
// unless robots.txt itself names it.
func TestSourcesObeyRobots(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Disallow: /x/", "Sitemap: /x/both.xml"))
	for _, path := range []string{"/x/feed", "/x/mine.xml", "/x/both.xml", "/open.xml", "/ignored.xml"} {
		site.Set(path, urlset("", o+path+".html"))
		kind := scheduler.KindSitemap
		if path == "/x/feed" {
			kind = scheduler.KindFeed
		}
		b.settings.Sources = append(b.settings.Sources, policy.Source{URL: parse(t, o+path), Kind: kind})
	}
	b.settings.Rules.Rules = []actionrules.Rule{{If: path("/ignored"), Then: []actionrules.Action{{Verb: actionrules.Ignore}}}}
	b.once()
	var fetched []string
	for _, v := range site.Visits() {
		if strings.Contains(v.Path, ".xml") && !strings.HasSuffix(v.Path, ".html") || v.Path == "/x/feed" {
			fetched = append(fetched, v.Path)
		}
	}
	slices.Sort(fetched)
	if d := cmp.Diff([]string{"/open.xml", "/x/both.xml"}, fetched); d != "" {
		t.Errorf("sitemaps fetched (-want +got):\n%s", d)
	}
	if _, known := b.record(o + "/ignored.xml"); known {
		t.Error("a sitemap that a rule ignores is known")
	}
}

// TestSitemapsStaySwitchedOff: crawlSitemaps is asked, also of those known before.
func TestSitemapsStaySwitchedOff(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Sitemap: /sitemap.xml"))
	site.Set("/sitemap.xml", urlset("", o+"/lonely.html"))
	b.settings.CrawlSitemaps = false
	b.once()
	if n := site.Hits("/sitemap.xml"); n != 0 {
		t.Fatalf("%d requests", n)
	}
	b.settings.CrawlSitemaps = true
	b.ageRobots(o)
	b.once(o + "/")
	b.settings.CrawlSitemaps = false
	b.refreshed(Selection{URLs: []string{o + "/sitemap.xml"}})
	b.once()
	if n := site.Hits("/sitemap.xml"); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if r := b.wantRecord(o + "/sitemap.xml"); r.Reason != scheduler.ReasonNotNamed.String() {
		t.Errorf("%+v", r)
	}
}

// TestRulesReachSources: new rules end sitemaps, and gates those that they refuse.
func TestRulesReachSources(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Sitemap: /sitemap.xml"))
	site.Set("/sitemap.xml", urlset(""))
	b.once()
	b.settings.Rules.Rules = []actionrules.Rule{{If: path("/sitemap"), Then: []actionrules.Action{{Verb: actionrules.Ignore}}}}
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Run(context.WithoutCancel(t.Context()), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	})
	if r := b.wantRecord(o + "/sitemap.xml"); r.Status != policy.StatusExcluded || r.Kind != "sitemap" {
		t.Errorf("%+v", r)
	}
	b.settings.Rules.Rules = nil
	b.once()
	if r := b.wantRecord(o + "/sitemap.xml"); r.Class != "ok" || site.Hits("/sitemap.xml") != 2 {
		t.Errorf("%d requests: %+v", site.Hits("/sitemap.xml"), r)
	}
}
