package crawl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func parsed(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestPatternsAreLearnt counts copies of one parameter and of digits, and takes no
// others for a pattern.
func TestPatternsAreLearnt(t *testing.T) {
	of := func(n int, u, original string, documents int) *patterns {
		p := newPatterns(nil)
		for i := range documents {
			p.saw(parsed(t, fmt.Sprintf(u, 10_000+i)), weburl.URL{})
		}
		for i := range n {
			o := weburl.URL{}
			if original != "" {
				o = parsed(t, original)
			}
			p.saw(parsed(t, fmt.Sprintf(u, i)), o)
		}
		return p
	}
	const session, calendar = "http://h/p?a=1&sid=%d", "http://h/cal/%d/day"
	for _, tt := range []struct {
		name        string
		p           *patterns
		learnt, cut string // what a new link is matched by
	}{
		{"few", of(19, session, "http://h/p?a=1", 1), "", ""},
		{"session", of(20, session, "http://h/p?a=1", 1), "sid", ""},
		{"session, budget used", of(100, session, "http://h/p?a=1&sid=x", 1), "sid", "sid"},
		{"mostly documents", of(100, session, "http://h/p?a=1", 50), "", ""},
		{"another parameter, too", of(100, session, "http://h/p?a=2", 1), "", ""},
		{"another path", of(100, session, "http://h/q?a=1", 1), "", ""},
		{"another host", of(100, session, "http://i/p?a=1", 1), "", ""},
		{"calendar", of(100, calendar, "http://h/cal/2001/day", 2), "/cal/#/day", "/cal/#/day"},
		{"other form", of(100, calendar, "http://h/cal/2001/night", 2), "", ""},
		{"documents alone", of(100, calendar, "", 0), "", ""},
	} {
		var learnt, cut string
		if l := tt.p.learnt(false); len(l) > 0 {
			learnt = l[0].Parameter + l[0].Path
		}
		for _, u := range []string{"http://h/new?sid=7", "http://h/cal/999/day"} {
			if m := tt.p.match(parsed(t, u)); m != nil {
				cut = m.Parameter + m.Path
			}
		}
		if learnt != tt.learnt || cut != tt.cut {
			t.Errorf("%s: learnt %q, cut %q; want %q, %q", tt.name, learnt, cut, tt.learnt, tt.cut)
		}
	}
}

// TestPatternsCutOff: a site with session numbers and a calendar without end is done
// in the end, no page is lost, and what was learnt is known after a restart.
func TestPatternsCutOff(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	var start strings.Builder
	for i := range 150 {
		fmt.Fprintf(&start, "<a href='/page?sid=%d'>x</a><a href='/cal/%d'>y</a>", i, i)
		site.Set(fmt.Sprintf("/page?sid=%d", i), pageOf(prose(1, 100, "")))
		site.Set(fmt.Sprintf("/cal/%d", i), pageOf(prose(2, 100, "")+fmt.Sprintf("<a href='/cal/%d'>next</a>", 1000+i)))
		site.Set(fmt.Sprintf("/cal/%d", 1000+i), pageOf(prose(2, 100, "")))
	}
	// These come later than the rest.
	site.Set("/later", pageOf(prose(5, 100, "")+"<a href='/new?sid=9'>only here</a>"))
	site.Set("/new", pageOf(prose(6, 100, "")))
	site.Set("/new?sid=9", pageOf(prose(6, 100, "")))
	site.Set("/start", pageOf("<p>"+start.String()))
	b := duplicateBench(t, site)
	b.settings.DetectPatterns = true
	b.once()
	origin := site.Origins()[0]
	b.once(origin + "/later")
	if _, ok := b.target.documents[origin+"/new"]; !ok {
		t.Errorf("the page that is only linked to with a session is lost: %v", b.indexed())
	}
	if n := site.Hits("/cal/1149"); n != 0 {
		t.Errorf("the calendar was not cut off: %d requests", n)
	}
	b.with(func(c *Crawl, store *badgerstore.Store) {
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Patterns == nil || len(s.Patterns.Learnt) != 2 {
			t.Errorf("status has the patterns %+v", s.Patterns)
		}
		counts, err := StoredTraps(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewExplainer(b.settings, nil, counts)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/cal/5":      "pattern gate: paths like /cal/# of " + origin,
			"/other?sid=": "",
		} {
			got := ""
			if x := e.Explain(origin+path, parsed(t, origin+path), nil); x.Refused != nil {
				got = x.Refused.String()
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s is refused by %q, want %q", path, got, want)
			}
		}
	})
}

// TestFollowedOnce: of links that differ in what is cut off one is followed, however
// much of it there is; what is known is followed as it is.
func TestFollowedOnce(t *testing.T) {
	b := openBench(t, siteOf(t, nil))
	policy, err := newPolicy(b.settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{Crawl: &Crawl{patterns: newPatterns(nil), store: memoryStore{storetest.NewMemory()}}, policy: policy, lease: leaseOf(t, "http://h/")}
	link := func(raw string) scheduler.Link {
		return scheduler.Link{URL: parsed(t, raw), Fifo: scheduler.Index, Depth: 3}
	}
	follow := func() (urls []string) {
		var links []scheduler.Link
		for _, raw := range []string{"http://h/a?p=1&q=1&r=1&s=1&t=1&x=1", "http://h/b?p=3", "http://h/b?q=4", "http://h/known?p=1", "http://h/plain"} {
			links = append(links, link(raw))
		}
		links, err := v.followed(t.Context(), links)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			urls = append(urls, l.URL.String())
		}
		return urls
	}
	if _, _, err := v.store.Add(t.Context(), []scheduler.Link{link("http://h/known?p=1")}, false); err != nil {
		t.Fatal(err)
	}
	if got := follow(); len(got) != 5 {
		t.Errorf("%q are followed before anything is learnt", got)
	}
	saw := func(n int, of string) {
		for _, name := range []string{"p", "q", "r", "s", "t"} {
			for range n {
				original := weburl.URL{}
				if of != "" {
					original = parsed(t, of)
				}
				v.patterns.saw(parsed(t, "http://h/x?"+name+"=1"), original)
			}
		}
	}
	saw(patternBudget, "http://h/x")
	if diff := cmp.Diff([]string{"http://h/a?x=1", "http://h/b", "http://h/known?p=1", "http://h/plain"}, follow()); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if again := newPatterns(v.patterns.learnt(true)); again.cutting.Load() != 5 {
		t.Errorf("%d patterns cut links off after a restart, want 5", again.cutting.Load())
	}
	saw(patternBudget, "") // most are documents after all
	if got := follow(); len(got) != 5 || v.patterns.cutting.Load() != 0 {
		t.Errorf("%q are followed when nothing is cut off any more", got)
	}
}

// BenchmarkMatch is what a link costs while no pattern cuts any off.
func BenchmarkMatch(b *testing.B) {
	p := newPatterns([]Pattern{{Origin: "http://h", Parameter: "sid", Copies: 50}})
	u, err := weburl.Parse("http://h/archive/2026/11/story-17.html?page=2&sort=date")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if p.match(u) != nil {
			b.Fatal("it is cut off")
		}
	}
}

func TestSiteAt(t *testing.T) {
	for _, tt := range []struct {
		path  string
		depth int
		want  string
	}{
		{"/", 0, ""}, {"/a", 0, "/"}, {"/a/", 0, "/"}, {"/a/b/c", 0, "/"},
		{"/a", 1, ""}, {"/a/", 1, ""}, {"/a/b", 1, "/a/"}, {"/a/b/", 1, "/a/"}, {"/a/b/c.html?q=/x/y", 2, "/a/b/"},
		{"//a//b", 1, "//a//"}, {"/a?b/c/d", 1, ""}, {"/a/b", 9, ""},
	} {
		want := tt.want
		if want != "" {
			want = "http://h" + want
		}
		if got := siteAt(parsed(t, "http://h"+tt.path), tt.depth); got != want {
			t.Errorf("%s at %d: %q, want %q", tt.path, tt.depth, got, want)
		}
	}
}

func TestCollapse(t *testing.T) {
	site := siteOf(t, map[string]string{"/a/b/c.html": "<p>c", "/a/b.html": "<p>b", "/d.html": "<p>d"})
	b := openBench(t, site)
	b.settings.Collapse, b.settings.CollapseDepth = true, 1
	b.once()
	origin := site.Origins()[0]
	for path, want := range map[string][]string{"/a/b/c.html": {origin + "/a/"}, "/a/b.html": {origin + "/a/"}, "/d.html": nil} {
		if diff := cmp.Diff(want, b.target.documents[origin+path].Metas[collapseKey]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestReloadTellsOfPatterns: what a reload cannot change is told.
func TestReloadTellsOfPatterns(t *testing.T) {
	s := everything()
	s.NearDuplicates, s.DetectPatterns = true, true
	var told strings.Builder
	c, err := New(t.Context(), s, memoryStore{storetest.NewMemory()}, nil, slog.New(slog.NewTextHandler(&told, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, learns := range []bool{true, false} {
		s.DetectPatterns = learns
		if err := c.Reload(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(told.String(), "patterns of copies"); got == learns {
			t.Errorf("detection %v after the reload, and told %v: %s", learns, got, &told)
		}
	}
}
