package service

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// TestHandOverFetchesNothingAgain: documents that wait for an indexer when the crawl is handed over are pushed by the other node, which gets
// their bodies from the one that fetched them: no page is asked for twice.
func TestHandOverFetchesNothingAgain(t *testing.T) {
	const pages = 150
	n := newNodes(t)
	var mu sync.Mutex
	fetched := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fetched[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><head><title>Page %s</title></head><body><p>All about %s.</p>", r.URL.Path, r.URL.Path)
		if r.URL.Path == "/" {
			for i := range pages {
				fmt.Fprintf(w, `<a href="/%d.html">%d</a> `, i, i)
			}
		}
		fmt.Fprint(w, "</body></html>")
	}))
	t.Cleanup(site.Close)
	var open atomic.Bool
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !open.Load() {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(hook.Close)
	n.write(n.config, `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21"><Crawler name="docs" nthreads="4" aggressive="true" nearDuplicateDetector="false"><Root url="`+
		site.URL+`/"/><Push kind="webhook" url="`+hook.URL+`" batchAgeMS="50"/></Crawler></CrawlConfig>`)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.start("n2")
	n.crawls("n1", 2)
	status := func(name string) (s admin.Status) {
		client, err := admin.Dial(t.Context(), n.options(name).Data, "")
		if err != nil || client == nil {
			return s
		}
		all, err := client.Status(t.Context())
		if err == nil && len(all) == 1 {
			s = all[0]
		}
		return s
	}
	n.until("all pages wait for the indexer", func(*cluster.State) bool { return status("n1").Outbox.Waiting == pages+1 })
	n.handOver("n2")
	open.Store(true)
	n.until("all are pushed", func(*cluster.State) bool {
		s := status("n2")
		return s.Known == pages+1 && s.Outbox.Waiting == 0
	})
	if s := status("n2"); s.Lost != 0 || s.Indexed != pages+1 || s.Outbox.Dead != 0 {
		t.Errorf("%d documents are lost, %d indexed, %d dead letters", s.Lost, s.Indexed, s.Outbox.Dead)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, times := range fetched {
		if times != 1 && path != "/robots.txt" {
			t.Errorf("%s was fetched %d times", path, times)
		}
	}
	if len(fetched) < pages+1 {
		t.Errorf("%d paths were fetched", len(fetched))
	}
}
