package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
)

// Hosts of a world: addresses, since nobody looks names up there (RFC 5737).
const (
	hostA = "http://192.0.2.1"
	hostB = "http://192.0.2.2"
	hostC = "http://192.0.2.3"
)

// world is some hosts, the crawl of them as a service, and an index, all in a bubble of
// virtual time. The service may be ended and begun again.
type world struct {
	t        *testing.T
	disk     memkv.Engine
	settings policy.Settings
	target   *memoryTarget
	targets  func() []push.TargetSettings // nil: target has all
	logged   testlog.Buffer

	mu     sync.Mutex
	pages  map[string]answered // by URL; others are 404
	visits []string

	store *store.Store
	wrap  func(Store) Store // what the crawl has of it; nil: all
	crawl *Crawl
	ended chan error
}

// answered is what a page answers, 200 if it has no status.
type answered struct {
	status int
	to     string // Location
	kind   string // Content-Type; text/html if it has none
	after  string // Retry-After
	body   string
}

// inWorld runs fn in a bubble, with a world whose settings have these roots, with their sites.
func inWorld(t *testing.T, fn func(t *testing.T, w *world), roots ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, pages: map[string]answered{}, target: &memoryTarget{documents: map[string]push.Document{}}}
		w.settings = policy.Settings{Name: "test", Workers: 2, RobotsAgent: "Sextant", MaxRedirects: 10, Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings()}
		w.settings.Frontier.Aggressive = true
		w.settings.Rules.DefaultFollowRoots = true
		w.roots(roots...)
		listener := testpipe.Listen()
		server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
		w.settings.Fetcher.Connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return listener.Dial(ctx) }
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		defer func() {
			w.abandon()
			_ = server.Close()
			<-served
		}()
		fn(t, w)
	})
}

// skipShortDays skips a test in which days go by: they cost the race detector much, and show it nothing that other
// tests of the same service do not.
func skipShortDays(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("days go by, and nothing runs at once that does not elsewhere")
	}
}

// roots puts others into the settings.
func (w *world) roots(urls ...string) {
	w.t.Helper()
	w.settings.Rules.Roots = nil
	for _, u := range urls {
		w.settings.Rules.Roots = append(w.settings.Rules.Roots, actionrules.Root{URL: parse(w.t, u), Site: true, Group: "default"})
	}
}

// ServeHTTP implements http.Handler. Pages have an ETag, so that unchanged ones cost a 304.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host + r.URL.RequestURI()
	w.mu.Lock()
	page, ok := w.pages[url]
	if r.URL.Path != "/robots.txt" {
		w.visits = append(w.visits, url)
	}
	w.mu.Unlock()
	if !ok {
		http.NotFound(out, r)
		return
	}
	if r.Method == http.MethodPost {
		_, _ = io.Copy(out, r.Body)
		return
	}
	if page.to != "" {
		out.Header().Set("Location", page.to)
	}
	if page.after != "" {
		out.Header().Set("Retry-After", page.after)
	}
	if page.status != 0 && page.status != http.StatusOK {
		out.WriteHeader(page.status)
		return
	}
	tag := fmt.Sprintf("%q", fmt.Sprint(len(page.body), strings.Count(page.body, "e")))
	out.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	out.Header().Set("Content-Type", cmp.Or(page.kind, "text/html"))
	_, _ = io.WriteString(out, page.body)
}

// page puts a page with links in.
func (w *world) page(url string, links ...string) {
	body := "<html><head><title>" + url + "</title></head><body><p>This is the page at " + url
	for _, l := range links {
		body += ` <a href="` + l + `">a link</a>`
	}
	w.set(url, answered{body: body})
}

func (w *world) set(url string, a answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[url] = a
}

// site puts a home page with n pages below it in, and returns their URLs in order. What a page says it says at each
// origin.
func (w *world) site(origin string, n int) []string {
	urls := []string{origin + "/"}
	var links []string
	for i := range n {
		path := fmt.Sprintf("/p%03d.html", i)
		links = append(links, path)
		urls = append(urls, origin+path)
		w.set(origin+path, answered{body: prose(uint64(i), 40, "This is the page at "+path)}) //nolint:gosec // small
	}
	w.page(origin+"/", links...)
	return urls
}

// hits counts how often a URL was asked for.
func (w *world) hits(url string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.visits {
		if v == url {
			n++
		}
	}
	return n
}

// begin has the service run.
func (w *world) begin() {
	w.t.Helper()
	w.open()
	w.run(Once{})
}

// run has the service run that is open.
func (w *world) run(once Once) {
	w.ended = make(chan error, 1)
	go func(ended chan error) { ended <- w.crawl.Run(w.t.Context(), once) }(w.ended)
	synctest.Wait()
}

func (w *world) open() {
	w.t.Helper()
	w.store = teststore.Open(w.t, &w.disk).Store
	log := slog.New(slog.NewTextHandler(&w.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	targets := []push.TargetSettings{{Target: w.target}}
	if w.targets != nil {
		targets = w.targets()
	}
	relay, err := push.NewRelay(w.store.Outbox(), targets, log)
	if err != nil {
		w.t.Fatal(err)
	}
	var store Store = w.store
	if w.wrap != nil {
		store = w.wrap(store)
	}
	if w.crawl, err = New(w.t.Context(), w.settings, store, relay, log); err != nil {
		w.t.Fatal(err)
	}
}

// end stops the service and proves its store.
func (w *world) end() {
	w.t.Helper()
	w.crawl.Stop()
	if err := <-w.ended; err != nil && !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
	w.ended = nil
	w.close()
}

func (w *world) close() {
	w.t.Helper()
	if _, err := w.store.Verify(w.t.Context(), func(f store.Fault) { w.t.Errorf("verify: %+v", f) }); err != nil {
		w.t.Error(err)
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.store = nil
}

// restart ends the service and begins it again, with the settings of now.
func (w *world) restart() {
	w.t.Helper()
	w.end()
	w.begin()
}

// once is one `sextant run --once`; it gives what the crawl says of its roots.
func (w *world) once() (rootsFailed error) {
	w.t.Helper()
	w.open()
	if err := w.crawl.Run(w.t.Context(), Once{Drain: true}); err != nil {
		w.t.Error(err)
	}
	rootsFailed = w.crawl.RootsFailed(w.t.Context())
	w.close()
	return rootsFailed
}

// abandon ends what a test that failed has left.
func (w *world) abandon() {
	if w.store == nil {
		return
	}
	if w.ended != nil {
		w.crawl.Stop()
		if err := <-w.ended; err != nil {
			w.t.Log(err)
		}
	}
	_ = w.store.Close()
}

// reload puts the settings of now in force.
func (w *world) reload() {
	w.t.Helper()
	if err := w.crawl.Reload(w.t.Context(), w.settings); err != nil {
		w.t.Fatal(err)
	}
}

// quiet waits until nothing is to be judged, fetched or pushed now.
func (w *world) quiet() {
	w.t.Helper()
	for range 10_000 {
		time.Sleep(5 * time.Second)
		s := w.status()
		n := uint64(s.InFlight) + s.Outbox.Waiting
		for _, waiting := range s.Pending {
			n += waiting
		}
		if n == 0 && (s.Rules == nil || !s.Rules.Running) {
			return
		}
	}
	w.t.Fatalf("the crawl does not come to rest: %+v", w.status())
}

func (w *world) status() Status {
	w.t.Helper()
	s, err := w.crawl.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) refresh(s Selection) Refreshed {
	w.t.Helper()
	done, err := w.crawl.Refresh(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	w.quiet()
	return done
}

// record is what is stored of a URL.
func (w *world) record(url string) *scheduler.Record {
	w.t.Helper()
	r, err := scheduler.Find(w.t.Context(), w.store, parse(w.t, url).Key())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// index are the URLs of the documents that the indexer has.
func (w *world) index() []string {
	w.target.mu.Lock()
	defer w.target.mu.Unlock()
	return slices.Sorted(maps.Keys(w.target.documents))
}

// of are those of URLs that lie on a host.
func of(host string, urls []string) (on []string) {
	for _, u := range urls {
		if strings.HasPrefix(u, host+"/") {
			on = append(on, u)
		}
	}
	return on
}
