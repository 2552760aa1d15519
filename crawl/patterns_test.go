package crawl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testsite"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
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
			if x := e.Explain(origin+path, parsed(t, origin+path)); x.Refused != nil {
				got = x.Refused.String()
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s is refused by %q, want %q", path, got, want)
			}
		}
	})
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
