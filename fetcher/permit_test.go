package fetcher

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/weburl"
)

// asks returns the ways to make a request.
func asks(f *Fetcher, address string) map[string]func(context.Context) error {
	u, err := weburl.Parse(address)
	if err != nil {
		panic(err)
	}
	return map[string]func(context.Context) error{
		"Fetch": func(ctx context.Context) error {
			_, err := f.Fetch(ctx, Request{URL: u})
			return err
		},
		"Fetch by its own Do": func(ctx context.Context) error {
			_, err := f.Fetch(ctx, Request{URL: u, Do: f.Do})
			return err
		},
		"Do": func(ctx context.Context) error {
			req, err := http.NewRequest(http.MethodGet, address, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := f.Do(ctx, req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				err = errors.Join(err, resp.Body.Close())
			}
			return err
		},
	}
}

// TestNothingIsAskedWithoutPermit: whether the context says so already or its timer has not fired yet, over a
// new connection or one that was kept.
func TestNothingIsAskedWithoutPermit(t *testing.T) { onBoth(t, testNothingIsAskedWithoutPermit) }

func testNothingIsAskedWithoutPermit(t *testing.T, newFetcher maker) {
	var asked atomic.Int32
	addr := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for name, kept := range map[string]bool{"new": false, "kept": true} {
		for way := range asks(nil, "http://h/") {
			t.Run(name+" "+way, func(t *testing.T) {
				p := testpermit.New()
				f := newFetcher(t, func(s *Settings) { s.Permit = p }, addr)
				ask := asks(f, "http://"+addr+"/")[way]
				if kept {
					if err := ask(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				before := asked.Load()
				p.Expire()
				var failed *Error
				if err := ask(t.Context()); err == nil || errors.As(err, &failed) {
					t.Errorf("without a permit: %v, want an error that tells nothing of the site", err)
				}
				p.Take()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := ask(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("a stop while it waits for a permit: %v", err)
				}
				if n := asked.Load() - before; n > 0 {
					t.Errorf("the site was asked %d times without a permit", n)
				}
				p.Give()
				if err := ask(t.Context()); err != nil || asked.Load() != before+1 {
					t.Errorf("with the permit again: %v, asked %d times", err, asked.Load()-before)
				}
			})
		}
	}
}

// TestPermitEndsWhileConnecting: a process that is stopped while it connects sends nothing when it goes on.
func TestPermitEndsWhileConnecting(t *testing.T) { onBoth(t, testPermitEndsWhileConnecting) }

func testPermitEndsWhileConnecting(t *testing.T, newFetcher maker) {
	var asked atomic.Int32
	addr := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for way := range asks(nil, "http://h/") {
		p := testpermit.New()
		f := newFetcher(t, func(s *Settings) {
			s.Permit = p
			s.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
				p.Expire()
				return conn, err
			}
		}, addr)
		if err := asks(f, "http://"+addr+"/")[way](t.Context()); err == nil {
			t.Errorf("%s: an answer", way)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the site was asked %d times", n)
	}
}

// TestPermitEndsBeforeTheWrite: a process that is stopped when it has its connection, and has not written yet, writes
// nothing when it goes on.
func TestPermitEndsBeforeTheWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, newFetcher maker) {
		var asked atomic.Int32
		told := false
		addr := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		for way := range asks(nil, "http://h/") {
			p := testpermit.New()
			f := newFetcher(t, func(s *Settings) { s.Permit = p }, addr)
			ask := asks(f, "http://"+addr+"/")[way]
			for _, kept := range []bool{false, true} {
				if kept {
					if p.Give(); ask(t.Context()) != nil {
						t.Fatalf("%s: no answer with a permit", way)
					}
				}
				before, got := asked.Load(), false
				err := ask(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
					got = true
					p.Expire()
				}}))
				if n := asked.Load() - before; got && (err == nil || n > 0) { // a client of our own tells nobody
					t.Errorf("%s, kept %v: %v, asked %d times", way, kept, err, n)
				}
				told = told || got
			}
		}
		if !told {
			t.Error("no request told that it had a connection")
		}
	})
}

// TestPermitCutsRequests: what is under way ends with the permit, before the answer or in its body.
func TestPermitCutsRequests(t *testing.T) { onBoth(t, testPermitCutsRequests) }

func testPermitCutsRequests(t *testing.T, newFetcher maker) {
	var reached, cut chan struct{}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "begins")
			_ = http.NewResponseController(w).Flush()
		}
		close(reached)
		<-r.Context().Done()
		close(cut)
	})
	for _, path := range []string{"/", "/body"} {
		for way := range asks(nil, "http://h/") {
			reached, cut = make(chan struct{}), make(chan struct{})
			p := testpermit.New()
			f := newFetcher(t, func(s *Settings) { s.Permit = p }, addr)
			ended := make(chan error, 1)
			go func() { ended <- asks(f, "http://"+addr+path)[way](t.Context()) }()
			<-reached
			p.Take()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %s: %v, want the end of its context", way, path, err)
			}
			<-cut
		}
	}
}

// TestNothingIsAskedOverTLSWithoutPermit: that goes by another client, over HTTP/2 and HTTP/1.
func TestNothingIsAskedOverTLSWithoutPermit(t *testing.T) {
	for _, http1 := range []bool{false, true} {
		var asked atomic.Int32
		site := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		site.EnableHTTP2 = true
		site.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		site.StartTLS()
		defer site.Close()
		for way := range asks(nil, "https://h/") {
			p := testpermit.New()
			var connecting atomic.Bool
			f := newFetcher(t, func(s *Settings) {
				s.Permit, s.InsecureTLS, s.HTTP1 = p, true, http1
				s.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
					if connecting.Load() {
						p.Expire()
					}
					return conn, err
				}
			}, site.Listener.Addr().String())
			ask := asks(f, site.URL+"/")[way]
			connecting.Store(true)
			if err := ask(t.Context()); err == nil || asked.Load() > 0 {
				t.Errorf("%s, HTTP/1 %v: %v, asked %d times while it connected without a permit", way, http1, err, asked.Load())
			}
			connecting.Store(false)
			p.Give()
			if err := ask(t.Context()); err != nil || asked.Swap(0) != 1 {
				t.Errorf("%s, HTTP/1 %v: with the permit: %v", way, http1, err)
			}
			p.Expire() // the connection is kept
			if err := ask(t.Context()); err == nil || asked.Load() > 0 {
				t.Errorf("%s, HTTP/1 %v: %v, asked %d times without a permit", way, http1, err, asked.Load())
			}
		}
	}
}
