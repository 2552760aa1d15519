package crawl

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestCanonicals: whatever canonicals name, each content stays in the index under
// some URL: loops and canonicals that are no document are ignored.
func TestCanonicals(t *testing.T) {
	for _, workers := range []int{1, 8} {
		site := testsite.New(t, testsite.Options{Pages: 1})
		origin := site.Origins()[0]
		page := func(path, head string) {
			p := testsite.HTML("", "")
			p.Body = "<html><head><title>" + path + "</title>" + head + "</head><body>text of " + path + "</body></html>"
			site.Set(path, p)
		}
		canonical := func(to string) string { return `<link rel="canonical" href="` + to + `">` }
		page("/two-a", canonical("/two-b"))
		page("/two-b", canonical("/two-a"))
		page("/three-a", canonical("/three-b"))
		page("/three-b", canonical("/three-c"))
		page("/three-c", canonical("/three-a"))
		page("/dead", canonical("/dead-target"))
		page("/hidden", canonical("/hidden-target"))
		page("/hidden-target", `<meta name="robots" content="noindex">`)
		page("/good", canonical("/good-target"))
		page("/good-target", "")
		page("/reload", `<meta http-equiv="refresh" content="3;url=/reload">`)
		links := []string{"/two-a", "/two-b", "/three-a", "/three-b", "/three-c", "/dead", "/hidden", "/good", "/reload"}
		site.Set("/start", testsite.HTML("start", "start", links...))

		b := newBench(t, origin+"/start")
		b.settings.Workers = workers
		b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
		b.once()
		var indexed []string
		for _, u := range b.indexed() {
			indexed = append(indexed, strings.TrimPrefix(u, origin))
		}
		for _, path := range []string{"/dead", "/hidden", "/good-target", "/reload", "/start"} {
			if !slices.Contains(indexed, path) {
				t.Errorf("%d workers: %s is not indexed: %v", workers, path, indexed)
			}
		}
		for _, path := range []string{"/good", "/hidden-target", "/dead-target"} {
			if slices.Contains(indexed, path) {
				t.Errorf("%d workers: %s is indexed", workers, path)
			}
		}
		for _, loop := range []string{"/two-", "/three-"} {
			if !slices.ContainsFunc(indexed, func(p string) bool { return strings.HasPrefix(p, loop) }) {
				t.Errorf("%d workers: no page of the loop %s is indexed: %v", workers, loop, indexed)
			}
		}
	}
}

// TestCanonicalHeader: a Link header names the canonical URL of pages and of documents, before the
// page's own and relative to the requested URL.
func TestCanonicalHeader(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	origin := site.Origins()[0]
	set := func(path, contentType, body, link string) {
		header := map[string]string{"Content-Type": contentType}
		if link != "" {
			header["Link"] = link
		}
		site.Set(path, testsite.Page{Body: body, Header: header})
	}
	set("/file", "application/pdf", "%PDF-file", `<`+origin+`/whole>; rel="canonical"`)
	set("/whole", "application/pdf", "%PDF-whole", "")
	set("/dir/page", "text/html", `<base href="/elsewhere/"><link rel=canonical href="/own"><p>text of a page`,
		`</style.css>; rel=preload, <other>; rel=canonical`)
	set("/dir/other", "text/html", "<p>text of another page", "")
	set("/own", "text/html", "<p>text of its own", "")
	site.Set("/start", testsite.HTML("start", "start", "/file", "/dir/page"))
	b := newBench(t, origin+"/start")
	b.settings.Documents = newFakeDocuments()
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.once()
	// The page's own canonical stays a link of the page.
	if diff := cmp.Diff([]string{"/dir/other", "/own", "/start", "/whole"}, b.paths(origin)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestDeadCanonicalOfManyPages: pages that name one URL, which turns out to be no
// document in one way or another, are all documents in the end.
func TestDeadCanonicalOfManyPages(t *testing.T) {
	for _, workers := range []int{1, 8} {
		site := testsite.New(t, testsite.Options{Pages: 1, Disallow: []string{"/forbidden"}})
		origin := site.Origins()[0]
		links := []string{}
		for _, target := range []string{"/missing", "/forbidden", "/hop", "/hidden"} {
			for i := range 10 {
				path := fmt.Sprintf("/%d%s", i, strings.ReplaceAll(target, "/", "-"))
				p := testsite.HTML("", "")
				p.Body = fmt.Sprintf(`<title>x</title><link rel=canonical href=%q><p>text of %s`, target, path)
				site.Set(path, p)
				links = append(links, path)
			}
		}
		hidden := testsite.HTML("", "")
		hidden.Body = `<meta name=robots content=noindex><p>hidden`
		site.Set("/hidden", hidden)
		site.Set("/hop", testsite.Page{Status: http.StatusFound, Header: map[string]string{"Location": "/gone"}})
		site.Set("/start", testsite.HTML("start", "start", links...))
		b := newBench(t, origin+"/start")
		b.settings.Workers = workers
		b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
		b.with(func(c *Crawl, _ *store.Store) {
			if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
			if n := c.visitor.Awaiting(); n != 0 {
				t.Errorf("%d workers: %d pages are remembered to the end", workers, n)
			}
		})
		want := append(slices.Clone(links), "/start")
		slices.Sort(want)
		if diff := cmp.Diff(want, b.paths(origin)); diff != "" {
			t.Errorf("%d workers: documents (-want +got):\n%s", workers, diff)
		}
		for _, path := range links {
			if n := site.Hits(path); n > 2 {
				t.Errorf("%d workers: %s was asked for %d times", workers, path, n)
			}
		}
	}
}
