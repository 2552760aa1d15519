package render_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chromium returns the command of the browser; a test that needs one must not be short.
func chromium(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	path := testneed.Browser(t)
	if os.Getuid() == 0 { // its sandbox does not work for root
		return []string{path, "--no-sandbox"}
	}
	return []string{path}
}

// renderer runs one until the test ends.
func renderer(t testing.TB, s render.Settings) *render.Renderer {
	t.Helper()
	if s.Command == nil {
		s.Command = chromium(t)
	}
	if s.Timeout == 0 {
		s.Timeout = 10 * time.Minute // generous: it is no measurement
	}
	r := render.New(s, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return r
}

// site answers requests without a network, and notes them.
type site struct {
	handler http.Handler

	mu    sync.Mutex
	asked []string // method, host, path and query
}

func newSite(pages map[string]string) *site {
	return &site{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.RequestURI()]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case strings.HasPrefix(r.URL.Path, "/api/"):
			w.Header().Set("Content-Type", "application/json")
		case strings.HasSuffix(r.URL.Path, ".css"):
			w.Header().Set("Content-Type", "text/css")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		_, _ = w.Write([]byte(body))
	})}
}

func (s *site) answer(ctx context.Context, method, raw string, header http.Header) (render.Answer, error) {
	r := httptest.NewRequestWithContext(ctx, method, raw, http.NoBody)
	r.Header = header
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return render.Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, nil
}

// fetch notes what a page asks for.
func (s *site) fetch(ctx context.Context, r render.Request) (render.Answer, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return render.Answer{}, err
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+u.Host+u.RequestURI())
	s.mu.Unlock()
	return s.answer(ctx, r.Method, r.URL, r.Header)
}

// seen returns what was asked for, sorted.
func (s *site) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.asked)
	slices.Sort(out)
	return out
}

// page is one of the site with its answer.
func (s *site) page(t testing.TB, raw string) render.Page {
	t.Helper()
	a, err := s.answer(t.Context(), http.MethodGet, raw, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	return render.Page{URL: raw, Status: a.Status, Header: a.Header, Body: a.Body, Fetch: s.fetch}
}

// waiting is p with an element that is waited for, so that a slow machine changes nothing.
func waiting(p render.Page, selector string) render.Page {
	p.Selector = selector
	return p
}

// must renders a page.
func must(t testing.TB, r *render.Renderer, p render.Page) render.Rendered {
	t.Helper()
	out, err := r.Render(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", p.URL, err)
	}
	return out
}

func wantIn(t testing.TB, html []byte, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(string(html), want) {
			t.Errorf("%q is not in %s", want, html)
		}
	}
}
