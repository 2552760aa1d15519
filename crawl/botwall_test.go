package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestBotWallDeletesNothing, under the policy that deletes on any failure: the documents of the host stay, its URLs
// wait and say why, and it gets few requests meanwhile. No page of the wall becomes a document.
func TestBotWallDeletesNothing(t *testing.T) {
	const pages = 12
	type wall struct {
		name           string
		robots, before bool // it stands before robots.txt; and before the first crawl
		status         int
		mark, page     string // a header, the body
		most           int32  // requests that the host gets
	}
	imperva := `<iframe id="main-iframe" src="/_Incapsula_Resource?a=1">Incapsula incident ID: 1</iframe>`
	for _, c := range []wall{
		{"pages", false, false, http.StatusForbidden, "Cf-Mitigated", "Just a moment...", 8},
		{"all", true, false, http.StatusForbidden, "Cf-Mitigated", "Just a moment...", 2},
		{"with 200", false, false, http.StatusOK, "X-Iinfo", imperva, 8},
		{"from the first request", true, true, http.StatusForbidden, "Cf-Mitigated", "Just a moment...", 2},
		{"from the first page", false, true, http.StatusOK, "X-Iinfo", imperva, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var walled atomic.Bool
			var asked, walls atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				isRobots := r.URL.Path == "/robots.txt"
				w.Header().Set("Content-Type", "text/html")
				switch {
				case walled.Load() && (c.robots || !isRobots):
					walls.Add(1)
					w.Header().Set(c.mark, "challenge")
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.page))
				case isRobots:
					http.NotFound(w, r)
				default:
					fmt.Fprintf(w, "<title>%s</title>Text of %[1]s", r.URL.Path)
					for i := range pages - 1 {
						fmt.Fprintf(w, "<a href=/%d></a>", i)
					}
				}
			}))
			defer site.Close()
			walled.Store(c.before)
			b := newBench(t, site.URL+"/")
			b.settings.Frontier.Policy, b.settings.Frontier.MaxTemporaryErrors = scheduler.Smartsite, 1
			b.once()
			if want := map[bool]int{false: pages, true: 0}[c.before]; len(b.indexed()) != want {
				t.Fatalf("%d documents, want %d", len(b.indexed()), want)
			}
			b.newOrders()
			walled.Store(true)
			asked.Store(0)
			walls.Store(0)
			if c.robots && !c.before {
				b.ageRobots(site.URL)
			}
			b.with(func(c *Crawl, _ *store.Store) {
				if _, err := c.Refresh(t.Context(), Selection{All: true, Full: true}); err != nil {
					t.Fatal(err)
				}
				if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
					t.Fatal(err)
				}
				s, err := c.Status(t.Context())
				if n := s.Errors["bot_wall"]; err != nil || n != uint64(walls.Load()) {
					t.Errorf("%d walls are counted, want %d (%v)", n, walls.Load(), err)
				}
			})
			if orders := b.newOrders(); len(orders) != 0 {
				t.Errorf("orders %v", orders)
			}
			r, _ := b.record(site.URL + "/")
			if r.Indexed == c.before || r.Reason != scheduler.ReasonBotWall.String() || !strings.Contains(r.LastError,
				"responds in place of the site") {
				t.Errorf("%+v, want that it waits behind the wall", r)
			}
			if n := asked.Load(); n > c.most {
				t.Errorf("%d requests, want %d at most", n, c.most)
			}
			b.verify()
		})
	}
}
