package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

const bothKilledConfig = `<CrawlConfig>
  <Crawler name="web" nthreads="4" aggressive="true" maxConnectionsPerHost="4" deletionBrake="off" smartRefresh="false" nearDuplicateDetector="false">
    <Root url="%[1]s"/>
    <Push kind="papi" url="http://%[2]s" connector="web" batchCount="10" batchAgeMS="20"/>
    <Push kind="elasticsearch" url="http://%[2]s/elastic" index="web" batchCount="10" batchAgeMS="20"/>
    <Push kind="webhook" url="http://%[2]s/webhook/web" batchCount="10" batchAgeMS="20"/>
    <Push kind="solr" url="%[3]s/solr" collection="web" commitWithinMS="5000" batchCount="10" batchAgeMS="20"/>
    <Push kind="funnelback" url="%[4]s" collection="web pages" token="token" batchCount="10" batchAgeMS="20"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// TestBothSidesKilled kills the crawl and the indexer with SIGKILL at some requests of a first crawl and of one after
// pages were removed and changed. In the end each target must have what the store counts as indexed, in its newest
// form, and no deletion of other pages. The receivers of Solr's and Funnelback's protocols, which run in this process,
// drop their connections instead.
func TestBothSidesKilled(t *testing.T) {
	kills := 3
	if testing.Short() {
		kills = 1
	}
	random := seeded.Rand(t)
	site := testsite.New(t, testsite.Options{Pages: 100, Delay: 2 * time.Millisecond})
	front := newCounted(t, site)
	r := newReceiver(t, "slow=2ms")
	r.start()
	solr, funnelback := pushtest.NewSolr(t), pushtest.NewFunnelback(t)
	solrServer, funnelbackServer := httptest.NewServer(solr), httptest.NewServer(funnelback)
	defer solrServer.Close()
	defer funnelbackServer.Close()
	dir := t.TempDir()
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, fmt.Appendf(nil, bothKilledConfig, front.url, r.address, solrServer.URL, funnelbackServer.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	crawlOn := func() {
		t.Helper()
		arguments := []string{"run", "--once", "--listen=off", "--log-level=error", "-c", config, "-d", data}
		for range kills {
			var meanwhile func()
			if random.IntN(2) == 0 {
				meanwhile = func() {
					r.kill()
					solrServer.CloseClientConnections()
					funnelbackServer.CloseClientConnections()
					r.start()
				}
			}
			killAt(t, process(t, arguments...), front.after(random.IntN(60)), random, meanwhile)
		}
		if out, err := process(t, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("run --once: %v\n%s", err, out)
		}
	}
	crawlOn()
	check := func(changed []string) {
		t.Helper()
		want := indexedURLs(t, data)
		texts := map[string]func(u string) string{}
		uris := map[string][]string{}
		for name, strict := range map[string]*pushtest.Strict{"solr": solr, "funnelback": funnelback} {
			documents, safe := strict.Safe()
			if !safe {
				t.Errorf("%s: what was pushed is not committed", name)
			}
			uris[name] = slices.Sorted(maps.Keys(documents))
			texts[name] = func(u string) string { return documents[u] }
		}
		for _, name := range []string{"web", "elastic:web", "webhook:web"} {
			texts[name] = func(u string) string { return receivedText(t, r.address, name, u) }
		}
		for name, text := range texts {
			for _, u := range changed {
				if got := text(u); !strings.Contains(got, "changed in the meantime") {
					t.Errorf("%s has an old %s: %.80q", name, u, got)
				}
			}
		}
		for _, name := range []string{"web", "elastic:web", "webhook:web"} {
			uris[name] = r.documents(name) // which stops it
			r.start()
		}
		for name, got := range uris {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-store +indexer):\n%s", name, diff)
			}
		}
	}
	check(nil)

	var changed []string
	gone := map[string]bool{}
	for i := 5; i < 40; i++ {
		u := strings.TrimSuffix(front.url, "/") + testsite.Path(i)
		if i%2 == 0 {
			site.Remove(testsite.Path(i))
			gone[u] = true
			continue
		}
		site.Set(testsite.Path(i), testsite.HTML(fmt.Sprint("Page ", i), "changed in the meantime"))
		changed = append(changed, u)
	}
	if code, out, errOut := sextant(t, "", "refresh", "--all", "-c", config, "-d", data); code != exitOK {
		t.Fatalf("refresh: exit %d\n%s%s", code, out, errOut)
	}
	crawlOn()
	check(changed)
	if n := len(indexedURLs(t, data)); n < 60 || n > 95 {
		t.Errorf("%d documents are left, want some gone and most there", n)
	}
	for _, o := range testrun.Orders(t, filepath.Join(data, "out")) {
		if d := o.Deletion; o.Op == "delete" && (!gone[d.URL] || d.Reason != "404 Not Found") {
			t.Errorf("%s was deleted for %q", d.URL, d.Reason)
		}
	}
	if code, out, errOut := sextant(t, "", "verify", "-d", data); code != exitOK {
		t.Errorf("verify: exit %d\n%s%s", code, out, errOut)
	}
}

// indexedURLs returns those that a store says are indexed, sorted as an indexer lists them.
func indexedURLs(t *testing.T, data string) []string {
	t.Helper()
	code, out, errOut := sextant(t, "", "urls", "-d", data)
	if code != exitOK {
		t.Fatalf("urls: exit %d\n%s", code, errOut)
	}
	var urls []string
	for line := range strings.Lines(out) {
		var u report.StoredURL
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatal(err)
		}
		if u.Indexed {
			urls = append(urls, u.URL)
		}
	}
	slices.Sort(urls)
	return urls
}

// receivedText returns what an indexer shows of a document.
func receivedText(t *testing.T, address, connector, of string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/documents?" + url.Values{"connector": {connector}, "url": {of}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
