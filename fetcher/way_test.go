package fetcher

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestFetchGoesItsOwnWay: whosever Do a log-in was given, the requests of a Fetch are
// made by its Fetcher: a session may be shared by Fetchers of other proxies and
// certificates.
func TestFetchGoesItsOwnWay(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Key")) })
	u := mustURL(t, "http://"+addr+"/")
	mine := newFetcher(t, func(s *Settings) { s.Header = http.Header{"X-Key": {"mine"}} }, addr)
	others := newFetcher(t, func(s *Settings) { s.Proxy = &Proxy{URL: "http://127.0.0.1:1"} })
	resp, err := mine.Fetch(t.Context(), Request{URL: u, Do: others.Do})
	if err != nil || string(resp.Body) != "mine" {
		t.Errorf("got %+v, %v, want that it goes without the other's proxy", resp, err)
	}
}

// TestDoAddsNoKeys: the header of a Fetcher is for the hosts that it fetches from, not
// for those that a log-in asks.
func TestDoAddsNoKeys(t *testing.T) {
	var got http.Header
	addr := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	f := newFetcher(t, func(s *Settings) { s.Header, s.From = http.Header{"X-Key": {"mine"}}, "me@example.com" }, addr)
	req, err := http.NewRequest(http.MethodGet, "http://"+addr+"/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got.Get("X-Key") != "" || got.Get("From") != "me@example.com" || got.Get("User-Agent") != "Sextant" || got.Get("Accept") == "" {
		t.Errorf("asked with %v", got)
	}
}

// tlsProxy returns a proxy of scheme https, with the same certificate as tlsServer, that
// passes tunnels on to target.
func tlsProxy(t *testing.T, target string) *httptest.Server {
	p := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		join(c, target)
	}))
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.StartTLS()
	t.Cleanup(p.Close)
	return p
}

// TestCutInsideHeaderBehindTLS: a host that dies in its header is cut off, also where
// the proxy on the way speaks TLS.
func TestCutInsideHeaderBehindTLS(t *testing.T) {
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
			_ = c.Close()
		}
	}))
	t.Cleanup(host.Close)
	addr := host.Listener.Addr().String()
	direct := newFetcher(t, func(s *Settings) { s.HTTP1, s.Roots = true, pool(host.Certificate()) }, addr)
	resp, err := direct.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr+"/")})
	wantFault(t, resp, err, fault.Reset)

	proxy := tlsProxy(t, addr)
	f := newFetcher(t, func(s *Settings) {
		s.HTTP1, s.Roots, s.Proxy = true, pool(host.Certificate()), &Proxy{URL: proxy.URL}
	})
	resp, err = f.Fetch(t.Context(), Request{URL: mustURL(t, "https://example.com/")})
	wantFault(t, resp, err, fault.Reset)
}

// TestInsecureIsNoWordOfTheProxy: insecureTLS of a site does not let anybody play the proxy.
func TestInsecureIsNoWordOfTheProxy(t *testing.T) {
	host, addr := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	proxy := tlsProxy(t, addr)
	for _, trusted := range []bool{true, false} {
		f := newFetcher(t, func(s *Settings) {
			s.InsecureTLS, s.Proxy = true, &Proxy{URL: proxy.URL, User: "me", Password: secret.New(proxyWord)}
			if trusted {
				s.Roots = pool(host.Certificate())
			}
		})
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://other.test/")})
		if trusted && (err != nil || string(resp.Body) != "page") {
			t.Errorf("got %+v, %v", resp, err)
		} else if !trusted && err == nil {
			t.Error("a proxy with any certificate got the password")
		}
	}
}
