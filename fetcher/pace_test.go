package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestPaceIsAskedForEachPiece: all bytes of a body are charged as they came over
// the wire, in pieces.
func TestPaceIsAskedForEachPiece(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 100_000)
	for _, chunked := range []bool{false, true} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if chunked {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write(body)
		})
		var charged, largest atomic.Int64
		f := newFetcher(t, func(s *Settings) {
			s.Pace = func(_ context.Context, n int) error {
				charged.Add(int64(n))
				largest.Store(max(largest.Load(), int64(n)))
				return nil
			}
		}, addr)
		r, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
		if err != nil || len(r.Body) != len(body) {
			t.Fatalf("chunked %v: %v", chunked, err)
		}
		if charged.Load() != int64(len(body)) || largest.Load() > pacedBytes {
			t.Errorf("chunked %v: %d bytes were charged, at most %d at once; want %d and at most %d", chunked, charged.Load(), largest.Load(), len(body), pacedBytes)
		}
	}
}

// pipes serves one answer after the other over connections in memory, so that a
// test can run by a clock of its own.
func pipes(t *testing.T, f *Fetcher, answer func(net.Conn)) {
	t.Helper()
	f.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			var request [4096]byte
			if _, err := server.Read(request[:]); err == nil {
				answer(server)
			}
		}()
		return client, nil
	}
}

// TestPaceStopsTheClocks: time that passes in Pace counts for no time-out; that of
// the server does.
func TestPaceStopsTheClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := time.Minute
		f := New(Settings{
			IdleTimeout: 10 * time.Second, DownloadTimeout: 20 * time.Second,
			Pace: func(context.Context, int) error { time.Sleep(pace); return nil },
		}, slog.New(slog.DiscardHandler))
		pipes(t, f, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n")
			for range 3 {
				_, _ = io.WriteString(c, "ab")
				time.Sleep(5 * time.Second)
			}
		})
		u := mustURL(t, "http://a.test/")
		if r, err := f.Fetch(t.Context(), Request{URL: u}); err != nil || string(r.Body) != "ababab" {
			t.Errorf("got %v; want the whole body though its bytes were paid for minutes", err)
		}
		pace = time.Millisecond // or the server's pauses pass in ours
		pipes(t, f, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\n")
			for range 50 {
				if _, err := io.WriteString(c, "ab"); err != nil {
					return
				}
				time.Sleep(8 * time.Second)
			}
		})
		_, err := f.Fetch(t.Context(), Request{URL: u})
		if e, ok := errors.AsType[*Error](err); !ok || e.Fault != fault.Timeout || !errors.Is(err, errDownload) {
			t.Errorf("got %v; want the download time-out of a server that is slow itself", err)
		}
		f.Close()
		time.Sleep(time.Minute) // the server sees it
	})
}

// TestPaceEnds: a request that waits in Pace ends with its context.
func TestPaceEnds(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1000)) })
	ctx, cancel := context.WithCancel(t.Context())
	f := newFetcher(t, func(s *Settings) {
		s.Pace = func(ctx context.Context, _ int) error { cancel(); <-ctx.Done(); return ctx.Err() }
	}, addr)
	if _, err := f.Fetch(ctx, Request{URL: mustURL(t, "http://"+addr+"/")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestAddress(t *testing.T) {
	names := zone{"two.test": {"127.0.0.9", "127.0.0.3", "::1"}}
	f := newFetcher(t, func(s *Settings) { s.Resolver = names.resolver() })
	for host, want := range map[string]string{
		"two.test": "127.0.0.3", "127.0.0.7": "127.0.0.7", "[::2]": "::2", "[::ffff:1.2.3.4]": "1.2.3.4",
	} {
		got, err := f.Address(t.Context(), mustURL(t, "http://"+host+":81/x"))
		if err != nil || got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, %v; want %s", host, got, err, want)
		}
	}
	_, err := f.Address(t.Context(), mustURL(t, "http://none.test/"))
	if e, ok := errors.AsType[*Error](err); !ok || e.Fault != fault.DNSNotFound {
		t.Errorf("got %v, want that the host is not found", err)
	}
}
