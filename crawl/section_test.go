package crawl

import (
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestRefreshOfSection: the pages of a section are fetched again at the times of its own schedule, or at its own ages,
// and the others are not.
func TestRefreshOfSection(t *testing.T) {
	ages := func(s scheduler.Section) *scheduler.Section { return &s }
	for name, tt := range map[string]struct {
		crawler func(s *scheduler.Settings)
		refresh []policy.Refresh
		rest    bool // the others are refreshed, too
	}{
		"a schedule":  {nil, []policy.Refresh{{Schedule: schedule(t, "@hourly"), Spec: "@hourly", If: path("/p00"), Match: "p00"}}, false},
		"a fixed age": {nil, []policy.Refresh{{If: path("/p00"), Match: "p00", Ages: ages(scheduler.Section{MinimumAged: time.Hour})}}, false},
		"estimated": {nil, []policy.Refresh{
			{If: path("/p00"), Match: "p00", Ages: ages(scheduler.Section{SmartRefresh: true, MinAge: time.Minute, MaxAge: time.Hour})},
		}, false},
		"the first counts": {nil, []policy.Refresh{
			{If: path("/p00"), Match: "p00", Ages: ages(scheduler.Section{MinimumAged: time.Hour})},
			{If: path("/p0"), Match: "p0", Ages: ages(scheduler.Section{MinimumAged: 1000 * time.Hour})},
		}, false},
		"all others are": {
			func(s *scheduler.Settings) { s.MinimumAged = time.Hour },
			[]policy.Refresh{{If: actionrules.Not{Of: path("/p00")}, Match: "not p00", Ages: ages(scheduler.Section{})}}, false,
		},
	} {
		for _, later := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				pages := w.site(hostA, 20)
				put := func() {
					w.settings.Refreshes = tt.refresh
					if tt.crawler != nil {
						tt.crawler(&w.settings.Frontier)
					}
				}
				if !later {
					put()
				}
				w.begin()
				w.quiet()
				if later {
					put()
					w.reload()
					w.quiet()
				}
				time.Sleep(5 * time.Hour)
				w.quiet()
				for _, p := range pages {
					in := slices.Contains(pages[1:11], p)
					if n := w.hits(p); in && (n < 4 || n > 40) || !in && n > 1 {
						t.Errorf("%s, written later %v: %s was asked for %d times", name, later, p, n)
					}
				}
				w.end()
			}, hostA+"/")
		}
	}
}

// TestSchedulesOfOneTime: schedules that differ in their condition alone are two.
func TestSchedulesOfOneTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pages := w.site(hostA, 12)
		w.settings.Refreshes = []policy.Refresh{
			{Schedule: schedule(t, "@hourly"), Spec: "@hourly", If: path("/p001"), Match: "p001"},
			{Schedule: schedule(t, "@hourly"), Spec: "@hourly", If: path("/p002"), Match: "p002"},
		}
		w.begin()
		w.quiet()
		time.Sleep(3 * time.Hour)
		w.quiet()
		if len(w.crawl.Schedules()) != 2 || w.crawl.Schedules()[1].Match != "p002" {
			t.Errorf("%+v", w.crawl.Schedules())
		}
		for i, p := range pages {
			if again := w.hits(p) > 2; again != (i == 2 || i == 3) {
				t.Errorf("%s was asked for %d times", p, w.hits(p))
			}
		}
		w.end()
	}, hostA+"/")
}

// TestGroupWithoutSite: a group counts what was found from its root that has no site, on other hosts, too, and not
// what was found from another root; so does a schedule.
func TestGroupWithoutSite(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.openRules()
		w.page(hostA+"/", "/a1", hostB+"/from-a")
		w.page(hostA+"/a1", "/a2")
		w.page(hostA + "/a2")
		w.page(hostB+"/from-a", "/from-a/deep", hostC+"/")
		w.page(hostB + "/from-a/deep")
		w.page(hostC+"/", "/c1")
		w.page(hostC + "/c1")
		w.settings.Rules.Roots[0].Site, w.settings.Rules.Roots[0].Group = false, "a"
		w.settings.Rules.Roots[1].Site, w.settings.Rules.Roots[1].Group = false, "c"
		w.begin()
		w.quiet()
		ofA := []string{hostA + "/", hostA + "/a1", hostA + "/a2", hostB + "/from-a", hostB + "/from-a/deep"}
		for round := 2; round < 4; round++ {
			if done := w.refresh(Selection{Group: "a"}); done.URLs != len(ofA) {
				t.Errorf("%+v, want %d URLs", done, len(ofA))
			}
			for _, p := range w.index() {
				if n := w.hits(p); slices.Contains(ofA, p) != (n == round) {
					t.Errorf("%s was asked for %d times", p, n)
				}
			}
		}
		if done := w.refresh(Selection{Group: "a", If: path("/from-a/")}); done.URLs != 1 {
			t.Errorf("%+v, want the one that the condition matches, too", done)
		}
		n, err := CountSelected(t.Context(), w.settings, w.store, Selection{Group: "c"})
		if err != nil || n.URLs != 1 || n.Roots != 1 {
			t.Errorf("%+v, %v; want the two that were found from the other root", n, err)
		}
		before := w.hits(hostA + "/a2")
		w.settings.Refreshes = []policy.Refresh{{Schedule: schedule(t, "@hourly"), Spec: "@hourly", Group: "a"}}
		w.reload()
		time.Sleep(90 * time.Minute)
		w.quiet()
		if w.hits(hostA+"/a2") <= before || w.hits(hostC+"/c1") != 1 {
			t.Errorf("the schedule asked for %d and %d", w.hits(hostA+"/a2")-before, w.hits(hostC+"/c1")-1)
		}
		w.end()
	}, hostA+"/", hostC+"/")
}

// TestGroupOfSitemaps: what a sitemap lists that the robots.txt of a root's host names was found from that root.
func TestGroupOfSitemaps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.openRules()
		w.settings.CrawlSitemaps, w.settings.SitemapMaxBytes, w.settings.SitemapMaxLinks, w.settings.SitemapMaxPerHost = true, 1<<20, 1000, 10
		w.set(hostA+"/robots.txt", answered{kind: "text/plain", body: "Sitemap: " + hostA + "/map.xml\n"})
		w.set(hostA+"/map.xml", answered{kind: "text/xml", body: "<urlset><url><loc>" + hostA + "/listed</loc></url></urlset>"})
		w.page(hostA + "/")
		w.page(hostA + "/listed")
		w.settings.Rules.Roots[0].Site, w.settings.Rules.Roots[0].Group = false, "a"
		w.begin()
		w.quiet()
		w.refresh(Selection{Group: "a"})
		if n := w.hits(hostA + "/listed"); n != 2 {
			t.Errorf("the page was asked for %d times, want 2", n)
		}
		w.end()
	}, hostA+"/")
}
