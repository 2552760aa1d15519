package fetcher

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkFetchAlone is a fetch of 15 KiB from a server that costs next to nothing, so
// that what it allocates is the fetcher's, and beside it the same by net/http alone.
func BenchmarkFetchAlone(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	page := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\nETag: \"x\"\r\nContent-Length: 15360\r\n\r\n" + strings.Repeat("x", 15360))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(line) == 2 {
						if _, err := c.Write(page); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	addr := l.Addr().String()
	b.Run("fetcher", func(b *testing.B) {
		s := DefaultSettings()
		s.Exempt = []string{addr}
		f := New(s, slog.New(slog.DiscardHandler))
		defer f.Close()
		u := mustURL(b, "http://"+addr)
		b.ReportAllocs()
		for b.Loop() {
			r, err := f.Fetch(b.Context(), Request{URL: u, Lend: true})
			if err != nil {
				b.Fatal(err)
			}
			r.Release()
		}
	})
	b.Run("net-http", func(b *testing.B) {
		tr := &http.Transport{DisableCompression: true}
		defer tr.CloseIdleConnections()
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+addr+"/", nil)
			if err != nil {
				b.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			body := make([]byte, resp.ContentLength)
			if _, err := io.ReadFull(resp.Body, body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
}
