package robots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const agent = "Sextant"

// store is a Memory in a map, which fails if err is set.
type store struct {
	mu     sync.Mutex
	values map[scheduler.ValueName][]byte
	err    error
}

func (s *store) Value(_ context.Context, name scheduler.ValueName) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[name], s.err
}

func (s *store) SetValue(_ context.Context, name scheduler.ValueName, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[scheduler.ValueName][]byte{}
	}
	s.values[name] = value
	return s.err
}

type tester struct {
	*testing.T
	cache *Cache
}

func (t tester) verdict(u string) Verdict {
	t.Helper()
	v, err := t.cache.Verdict(t.Context(), agent, mustURL(t, u))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (t tester) want(u string, s State) Verdict {
	t.Helper()
	v := t.verdict(u)
	if v.State != s {
		t.Fatalf("%s: got %+v, want state %d", u, v, s)
	}
	return v
}

func (t tester) record(u string, resp *fetcher.Response, err error) {
	t.Helper()
	if err := t.cache.Record(t.Context(), mustURL(t, u), resp, err); err != nil {
		t.Fatal(err)
	}
}

func ok(body string) *fetcher.Response { return &fetcher.Response{Status: 200, Body: []byte(body)} }

func status(code int) *fetcher.Response { return &fetcher.Response{Status: code} }

func redirect(to string) *fetcher.Response {
	return &fetcher.Response{Status: 302, Header: http.Header{"Location": {to}}}
}

var silence = &fetcher.Error{URL: "u", Fault: fault.Timeout, Err: errors.New("silence")}

// TestLongestDelay: of a longer one the setting is obeyed, and both are told.
func TestLongestDelay(t *testing.T) {
	for most, want := range map[time.Duration]time.Duration{0: time.Minute, 5 * time.Second: 5 * time.Second, 1000 * time.Second: 500 * time.Second} {
		c := tester{t, NewCache(&store{}, Settings{MaxDelay: most})}
		c.record("http://h.test/a", ok("User-agent: *\nCrawl-delay: 500"), nil)
		if v := c.want("http://h.test/a", Allowed); v.CrawlDelay != want || v.AskedDelay != 500*time.Second {
			t.Errorf("at most %v: %+v, want %v", most, v, want)
		}
	}
}

func TestCacheLifeOfACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tester{t, NewCache(&store{}, Settings{})}
		v := c.want("http://h.test:81/a?b", NeedsFetch)
		if r := v.Request(); r.URL.String() != "http://h.test:81/robots.txt" || r.MaxBodyBytes != MaxBytes {
			t.Fatalf("got %+v", r)
		}
		c.record("http://h.test:81/a", ok("User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: /s.xml"), nil)
		if v := c.want("http://h.test:81/a", Allowed); v.CrawlDelay != 3*time.Second {
			t.Errorf("got %+v", v)
		}
		c.want("http://h.test:81/private/x", Disallowed)
		c.want("http://h.test/private/x", NeedsFetch) // another origin
		c.want("https://h.test:81/private/x", NeedsFetch)
		if r, err := c.cache.Rules(t.Context(), mustURL(t, "http://h.test:81/")); err != nil || len(r.Sitemaps()) != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
		time.Sleep(24*time.Hour - 1)
		c.want("http://h.test:81/a", Allowed)
		time.Sleep(time.Nanosecond)
		c.want("http://h.test:81/a", NeedsFetch)
	})
}

func TestCacheAnswers(t *testing.T) {
	tests := []struct {
		name string
		resp *fetcher.Response
		err  error
		want State
	}{
		{"empty", ok(""), nil, Allowed},
		{"page", ok("<html>Disallow everything: /</html>"), nil, Allowed},
		{"no content", status(204), nil, Allowed},
		{"rule", ok("User-agent: *\nDisallow: /"), nil, Disallowed},
		{"cut in a rule", &fetcher.Response{Status: 200, Truncated: true, Body: []byte("User-agent: *\nDisallow: /")}, nil, Allowed},
		{"401", status(401), nil, Allowed},
		{"403", status(403), nil, Allowed},
		{"404", status(404), nil, Allowed},
		{"410", status(410), nil, Allowed},
		{"429", status(429), nil, Unreachable},
		{"500", status(500), nil, Unreachable},
		{"503", status(503), nil, Unreachable},
		{"304 unasked", status(304), nil, Unreachable},
		{"100", status(100), nil, Unreachable},
		{"fault", nil, silence, Unreachable},
		{"redirect to nowhere", redirect(""), nil, Allowed},
		{"redirect to no URL", redirect("http://[/"), nil, Allowed},
		{"redirect to mail", redirect("mailto:a@b"), nil, Allowed},
		{"redirect", redirect("/r"), nil, NeedsFetch},
		{"stopped", nil, context.Canceled, NeedsFetch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := tester{t, NewCache(&store{}, Settings{})}
			c.record("http://h.test/a", tt.resp, tt.err)
			c.want("http://h.test/a", tt.want)
		})
	}
}

func TestCacheRedirects(t *testing.T) {
	c := tester{t, NewCache(&store{}, Settings{})}
	const page = "http://h.test/dir/page"
	for _, hop := range []struct{ location, next string }{
		{"/r1", "http://h.test/r1"},
		{"sub/r2", "http://h.test/sub/r2"},
		{"r3", "http://h.test/sub/r3"},
		{"https://other.test", "https://other.test/"},
		{"?q", "https://other.test/?q"},
	} {
		c.record(page, redirect(hop.location), nil)
		if v := c.want(page, NeedsFetch); v.URL.String() != hop.next {
			t.Fatalf("after %q: next is %s, want %s", hop.location, v.URL, hop.next)
		}
	}
	c.want("https://other.test/x", NeedsFetch) // knows nothing of it
	c.record(page, redirect("/sixth"), nil)
	c.want(page, Allowed)

	c.record("http://b.test/", redirect("/r"), nil)
	c.record("http://b.test/", ok("User-agent: sextant\nDisallow: /x"), nil)
	c.want("http://b.test/x", Disallowed)

	// A fault on the way begins again at robots.txt.
	synctest.Test(t, func(t *testing.T) {
		c := tester{t, NewCache(&store{}, Settings{})}
		c.record("http://b.test/", redirect("/r"), nil)
		c.record("http://b.test/", nil, silence)
		time.Sleep(time.Until(c.want("http://b.test/", Unreachable).Until))
		if v := c.want("http://b.test/", NeedsFetch); v.URL.Path() != "/robots.txt" {
			t.Errorf("got %+v", v)
		}
	})
}

func TestCacheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tester{t, NewCache(&store{}, Settings{})}
		want := time.Minute
		for range 15 {
			c.want("http://h.test/", NeedsFetch)
			c.record("http://h.test/", status(500), nil)
			wait := time.Until(c.want("http://h.test/", Unreachable).Until)
			if wait < want || wait > want+want/8 {
				t.Fatalf("waits %v, want %v and at most an eighth more", wait, want)
			}
			want = min(want*2, 6*time.Hour)
			time.Sleep(wait - 1)
			c.want("http://h.test/", Unreachable)
			time.Sleep(time.Nanosecond)
		}
		resp := status(503)
		resp.RetryAfter, resp.HasRetryAfter = 20*time.Hour, true
		c.record("http://h.test/", resp, nil)
		if wait := time.Until(c.want("http://h.test/", Unreachable).Until); wait != 20*time.Hour {
			t.Errorf("Retry-After of 20 h: waits %v", wait)
		}
		time.Sleep(20 * time.Hour)
		c.record("http://h.test/", ok(""), nil)
		c.want("http://h.test/", Allowed)
		time.Sleep(24 * time.Hour)
		c.record("http://h.test/", status(500), nil)
		time.Sleep(68 * time.Second) // a success has put the back-off back to its beginning
		c.want("http://h.test/", NeedsFetch)
	})
}

func TestCacheKeepsItsCopyWhileUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := &store{}
		c := tester{t, NewCache(memory, Settings{})}
		c.record("http://h.test/", ok("User-agent: *\nDisallow: /private"), nil)
		for range 200 { // for months
			time.Sleep(24 * time.Hour)
			c.want("http://h.test/a", NeedsFetch)
			c.record("http://h.test/", nil, silence)
			c.want("http://h.test/a", Allowed)
			c.want("http://h.test/private", Disallowed)
			c = tester{t, NewCache(memory, Settings{})} // also over a restart
			c.want("http://h.test/a", Allowed)
			c.want("http://h.test/private", Disallowed)
		}
	})
}

func TestCacheSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := &store{}
		c := tester{t, NewCache(memory, Settings{})}
		c.record("http://rules.test/", ok("User-agent: *\nDisallow: /\xe9"), nil)
		c.record("http://none.test/", status(404), nil)
		c.record("http://down.test/", status(500), nil)
		until := c.want("http://down.test/", Unreachable).Until
		damaged, err := valueName("http://damaged.test")
		if err != nil {
			t.Fatal(err)
		}
		memory.values[damaged] = []byte("{")

		time.Sleep(time.Second)
		c = tester{t, NewCache(memory, Settings{})}
		c.want("http://rules.test/%e9", Disallowed)
		c.want("http://rules.test/", Allowed)
		c.want("http://none.test/", Allowed)
		if v := c.want("http://down.test/", Unreachable); !v.Until.Equal(until) {
			t.Errorf("waits until %v, before the restart until %v", v.Until, until)
		}
		c.want("http://damaged.test/", NeedsFetch)
		time.Sleep(24 * time.Hour)
		c.want("http://rules.test/", NeedsFetch)
		c.want("http://none.test/", NeedsFetch)
	})
}

func TestCacheMemoryFails(t *testing.T) {
	broken := errors.New("disk full")
	c := NewCache(&store{err: broken}, Settings{})
	u := mustURL(t, "http://h.test/")
	if _, err := c.Verdict(t.Context(), agent, u); !errors.Is(err, broken) {
		t.Errorf("Verdict: %v", err)
	}
	if err := c.Record(t.Context(), u, ok(""), nil); !errors.Is(err, broken) {
		t.Errorf("Record: %v", err)
	}
	if _, err := c.Rules(t.Context(), u); !errors.Is(err, broken) {
		t.Errorf("Rules: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	big := "User-agent: *\nDisallow: /x\n" + strings.Repeat("# comment\n", 5000)
	for _, tt := range []struct {
		settings Settings
		body     string
		atMost   int
	}{
		{Settings{Origins: 10}, "", 10},
		{Settings{Bytes: 1 << 20}, big, 20},
	} {
		c := tester{t, NewCache(&store{}, tt.settings)}
		for i := range 100 {
			c.record(fmt.Sprintf("http://h%d.test/", i), ok(tt.body), nil)
		}
		if got := c.cache.used.Len(); got > tt.atMost || got != len(c.cache.entries) || got < 2 {
			t.Errorf("%+v: %d origins in memory, %d by name", tt.settings, got, len(c.cache.entries))
		}
		sum := 0
		for e := c.cache.used.Front(); e != nil; e = e.Next() {
			sum += e.Value.(*entry).size
		}
		if sum != c.cache.bytes {
			t.Errorf("%d bytes counted, %d there", c.cache.bytes, sum)
		}
		for i := range 100 { // what was thrown out comes back from the Memory
			c.want(fmt.Sprintf("http://h%d.test/", i), Allowed)
		}
	}
}

func TestCacheConcurrently(t *testing.T) {
	c := NewCache(&store{}, Settings{Origins: 3})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/private", (i+j)%7))
				if err != nil {
					t.Error(err)
					return
				}
				v, err := c.Verdict(t.Context(), agent, u)
				if err == nil && v.State == NeedsFetch {
					err = c.Record(t.Context(), u, ok("User-agent: *\nDisallow: /private"), nil)
				}
				if err != nil || v.State == Allowed || v.State == Unreachable {
					t.Errorf("%v, %v", v, err)
				}
			}
		})
	}
	wg.Wait()
}
