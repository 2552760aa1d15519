package crawl

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// plainSearcher searches in the test's own process, where only pages of the test are, and fails
// where a page says so. It notes which pages it got.
type plainSearcher struct{ searched chan string }

func (s plainSearcher) Search(ctx context.Context, o *tree.Order, body []byte) (tree.Found, error) {
	s.searched <- string(body)
	if strings.Contains(string(body), "loops") {
		return tree.Found{}, &documents.Error{Reason: documents.TooSlow, Words: "on purpose"}
	}
	return tree.Read(ctx, o, body)
}

// TestFields: fields become metas instead of the page's own; what is not found, or cannot be
// searched, is counted, and told by the record and the report; other pages are not searched.
func TestFields(t *testing.T) {
	site := siteOf(t, map[string]string{
		"/shop/a":   `<meta name=price content=1><p class=price>2 €<p class=price>3 €<a href="../b">x</a>`,
		"/shop/b":   `<meta name=price content=1><p>nothing for sale`,
		"/shop/c":   `<p class=price>4 €<p>loops`,
		"/shop/txt": "",
		"/news/d":   `<p class=price>6 €`,
	})
	site.Set("/shop/txt", testsite.Page{ContentType: "text/plain", Body: "<p class=price>5 €"})
	b := openBench(t, site)
	searcher := plainSearcher{make(chan string, 100)}
	match := func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), "/shop/") }
	field := func(name, selector, attribute string) policy.Field {
		s, err := tree.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Field{Name: name, Match: match, Selector: selector, Kind: s.Kind, Key: s.Name, Attribute: attribute, Multiple: true}
	}
	b.settings.Pages = searcher
	b.settings.Inside = &policy.Inside{Fields: []policy.Field{
		field("price", "css:.price", ""), field("price", "css:p", ""), field("next", "css:a", "href"), field("type", "header:Content-Type", ""),
	}}
	said, status, _, _ := b.crawled()
	at := site.Origins()[0]
	html := []string{"text/html; charset=utf-8"}
	for path, want := range map[string]struct {
		metas  map[string][]string
		reason string
	}{
		"/shop/a":   {map[string][]string{"price": {"2 €", "3 €x"}, "next": {at + "/b"}, "type": html}, ""},
		"/shop/b":   {map[string][]string{"price": {"nothing for sale"}, "type": html}, "no_field"},
		"/shop/c":   {map[string][]string{"type": html}, "no_field"},
		"/shop/txt": {map[string][]string{"type": {"text/plain"}}, "no_field"},
		"/news/d":   {map[string][]string{}, ""},
	} {
		r, _ := b.record(at + path)
		if r.Reason != want.reason || r.Fate != "indexed" {
			t.Errorf("%s: reason %q (%s), %s", path, r.Reason, r.LastError, r.Fate)
		}
		got := b.target.documents[at+path].Metas
		if got == nil {
			got = map[string][]string{}
		}
		if d := cmp.Diff(want.metas, got); d != "" {
			t.Errorf("%s: metas (-want +got):\n%s", path, d)
		}
	}
	counted := &meter.FieldsStatus{
		Fields: []meter.FieldStatus{{Name: "next", Pages: 4, Empty: 3}, {Name: "price", Pages: 4, Empty: 2}, {Name: "type", Pages: 4}},
		Failed: map[string]int64{"too-slow": 1},
	}
	if d := cmp.Diff(counted, status.Fields); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if len(searcher.searched) != 3 || strings.Count(said, "cannot search a page") != 1 {
		t.Errorf("%d pages were searched; logged: %s", len(searcher.searched), said)
	}
	b.read(func(store *store.Store) {
		errors, err := report.CountErrors(t.Context(), store, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lacking := 0
		for _, c := range errors.Classes {
			if c.Class == report.ErrorNoField {
				lacking = c.URLs
			}
		}
		if lacking != 3 {
			t.Errorf("report: %+v", errors)
		}
	})
}

// TestContent: a Field with a form of content gets what is kept of a page, with absolute addresses; what is cut is
// said; other documents have their text. The Field title is the document's title.
func TestContent(t *testing.T) {
	site := siteOf(t, map[string]string{
		"/docs/a": `<title>Site</title><base href="/other/"><h1>Own</h1><p>See <a href=b>b</a>.</p><!--googleoff: index--><p>secret</p>`,
		"/docs/b": "<title>Site</title><p>" + strings.Repeat("line<br>", 300) + "<p>last",
		"/docs/c": "",
		"/news/d": "<h1>Own</h1>",
	})
	site.Set("/docs/c", testsite.Page{ContentType: "text/plain", Body: strings.Repeat("plain\n", 300)})
	b := openBench(t, site)
	searcher := plainSearcher{make(chan string, 100)}
	match := func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), "/docs/") }
	b.settings.Pages = searcher
	b.settings.Inside = &policy.Inside{Fields: []policy.Field{
		{Name: "title", Match: match, Selector: "css:h1", Kind: tree.CSS},
		{Name: "body", Match: match, Selector: "content:markdown", Kind: tree.Content, Key: "markdown", MaxBytes: 1024},
		{Name: "body", Match: match, Selector: "content:text", Kind: tree.Content, Key: "text", MaxBytes: 1024},
	}}
	_, status, _, _ := b.crawled()
	at := site.Origins()[0]
	own, page := b.target.documents[at+"/docs/a"], b.target.documents[at+"/docs/b"]
	want := map[string][]string{"title": {"Own"}, "body": {"# Own\n\nSee [b](" + at + "/other/b)."}}
	if d := cmp.Diff(want, own.Metas); d != "" || own.Title != "Own" {
		t.Errorf("title %q, metas (-want +got):\n%s", own.Title, d)
	}
	if page.Title != "Site" || len(page.Metas["body"][0]) > 1024 || !cmp.Equal(page.Metas["content_cut"], []string{"body"}) {
		t.Errorf("%+v", page)
	}
	text := b.target.documents[at+"/docs/c"].Metas
	if !strings.HasPrefix(text["body"][0], "plain plain") || len(text["body"][0]) > 1024 || !cmp.Equal(text["content_cut"], []string{"body"}) {
		t.Errorf("%+v", text)
	}
	if metas := b.target.documents[at+"/news/d"].Metas; len(metas) > 0 {
		t.Errorf("%v", metas)
	}
	counted := []meter.FieldStatus{{Name: "body", Pages: 3, Cut: 2}, {Name: "title", Pages: 3, Empty: 2}}
	if d := cmp.Diff(counted, status.Fields.Fields); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if len(searcher.searched) != 3 { // a twice: whole, and what is kept of it
		t.Errorf("%d searches", len(searcher.searched))
	}
}

// article has a menu, a side column and a main content.
var article = `<title>Tides</title><nav><ul><li><a href="/x">Menu one</a><li><a href="/y">Menu two</a></ul></nav>
<main><article><p>` + strings.Repeat("The tide comes twice a day, and the harbour waits for it. ", 15) + `</p><p>` +
	strings.Repeat("Boats lie on the ground, until it is back again. ", 15) + `</p></article></main>
<aside class="sidebar"><a href="/z">Most read</a></aside><footer>Imprint, privacy, cookies</footer>`

// TestMainContent: the text of the pages that a condition matches is that of their main content;
// what noindex regions take out does not come back; others keep their text.
func TestMainContent(t *testing.T) {
	site := siteOf(t, map[string]string{
		"/news/a": article,
		"/news/b": strings.Replace(article, "<article>", "<article><!--googleoff: index--><p>"+strings.Repeat("Not for the index, all of this. ", 40)+"</p><!--googleon: index--><p>Second.", 1),
		"/news/c": "<p>loops",
		"/shop/d": strings.Replace(article, "Tides", "Sale", 1),
	})
	b := openBench(t, site)
	searcher := plainSearcher{make(chan string, 100)}
	b.settings.Pages = searcher
	b.settings.Inside = &policy.Inside{Main: []func(weburl.URL) bool{func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), "/news/") }}}
	_, status, _, _ := b.crawled()
	for path, want := range map[string]struct{ begin, without string }{
		"/news/a": {"The tide comes", "Menu"}, "/news/b": {"Second. The tide comes", "Not for the index"},
		"/news/c": {"loops", "Menu"}, "/shop/d": {"Menu one Menu two The tide comes", "nothing"},
	} {
		text := b.target.documents[site.Origins()[0]+path].Text
		if !strings.HasPrefix(text, want.begin) || strings.Contains(text, want.without) {
			t.Errorf("%s: %.80q", path, text)
		}
	}
	counted := &meter.FieldsStatus{Fields: []meter.FieldStatus{}, Main: &meter.MainStatus{Pages: 2}, Failed: map[string]int64{"too-slow": 1}}
	if d := cmp.Diff(counted, status.Fields); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if len(searcher.searched) != 3 {
		t.Errorf("%d pages were searched", len(searcher.searched))
	}
}
