package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/push"
)

// recipeSite has a page for each recipe that is crawled. Pages below /in/ need the cookie of /login.
func recipeSite(t *testing.T) string {
	t.Helper()
	pages := map[string]string{
		"/": `<title>Home</title><nav>Menu</nav><p>Welcome to all</p><a href=/news/a></a>
<a href=/docs/b></a><a href=/calendar/1></a><a href=/walled></a>
<a href=/products/lamp></a><a href=/file.pdf></a><a href=/secret.html></a>
<a href="/page?b=2&amp;a=1&amp;PHPSESSID=7"></a><a href=/in/wiki></a><a href=/logout></a>`,
		"/news/a":        "<title>News</title>Something new",
		"/docs/b":        "<title>Docs</title>How it works",
		"/calendar/1":    "<title>Day 1</title><a href=/calendar/2>next</a>",
		"/calendar/2":    "<title>Day 2</title>The end",
		"/products/lamp": "<title>Lamp</title><div class=product><i class=price>12,50</i></div>",
		"/file.pdf":      "The text of a file",
		"/secret.html":   "<title>Secret</title>Not for all",
		"/page":          "<title>Page</title>One of a kind",
		"/in/wiki":       "<title>Wiki</title>For members. Sign out",
		"/login":         "<form method=post><input name=user><input name=password type=password></form>",
		"/logout":        "<title>Logged out</title>Good bye",
		"/listed":        "<title>Listed</title>By the sitemap",
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		cookie, _ := r.Cookie("session")
		switch {
		case r.URL.Path == "/walled":
			w.Header().Set("Cf-Mitigated", "challenge")
			w.WriteHeader(http.StatusForbidden)
			return
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method == http.MethodPost && r.FormValue("user") == "crawler" && r.FormValue("password") == "secret":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
			page = "Sign out"
		case strings.HasPrefix(r.URL.Path, "/in/") && cookie == nil:
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".pdf") {
			w.Header().Set("Content-Type", "text/plain")
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		_, _ = w.Write([]byte(page))
	})
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<urlset><url><loc>" + server.URL + "/listed</loc></url></urlset>"))
	})
	return server.URL
}

// recipes returns the configurations of docs/recipes.md by title.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, section := range strings.Split(readText(t, "..", "..", "docs", "recipes.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		all[title] = ""
		for _, b := range regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			all[title] = exampleConfig(b[1])
		}
	}
	return all
}

// TestRecipesAreAccepted: check reports neither errors nor warnings, apart from programs that are missing here and an
// ignored robots.txt.
func TestRecipesAreAccepted(t *testing.T) {
	dir := t.TempDir()
	writeRecipeFiles(t, dir)
	all := recipes(t)
	if len(all) < 25 {
		t.Errorf("only %d recipes", len(all))
	}
	env := map[string]string{
		"SITE_HOST": "www.example.com", "SEARCH_URL": "https://search.example.com:9200", "SEARCH_INDEX": "web",
	}
	for title, text := range all {
		lookups := config.Lookups{ReadFile: os.ReadFile, Env: func(name string) (string, bool) {
			if v, ok := env[name]; ok {
				return v, true
			}
			return "https://hooks.example.com/secret", true
		}}
		if text == "" {
			continue
		}
		_, report := config.Parse(filepath.Join(dir, "CrawlConfig.xml"), []byte(text), lookups)
		for _, p := range append(report.Errors, report.Warnings...) {
			if !strings.Contains(p.Message, "there is no file /usr/") && !strings.Contains(p.Message, "ignoreRobotsTxt fetches") {
				t.Errorf("%s: %v", title, p)
			}
		}
	}
}

// recipeCertificate returns the certificate of httptest's servers, and its key in PEM.
func recipeCertificate() (*x509.Certificate, []byte) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		panic(err)
	}
	return server.Certificate(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// writeRecipeFiles makes the files that recipes name.
func writeRecipeFiles(t *testing.T, dir string) {
	t.Helper()
	certificate, key := recipeCertificate()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	for name, content := range map[string][]byte{"kill_exact.cfg": nil, "ca.pem": authority,
		"sharepoint.pem": append(key, authority...)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecipesWork crawls a site by the recipes that need no other service.
func TestRecipesWork(t *testing.T) {
	all, site := recipes(t), recipeSite(t)
	for title, want := range map[string]struct{ has, lacks string }{
		"Refresh one section every hour":            {"news/a docs/b", ""},
		"Index only PDF files":                      {"file.pdf", "news/a docs/b"},
		"Remove menus and footers":                  {"news/a docs/b", ""},
		"Stop endless calendars":                    {"news/a", "calendar/1 calendar/2"},
		"Crawl behind a log-in form":                {"in/wiki", "logout"},
		"Remove a page today":                       {"news/a", "secret.html"},
		"Merge session ids and tracking parameters": {"page?a=1&b=2", "page?b=2&a=1&PHPSESSID=7"},
		"Two search sources from one site":          {"news/a docs/b", ""},
		"Put a price into a field":                  {"products/lamp", ""},
		"Crawl only what the sitemap lists":         {"listed", "news/a"},
		"Crawl a site behind a bot wall":            {"docs/b", "walled"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			documents := crawlRecipe(t, site, all[title])
			for _, u := range strings.Fields(want.has) {
				if _, ok := documents[u]; !ok {
					t.Errorf("%s is not indexed", u)
				}
			}
			for _, u := range strings.Fields(want.lacks) {
				if _, ok := documents[u]; ok {
					t.Errorf("%s is indexed", u)
				}
			}
			switch title {
			case "Remove menus and footers":
				if text := documents[""].Text; strings.Contains(text, "Menu") || !strings.Contains(text, "Welcome") {
					t.Errorf("the text is %q", text)
				}
			case "Put a price into a field":
				if price := documents["products/lamp"].Metas["price"]; len(price) != 1 || price[0] != "12,50" {
					t.Errorf("the price is %q", price)
				}
			case "Two search sources from one site":
				if d := documents["news/a"]; d.Source != "news" || d.Metas["kind"][0] != "news" {
					t.Errorf("the document is %+v", d)
				}
			}
		})
	}
}

// crawlRecipe crawls site by a recipe and returns the documents by path.
func crawlRecipe(t *testing.T, site, text string) map[string]push.Document {
	t.Helper()
	dir := t.TempDir()
	writeRecipeFiles(t, dir)
	testdir.Write(t, filepath.Join(dir, "kill_exact.cfg"), site+"/secret.html\n")
	text = strings.NewReplacer("https://www.example.com", site, "http://www.example.com", site,
		"www.example.com", "127.0.0.1", "<Crawler ", `<Crawler throttleTimeMS="0" `).Replace(text)
	path := filepath.Join(dir, "CrawlConfig.xml")
	testdir.Write(t, path, text)
	cmd := process(t, "run", "--once", "--listen=off", "-c", path, "-d", filepath.Join(dir, "data"))
	cmd.Env = append(cmd.Environ(), "WIKI_PASSWORD=secret")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run --once: %v\n%s", err, out)
	}
	got := map[string]push.Document{}
	for u, d := range testrun.Documents(t, filepath.Join(dir, "data", "out")) {
		got[strings.TrimPrefix(u, site+"/")] = d
	}
	return got
}
