package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestCrawlsShareWorkers has three Crawls with four workers each share two slots, one of
// them without work: never are more than two requests made at once, sometimes two are,
// and all that have work end.
func TestCrawlsShareWorkers(t *testing.T) {
	var now, most atomic.Int32
	met := make(chan struct{}) // two requests
	meet := sync.OnceFunc(func() { close(met) })
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 2 {
			meet()
		}
		<-met
		if r.URL.Path == "/" {
			for i := range 40 {
				fmt.Fprintf(w, "<a href=/%d>x</a>", i)
			}
		}
	}))
	defer site.Close()
	slots := NewSlots(2)
	var mu sync.Mutex
	pages := map[int]int64{}
	idleStops := make(chan func(), 1)
	crawl := func(i int, roots ...string) {
		newBench(t, roots...).with(func(c *Crawl, _ *store.Store) {
			c.ShareWorkers(slots)
			once := Once{Drain: true}
			if len(roots) == 0 {
				once = Once{}
				idleStops <- c.Stop
			}
			if err := c.Run(t.Context(), once); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			pages[i] = c.meter.Totals().Pages
		})
	}
	var idle, busy errgroup.Group
	idle.Go(func() error { crawl(0); return nil })
	stop := <-idleStops
	busy.Go(func() error { crawl(1, site.URL); return nil })
	busy.Go(func() error { crawl(2, site.URL+"/?2"); return nil })
	_ = busy.Wait()
	stop()
	_ = idle.Wait()
	if diff := cmp.Diff(map[int]int64{0: 0, 1: 41, 2: 42}, pages); diff != "" && pages[1] < 41 {
		t.Errorf("pages of each (-want +got):\n%s", diff)
	}
	if pages[2] == 0 || most.Load() != 2 {
		t.Errorf("%v pages, at most %d requests at once instead of 2", pages, most.Load())
	}
	if slots.free != 2 {
		t.Errorf("%d slots are free at the end", slots.free)
	}
}

// hungStore answers no proof of life once it hangs.
type hungStore struct {
	Store
	hangs atomic.Bool
	asked chan struct{}
}

func (h *hungStore) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	if name != scheduler.CrawlValue(aliveName) || !h.hangs.Load() {
		return h.Store.SetValue(ctx, name, value)
	}
	close(h.asked)
	<-ctx.Done()
	return ctx.Err()
}

// TestAlive: a crawl is alive while it runs, also without work or paused; not before, and
// not when its store hangs.
func TestAlive(t *testing.T) {
	newBench(t).with(func(c *Crawl, store *store.Store) {
		hung := &hungStore{Store: store, asked: make(chan struct{})}
		c.store = hung // while nobody uses it
		early, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Alive(early); err == nil || !strings.Contains(err.Error(), "frontier") {
			t.Errorf("before it runs: %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), Once{}) }()
		if err := c.Alive(t.Context()); err != nil {
			t.Errorf("without work: %v", err)
		}
		if err := errors.Join(c.Pause(t.Context()), c.Alive(t.Context())); err != nil {
			t.Errorf("paused: %v", err)
		}
		hung.hangs.Store(true)
		proof, cancel := context.WithCancel(t.Context())
		go func() { <-hung.asked; cancel() }()
		if err := c.Alive(proof); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "store") {
			t.Errorf("with a store that hangs: %v", err)
		}
		c.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestCrawlLogOfCrawl crawls a site twice, which changes meanwhile.
func TestCrawlLogOfCrawl(t *testing.T) {
	var later atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			for _, name := range []string{"same", "changes", "goes", "noindex", "moves", "fails", "missing"} {
				fmt.Fprintf(w, "<a href=/%s>x</a>", name)
			}
		case "/same":
			fmt.Fprint(w, "same")
		case "/changes":
			fmt.Fprint(w, "changes ", later.Load())
		case "/noindex":
			fmt.Fprint(w, "<meta name=robots content=noindex>")
		case "/moves":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		case "/fails":
			http.Error(w, "no", http.StatusRequestTimeout)
		case "/goes":
			if !later.Load() {
				fmt.Fprint(w, "here")
				return
			}
			http.NotFound(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	b := newBench(t, site.URL)
	path := filepath.Join(t.TempDir(), "crawl.log")
	b.settings.CrawlLog = path
	b.once()
	first := logged(t, path, site.URL)
	root, none := site.URL+"/", "-"
	if diff := cmp.Diff([]string{
		"added 200 OK /" + " - " + none,
		"added 200 OK /changes " + root + " " + none,
		"added 200 OK /goes " + root + " " + none,
		"added 200 OK /same " + root + " " + none,
		"none 200 OK /noindex " + root + " [noindex]",
		"permanent 404 Not Found /missing " + root + " " + none,
		"redirect 301 Moved Permanently /moves " + root + " [to " + site.URL + "/]",
		"temporary 408 Request Timeout /fails " + root + " " + none,
	}, first); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	later.Store(true)
	b.once(site.URL+"/same", site.URL+"/changes", site.URL+"/goes")
	var second []string
	for _, line := range logged(t, path, site.URL) {
		if !slices.Contains(first, line) {
			second = append(second, line)
		}
	}
	if diff := cmp.Diff([]string{
		"deleted 404 Not Found /goes " + root + " " + none,
		"unchanged 200 OK /same " + root + " " + none,
		"updated 200 OK /changes " + root + " " + none,
	}, second); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
}

// logged are the lines but for date and site, sorted.
func logged(t *testing.T, path, site string) []string {
	t.Helper()
	content := testdir.Read(t, path)
	var lines []string
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		fields[4] = strings.TrimPrefix(fields[4], site)
		lines = append(lines, strings.Join(fields[1:], " "))
	}
	slices.Sort(lines)
	return lines
}
