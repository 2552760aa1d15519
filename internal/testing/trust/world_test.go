package trust

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
)

func TestMain(m *testing.M) {
	// Bleve starts these when the program starts.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// world is the sites of a case, the crawl of them, and the index that it fills.
type world struct {
	t     *testing.T
	trial *trial
	disk  memkv.Engine
	pipe  *testpipe.Listener
	index index
	log   strings.Builder

	store    *store.Store
	settings policy.Settings
	crawl    *crawl.Crawl // the last one, which has ended
}

// index is a target in memory, which refuses some operations.
type index struct {
	refuses   func(url string) (op string)
	mu        sync.Mutex
	documents map[string]bool
	refused   map[string]bool // the last operation
}

// Name implements push.Target.
func (*index) Name() string { return "index" }

// Push implements push.Target.
func (x *index) Push(_ context.Context, entries []push.Entry) (refusals []push.Refusal, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range entries {
		x.refused[e.URL] = x.refuses(e.URL) == e.Op.String()
		switch {
		case x.refused[e.URL]:
			refusals = append(refusals, push.Refusal{Seq: e.Seq, Words: "it is not wanted"})
		case e.Op == push.Delete:
			delete(x.documents, e.URL)
		default:
			x.documents[e.URL] = true
		}
	}
	return refusals, nil
}

// Checkpoint implements push.Target.
func (*index) Checkpoint(context.Context, uint64) error { return nil }

// Close implements push.Target.
func (*index) Close() error { return nil }

// inWorld serves the sites of a case while fn runs.
func inWorld(t *testing.T, c *trial, fn func(w *world)) {
	t.Helper()
	w := &world{t: t, trial: c, pipe: testpipe.Listen(), index: index{documents: map[string]bool{}, refused: map[string]bool{}}}
	w.index.refuses = func(url string) string { return c.Pages[url].Refuses }
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(w.pipe) }()
	defer func() {
		if w.store != nil {
			_ = w.store.Close()
		}
		_ = server.Close()
		<-served
	}()
	fn(w)
}

// words returns the text of pages of this number: no two have much in common.
func words(text int) string {
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, "word%d ", (text*7919+i*(text+3)*31)%5003)
	}
	return b.String()
}

// ServeHTTP implements http.Handler.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	origin := "http://" + r.Host
	if r.URL.Path == "/robots.txt" {
		if text, ok := w.trial.Robots[origin]; ok {
			_, _ = io.WriteString(out, text)
			return
		}
		http.NotFound(out, r)
		return
	}
	p, ok := w.trial.Pages[origin+r.URL.RequestURI()]
	if !ok {
		http.NotFound(out, r)
		return
	}
	if p.Status != 0 {
		if p.To != "" {
			out.Header().Set("Location", p.To)
		}
		out.WriteHeader(p.Status)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	var metas []string
	if p.NoIndex {
		metas = append(metas, "noindex")
	}
	if p.NoFollow {
		metas = append(metas, "nofollow")
	}
	_, _ = fmt.Fprintf(out, "<html><head><title>Page %d</title><meta name=robots content=%q>", p.Text, strings.Join(metas, ","))
	if p.To != "" {
		_, _ = fmt.Fprintf(out, `<meta http-equiv="refresh" content="0; url=%s">`, strings.ReplaceAll(p.To, "&", "&amp;"))
	}
	if p.Canonical != "" {
		_, _ = fmt.Fprintf(out, `<link rel="canonical" href="%s">`, p.Canonical)
	}
	_, _ = fmt.Fprintf(out, "</head><body><p>%s</p>", words(p.Text))
	for _, l := range p.Links {
		rel := ""
		if l.NoFollow {
			rel = ` rel="nofollow"`
		}
		_, _ = fmt.Fprintf(out, `<a href="%s"%s></a>`, strings.ReplaceAll(l.Href, "&", "&amp;"), rel)
	}
}

// load reads a configuration, false if it is refused, which a random one may be.
func (w *world) load(c *configuration) (ok bool, why string) {
	lookups := config.OSLookups()
	lookups.ReadFile = func(path string) ([]byte, error) {
		if text, ok := c.Files[filepath.Base(path)]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	lookups.Exists = func(path string) bool { return c.Files[filepath.Base(path)] != "" }
	lookups.RealPath = func(path string) string { return path }
	file, report := config.Parse("CrawlConfig.xml", []byte(c.XML), lookups)
	if file == nil || len(report.Errors) > 0 {
		return false, fmt.Sprint(report.Errors)
	}
	w.settings = service.Settings(file.Crawlers[0], "test")
	w.settings.Fetcher.Connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return w.pipe.Dial(ctx) }
	return true, ""
}

// run is `sextant run --once` with the settings of now, after a refresh of all if that is
// asked for. The store stays open.
func (w *world) run(refresh bool) error {
	if w.store != nil {
		if err := w.store.Close(); err != nil {
			return err
		}
		w.store = nil
	}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	w.store = teststore.Open(w.t, &w.disk).Store
	relay, err := push.NewRelay(w.store.Outbox(), []push.TargetSettings{{Target: &w.index}}, log)
	if err != nil {
		return err
	}
	c, err := crawl.New(w.t.Context(), w.settings, w.store, relay, log)
	if err != nil {
		return err
	}
	w.crawl = c
	if refresh {
		if _, err := c.Refresh(w.t.Context(), crawl.Selection{All: true, Full: true}); err != nil {
			return err
		}
	}
	return c.Run(w.t.Context(), crawl.Once{Drain: true})
}
