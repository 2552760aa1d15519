package crawl

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestBrokenProxyDeletesNothing, under the policy that deletes on any failure: its URLs
// wait, and say why.
func TestBrokenProxyDeletesNothing(t *testing.T) {
	var broken atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>t</title>some text"))
	}))
	defer proxy.Close()
	const root = "http://inside.invalid/"
	for _, freshRobots := range []bool{true, false} {
		broken.Store(false)
		b := newBench(t, root)
		b.settings.Frontier.Policy, b.settings.Frontier.MaxTemporaryErrors = scheduler.Smartsite, 1
		s := fetcher.DefaultSettings()
		s.Proxy = &fetcher.Proxy{URL: proxy.URL}
		b.settings.Fetches = []policy.Fetch{{Fetcher: s}}
		if !freshRobots {
			b.settings.Fetches[0].IgnoreRobots = new(true)
		}
		b.once()
		if len(b.indexed()) != 1 {
			t.Fatalf("documents %v", b.indexed())
		}
		b.newOrders()
		broken.Store(true)
		b.with(func(c *Crawl, _ *store.Store) {
			if _, err := c.Refresh(t.Context(), Selection{All: true, Full: true}); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
		})
		if orders := b.newOrders(); len(orders) != 0 {
			t.Errorf("orders %v", orders)
		}
		r, _ := b.record(root)
		if !r.Indexed || r.Class != "ok" || !strings.Contains(r.LastError, "proxy requires other credentials") {
			t.Errorf("%+v, want that it waits for the proxy", r)
		}
	}
}
