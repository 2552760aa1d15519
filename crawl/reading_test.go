package crawl

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// siteOf serves pages by their paths; the first of a page's lines are header fields
// up to an empty one, and a start page links to all.
func siteOf(t *testing.T, pages map[string]string) *testsite.Site {
	t.Helper()
	site := testsite.New(t, testsite.Options{Pages: 1})
	var links []string
	for path, text := range pages {
		site.Set(path, pageOf(text))
		links = append(links, path)
	}
	site.Set("/start", testsite.HTML("start", "start", links...))
	return site
}

func pageOf(text string) testsite.Page {
	p := testsite.HTML("", "")
	if p.Header == nil {
		p.Header = map[string]string{}
	}
	head, body, ok := strings.Cut(text, "\n\n")
	if !ok {
		p.Body = text
		return p
	}
	p.Body = body
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		p.Header[name] = value
	}
	return p
}

// openBench crawls all that a site's start page leads to.
func openBench(t *testing.T, site *testsite.Site) *bench {
	t.Helper()
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	return b
}

// TestDirectives: what pages ask for is obeyed and remembered, the crawler's own
// name goes before all, and the operator can ignore some of it.
func TestDirectives(t *testing.T) {
	past, future := "1 Jan 2001 00:00:00 GMT", time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC1123)
	site := siteOf(t, map[string]string{
		"/plain":        "<p>plain",
		"/noindex":      `<meta name=robots content="NoIndex"><a href=/from-noindex>x</a>`,
		"/nofollow":     `<meta name=robots content=nofollow><p>n<a href=/from-nofollow>x</a>`,
		"/header":       "X-Robots-Tag: none\nContent-Type: text/html\n\n<p>h<a href=/from-header>x</a>",
		"/own":          `<meta name=robots content=noindex><meta name=sextant content=nosnippet><p>own`,
		"/other":        "X-Robots-Tag: otherbot: noindex\nContent-Type: text/html\n\n<p>other",
		"/link":         `<p>link<a rel="external NOFOLLOW" href=/from-link>x</a>`,
		"/archive":      `<meta name=robots content=noarchive><p>archive`,
		"/over":         `<meta name=robots content="unavailable_after: ` + past + `"><p>over`,
		"/soon":         `<meta name=robots content="unavailable_after: ` + future + `"><p>soon`,
		"/ruled":        `<meta name=robots content="index, follow"><p>ruled`,
		"/from-noindex": "<p>a", "/from-nofollow": "<p>b", "/from-header": "<p>c", "/from-link": "<p>d",
	})
	site.Set("/start", testsite.HTML("start", "start", "/plain", "/noindex", "/nofollow", "/header", "/own", "/other", "/link", "/archive", "/over", "/soon"))
	origin := site.Origins()[0]
	b := openBench(t, site)
	b.settings.PushContent = true
	b.once()
	want := []string{"/archive", "/from-noindex", "/link", "/nofollow", "/other", "/own", "/plain", "/soon", "/start"}
	if diff := cmp.Diff(want, paths(origin, b.indexed())); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	for path, want := range map[string]struct {
		said string
		why  string
	}{
		"/noindex": {"noindex", "noindex"}, "/header": {"noindex nofollow", "noindex"}, "/own": {"nosnippet", ""},
		"/archive": {"noarchive", ""}, "/over": {"", "unavailable_after " + past}, "/plain": {"", ""},
	} {
		if r, _ := b.record(origin + path); strings.Join(r.Directives, " ") != want.said || r.LastError != want.why {
			t.Errorf("%s says %q, and is not indexed because of %q; want %q, %q", path, r.Directives, r.LastError, want.said, want.why)
		}
	}
	for path, want := range map[string]bool{"/archive": false, "/own": true} {
		d := b.target.documents[origin+path]
		if got := len(d.Content) > 0; got != want {
			t.Errorf("%s: content was sent: %v", path, got)
		}
	}
	if m := b.target.documents[origin+"/own"].Metas["nosnippet"]; !cmp.Equal(m, []string{"true"}) {
		t.Errorf("/own has the meta nosnippet %q", m)
	}
	if r, _ := b.record(origin + "/soon"); r.NextAt == nil || r.UnavailableAfter == nil || !r.NextAt.Equal(*r.UnavailableAfter) {
		t.Errorf("/soon becomes unavailable at %v, and is due at %v", r.UnavailableAfter, r.NextAt)
	}

	// Ignored, all of it is there.
	b = openBench(t, site)
	b.settings.IgnoreNoFollow, b.settings.IgnoreNoIndex = true, true
	b.once()
	want = []string{"/archive", "/from-header", "/from-link", "/from-nofollow", "/from-noindex", "/header", "/link", "/nofollow", "/noindex", "/other", "/over", "/own", "/plain", "/soon", "/start"}
	if diff := cmp.Diff(want, paths(origin, b.indexed())); diff != "" {
		t.Errorf("documents with all ignored (-want +got):\n%s", diff)
	}
	if r, _ := b.record(origin + "/noindex"); !cmp.Equal(r.Directives, []string{"noindex"}) {
		t.Errorf("what is ignored is not remembered: %q", r.Directives)
	}
}

// paths are URLs without their origin.
func paths(origin string, urls []string) []string {
	out := make([]string, len(urls))
	for i, u := range urls {
		out[i] = strings.TrimPrefix(u, origin)
	}
	return out
}

// TestUnavailableAtLast: a document is deleted when its time has come, though the
// server would say that its page has not changed.
func TestUnavailableAtLast(t *testing.T) {
	site := siteOf(t, map[string]string{"/soon": "ETag: \"1\"\nContent-Type: text/html\n\n<p>soon"})
	b := openBench(t, site)
	b.once()
	soon := site.Origins()[0] + "/soon"
	if _, ok := b.target.documents[soon]; !ok {
		t.Fatalf("%s is not indexed before its time: %v", soon, b.indexed())
	}
	b.newOrders()
	b.with(func(_ *Crawl, store *store.Store) { // as if it had said so
		_, _, err := store.Revise(t.Context(), []weburl.Key{leaseOf(t, soon).Key}, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
			r.State, r.NextAt, r.UnavailableAt = scheduler.Timed, time.Unix(1e9, 0), time.Unix(1e9, 0)
			return &scheduler.Revision{Next: r}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	site.Set("/soon", pageOf("ETag: \"1\"\nContent-Type: text/html\n\n<meta name=robots content='unavailable_after: 2001-09-09'><p>soon"))
	b.once()
	if diff := cmp.Diff([]string{"delete " + soon + ": unavailable_after 2001-09-09"}, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if r, _ := b.record(soon); r.Indexed || r.NextAt != nil {
		t.Errorf("afterwards it is %+v", r)
	}
}

func leaseOf(t *testing.T, raw string) *scheduler.Lease {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &scheduler.Lease{URL: u, Key: u.Key()}
}

// TestRemovedElements: what is removed is neither in text nor in content, its links are.
func TestRemovedElements(t *testing.T) {
	site := siteOf(t, map[string]string{
		"/page":  "<title>t</title><header>top<a href=/linked>x</a></header><p>kept<!--noindex-->hidden<!--endnoindex--> <p class=noindex>ads",
		"/plain": "<p>plain",
	})
	site.Set("/linked", testsite.HTML("linked", "linked"))
	b := openBench(t, site)
	b.settings.Remove, b.settings.PushContent = []string{"header", ".noindex"}, true
	b.once()
	origin := site.Origins()[0]
	d := b.target.documents[origin+"/page"]
	if d.Text != "kept" {
		t.Errorf("text %q, want \"kept\"", d.Text)
	}
	for _, word := range []string{"top", "hidden", "ads"} {
		if strings.Contains(string(d.Content), word) {
			t.Errorf("the content has %q: %s", word, d.Content)
		}
	}
	if !strings.Contains(string(d.Content), "kept") {
		t.Errorf("the content is %q", d.Content)
	}
	if d := b.target.documents[origin+"/plain"]; string(d.Content) != "<p>plain" {
		t.Errorf("the content of what loses nothing is %q", d.Content)
	}
	if _, ok := b.target.documents[origin+"/linked"]; !ok {
		t.Error("the link in a removed element was not followed")
	}
}

// TestEmbeddedLinks: what a page shows is a link where that is asked for.
func TestEmbeddedLinks(t *testing.T) {
	for _, asked := range []bool{false, true} {
		site := siteOf(t, map[string]string{"/page": `<title>t</title>text<img src=/shown srcset="/large 2x"><form action=/asked></form>`})
		for _, path := range []string{"/shown", "/large", "/asked"} {
			site.Set(path, testsite.HTML(path, path))
		}
		b := openBench(t, site)
		b.settings.EmbeddedLinks = asked
		b.once()
		for _, path := range []string{"/shown", "/large", "/asked"} {
			if _, ok := b.target.documents[site.Origins()[0]+path]; ok != asked {
				t.Errorf("embeddedLinks %v: %s is a document: %v", asked, path, ok)
			}
		}
	}
}

func TestMapping(t *testing.T) {
	metas := []extract.Meta{{Name: "og:title", Content: "A"}, {Name: "title", Content: "B"}, {Name: "og:title", Content: "C"}, {Name: "generator", Content: "G"}}
	header := http.Header{"Content-Language": {"de, en", "fr"}}
	meta := func(pairs ...string) (out []extract.Meta) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, extract.Meta{Name: pairs[i], Content: pairs[i+1]})
		}
		return out
	}
	tests := map[string]struct {
		m    *policy.Mapping
		want []extract.Meta
	}{
		"none":          {nil, metas},
		"nothing":       {&policy.Mapping{}, nil},
		"all":           {&policy.Mapping{KeepUnmapped: true}, metas},
		"renamed":       {&policy.Mapping{Maps: []policy.Map{{From: "title", To: "t"}}}, meta("t", "B")},
		"accumulated":   {&policy.Mapping{Maps: []policy.Map{{From: "title", To: "t"}, {From: "og:title", To: "t"}}}, meta("t", "B", "t", "A", "t", "C")},
		"copied":        {&policy.Mapping{Maps: []policy.Map{{From: "title", To: "t"}, {From: "title", To: "u"}}}, meta("t", "B", "u", "B")},
		"joined":        {&policy.Mapping{Maps: []policy.Map{{From: "og:title", To: "t", Join: ", "}}}, meta("t", "A, C")},
		"default":       {&policy.Mapping{Maps: []policy.Map{{From: "missing", To: "t", Default: "d"}, {From: "title", To: "u", Default: "d"}}}, meta("t", "d", "u", "B")},
		"from header":   {&policy.Mapping{Maps: []policy.Map{{Header: "content-language", To: "l"}}}, meta("l", "de, en", "l", "fr")},
		"dropped":       {&policy.Mapping{KeepUnmapped: true, Maps: []policy.Map{{From: "og:title"}, {From: "generator"}}}, meta("title", "B")},
		"no such field": {&policy.Mapping{Maps: []policy.Map{{Header: "Age", To: "age"}}}, nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.m.Apply(metas, header)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKnownMetas: fields that everybody means the same by are filled whether a Map names
// them or not; all others are lost unless one does.
func TestKnownMetas(t *testing.T) {
	meta := func(pairs ...string) (out []extract.Meta) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, extract.Meta{Name: pairs[i], Content: pairs[i+1]})
		}
		return out
	}
	category := policy.Map{From: "category", To: "extra_category"}
	for name, tt := range map[string]struct {
		maps      []policy.Map
		has, want []extract.Meta
	}{
		"known": {
			[]policy.Map{category}, meta("description", "D", "author", "A", "date", "2026", "keywords", "K", "category", "C", "generator", "G"),
			meta("description", "D", "author", "A", "date", "2026", "keywords", "K", "extra_category", "C"),
		},
		"under other names": {
			nil, meta("og:description", "O", "dcterms.description", "D", "dcterms.creator", "A", "dc.date", "2026", "dcterms.created", "2025"),
			meta("description", "D", "author", "A", "date", "2026"),
		},
		"the page's own goes before": {nil, meta("dcterms.creator", "B", "author", "A"), meta("author", "A")},
		"mapped elsewhere":           {[]policy.Map{{From: "author", To: "who"}}, meta("author", "A"), meta("who", "A")},
		"dropped":                    {[]policy.Map{{From: "author"}}, meta("author", "A", "dcterms.creator", "B"), nil},
		"mapped too":                 {[]policy.Map{{From: "editor", To: "author"}}, meta("author", "A", "editor", "E"), meta("author", "A", "author", "E")},
		"of documents":               {[]policy.Map{category}, meta("extraction_error", "damaged", "pages", "3", "title", "t"), meta("extraction_error", "damaged", "pages", "3")},
	} {
		m := policy.Mapping{Maps: tt.maps}
		if diff := cmp.Diff(tt.want, m.Apply(tt.has, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRefreshHeader: it redirects as a meta refresh does, goes before that, and is relative
// to the URL that was asked for.
func TestRefreshHeader(t *testing.T) {
	site := siteOf(t, map[string]string{
		"/x/now":   "Refresh: 0; url=to\nContent-Type: text/html\n\n<base href=/elsewhere/><meta http-equiv=refresh content='0; url=/meta'><p>now",
		"/x/later": "Refresh: 60; url=later-to\nContent-Type: text/html\n\n<p>later",
		"/x/none":  "Refresh: 5\nContent-Type: text/html\n\n<p>none",
	})
	site.Set("/x/to", testsite.HTML("to", "the target"))
	site.Set("/x/later-to", testsite.HTML("later", "the other target"))
	b := openBench(t, site)
	b.once()
	at := site.Origins()[0]
	want := []string{at + "/start", at + "/x/later", at + "/x/later-to", at + "/x/none", at + "/x/to"}
	if d := cmp.Diff(want, b.indexed()); d != "" {
		t.Errorf("documents (-want +got):\n%s", d)
	}
	if r, ok := b.record(at + "/x/now"); !ok || r.RedirectTo != at+"/x/to" {
		t.Errorf("%+v, want a redirect", r)
	}
}

// TestMappedDocument: rules' metas stay, the title is found before.
func TestMappedDocument(t *testing.T) {
	site := siteOf(t, map[string]string{"/page": "Content-Type: text/html\nX-Team: red\n\n<meta name=category content=News><meta property=og:title content=T><p>x"})
	b := openBench(t, site)
	b.settings.Mapping = &policy.Mapping{Maps: []policy.Map{{From: "category", To: "extra_category"}, {Header: "X-Team", To: "team"}}}
	b.once()
	d := b.target.documents[site.Origins()[0]+"/page"]
	if diff := cmp.Diff(map[string][]string{"extra_category": {"News"}, "team": {"red"}}, d.Metas); diff != "" || d.Title != "T" {
		t.Errorf("title %q, metas (-want +got):\n%s", d.Title, diff)
	}
}

// TestLinksCut: a page with more links than are read of one is told of, once.
func TestLinksCut(t *testing.T) {
	site := siteOf(t, map[string]string{"/a": "", "/b": strings.Repeat("<a href=/a>", 1000)})
	site.Set("/a", pageOf(strings.Repeat("<a href=/b>", 60_000)))
	b := openBench(t, site)
	var log testlog.Buffer
	b.log = slog.NewTextHandler(&log, nil)
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	})
	if told := regexp.MustCompile(`too many links.*url=(\S+) links=50000`).FindAllStringSubmatch(log.String(), -1); len(told) != 1 || told[0][1] != site.Origins()[0]+"/a" {
		t.Errorf("%q is told of:\n%s", told, log.String())
	}
}

// TestMediaTypesAreTolerated: the case of a type does not count, and neither does a
// parameter that is wrong.
func TestMediaTypesAreTolerated(t *testing.T) {
	for _, tt := range []struct{ header, want, text string }{
		{"Text/Plain", "text/plain", "some words"},
		{"text/html; charset=utf-8; charset=utf-8", "text/html", "some words"},
		{"TEXT/HTML; charset", "text/html", "some words"},
		{"text/plainly", "text/plainly", ""},
		{"text/" + strings.Repeat("x", 250), "text/" + strings.Repeat("x", 250), ""},
		{"text/" + strings.Repeat("x", 251), "text/plain", "some words"}, // longer than a type is: as if there were none
	} {
		site := siteOf(t, map[string]string{"/a": ""})
		page := pageOf("some words")
		page.ContentType = tt.header
		site.Set("/a", page)
		b := openBench(t, site)
		b.once()
		d, ok := b.target.documents[site.Origins()[0]+"/a"]
		if !ok || d.ContentType != tt.want || d.Text != tt.text {
			t.Errorf("%q: the document %v is of type %q with the text %q; want %q, %q", tt.header, ok, d.ContentType, d.Text, tt.want, tt.text)
		}
	}
}
