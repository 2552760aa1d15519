package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRelease: the room of a released body is that of a later one, of any length that fits,
// compressed or not; what was not lent is never given away.
func TestRelease(t *testing.T) { onBoth(t, testRelease) }

func testRelease(t *testing.T, newFetcher maker) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := strings.Repeat(r.URL.Path[1:], 2000)
		if r.URL.RawQuery == "" {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	f := newFetcher(t, nil, server.Listener.Addr().String())
	get := func(path string, lend bool) *Response {
		t.Helper()
		r, err := f.Fetch(t.Context(), Request{URL: mustURL(t, server.URL+path), Lend: lend})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Repeat(path[1:strings.IndexByte(path+"?", '?')], 2000)
		if string(r.Body) != want {
			t.Fatalf("%s gives %d bytes %.20q, want %d bytes", path, len(r.Body), r.Body, len(want))
		}
		return r
	}
	kept := get("/kept", false)
	kept.Release()
	held := get("/held", true) // another one's meanwhile
	copied := bytes.Clone(held.Body)
	reused := 0
	for i := range 50 {
		path := []string{"/a", "/longer", "/a?chunked", "/b?chunked", "/much-longer-than-others", "/b"}[i%6]
		r := get(path, true)
		at := &r.Body[0]
		r.Release()
		if r.Body != nil {
			t.Fatal("a released response has a body")
		}
		next := get("/c", true)
		if at == &next.Body[0] {
			reused++
		}
		next.Release()
		r.Release() // again: nothing happens
	}
	if !bytes.Equal(copied, held.Body) {
		t.Error("a body that was not released is another one's")
	}
	if reused == 0 {
		t.Error("no room was used again")
	}
}
