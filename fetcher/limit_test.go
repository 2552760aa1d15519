package fetcher

import (
	"net/http"
	"strings"
	"testing"
)

// TestLimitByHeader: the type of an answer may give it a limit of its own, larger or smaller.
func TestLimitByHeader(t *testing.T) { onBoth(t, testLimitByHeader) }

func testLimitByHeader(t *testing.T, newFetcher maker) {
	const large = 3000
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
		if w.Header().Get("Content-Type") == "broken" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(make([]byte, large))
	})
	f := newFetcher(t, func(s *Settings) { s.MaxBodyBytes = 1000 }, addr)
	limit := func(h http.Header) int64 {
		return map[string]int64{"larger": 2000, "whole": large, "smaller": 10, "broken": errorBodyBytes * 2}[h.Get("Content-Type")]
	}
	for path, want := range map[string]int{"larger": 2000, "whole": large, "smaller": 10, "other": 1000, "broken": large} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/"+path), Limit: limit})
		if err != nil || len(resp.Body) != want || resp.Truncated != (want < large) {
			t.Errorf("%s: %d bytes, truncated %v, %v; want %d bytes", path, len(resp.Body), resp.Truncated, err, want)
		}
	}
}
