package render

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCacheLifetimes: for how long an answer is given again without asking, and whether the server is asked
// afterwards if it is still good.
func TestCacheLifetimes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := now.Format(http.TimeFormat)
	for name, c := range map[string]struct {
		headers []string
		status  int
		fresh   time.Duration
		kept    bool
	}{
		"nothing said":            {nil, 200, 0, false},
		"max-age":                 {[]string{"Cache-Control: public, max-age=60"}, 200, time.Minute, true},
		"max-age before Expires":  {[]string{"Cache-Control: max-age=60", "Expires: " + now.Add(time.Hour).Format(http.TimeFormat), "Date: " + date}, 200, time.Minute, true},
		"private is ours":         {[]string{"Cache-Control: private, max-age=60"}, 200, time.Minute, true},
		"as old as that":          {[]string{"Cache-Control: max-age=60", "Age: 20"}, 200, 40 * time.Second, true},
		"no-store":                {[]string{"Cache-Control: max-age=60, no-store", `ETag: "a"`}, 200, 0, false},
		"no-cache":                {[]string{"Cache-Control: no-cache, max-age=60", `ETag: "a"`}, 200, 0, true},
		"no-cache without a mark": {[]string{"Cache-Control: no-cache"}, 200, 0, false},
		"expires":                 {[]string{"Expires: " + now.Add(time.Hour).Format(http.TimeFormat), "Date: " + date}, 200, time.Hour, true},
		"expires by its clock":    {[]string{"Expires: " + now.Add(3*time.Hour).Format(http.TimeFormat), "Date: " + now.Add(2*time.Hour).Format(http.TimeFormat)}, 200, time.Hour, true},
		"expires at once":         {[]string{"Expires: 0", `ETag: "a"`}, 200, 0, true},
		"a tenth of its age":      {[]string{"Last-Modified: " + now.Add(-10*time.Hour).Format(http.TimeFormat), "Date: " + date}, 200, time.Hour, true},
		"a day at most":           {[]string{"Last-Modified: " + now.Add(-9000*time.Hour).Format(http.TimeFormat), "Date: " + date}, 200, 24 * time.Hour, true},
		"wrong":                   {[]string{"Cache-Control: max-age=soon", `ETag: "a"`}, 200, 0, true},
		"too long for a number":   {[]string{"Cache-Control: max-age=99999999999"}, 200, (1<<31 - 1) * time.Second, true},
		"varies by encoding":      {[]string{"Cache-Control: max-age=60", "Vary: Accept-Encoding, Origin"}, 200, time.Minute, true},
		"varies by cookie":        {[]string{"Cache-Control: max-age=60", "Vary: Cookie"}, 200, 0, false},
		"varies by all":           {[]string{"Cache-Control: max-age=60", "Vary: *"}, 200, 0, false},
		"not found":               {[]string{"Cache-Control: max-age=60"}, 404, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for _, line := range c.headers {
				name, value, _ := strings.Cut(line, ": ")
				h.Add(name, value)
			}
			until, kept := lifetime(Answer{Status: c.status, Header: h}, now)
			if kept != c.kept || kept && until.Sub(now) != c.fresh {
				t.Errorf("fresh for %v, kept %v; want %v, %v", until.Sub(now), kept, c.fresh, c.kept)
			}
		})
	}
}

// TestCacheAsksAgain: an answer that is not fresh is asked for with its marks; 304 makes it fresh again.
func TestCacheAsksAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := newCache(func() time.Time { return now })
	asked := 0
	fetch := func(_ context.Context, r Request) (Answer, error) {
		asked++
		if r.Header.Get("If-None-Match") == `"a"` {
			return Answer{Status: http.StatusNotModified, Header: http.Header{"Cache-Control": {"max-age=120"}}}, nil
		}
		return Answer{Status: http.StatusOK, Header: http.Header{"Cache-Control": {"max-age=60"}, "Etag": {`"a"`}, "Content-Type": {"text/javascript"}}, Body: []byte("x")}, nil
	}
	script := Request{URL: "http://a.example/a.js", Method: http.MethodGet, Kind: "Script", Header: http.Header{}}
	step := func(after time.Duration, wantFresh bool, wantAsked int) {
		t.Helper()
		now = now.Add(after)
		a, fresh := c.fresh(script)
		if !fresh {
			var err error
			if a, err = c.fetch(t.Context(), script, fetch); err != nil {
				t.Fatal(err)
			}
		}
		if fresh != wantFresh || asked != wantAsked || string(a.Body) != "x" || a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/javascript" {
			t.Errorf("fresh %v, asked %d times, %+v", fresh, asked, a)
		}
	}
	step(0, false, 1)
	step(59*time.Second, true, 1)
	step(time.Second, false, 2)
	step(119*time.Second, true, 2)
	step(time.Second, false, 3)
	if _, ok := c.fresh(Request{URL: script.URL, Method: http.MethodGet, Kind: "XHR"}); ok {
		t.Error("data of a page was kept")
	}
	elsewhere := script
	elsewhere.partition = "http://b.example"
	if _, ok := c.fresh(elsewhere); ok {
		t.Error("a page of another site gets what was asked for this one, maybe by a log-in")
	}
	if script.Header.Get("If-None-Match") != "" {
		t.Error("the page's own request was changed")
	}
}

// TestCacheIsBounded: what was used longest ago goes first.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(time.Now)
	body := make([]byte, cachedBytes)
	for i := range cacheBytes/cachedBytes + 2 {
		a := Answer{Status: http.StatusOK, Header: http.Header{"Cache-Control": {"max-age=600"}}, Body: body}
		c.keep(keyOf(Request{URL: string(rune('a' + i)), Method: http.MethodGet, Kind: "Script"}), a, time.Now())
	}
	has := func(name string) bool {
		_, ok := c.fresh(Request{URL: name, Method: http.MethodGet, Kind: "Script"})
		return ok
	}
	if c.bytes > cacheBytes || has("a") || has("b") || !has("c") {
		t.Errorf("%d bytes; a %v, b %v, c %v", c.bytes, has("a"), has("b"), has("c"))
	}
	c.keep(keyOf(Request{URL: "huge", Method: http.MethodGet, Kind: "Script"}), Answer{Status: 200, Header: http.Header{"Cache-Control": {"max-age=600"}}, Body: make([]byte, cachedBytes+1)}, time.Now())
	if has("huge") {
		t.Error("one answer may be too long")
	}
}

// TestTurns: requests begin a while apart, however many wait, and who gives up does not keep the turn.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		began := time.Now()
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- turns.Wait(gone) }()
		synctest.Wait()
		leave()
		if <-left == nil {
			t.Error("it waited on after its end")
		}
		for i := range 5 {
			if err := turns.Wait(t.Context()); err != nil || time.Since(began).Round(time.Millisecond) != time.Duration(i+1)*requestGap {
				t.Errorf("turn %d after %v: %v", i, time.Since(began), err)
			}
		}
	})
}

// TestOldBrowsers: which browser is replaced before the next page.
func TestOldBrowsers(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		begun  time.Time
		pages  int
		memory int64
		broken bool
		want   bool
	}{
		"new": {now, 0, 10, false, false}, "many pages": {now, pagesPerBrowser, 10, false, true}, "old": {now.Add(-browserAge), 1, 10, false, true},
		"heavy": {now, 1, 51, false, true}, "a page could not be closed": {now, 1, 10, true, true},
	} {
		b := &browser{pipe: &pipe{ended: make(chan struct{})}, begun: c.begun, pages: c.pages, limit: 100, broken: c.broken}
		b.memory.Store(c.memory)
		if b.isOld() != c.want {
			t.Errorf("%s: %v", name, b.isOld())
		}
	}
}
