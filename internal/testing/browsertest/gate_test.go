package browsertest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gate is the only way of the browser to anything: a proxy that lets requests to the
// services of the tests through, and notes all others.
type gate struct {
	server *httptest.Server

	mu      sync.Mutex
	allowed map[string]bool // HOST:PORT
	passed  int
	refused []string
}

func openGate() *gate {
	g := &gate{allowed: map[string]bool{}}
	quiet := log.New(io.Discard, "", 0) // a page that is left breaks its requests off
	forward := &httputil.ReverseProxy{ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = r.In.URL.RawQuery }}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.judge(r) {
			http.Error(w, "this is not the service", http.StatusForbidden)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	return g
}

func (g *gate) url() string { return g.server.URL }
func (g *gate) close()      { g.server.Close() }

func (g *gate) allow(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed[host] = true
}

func (g *gate) judge(r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method != http.MethodConnect && g.allowed[r.URL.Host] {
		g.passed++
		return true
	}
	if !browsersOwn(r.URL.Hostname()) {
		g.refused = append(g.refused, fmt.Sprintf("%s %s", r.Method, r.URL))
	}
	return false
}

// browsersOwn reports whether Chromium asks there on its own account: for its updates, the time
// and its user, whatever its flags say. It is refused, too. If a page asked there, its tab
// would note it.
func browsersOwn(host string) bool {
	for _, domain := range []string{".google.com", ".googleapis.com", ".gvt1.com", ".gstatic.com"} {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

// count returns how many requests were let through; strange are those of pages that were not.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed
}

func (g *gate) strange() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refused)
}

// TestGateNotesOtherAddresses: a page that asks for something elsewhere is noticed, by
// the gate and by the tab.
func TestGateNotesOtherAddresses(t *testing.T) {
	needsBrowser(t)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><title>x</title><link rel="icon" href="data:,"><img alt="" src="http://elsewhere.example/pixel.png"><script>console.error("told"); nowhere()</script>`)
	}))
	defer own.Close()
	tab := newTab(t, own.URL)
	tab.expected = true // of its faults
	tab.open("/")
	if faults := tab.faults(); len(faults) < 4 {
		t.Errorf("an image from elsewhere, its failure, an error on the console and an exception make four faults, found %q", faults)
	}
	g, want := outside, "GET http://elsewhere.example/pixel.png"
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.refused, want)
	if i < 0 {
		t.Fatalf("the gate did not note %q: %q", want, g.refused)
	}
	g.refused = slices.Delete(g.refused, i, i+1)
}
