package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// intranet is what docs/permissions.md crawls: pages of one text each, with headers that can change.
type intranet struct {
	mu      sync.Mutex
	headers map[string]http.Header // by path
}

func (s *intranet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	for name, values := range s.headers[r.URL.Path] {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("ETag", `"1"`)
	if r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprintf(w, "<meta name=acl_allow content=everyone><title>%s</title><h2 id=a>A</h2>%[1]s", r.URL.Path)
	for path := range s.headers {
		fmt.Fprintf(w, " <a href=%s>x</a>", path)
	}
}

func (s *intranet) set(path, groups string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers[path] = http.Header{}
	if groups != "" {
		s.headers[path].Set("X-Read-Groups", groups)
	}
}

// manualFilter are the names in the filter of docs/permissions.md, and whether it lets a document through.
func manualFilter(t *testing.T) func(metas map[string][]string) bool {
	t.Helper()
	var query struct {
		Query struct {
			Bool struct {
				Filter struct {
					Terms map[string][]string
				}
				MustNot struct {
					Terms map[string][]string
				} `json:"must_not"`
			}
		}
	}
	page := testdir.Read(t, filepath.Join("..", "..", "docs", "permissions.md"))
	text := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if err := json.Unmarshal(text[1], &query); err != nil {
		t.Fatal(err)
	}
	matches := func(terms map[string][]string, metas map[string][]string) bool {
		for field, values := range terms {
			return slices.ContainsFunc(metas[field], func(v string) bool { return slices.Contains(values, v) })
		}
		t.Fatal("the manual's query has no terms")
		return false
	}
	q := query.Query.Bool
	return func(metas map[string][]string) bool {
		return matches(q.Filter.Terms, metas) && !matches(q.MustNot.Terms, metas)
	}
}

// TestPermissionsOfTheManual crawls a site by the configuration of docs/permissions.md into an index, twice, and
// filters its documents as the page shows. Chunks have the permissions of their page.
func TestPermissionsOfTheManual(t *testing.T) {
	site := &intranet{headers: map[string]http.Header{}}
	site.set("/", "staff")
	site.set("/hr", "hr, board")
	site.set("/public/a", "")
	site.set("/claim", "")
	site.set("/denied", "hr")
	site.headers["/denied"].Set("X-Deny-Groups", "alice")
	web := httptest.NewServer(site)
	defer web.Close()
	server, err := indexer.Open(t.TempDir(), indexer.Settings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	index := httptest.NewServer(server.Handler())
	defer index.Close()
	dir := t.TempDir()
	config := strings.NewReplacer(
		"https://intranet.example.com", web.URL, "https://search.example.com:9200", index.URL+"/elastic",
		`createTemplate="true"`, `createTemplate="true" chunks="documents"`,
		"<Crawler ", `<Crawler throttleTimeMS="0" `,
		"<Rules>", `<Chunks/><Push kind="papi" url="`+index.URL+`" connector="web"/><Rules>`,
	).Replace(configOf(t, "permissions.md"))
	testdir.Write(t, filepath.Join(dir, "CrawlConfig.xml"), config)
	run := func(args ...string) string {
		args = append(args, "-c", filepath.Join(dir, "CrawlConfig.xml"))
		out, err := process(t, append(args, "-d", filepath.Join(dir, "data"))...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	shown := manualFilter(t)
	found := func() (paths, chunks []string) {
		uris, err := server.URIs("elastic:intranet")
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range uris {
			d := documentIn(t, index.URL, "elastic:intranet", u)
			path := strings.TrimPrefix(u, web.URL)
			switch {
			case !shown(d):
			case strings.Contains(path, "#"):
				chunks = append(chunks, strings.TrimSuffix(path, "#a"))
			default:
				paths = append(paths, path)
			}
		}
		return paths, chunks
	}
	check := func(want ...string) {
		t.Helper()
		paths, chunks := found()
		if !cmp.Equal(paths, want) || !cmp.Equal(chunks, want) {
			t.Errorf("found %q, chunks of %q, want %q", paths, chunks, want)
		}
	}
	run("run", "--once", "--listen=off")
	check("/hr", "/public/a")
	tokens := documentIn(t, index.URL, "web", web.URL+"/hr")["security"]
	if !cmp.Equal(tokens, []string{"hr", "board"}) {
		t.Errorf("security is %q", tokens)
	}
	run("push", "verify")

	site.set("/hr", "board")
	site.set("/claim", "alice")
	site.set("/denied", "hr")
	run("refresh", "--all")
	run("run", "--once", "--listen=off")
	check("/claim", "/denied", "/public/a")

	out := run("explain", web.URL+"/public/a")
	if !strings.Contains(out, "acl_allow = everyone") || !strings.Contains(out, "acl_deny by header:X-Deny-Groups") {
		t.Errorf("explain:\n%s", out)
	}
	out = run("fetch", web.URL+"/denied")
	if !strings.Contains(out, "field     acl_allow = hr (header:X-Read-Groups)") || !strings.Contains(out, "1 chunk:") {
		t.Errorf("fetch:\n%s", out)
	}
}

// documentIn returns the metas of a document of an index.
func documentIn(t *testing.T, index, connector, uri string) map[string][]string {
	t.Helper()
	response, err := http.Get(index + "/documents?" + url.Values{"connector": {connector}, "url": {uri}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var d struct{ Metas map[string][]string }
	if err := json.NewDecoder(response.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d.Metas
}
