package crawl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/internal/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

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
			if x := e.Explain(origin+path, parse(t, origin+path)); x.Refused != nil {
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
	store := storetest.NewMemory()
	v := &visit{visitor: &visitor{patterns: copies.NewPatterns(nil)}, store: store, policy: policy, lease: leaseOf(t, "http://h/")}
	link := func(raw string) scheduler.Link {
		return scheduler.Link{URL: parse(t, raw), Fifo: scheduler.Index, Depth: 3}
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
	if _, _, err := store.Add(t.Context(), []scheduler.Link{link("http://h/known?p=1")}, false); err != nil {
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
					original = parse(t, of)
				}
				v.visitor.patterns.Saw(parse(t, "http://h/x?"+name+"=1"), original)
			}
		}
	}
	const budget = 100 // copies until links are cut off
	saw(budget, "http://h/x")
	if diff := cmp.Diff([]string{"http://h/a?x=1", "http://h/b", "http://h/known?p=1", "http://h/plain"}, follow()); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if again := copies.NewPatterns(v.visitor.patterns.Learnt(true)).Status(); len(again.Learnt) != 5 {
		t.Errorf("%d patterns are known after a restart, want 5", len(again.Learnt))
	}
	saw(budget, "") // most are documents after all
	if got := follow(); len(got) != 5 || v.visitor.patterns.Cuts() {
		t.Errorf("%q are followed when nothing is cut off any more", got)
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
		if got := siteAt(parse(t, "http://h"+tt.path), tt.depth); got != want {
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
