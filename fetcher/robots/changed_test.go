package robots

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
)

const someForbidden = "User-agent: *\nDisallow: /private"

func (t tester) changed() time.Time {
	t.Helper()
	return t.verdict("http://h.test/").Changed
}

func TestChanged(t *testing.T) {
	const more = someForbidden + "\nDisallow: /more"
	for name, tt := range map[string]struct {
		old, now string
		resp     *fetcher.Response
		err      error
		want     bool
	}{
		"same":                  {someForbidden, someForbidden + " # as before", nil, nil, false},
		"more forbidden":        {someForbidden, more, nil, nil, true},
		"less forbidden":        {more, someForbidden, nil, nil, false},
		"none before":           {"", someForbidden, nil, nil, true},
		"other agent":           {someForbidden, someForbidden + "\nUser-agent: other\nDisallow: /", nil, nil, false},
		"a group of our own":    {someForbidden, someForbidden + "\nUser-agent: sextant\nDisallow: /x", nil, nil, true},
		"an open group of ours": {someForbidden, someForbidden + "\nUser-agent: sextant\nDisallow:", nil, nil, false},
		"an allow less":         {someForbidden + "\nAllow: /private/open", someForbidden, nil, nil, true},
		"an allow more":         {someForbidden, someForbidden + "\nAllow: /private/open", nil, nil, false},
		"order":                 {"User-agent: *\nDisallow: /a\nDisallow: /b", "User-agent: *\nDisallow: /b\nDisallow: /a", nil, nil, false},
		"404":                   {someForbidden, "", status(404), nil, false},
		"429":                   {someForbidden, "", status(429), nil, false},
		"500":                   {someForbidden, "", status(500), nil, false},
		"503 with rules":        {someForbidden, "", &fetcher.Response{Status: 503, Body: []byte(more)}, nil, false},
		"fault":                 {someForbidden, "", nil, silence, false},
		"stopped":               {someForbidden, "", nil, context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tester{t, NewCache(&store{}, Settings{Agent: agent})}
				c.record("http://h.test/", ok(tt.old), nil)
				if !c.changed().IsZero() {
					t.Error("a first copy is a change")
				}
				time.Sleep(24 * time.Hour)
				if tt.resp == nil && tt.err == nil {
					tt.resp = ok(tt.now)
				}
				c.record("http://h.test/", tt.resp, tt.err)
				if got := !c.changed().IsZero(); got != tt.want {
					t.Errorf("changed %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// The flag stays over failures, copies that change nothing, and restarts, until it
// is taken; one that came meanwhile is not taken with it.
func TestChangedStaysUntilJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, settings := &store{}, Settings{Agent: agent}
		c := tester{t, NewCache(memory, settings)}
		u := mustURL(t, "http://h.test/x")
		judged := func(changed time.Time) {
			t.Helper()
			if err := c.cache.Judged(t.Context(), u, changed); err != nil {
				t.Fatal(err)
			}
		}
		judged(time.Now()) // nothing is known
		next := func(resp *fetcher.Response) time.Time {
			time.Sleep(24 * time.Hour)
			c.record("http://h.test/", resp, nil)
			c = tester{t, NewCache(memory, settings)}
			return c.changed()
		}
		if !next(ok("")).IsZero() {
			t.Fatal("changed by the first copy")
		}
		first := next(ok(someForbidden))
		if first.IsZero() || !next(status(500)).Equal(first) || !next(ok("")).Equal(first) {
			t.Fatal("the flag got lost")
		}
		second := next(ok("User-agent: *\nDisallow: /"))
		if !second.After(first) {
			t.Fatalf("changed %v, before %v", second, first)
		}
		judged(first)
		if !c.changed().Equal(second) {
			t.Error("the later change was taken with the first")
		}
		judged(second)
		if !c.changed().IsZero() {
			t.Error("judged, but still changed")
		}
		if !next(ok("User-agent: *\nDisallow: /")).IsZero() {
			t.Error("the same again is a change")
		}
		memory.err = errors.New("disk full")
		c = tester{t, NewCache(memory, settings)}
		if err := c.cache.Judged(t.Context(), u, second); !errors.Is(err, memory.err) {
			t.Errorf("got %v", err)
		}
		if _, err := c.cache.Rules(t.Context(), u); !errors.Is(err, memory.err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWithoutRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tester{t, NewCache(&store{}, Settings{})}
		const u = "http://h.test/private"
		if v := c.verdict(u).WithoutRules(); v.State != NeedsFetch {
			t.Errorf("got %+v", v)
		}
		c.record(u, status(500), nil)
		if v := c.verdict(u).WithoutRules(); v.State != Allowed || !v.Until.IsZero() {
			t.Errorf("got %+v", v)
		}
		c.record(u, ok(someForbidden+"\nCrawl-delay: 7\nSitemap: http://h.test/s.xml"), nil)
		if v := c.want(u, Disallowed).WithoutRules(); v.State != Allowed || v.CrawlDelay != 7*time.Second {
			t.Errorf("got %+v", v)
		}
		if r, err := c.cache.Rules(t.Context(), mustURL(t, u)); err != nil || len(r.Sitemaps()) != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestCacheOfOriginal(t *testing.T) {
	memory := &store{}
	c := tester{t, NewCache(memory, Settings{Original: true})}
	c.record("http://h.test/", ok("User-agent: *\nDisallow: /a*\nAllow: /"), nil)
	for range 2 {
		c.want("http://h.test/ab", Allowed)
		c.want("http://h.test/a*b", Disallowed)
		c = tester{t, NewCache(memory, Settings{Original: true})}
	}
	c = tester{t, NewCache(memory, Settings{})} // the text is kept, not what it means
	c.want("http://h.test/ab", Disallowed)
}

// Where stricter says no, nothing that was allowed is forbidden.
func TestStricterMissesNothing(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"Allow: ", "Disallow: ", "User-agent: "}).Draw(t, "key") +
			rapid.SampledFrom([]string{"/", "/a", "/b", "/ab", "*", "/*b$", "/a/index.html", "sextant", ""}).Draw(t, "value")
	})
	seeded.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(line, 0, 6).Draw(t, "old")
		after := rapid.Permutation(append([]string{line.Draw(t, "new")}, before...)).Draw(t, "mixed")
		after = after[:rapid.IntRange(0, len(after)).Draw(t, "left")]
		file := func(lines []string) *Rules {
			return Parse([]byte("User-agent: *\n" + strings.Join(lines, "\n")))
		}
		old, now := file(before), file(after)
		if now.stricter(agent, old) {
			return
		}
		for _, target := range []string{"/", "/a", "/b", "/ab", "/ba", "/a/", "/a/index.html"} {
			if old.AllowedTarget(agent, target) && !now.AllowedTarget(agent, target) {
				t.Fatalf("%s is forbidden now: %q, before %q", target, after, before)
			}
		}
	})
}

// slowMemory is a Memory in which something happens before a value is there.
type slowMemory struct {
	store
	before func()
}

func (m *slowMemory) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	if f := m.before; f != nil {
		m.before = nil
		f()
	}
	return m.store.SetValue(ctx, name, value)
}

// A newer copy that is kept while an older word is still on its way stays.
func TestTheNewerCopyIsKept(t *testing.T) {
	memory := &slowMemory{}
	c := tester{t, NewCache(memory, Settings{})}
	memory.before = func() { c.record("http://h.test/", ok(someForbidden), nil) }
	c.record("http://h.test/", ok(""), nil)
	c = tester{t, NewCache(memory, Settings{})}
	c.want("http://h.test/private", Disallowed)
}
