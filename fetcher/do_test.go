package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

func TestDo(t *testing.T) {
	body := []byte(strings.Repeat("Some text. ", 1000))
	wire := compressed(t, "gzip", body)
	var got http.Header
	var posted string
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		all, _ := io.ReadAll(r.Body)
		posted = r.Method + " " + string(all)
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
		_, _ = w.Write(wire)
	})
	for _, limit := range []int{0, 100} {
		f := newFetcher(t, func(s *Settings) { s.MaxBodyBytes = int64(limit) }, addr)
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/login", strings.NewReader("a=b"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/plain")
		resp, err := f.Do(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		want := body
		if limit > 0 {
			want = body[:limit]
		}
		if err != nil || resp.StatusCode != 302 || !bytes.Equal(read, want) || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("limit %d: got %d, %d bytes, %v", limit, resp.StatusCode, len(read), err)
		}
		if posted != "POST a=b" || got.Get("Accept") != "text/plain" || got.Get("User-Agent") != "Sextant" {
			t.Errorf("asked %q with %v", posted, got)
		}
		if len(req.Header) != 1 {
			t.Errorf("the caller's header was changed: %v", req.Header)
		}
	}
}

func TestDoFaults(t *testing.T) {
	get := func(f *Fetcher, addr string) error {
		req, err := http.NewRequest(http.MethodGet, "http://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.Do(t.Context(), req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	cut := listen(t, answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"))
	slow := listen(t, func(c net.Conn) {
		if readRequest(c) != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")
			stall(c)
		}
	})
	for _, tt := range []struct {
		addr   string
		exempt bool
		change func(*Settings)
		want   fault.Fault
	}{
		{cut, true, nil, fault.ShortBody},
		{cut, false, nil, fault.Address},
		{slow, true, func(s *Settings) { s.IdleTimeout = short }, fault.Timeout},
		{slow, true, func(s *Settings) { s.DownloadTimeout = short }, fault.Timeout},
	} {
		var exempt []string
		if tt.exempt {
			exempt = []string{tt.addr}
		}
		wantFault(t, nil, get(newFetcher(t, tt.change, exempt...), tt.addr), tt.want)
	}
}

// TestRequestDo: the requests of a log-in go by the Fetch's limits, and the last
// answer counts; what it adds stays with its request.
func TestRequestDo(t *testing.T) {
	var targets []string
	wire := compressed(t, "gzip", []byte("the page, in full"))
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		targets = append(targets, r.RequestURI)
		if r.Header.Get("Authorization") != "let me in" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(wire)
	})
	f := newFetcher(t, nil, addr)
	do := func(ctx context.Context, req *http.Request) (*http.Response, error) {
		if req.URL.Path != "/a|b" {
			t.Errorf("path %q", req.URL.Path)
		}
		resp, err := f.Do(ctx, req)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		req.Header.Set("Authorization", "let me in")
		return f.Do(ctx, req)
	}
	u := mustURL(t, "http://"+addr+"/a|b?q=|")
	resp, err := f.Fetch(t.Context(), Request{URL: u, Do: do, MaxBodyBytes: 8})
	if err != nil || resp.Status != 200 || string(resp.Body) != "the page" || !resp.Truncated || !resp.Address.IsLoopback() {
		t.Errorf("got %+v, %v", resp, err)
	}
	if len(targets) != 2 || targets[1] != "/a|b?q=|" {
		t.Errorf("asked for %q", targets)
	}
	if resp, err := f.Fetch(t.Context(), Request{URL: u}); err != nil || resp.Status != 401 {
		t.Errorf("without Do: got %+v, %v; want nothing left of the log-in", resp, err)
	}
	resp, err = newFetcher(t, nil).Fetch(t.Context(), Request{URL: u, Do: newFetcher(t, nil).Do})
	wantFault(t, resp, err, fault.Address)
	if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Err.Error(), addr+"/") {
		t.Errorf("an error inside an error: %v", err)
	}
}
