package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/site"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/push"
)

var updateExamples = flag.Bool("update-examples", false, "write what the examples crawl into testdata/examples")

// example is a folder of examples/, and what is looked at beside it.
type example struct {
	name     string
	crawlers []string // with the file of cases of each
	cases    []string
	notes    string // what check may say beside its summary
}

func examples() []example {
	return []example{
		{name: "intranet", crawlers: []string{"intranet"}, cases: []string{"cases.txt"}},
		{name: "public-site", crawlers: []string{"www"}, cases: []string{"cases.txt"}},
		{name: "news", crawlers: []string{"news"}, cases: []string{"cases.txt"}},
		{name: "ocr", crawlers: []string{"archive"}, cases: []string{"cases.txt"}, notes: `the file /usr/local/lib/sextant/ocr.sh does not exist`},
		{name: "ibm", crawlers: []string{"intranet", "press"}, cases: []string{"cases.txt", "cases-press.txt"}},
		{name: "cloudview", crawlers: []string{"corporate"}, cases: []string{"cases.txt"}, notes: `has (no|an) effect here|no setting excludes images|no setting limits a site`},
		{name: "funnelback", crawlers: []string{"example-web"}, cases: []string{"cases.txt"}},
		{name: "norconex", crawlers: []string{"example-web"}, cases: []string{"cases.txt"}},
		{name: "smartsite", crawlers: []string{"help"}, cases: []string{"cases.txt"}},
	}
}

func examplesFolder() string { return filepath.Join("..", "..", "examples") }

// exampleSecrets gives the secrets of all examples a value.
func exampleSecrets(t *testing.T) {
	t.Helper()
	t.Setenv("CHAT_WEBHOOK", "https://chat.example.com/hook")
	for _, name := range []string{"INTRANET_PASSWORD", "SEARCH_PASSWORD", "SEARCH_API_KEY", "HOOK_SECRET", "PAPI_PASSWORD"} {
		t.Setenv(name, "open sesame")
	}
}

// TestExamplesAreAllTried: no folder is forgotten, and each has a README.
func TestExamplesAreAllTried(t *testing.T) {
	entries, err := os.ReadDir(examplesFolder())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.ContainsFunc(examples(), func(x example) bool { return x.name == e.Name() }) {
			t.Errorf("examples/%s is not tried", e.Name())
		}
	}
	for _, x := range examples() {
		if _, err := os.Stat(filepath.Join(examplesFolder(), x.name, "README.md")); err != nil {
			t.Error(err)
		}
	}
}

// TestExamplesCheck: check has nothing to say against an example, and its cases hold.
func TestExamplesCheck(t *testing.T) {
	exampleSecrets(t)
	for _, x := range examples() {
		t.Run(x.name, func(t *testing.T) {
			dir := filepath.Join(examplesFolder(), x.name)
			code, out, errOut := sextant(t, "", "check", "-c", dir)
			if code != exitOK || !strings.Contains(out, "Crawler "+x.crawlers[0]) {
				t.Fatalf("exit %d\n%s%s", code, out, errOut)
			}
			for line := range strings.Lines(out + errOut) {
				if !strings.HasPrefix(line, "Crawler ") && (x.notes == "" || !regexp.MustCompile(x.notes).MatchString(line)) {
					t.Errorf("check says %s", line)
				}
			}
			for i, crawler := range x.crawlers {
				if code, out, errOut := sextant(t, "", "test", "-c", dir, "--crawler", crawler, filepath.Join(dir, x.cases[i])); code != exitOK || !strings.Contains(out, " 0 failed") {
					t.Errorf("%s: exit %d\n%s%s", x.cases[i], code, out, errOut)
				}
			}
		})
	}
}

// TestExamplesCrawl crawls the sample site, under the names that an example has for
// it, and compares the documents with testdata/examples.
func TestExamplesCrawl(t *testing.T) {
	exampleSecrets(t)
	for _, x := range examples() {
		t.Run(x.name, func(t *testing.T) {
			sites := httptest.NewServer(sampleSites())
			defer sites.Close()
			_, address := startIndexer(t, t.TempDir())
			dir := copyExample(t, x.name, sites.URL, "http://"+address)
			data := filepath.Join(dir, "data")
			code, out, errOut := sextant(t, "", "run", "--once", "--listen=off", "--log-level=error", "-c", dir, "-d", data)
			if code != exitOK {
				t.Fatalf("exit %d\n%s%s", code, out, errOut)
			}
			got := crawled(t, filepath.Join(dir, "files"))
			golden := filepath.Join("..", "..", "testdata", "examples", x.name+".txt")
			if *updateExamples {
				testdir.Write(t, golden, got)
			}
			want := testdir.Read(t, golden)
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("documents (-want +got):\n%s%s%s", diff, out, errOut)
			}
			for _, crawler := range x.crawlers {
				if code, out, errOut := sextant(t, "", "outbox", "--count", "-c", dir, "-d", data, "--crawler", crawler); code != exitOK || strings.Count(out, " 0 orders, 0 B") != len(push.States()) {
					t.Errorf("outbox of %s: exit %d\n%s%s", crawler, code, out, errOut)
				}
			}
		})
	}
}

// crawled lists the documents that the crawl has written, each with source and metas.
func crawled(t *testing.T, dir string) string {
	var lines []string
	for _, d := range testrun.Documents(t, dir) {
		line := d.URL
		if d.Source != "" {
			line += "  source=" + d.Source
		}
		for _, name := range []string{"place", "department", "kind", "site"} {
			for _, value := range d.Metas[name] {
				line += fmt.Sprintf("  %s=%s", name, value)
			}
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// copyExample copies an example for a crawl that is quick and stays on this machine:
// its sites are asked over a proxy, without TLS and pauses, and its indexer is ours. As
// all hosts have the same pages there, no page is a copy of another one.
// Its documents go to the folder files, too.
func copyExample(t *testing.T, name, proxy, indexer string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(examplesFolder(), name, "*"))
	if err != nil {
		t.Fatal(err)
	}
	search := regexp.MustCompile(`https?://(search\.example\.com:9200|cloudview\.example\.com:10002|editors\.example\.com/sextant)`)
	for _, file := range files {
		text := testdir.Read(t, file)
		changed := search.ReplaceAllStringFunc(string(text), func(at string) string {
			switch {
			case strings.Contains(at, "search"):
				return indexer + "/elastic"
			case strings.Contains(at, "editors"):
				return indexer + "/webhook/news"
			}
			return indexer
		})
		changed = strings.ReplaceAll(changed, "https://", "http://")
		changed = regexp.MustCompile(` (throttleTimeMS|sleepAfterLoadMS|hours|nearDuplicateDetector)="[^"]*"`).ReplaceAllString(changed, "")
		changed = strings.ReplaceAll(changed, "<Throttle>", `<Throttle throttleTimeMS="1">`)
		changed = strings.ReplaceAll(changed, "<Crawler ", `<Crawler throttleTimeMS="1" nearDuplicateDetector="false" fetcher="samples" `)
		changed = strings.ReplaceAll(changed, "<Fetch ", `<Fetch proxy="`+proxy+`" `)
		changed = strings.ReplaceAll(changed, "</Crawler>", `<Fetch name="samples" proxy="`+proxy+`"/><Push kind="file" dir="files"/></Crawler>`)
		testdir.Write(t, filepath.Join(dir, filepath.Base(file)), changed)
	}
	return dir
}

// sampleSites returns a proxy that knows the hosts of the examples: all are the sample site,
// with what one of them has beside it.
func sampleSites() http.Handler {
	sample := site.Handler()
	more := map[string]string{
		"news.example.com/news-sitemap.xml": `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://news.example.com/news/2024/storm-edda</loc></url><url><loc>http://news.example.com/products/egret</loc></url></urlset>`,
		"news.example.com/news/feed.xml":    `<rss version="2.0"><channel><title>News</title><item><title>Avocet</title><link>http://news.example.com/news/2025/avocet</link></item></channel></rss>`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := more[r.Host+r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, body)
			return
		}
		if !strings.HasSuffix(r.Host, ".example.com") {
			http.Error(w, "there is no such host", http.StatusBadGateway)
			return
		}
		if user, password, ok := r.BasicAuth(); r.Host == "intranet.example.com" && (!ok || user != "search" || password != "open sesame") {
			w.Header().Set("WWW-Authenticate", `Basic realm="portal"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		sample.ServeHTTP(w, r)
	})
}

// TestIBMExampleIsImported: what import gives of the example's crawl.rules stands in its
// configuration.
func TestIBMExampleIsImported(t *testing.T) {
	t.Chdir(filepath.Join(examplesFolder(), "ibm"))
	code, out, errOut := sextant(t, "", "import", "--format", "ibm", "crawl.rules")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	written := testdir.Read(t, "CrawlConfig.xml")
	for _, want := range []string{`<CrawlSpace rules="crawl.rules"`, `<Root url="http://w3.example.com/" site="false"/>`, `<Root url="http://sales.example.com/support/" site="false"/>`} {
		if !strings.Contains(out, want) || !strings.Contains(string(written), want) {
			t.Errorf("%s is not in both:\n%s", want, out)
		}
	}
}

// TestCloudViewExampleIsUnchanged: the example is CloudView's file with a Push element,
// and that file is right as it is.
func TestCloudViewExampleIsUnchanged(t *testing.T) {
	before := testdir.Read(t, filepath.Join(examplesFolder(), "cloudview", "CrawlConfig.v21.xml"))
	after := testdir.Read(t, filepath.Join(examplesFolder(), "cloudview", "CrawlConfig.xml"))
	if diff := cmp.Diff(strings.Split(string(before), "\n"), strings.Split(addedPush.ReplaceAllString(string(after), ""), "\n")); diff != "" {
		t.Errorf("(-CloudView +example):\n%s", diff)
	}
	if code, _, errOut := sextant(t, "", "check", "-c", filepath.Join(examplesFolder(), "cloudview", "CrawlConfig.v21.xml")); code != exitOK {
		t.Errorf("exit %d: %s", code, errOut)
	}
}
