package crawl

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestCrawlUnderAPermit: when the permit ends, the requests under way are cut, as the site sees it, and no
// other is made, of pages and of robots.txt; when it is back each URL is asked for as if nothing had been.
func TestCrawlUnderAPermit(t *testing.T) {
	const pages = 5
	for _, held := range []string{"/robots.txt", "/page"} {
		t.Run(held, func(t *testing.T) {
			var requests, hold atomic.Int32
			reached, cut := make(chan struct{}, 100), make(chan struct{}, 100)
			hold.Store(1)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if strings.HasPrefix(r.URL.Path, held) && hold.Load() == 1 {
					reached <- struct{}{}
					<-r.Context().Done()
					cut <- struct{}{}
					return
				}
				w.Header().Set("Content-Type", "text/html")
				if r.URL.Path == "/robots.txt" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				_, _ = fmt.Fprintf(w, "<title>t</title>text of %s", r.URL.Path)
				for i := range pages {
					_, _ = fmt.Fprintf(w, `<a href="/page%d">x</a>`, i)
				}
			}))
			defer site.Close()
			p := testpermit.New()
			var told bytes.Buffer // the handler has a lock of its own
			b := newBench(t, site.URL+"/")
			b.settings.Fetcher.Permit, b.log = p, slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelWarn})
			b.with(func(c *Crawl, _ *store.Store) {
				ended := make(chan error, 1)
				go func() { ended <- c.Run(t.Context(), Once{Drain: true}) }()
				<-reached // of a host one URL is asked for at a time
				p.Take()
				before := requests.Load()
				<-cut
				hold.Store(0)
				if n := requests.Load() - before; n > 0 {
					t.Errorf("%d requests after the permit ended", n)
				}
				p.Give()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
			})
			if n := len(b.target.documents); n != 1+pages {
				t.Errorf("%d documents, want %d", n, 1+pages)
			}
			for i := range pages {
				if r, ok := b.record(fmt.Sprintf("%s/page%d", site.URL, i)); !ok || !r.Indexed || r.Errors > 0 {
					t.Errorf("page %d: %+v", i, r)
				}
			}
			if told.Len() > 0 {
				t.Errorf("warnings and errors were logged:\n%s", told.String())
			}
			b.verify()
		})
	}
}
