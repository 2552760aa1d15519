package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

const lampPage = `<title>Lamp</title><meta property="article:tag" content="light"><meta property="article:tag" content="home">
<meta name="price" content="0.01"><script type="application/ld+json">{"@type":"Product","brand":{"name":"Lux"}}</script>
<main class=product><p class=price>12,50&nbsp;€</p><img src=a.png><img src="/b.png"></main>`

// shopSite returns what docs/fields.md crawls, with pages that are made to break what searches them.
func shopSite(t *testing.T) string {
	t.Helper()
	pages := map[string]string{
		"/":              `<title>Shop</title><a href=/products/lamp>x</a><a href=/products/desk>x</a><a href=/products/deep>x</a><a href=/products/slow>x</a><a href=/news/sale>x</a>`,
		"/news/sale":     "<title>Sale</title><nav><ul><li><a href=/>Menu</a></ul></nav><main><article><h1>Lamps for less</h1>" + strings.Repeat("<p>All lamps are sold for less than ever, and so are desks of wood. Come in and see them, says the owner.</p>", 8) + "</article></main>",
		"/products/lamp": lampPage,
		"/products/desk": `<title>Desk</title><script type="application/ld+json">{"@graph":[{"@type":"Product","offers":[{"price":99.90}]}]}</script>of wood`,
		"/products/deep": "<title>Deep</title>" + strings.Repeat("<div>", 100_000) + "at the bottom",
		"/products/slow": "<title>Slow</title>" + strings.Repeat(strings.Repeat("<i class=product>", 500)+strings.Repeat("</i>", 500), 20) + "never ready",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Cache", "HIT")
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// fieldsConfig returns the configuration of docs/fields.md for a site, with a field that no time
// suffices for on one of its pages.
func fieldsConfig(t *testing.T, site string) string {
	t.Helper()
	config := strings.Replace(configOf(t, "fields.md"), "https://shop.example.com", site, 1)
	config = strings.Replace(config, "</Crawler>", mainOf(t, "fields.md")+"</Crawler>", 1)
	config = strings.Replace(config, `<Crawler name="shop"`, `<Crawler name="shop" throttleTimeMS="0" documentTimeoutS="3" nthreads="2"`, 1)
	return strings.Replace(config, "</Crawler>", `<Field name="slow" select="css:b i i i i i i i"><Path val="/products/slow"/></Field></Crawler>`, 1)
}

// mainOf returns the MainContent that a page of the manual shows, configOf its configuration.
func mainOf(t *testing.T, name string) string   { return shownIn(t, name, "<MainContent>") }
func configOf(t *testing.T, name string) string { return shownIn(t, name, "<CrawlConfig ") }

// shownIn returns the block of code that begins with a text in a page of the manual.
func shownIn(t *testing.T, name, begins string) string {
	t.Helper()
	page := testdir.Read(t, filepath.Join("..", "..", "docs", name))
	text := regexp.MustCompile("(?s)```xml\n(" + begins + ".*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatalf("docs/%s has no %s", name, begins)
	}
	return string(text[1])
}

// TestFieldsOfTheManual: the configuration of docs/fields.md finds what the page says, and goes on
// where a page is made to stop it.
func TestFieldsOfTheManual(t *testing.T) {
	site := shopSite(t)
	documents, said := crawlConfigured(t, site, fieldsConfig(t, site))
	want := map[string]map[string][]string{
		"":              {"cached": {"HIT"}},
		"products/lamp": {"cached": {"HIT"}, "price": {"12,50 €"}, "maker": {"Lux"}, "picture": {site + "/products/a.png", site + "/b.png"}, "tag": {"light", "home"}, "article:tag": {"light", "home"}},
		"products/desk": {"cached": {"HIT"}, "price": {"99.90"}},
		"products/deep": {"cached": {"HIT"}},
		"products/slow": {"cached": {"HIT"}},
		"news/sale":     {"cached": {"HIT"}},
	}
	got := map[string]map[string][]string{}
	for u, d := range documents {
		got[u] = d.Metas
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metas (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(documents["products/deep"].Text, "at the bottom") || !strings.HasSuffix(documents["products/slow"].Text, "never ready") {
		t.Error("the text of a page that could not be searched is not there")
	}
	if text := documents["news/sale"].Text; !strings.Contains(text, "sold for less") || strings.Contains(text, "Menu") {
		t.Errorf("the main content is %q", text)
	}
	for _, reason := range []string{"too-deep", "too-slow"} {
		if strings.Count(said, reason) == 0 {
			t.Errorf("%s was not logged:\n%s", reason, said)
		}
	}
}

// TestFetchShowsFields: a dry run shows what each Field finds.
func TestFetchShowsFields(t *testing.T) {
	site := shopSite(t)
	path := filepath.Join(t.TempDir(), "CrawlConfig.xml")
	testdir.Write(t, path, fieldsConfig(t, site))
	out, err := process(t, "fetch", "-c", path, site+"/products/lamp").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"field     price = 12,50 € (css:.product .price)", "field     price: jsonld:Product/offers.price matches nothing",
		"field     maker = Lux (jsonld:Product/brand)", "field     picture = " + site + "/products/a.png | " + site + "/b.png (xpath://main//img)",
	} {
		if !strings.Contains(string(out), line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
}

// handbook returns what docs/content.md crawls: a guide with a menu and a main content, and a file.
func handbook() http.Handler {
	para := "<p>" + strings.Repeat("A <b>lamp</b> gives light, see <a href=\"../desk#top\">desks</a>. ", 40) + "</p>"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<title>Handbook</title><a href="/guides/lamps">Lamps</a><a href="/files/a.txt">File</a>`)
		case "/guides/lamps":
			fmt.Fprint(w, `<title>Lamps</title><nav><a href="/">Menu</a></nav><main><article><h1>About lamps</h1>`+para+
				`<!--googleoff: index--><p>not for the index</p><!--googleon: index--><table><tr><th>Kind<th>Watt<tr><td>small<td>3</table><script>x()</script>`+para+`</article></main>`)
		case "/files/a.txt":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "A file.")
		default:
			http.NotFound(w, r)
		}
	})
}

// TestContentOfTheManual: the configuration of docs/content.md brings the forms to its target, under their names.
func TestContentOfTheManual(t *testing.T) {
	site := httptest.NewServer(handbook())
	defer site.Close()
	var mu sync.Mutex
	got := map[string]map[string]any{}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for lines := json.NewDecoder(r.Body); ; {
			var line struct{ Document map[string]any }
			if lines.Decode(&line) != nil {
				return
			}
			got[strings.TrimPrefix(line.Document["url"].(string), site.URL)] = line.Document
		}
	}))
	defer hook.Close()
	config := strings.NewReplacer("https://handbook.example.com", site.URL, "https://hooks.example.com", hook.URL, `<Crawler name="handbook"`, `<Crawler name="handbook" throttleTimeMS="0"`).Replace(configOf(t, "content.md"))
	path := filepath.Join(t.TempDir(), "CrawlConfig.xml")
	testdir.Write(t, path, config)
	if out, err := process(t, "run", "--once", "--listen=off", "-c", path, "-d", filepath.Join(t.TempDir(), "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	guide := got["/guides/lamps"]
	body, view := fmt.Sprint(guide["body"]), fmt.Sprint(guide["view"])
	for _, want := range []string{"A **lamp** gives light, see [desks](" + site.URL + "/desk#top).", "| Kind | Watt |\n|---|---|\n| small | 3 |"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in %s", want, body)
		}
	}
	if strings.Contains(body, "Menu") || strings.Contains(body+view, "not for the index") || !strings.Contains(view, `<nav><a href="`+site.URL+`/">Menu</a></nav>`) || len(view) > len("[]")+4096 {
		t.Errorf("body: %s\nview: %s", body, view)
	}
	if diff := cmp.Diff(map[string]any{"content_cut": []any{"view"}}, guide["metas"]); diff != "" {
		t.Error(diff)
	}
	if fmt.Sprint(got["/files/a.txt"]["body"]) != "[A file.]" || got["/"]["body"] != nil {
		t.Errorf("%v", got)
	}
	out, err := process(t, "fetch", "-c", path, "--text", "30", site.URL+"/guides/lamps").CombinedOutput()
	if err != nil || !strings.Contains(string(out), " bytes of markdown:\n            | ") || !strings.Contains(string(out), "of page/html, cut at its maxBytes:") {
		t.Errorf("%v\n%s", err, out)
	}
}
