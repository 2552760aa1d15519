package site

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/weburl"
)

// get asks h for a path, with header pairs.
func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// crawl follows every link and image from the home page, robots.txt or not, and
// returns the answers by path.
func crawl(t *testing.T, h http.Handler) map[string]*httptest.ResponseRecorder {
	t.Helper()
	ref := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	answers := map[string]*httptest.ResponseRecorder{}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if answers[at] != nil {
			continue
		}
		w := get(t, h, at)
		answers[at] = w
		if location := w.Header().Get("Location"); location != "" {
			queue = append(queue, location)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range ref.FindAllStringSubmatch(w.Body.String(), -1) {
			to, err := url.Parse(m[1])
			if err != nil || to.Host != "" || !strings.HasPrefix(to.Path, "/") {
				t.Errorf("%s: link %q leaves the site", at, m[1])
				continue
			}
			queue = append(queue, to.Path)
		}
	}
	return answers
}

// unlinked is the page that only the sitemap lists.
const unlinked = "/accessibility"

// TestSitemap: what robots.txt names lists pages that exist, under the name that was
// asked for, the unlinked one among them.
func TestSitemap(t *testing.T) {
	h := Handler()
	if robots := get(t, h, "http://demo.test:8080/robots.txt").Body.String(); !strings.Contains(robots, "Sitemap: http://demo.test:8080/sitemap.xml\n") {
		t.Errorf("robots.txt names no sitemap:\n%s", robots)
	}
	w := get(t, h, "http://demo.test:8080/sitemap.xml")
	var list struct {
		URLs []struct {
			Loc string `xml:"loc"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Header().Get("Last-Modified") == "" {
		t.Fatalf("%v\n%s", err, w.Body)
	}
	found := false
	for _, u := range list.URLs {
		path, ok := strings.CutPrefix(u.Loc, "http://demo.test:8080/")
		if !ok || get(t, h, "/"+path).Code != http.StatusOK {
			t.Errorf("%s is no page", u.Loc)
		}
		found = found || "/"+path == unlinked
	}
	if !found {
		t.Errorf("%s is not listed in\n%s", unlinked, w.Body)
	}
}

func TestSiteIsWhole(t *testing.T) {
	h := Handler()
	answers := crawl(t, h)
	var pages, missing, redirects int
	for path, w := range answers {
		switch w.Code {
		case http.StatusOK:
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
				pages++
				checkPage(t, path, w.Body.String())
			}
		case http.StatusNotFound:
			missing++
		case http.StatusMovedPermanently:
			redirects++
		default:
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if pages < 60 || pages > 100 || missing != 1 || redirects != 1 {
		t.Errorf("%d pages, %d dead links, %d redirects; want 60 to 100, 1, 1", pages, missing, redirects)
	}
	for path := range h.(*site).resources {
		if linked := answers[path] != nil; !linked && path != "/robots.txt" && path != unlinked || linked && path == unlinked {
			t.Errorf("%s: a link leads there: %v", path, linked)
		}
	}
}

func checkPage(t *testing.T, path, body string) {
	t.Helper()
	for _, want := range []string{`<title>\S`, `name="description" content="\S`, `name="date" content="20\d\d-\d\d-\d\d"`} {
		if !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("%s has no %s", path, want)
		}
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body[strings.Index(body, "<main>"):strings.Index(body, "</main>")], " ")
	if n := len(strings.Fields(text)); n < 25 {
		t.Errorf("%s has only %d words", path, n)
	}
	if i := strings.IndexAny(text, "[]|~"); i >= 0 {
		t.Errorf("%s shows markup: %q", path, text[i:min(i+40, len(text))])
	}
}

func TestWhatCrawlersMeet(t *testing.T) {
	h := Handler()
	tests := []struct {
		path        string
		status      int
		contentType string
		want        string // in the body
	}{
		{"/robots.txt", 200, "text/plain; charset=utf-8", "Disallow: /internal/drafts/"},
		{"/internal/drafts/pay-scale", 200, "text/html; charset=utf-8", "not to be found"},
		{"/support/faq-print", 200, "text/html; charset=utf-8", `<meta name="robots" content="noindex">`},
		{"/support/faq-print", 200, "text/html; charset=utf-8", `<link rel="canonical" href="/support/faq">`},
		{"/internal/holidays", 200, "text/html; charset=utf-8", "<!--noindex--><p>The calendar"},
		{"/de/", 200, "text/html; charset=utf-8", `<html lang="de">`},
		{"/de/", 200, "text/html; charset=utf-8", `<link rel="alternate" hreflang="en" href="/about">`},
		{"/products/", 200, "text/html; charset=utf-8", `<li><a href="/products/heron-200">Heron 200 float gauge</a>: The mechanical`},
		{"/style.css", 200, "text/css; charset=utf-8", "body {"},
		{"/images/gauge.svg", 200, "image/svg+xml", "<svg"},
		{"/products", 404, "text/plain; charset=utf-8", "not found"},
	}
	for _, tt := range tests {
		w := get(t, h, tt.path)
		if w.Code != tt.status || w.Header().Get("Content-Type") != tt.contentType || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: status %d, %q, want %d, %q, with %q in\n%s", tt.path, w.Code, w.Header().Get("Content-Type"),
				tt.status, tt.contentType, tt.want, w.Body)
		}
	}
	if w := get(t, h, "/products/heron-classic"); w.Code != 301 || w.Header().Get("Location") != "/products/heron-200" {
		t.Errorf("redirect: status %d to %q", w.Code, w.Header().Get("Location"))
	}
	if body := get(t, h, "/support/").Body.String(); strings.Contains(body, "faq-print") {
		t.Error("a noindex page is listed")
	}
	w := get(t, h, "/downloads/heron-firmware-3.2.zip")
	z, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	if err != nil || len(z.File) != 1 {
		t.Errorf("the download is no archive of one file: %v", err)
	}
}

func TestConditionalRequests(t *testing.T) {
	h := Handler()
	first := get(t, h, "/products/egret")
	etag, modified := first.Header().Get("ETag"), first.Header().Get("Last-Modified")
	if etag == "" || modified != "Mon, 02 Sep 2024 00:00:00 GMT" {
		t.Fatalf("ETag %q, Last-Modified %q", etag, modified)
	}
	for _, header := range [][]string{{"If-None-Match", etag}, {"If-Modified-Since", modified}} {
		if w := get(t, h, "/products/egret", header...); w.Code != 304 || w.Body.Len() != 0 {
			t.Errorf("%q: status %d with %d bytes, want 304", header, w.Code, w.Body.Len())
		}
	}
	if w := get(t, h, "/products/egret", "If-None-Match", `"other"`); w.Code != 200 {
		t.Errorf("other tag: status %d, want 200", w.Code)
	}
	if again := get(t, Handler(), "/products/egret"); again.Header().Get("ETag") != etag {
		t.Error("the ETag changes from start to start")
	}
	if listing := get(t, h, "/people/").Header().Get("Last-Modified"); listing != "Mon, 12 May 2025 00:00:00 GMT" {
		t.Errorf("listing modified %q, want the time of its newest page", listing)
	}
}

func TestSampleQueryFindsPages(t *testing.T) {
	engine := loadConfig(t).Engine
	found := 0
	for path, w := range crawl(t, Handler()) {
		u, err := weburl.Parse(testOrigin + path)
		if err != nil {
			t.Fatal(err)
		}
		if d := engine.Decide(u); d.Crawl() && d.Index && strings.Contains(strings.ToLower(w.Body.String()), SampleQuery) {
			found++
		}
	}
	if found < 2 {
		t.Errorf("%d indexed pages have %q, want two at least", found, SampleQuery)
	}
}

func TestOnlyReading(t *testing.T) {
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestBrokenContent(t *testing.T) {
	layout := testdir.Read(t, "page.html")
	tests := []struct{ name, text, want string }{
		{"text first", "hello\n=== /\n", "text before the first page"},
		{"no field", "=== /a\nhello\n", "is not a field"},
		{"unknown field", "=== /a\ncolour: red\n", `unknown field "colour"`},
		{"date", "=== /a\ndate: 3 May\n", "parsing time"},
		{"twice", "=== /a\ntitle: A\n\n=== /a\ntitle: A\n", "/a: two pages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"page.html": {Data: layout}, "content/a.txt": {Data: []byte(tt.text)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestInlineEscapes(t *testing.T) {
	got := inline(`a < b & [c "d"](/e)`)
	if want := `a &lt; b &amp; <a href="/e">c &#34;d&#34;</a>`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestConfig(t *testing.T) {
	text := Config(Places{Site: "http://127.0.0.1:4711/", Indexer: "http://127.0.0.1:10002/?a=1&b=2"})
	attributes := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				attributes[e.Name.Local+" "+a.Name.Local+"="+a.Value] = true
			}
		}
	}
	for _, want := range []string{
		"Root url=http://127.0.0.1:4711/",
		"Url val=http://127.0.0.1:4711/internal/rooms",
		"Push url=http://127.0.0.1:10002/?a=1&b=2",
		"Crawler errorPolicy=cautious",
	} {
		if !attributes[want] {
			t.Errorf("no attribute %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "{{") {
		t.Error("a placeholder is left")
	}
}
