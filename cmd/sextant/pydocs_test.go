package main

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
)

// pythonDocs is where Debian's python3-doc lies.
const pythonDocs = "/usr/share/doc/python3-doc/html"

// TestPythonDocumentation crawls the Python documentation with the configuration
// of testdata into files and an indexer, and compares what is indexed with what a
// walk over the files on disk reaches.
func TestPythonDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("500 pages take seconds")
	}
	testneed.File(t, filepath.Join(pythonDocs, "index.html"), "python3-doc")
	site := httptest.NewServer(plainFiles(pythonDocs))
	defer site.Close()
	server, address := startIndexer(t, t.TempDir())

	written := testdir.Read(t, filepath.Join("..", "..", "testdata", "config", "pydocs", "CrawlConfig.xml"))
	text := strings.NewReplacer(
		"http://127.0.0.1:8099", site.URL,
		`<Push kind="file"/>`, `<Push kind="file"/><Push kind="papi" url="http://`+address+`" connector="python"/>`,
	).Replace(string(written))
	dir := t.TempDir()
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	testdir.Write(t, config, text)
	if code, out, errOut := sextant(t, "", "run", "--once", "--listen=off", "--log-level=warn", "-c", config, "-d", data); code != exitOK {
		t.Fatalf("run --once: exit %d\n%s%s", code, out, errOut)
	}

	var want []string
	for _, p := range reachable(t, pythonDocs) {
		if p != "/index.html" { // the copy of /, which comes first
			want = append(want, site.URL+p)
		}
	}
	slices.Sort(want)
	documents := testrun.Documents(t, filepath.Join(data, "out"))
	files := slices.Sorted(maps.Keys(documents))
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("documents in files (-reachable +got):\n%s", diff)
	}
	for u, d := range documents { // no menus, no marks beside headings
		if strings.Contains(d.Text, "¶") || strings.Contains(d.Text, "Report a Bug Show Source") || d.Charset != "utf-8" || d.Language != "en" {
			t.Errorf("%s: charset %q, language %q, text %.200q", u, d.Charset, d.Language, d.Text)
		}
	}
	if text := documents[site.URL+"/library/asyncio-task.html"].Text; !strings.HasPrefix(text, "Coroutines and Tasks This section outlines high-level asyncio APIs") {
		t.Errorf("asyncio-task.html begins with %.100q", text)
	}
	indexed, err := server.URIs("python")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(indexed)
	if diff := cmp.Diff(want, indexed); diff != "" {
		t.Errorf("documents in the indexer (-reachable +got):\n%s", diff)
	}
	if code, out, errOut := sextant(t, "", "verify", "-d", data); code != exitOK {
		t.Errorf("verify: exit %d\n%s%s", code, out, errOut)
	}
	found := search(t, address, "coroutine asyncio gather")
	if !slices.ContainsFunc(found, func(u string) bool { return strings.HasSuffix(u, "/library/asyncio-task.html") }) {
		t.Errorf("a search for asyncio's gather finds %v, want /library/asyncio-task.html among them", found)
	}
}

// plainFiles serves a folder as simple servers do: /index.html is itself, where
// http.FileServer redirects to the folder.
func plainFiles(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Clean(r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, info.ModTime(), file)
	})
}

// reachable walks the links of the files below dir from its index.html with a
// regular expression, apart from what the configuration ignores.
func reachable(t *testing.T, dir string) []string {
	t.Helper()
	href := regexp.MustCompile(`(?s)^(?:a\s[^>]*?href="([^"]*)"|link\s[^>]*?rel="next"[^>]*?href="([^"]*)")`)
	seen := map[string]bool{"/": true}
	for todo := []string{"/"}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		name := at
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		content := testdir.Read(t, filepath.Join(dir, name))
		for tag := range strings.SplitSeq(string(content), "<") {
			if !strings.HasPrefix(tag, "a") && !strings.HasPrefix(tag, "link") {
				continue // the expression is slow
			}
			m := href.FindStringSubmatch(tag)
			if m == nil {
				continue
			}
			u, err := url.Parse(html.UnescapeString(m[1] + m[2]))
			if err != nil || u.IsAbs() || u.Host != "" || u.Path == "" {
				continue
			}
			to := path.Join(path.Dir(name), u.Path)
			if !strings.HasSuffix(to, ".html") || seen[to] || ignoredThere(to) {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, to)); err != nil {
				continue
			}
			seen[to] = true
			todo = append(todo, to)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// ignoredThere returns the folders that the configuration ignores.
func ignoredThere(p string) bool {
	return slices.ContainsFunc([]string{"/_sources/", "/_static/", "/_images/", "/_downloads/", "/archives/"}, func(prefix string) bool {
		return strings.HasPrefix(p, prefix)
	})
}

// search asks the indexer's search for the URLs of its first hits.
func search(t *testing.T, address, query string) []string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/api/search?" + url.Values{"q": {query}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var found struct{ Hits []struct{ URL string } }
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, r := range found.Hits {
		urls = append(urls, r.URL)
	}
	return urls
}
