package fetcher

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// serve starts an HTTP server and gives its "host:port".
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestFetch(t *testing.T) { onBoth(t, testFetch) }

func testFetch(t *testing.T, newFetcher maker) {
	var got *http.Request
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Etag", `"v1"`)
		_, _ = io.WriteString(w, "hello")
	})
	f := newFetcher(t, func(s *Settings) {
		s.UserAgent = UserAgent("1.0", "https://example.com/bot")
		s.From = "crawl@example.com"
		s.Header = http.Header{"X-Extra": {"1", "2"}, "User-Agent": {"not this"}}
	}, addr)
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://user:secret@"+addr+"/a%20b//c%2Fd?q=%7B%7d|[]#part")})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != 200 || string(resp.Body) != "hello" || resp.Truncated || resp.Conditional || resp.HasRetryAfter {
		t.Errorf("got %+v", resp)
	}
	if resp.Header.Get("Etag") != `"v1"` || resp.Address != netip.MustParseAddr("127.0.0.1") || resp.Duration <= 0 {
		t.Errorf("got header %v, address %v, duration %v", resp.Header, resp.Address, resp.Duration)
	}
	want := http.Header{
		"User-Agent":      {"Sextant/1.0 (+https://example.com/bot)"},
		"From":            {"crawl@example.com"},
		"Accept":          {DefaultSettings().Accept},
		"Accept-Encoding": {"gzip, deflate, br, zstd"},
		"X-Extra":         {"1", "2"},
	}
	if d := cmp.Diff(want, got.Header); d != "" {
		t.Errorf("header sent (-want +got):\n%s", d)
	}
	if got.RequestURI != "/a%20b//c%2Fd?q=%7B%7D|[]" || got.Host != addr {
		t.Errorf("asked %q for %q", got.Host, got.RequestURI)
	}
}

// A URL goes out byte by byte as it is written, whatever net/url thinks of it.
func TestRequestTarget(t *testing.T) { onBoth(t, testRequestTarget) }

func testRequestTarget(t *testing.T, newFetcher maker) {
	var got, host string
	addr := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, host = r.RequestURI, r.Host })
	f := newFetcher(t, nil, addr)
	for _, target := range []string{"/", "/?q", "//a/b?c", "//evil.test/x", "/a|b", "/a;b=c?d=e&f", "/%E3%83%84/%2F", "/a'b(c)!*"} {
		if _, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+target)}); err != nil {
			t.Fatal(err)
		}
		if got != target || host != addr {
			t.Errorf("asked %q for %q, want %q", host, got, target)
		}
	}
	if _, err := f.Fetch(t.Context(), Request{}); err == nil {
		t.Error("no URL: no error")
	}
}

func TestConditionalGet(t *testing.T) { onBoth(t, testConditionalGet) }

func testConditionalGet(t *testing.T, newFetcher maker) {
	var header http.Header
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
		}
	})
	f := newFetcher(t, nil, addr)
	u := mustURL(t, "http://"+addr)
	const date = "Sun, 06 Nov 1994 08:49:37 GMT"
	tests := []struct {
		request        Request
		match, since   string
		status         int
		wasConditional bool
	}{
		{Request{URL: u}, "", "", 200, false},
		{Request{URL: u, ETag: `"v1"`, LastModified: date}, `"v1"`, date, 304, true},
		{Request{URL: u, LastModified: date}, "", date, 200, true},
		{Request{URL: u, ETag: "bad\nvalue", LastModified: "\x7f"}, "", "", 200, false},
		{Request{URL: u}, "", "", 200, false}, // nothing stays from the ones before
	}
	for _, tt := range tests {
		resp, err := f.Fetch(t.Context(), tt.request)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status != tt.status || resp.Conditional != tt.wasConditional || len(resp.Body) != 0 ||
			header.Get("If-None-Match") != tt.match || header.Get("If-Modified-Since") != tt.since {
			t.Errorf("%+v: got %+v, sent %v", tt.request, resp, header)
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) { onBoth(t, testNoRedirectIsFollowed) }

func testNoRedirectIsFollowed(t *testing.T, newFetcher maker) {
	asked := 0
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
	if err != nil || resp.Status != 302 || resp.Header.Get("Location") != "/next" || asked != 1 {
		t.Fatalf("got %+v, %v, asked %d times", resp, err, asked)
	}
}

func compressed(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip", "GZIP":
		w, err = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	case "deflate":
		w, err = zlib.NewWriterLevel(&b, zlib.BestSpeed)
	case "raw":
		w, err = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	default:
		return body
	}
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentCodings(t *testing.T) { onBoth(t, testContentCodings) }

func testContentCodings(t *testing.T, newFetcher maker) {
	body := []byte(strings.Repeat("Some text that can be compressed. ", 3000))
	one := func(c string) []byte { return compressed(t, c, body) }
	tests := []struct {
		name, coding string
		wire         []byte
		want         []byte
	}{
		{"none", "", body, body},
		{"identity", "identity", body, body},
		{"gzip", "gzip", one("gzip"), body},
		{"old name", "x-gzip", one("gzip"), body},
		{"upper case", "GZIP", one("gzip"), body},
		{"gzip members", "gzip", append(one("gzip"), one("gzip")...), append(bytes.Clone(body), body...)},
		{"gzip with garbage behind", "gzip", append(one("gzip"), "\r\n"...), body},
		{"deflate", "deflate", one("deflate"), body},
		{"raw deflate", "deflate", one("raw"), body},
		{"br", "br", one("br"), body},
		{"zstd", "zstd", one("zstd"), body},
		{"two", "gzip, br", compressed(t, "br", one("gzip")), body},
		{"nothing", "gzip", nil, nil},
	}
	for _, tt := range tests {
		for _, length := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, length %v", tt.name, length), func(t *testing.T) {
				addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Encoding", tt.coding)
					if !length {
						w.(http.Flusher).Flush()
					}
					_, _ = w.Write(tt.wire)
				})
				f := newFetcher(t, nil, addr)
				for range 2 { // the second time with used decoders
					resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(resp.Body, tt.want) || resp.Truncated {
						t.Fatalf("got %d bytes, truncated %v, want %d bytes", len(resp.Body), resp.Truncated, len(tt.want))
					}
				}
			})
		}
	}
}

func TestDamagedCodings(t *testing.T) { onBoth(t, testDamagedCodings) }

func testDamagedCodings(t *testing.T, newFetcher maker) {
	body := []byte(strings.Repeat("Some text that can be compressed. ", 3000))
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		whole := compressed(t, coding, body)
		corrupt := bytes.Repeat([]byte{0xff}, len(whole))
		for name, tt := range map[string]struct {
			wire []byte
			want fault.Fault
		}{
			"truncated": {whole[:len(whole)/2], fault.ShortBody},
			"stub":      {whole[:1], fault.ShortBody},
			"corrupt":   {corrupt, fault.Protocol},
		} {
			t.Run(coding+" "+name, func(t *testing.T) {
				addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Encoding", coding)
					_, _ = w.Write(tt.wire)
				})
				resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
				wantFault(t, resp, err, tt.want)
			})
		}
	}
}

func TestBodyLimit(t *testing.T) { onBoth(t, testBodyLimit) }

func testBodyLimit(t *testing.T, newFetcher maker) {
	const limit = 1000
	for _, size := range []int{0, 1, limit - 1, limit, limit + 1, 10 * limit, 3 << 20} {
		for _, coding := range []string{"", "gzip", "br", "zstd"} {
			body := bytes.Repeat([]byte("x"), size)
			wire := compressed(t, coding, body)
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write(wire)
			})
			f := newFetcher(t, func(s *Settings) { s.MaxBodyBytes = limit }, addr)
			for _, own := range []int64{0, 10, 5 << 20} {
				want := limit
				if own > 0 {
					want = int(own)
				}
				resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr), MaxBodyBytes: own})
				if err != nil {
					t.Fatal(err)
				}
				if len(resp.Body) != min(size, want) || resp.Truncated != (size > want) {
					t.Errorf("%q, %d bytes, limit %d: got %d bytes, truncated %v", coding, size, want, len(resp.Body), resp.Truncated)
				}
			}
		}
	}
}

// A bomb is cut at the limit and costs memory of the limit's order, not of its own.
func TestBomb(t *testing.T) { onBoth(t, testBomb) }

func testBomb(t *testing.T, newFetcher maker) {
	const limit = 1 << 20
	size := 64 << 20
	if testing.Short() {
		size = 32 << 20 // above what may be allocated all the same
	}
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			wire := compressed(t, coding, make([]byte, size))
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write(wire)
			})
			f := newFetcher(t, func(s *Settings) { s.MaxBodyBytes = limit }, addr)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
			runtime.ReadMemStats(&after)
			if err != nil || len(resp.Body) != limit || !resp.Truncated {
				t.Fatalf("got %+v, %v", resp, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 2*limit+(24<<20) {
				t.Errorf("%d MiB allocated for a limit of %d MiB", got>>20, limit>>20)
			}
		})
	}
}

// Members without content would keep a decoder busy without reaching the limit.
func TestEndlessEmptyMembers(t *testing.T) { onBoth(t, testEndlessEmptyMembers) }

func testEndlessEmptyMembers(t *testing.T, newFetcher maker) {
	addr := listen(t, endlessly("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", string(compressed(t, "gzip", nil))))
	f := newFetcher(t, func(s *Settings) { s.DownloadTimeout = 2 * short }, addr)
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
	wantFault(t, resp, err, fault.Timeout)
}

func TestEndlessBodyIsCut(t *testing.T) { onBoth(t, testEndlessBodyIsCut) }

func testEndlessBodyIsCut(t *testing.T, newFetcher maker) {
	addr := listen(t, endlessly("HTTP/1.1 200 OK\r\n\r\n", "more "))
	resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
	if err != nil || int64(len(resp.Body)) != DefaultSettings().MaxBodyBytes || !resp.Truncated {
		t.Fatalf("got %d bytes, %v", len(resp.Body), err)
	}
}

// Bodies belong to their responses: a later fetch does not write into them.
func TestBodiesAreOwned(t *testing.T) { onBoth(t, testBodiesAreOwned) }

func testBodiesAreOwned(t *testing.T, newFetcher maker) {
	n := 0
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.(http.Flusher).Flush()
		_, _ = w.Write(bytes.Repeat([]byte{byte('0' + n)}, 5000))
	})
	f := newFetcher(t, nil, addr)
	var bodies [][]byte
	for range 3 {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, resp.Body)
	}
	for i, b := range bodies {
		if !bytes.Equal(b, bytes.Repeat([]byte{byte('1' + i)}, 5000)) {
			t.Errorf("body %d was overwritten: %.20q", i, b)
		}
	}
}

func TestConnectionIsReused(t *testing.T) { onBoth(t, testConnectionIsReused) }

func testConnectionIsReused(t *testing.T, newFetcher maker) {
	connections := map[string]bool{}
	wire := compressed(t, "gzip", []byte("some text"))
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		w.Header().Set("Content-Encoding", "gzip")
		w.(http.Flusher).Flush()
		_, _ = w.Write(wire)
	})
	f := newFetcher(t, nil, addr)
	for range 5 {
		if _, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(connections) != 1 {
		t.Errorf("5 requests took %d connections", len(connections))
	}
}
