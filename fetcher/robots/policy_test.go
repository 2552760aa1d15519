package robots_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/weburl"
)

const forbidding = "User-agent: *\nDisallow: /x"

// follow goes on as a crawl does until robots.txt is known, and counts the requests.
func follow(t *testing.T, f *fetcher.Fetcher, c *robots.Cache, u weburl.URL) (robots.Verdict, int) {
	t.Helper()
	for requests := 0; requests < 20; requests++ {
		v, err := c.Verdict(t.Context(), "Sextant", u)
		if err != nil || v.State != robots.NeedsFetch {
			return v, requests
		}
		resp, err := f.Fetch(t.Context(), v.Request())
		if err := c.Record(t.Context(), u, resp, err); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("robots.txt is asked for without end")
	return robots.Verdict{}, 0
}

// RFC 9309 section 2.3.1 over the wire, for a host of which nothing is known yet.
func TestPolicyByStatus(t *testing.T) {
	type site = http.HandlerFunc
	// hops redirects n times to the other name of this server and back; the last leads to the rules.
	hops := func(status, n int) site {
		return func(w http.ResponseWriter, r *http.Request) {
			var at int
			_, _ = fmt.Sscanf(r.URL.Path, "/hop%d", &at) // 0 for robots.txt
			if at == n {
				_, _ = io.WriteString(w, forbidding)
				return
			}
			host := strings.Replace(r.Host, "127.0.0.1", "localhost", 1)
			if at%2 == 1 {
				host = strings.Replace(r.Host, "localhost", "127.0.0.1", 1)
			}
			w.Header().Set("Location", fmt.Sprintf("http://%s/hop%d", host, at+1))
			w.WriteHeader(status)
		}
	}
	answer := func(status int, header ...string) site {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			if status != http.StatusNoContent && status != http.StatusNotModified {
				_, _ = io.WriteString(w, forbidding) // counts with 2xx alone
			}
		}
	}
	type policy struct {
		site     site
		want     robots.State
		requests int
	}
	tests := map[string]policy{
		"204":         {answer(204), robots.Allowed, 1},
		"304 unasked": {answer(304), robots.Unreachable, 1},
		"six hops":    {hops(302, 6), robots.Allowed, 6},
		"loop":        {hops(301, 1000), robots.Allowed, 6},
		"to no URL":   {answer(302, "Location", "http://[/"), robots.Allowed, 1},
		"no Location": {answer(302), robots.Allowed, 1},
		"time-out":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, robots.Unreachable, 1},
		"cut off":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, robots.Unreachable, 1},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, forbidding+"\n"+strings.Repeat("#", robots.MaxBytes)+"\nDisallow: /")
		}, robots.Disallowed, 1},
		"503, Retry-After": {answer(503, "Retry-After", "7200"), robots.Unreachable, 1},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for n := 1; n <= 5; n++ {
			tests[fmt.Sprintf("%d, %d hops", status, n)] = policy{hops(status, n), robots.Disallowed, n + 1}
		}
	}
	for want, codes := range map[robots.State][]int{
		robots.Disallowed:  {200, 203, 206, 226},
		robots.Allowed:     {400, 401, 402, 403, 404, 405, 406, 408, 410, 418, 423, 425, 428, 431, 451, 499},
		robots.Unreachable: {429, 500, 501, 502, 503, 504, 507, 520, 599},
	} {
		for _, code := range codes {
			tests[fmt.Sprint(code)] = policy{answer(code), want, 1}
		}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tt.site)
			defer s.Close()
			settings := fetcher.DefaultSettings()
			local := s.Listener.Addr().String()
			settings.Exempt = []string{local, strings.Replace(local, "127.0.0.1", "localhost", 1)}
			if name == "time-out" {
				settings.FirstByteTimeout = 200 * time.Millisecond
			}
			f := fetcher.New(settings, slog.New(slog.DiscardHandler))
			defer f.Close()
			u, err := weburl.Parse(s.URL + "/x")
			if err != nil {
				t.Fatal(err)
			}
			v, requests := follow(t, f, robots.NewCache(noMemory{}, robots.Settings{}), u)
			if v.State != tt.want || requests != tt.requests {
				t.Errorf("state %d after %d requests, want %d after %d", v.State, requests, tt.want, tt.requests)
			}
			if after := time.Until(v.Until); name == "503, Retry-After" && after < time.Hour {
				t.Errorf("asks again after %v", after)
			}
		})
	}
}

// Each fault that a fetch may end with leaves the copy at hand in force, and counts
// as none of the origin's where the crawl itself stopped.
func TestPolicyByFault(t *testing.T) {
	for _, f := range fault.All() {
		c := robots.NewCache(noMemory{}, robots.Settings{MaxAge: time.Nanosecond})
		u, err := weburl.Parse("http://h.test/x")
		if err != nil {
			t.Fatal(err)
		}
		failed := &fetcher.Error{URL: u.String(), Fault: f, Err: errors.New("out of order")}
		for _, want := range []robots.State{robots.Unreachable, robots.Disallowed} {
			if err := c.Record(t.Context(), u, nil, fmt.Errorf("wrapped: %w", failed)); err != nil {
				t.Fatal(err)
			}
			if v, err := c.Verdict(t.Context(), "Sextant", u); err != nil || v.State != want {
				t.Errorf("%s: %+v, %v, want state %d", f, v, err, want)
			}
			if err := c.Record(t.Context(), u, &fetcher.Response{Status: 200, Body: []byte(forbidding)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}
