package main

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestRenderingDocumentation: the example of docs/rendering.md is a configuration without errors, by which a browser
// fills the shells of its site, in a dry run and in a crawl.
func TestRenderingDocumentation(t *testing.T) {
	content := testdir.Read(t, filepath.Join("..", "..", "docs", "rendering.md"))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, "fetch('/api' + location.pathname).then(r => r.text()).then(t => { document.title = t; document.getElementById('app').innerHTML = '<h1>' + t + '</h1>'; });")
		case "/api/products/7":
			fmt.Fprint(w, "A lamp of tin")
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>Home</title><h1>All products</h1><a href=/products/7>7</a>")
		case "/products/7":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>App</title><body><div id=app></div><script src=/app.js></script>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	example := regexp.MustCompile("(?s)```xml\n(.*?)```").FindStringSubmatch(string(content))[1]
	replaced := strings.NewReplacer("https://app.example.com", site.URL, "app.example.com", "127.0.0.1", `timeoutS="30"`, `timeoutS="600"`, `render="auto"`, `render="auto" renderSelector="h1"`,
		render.DefaultCommand, testneed.Browser(t)+" --no-sandbox").Replace(example)
	parsed, report := config.Parse("rendering.md", []byte("<CrawlConfig>"+replaced+"</CrawlConfig>"), config.OSLookups())
	if err := report.Err(); err != nil || len(report.Warnings) > 0 {
		t.Fatalf("%v, %v\n%s", err, report.Warnings, replaced)
	}
	address := site.URL + "/products/7"
	u, err := weburl.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	f, err := service.DryRun(t.Context(), parsed.Crawlers[0], admin.Knowledge{}, address, u, "Test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if f.Plain == nil || !f.Plain.Shell || f.Rendered == nil || f.Rendered.Requests != 2 || f.Document == nil || f.Document.Title != "A lamp of tin" || !f.Stored.Rendered {
		t.Errorf("before %+v, rendered %+v, document %+v, stored %+v", f.Plain, f.Rendered, f.Document, f.Stored)
	}
	documents, said := crawlConfigured(t, site.URL, "<CrawlConfig>"+strings.Replace(replaced, "<Crawler ", `<Crawler throttleTimeMS="1" `, 1)+"</CrawlConfig>")
	if d := documents["products/7"]; d.Title != "A lamp of tin" || d.Text != "A lamp of tin" || documents[""].Text == "" || len(documents) != 2 {
		t.Errorf("the crawl has %+v\n%s", documents, said)
	}
	var out strings.Builder
	if err := texts(&out, unpainted)("fetched", shownFetch{f, 100}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`before    title "App", 0 characters, 0 links`, "an application shell: only its scripts fill it", "by a browser in ", "title     A lamp of tin", "script " + site.URL + "/app.js: 200", " " + site.URL + "/api/products/7: 200", " ms for a browser, its start included"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestFetchingDocumentation: the examples of docs/fetching.md are configurations that
// check has nothing to say against, and each attribute of a Fetch is explained there.
func TestFetchingDocumentation(t *testing.T) {
	content := testdir.Read(t, filepath.Join("..", "..", "docs", "fetching.md"))
	server := httptest.NewTLSServer(nil)
	server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text := string(content)
	examples := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, b := range examples {
		lookups := config.Lookups{
			Env:    func(string) (string, bool) { return "secret", true },
			Exists: func(path string) bool { return filepath.Base(path) == "ca.pem" },
			ReadFile: func(path string) ([]byte, error) {
				if filepath.Base(path) != "ca.pem" {
					return nil, os.ErrNotExist
				}
				return authority, nil
			},
		}
		parsed, report := config.Parse("fetching.md", []byte("<CrawlConfig>"+b[1]+"</CrawlConfig>"), lookups)
		if err := report.Err(); err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		if s := crawlSettings(parsed.Crawlers[0]); s.Name == "" {
			t.Errorf("no settings of\n%s", b[1])
		}
	}
	if len(examples) < 5 || len(examples) != strings.Count(text, "```xml") {
		t.Errorf("%d examples", len(examples))
	}
	reference := testdir.Read(t, filepath.Join("..", "..", "docs", "configuration.md"))
	_, of, found := strings.Cut(string(reference), "\n### Fetch\n")
	of, _, _ = strings.Cut(of, "\n###")
	attributes := regexp.MustCompile(`(?m)^\| (\w+) \| `).FindAllStringSubmatch(of, -1)
	if !found || len(attributes) < 20 {
		t.Fatalf("%d attributes of a Fetch in configuration.md", len(attributes))
	}
	for _, a := range attributes {
		if a[1] == "attribute" { // a table's head
			continue
		}
		if !regexp.MustCompile(`\b` + a[1] + `\b`).MatchString(text) {
			t.Errorf("%s is not explained", a[1])
		}
	}
}
