package crawl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler/store"
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
	b.with(func(c *Crawl, store *store.Store) {
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Patterns == nil || len(s.Patterns.Learnt) != 2 {
			t.Errorf("status has the patterns %+v", s.Patterns)
		}
		counts, err := policy.StoredTraps(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		e, err := policy.NewExplainer(b.settings, nil, counts)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/cal/5":      "pattern gate: paths like /cal/# of " + origin,
			"/other?sid=": "",
		} {
			got := ""
			if x := e.Explain(origin+path, parse(t, origin+path), policy.Found{}); x.Refused != nil {
				got = x.Refused.String()
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s is refused by %q, want %q", path, got, want)
			}
		}
	})
}

func TestCollapse(t *testing.T) {
	site := siteOf(t, map[string]string{"/a/b/c.html": "<p>c", "/a/b.html": "<p>b", "/d.html": "<p>d"})
	b := openBench(t, site)
	b.settings.Collapse, b.settings.CollapseDepth = true, 1
	b.once()
	origin := site.Origins()[0]
	for path, want := range map[string][]string{"/a/b/c.html": {origin + "/a/"}, "/a/b.html": {origin + "/a/"}, "/d.html": nil} {
		if diff := cmp.Diff(want, b.target.documents[origin+path].Metas["collapse_key"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestReloadTellsOfPatterns: what a reload cannot change is told.
func TestReloadTellsOfPatterns(t *testing.T) {
	s := everything()
	s.NearDuplicates, s.DetectPatterns = true, true
	var told strings.Builder
	c, err := New(t.Context(), s, teststore.New(t), nil, slog.New(slog.NewTextHandler(&told, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, learns := range []bool{true, false} {
		s.DetectPatterns = learns
		if err := c.Reload(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(told.String(), "detectPatterns"); got == learns {
			t.Errorf("detection %v after the reload, and told %v: %s", learns, got, &told)
		}
	}
}
