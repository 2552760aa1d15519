package crawl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/scheduler"
)

// takeOn puts the settings of now in force, by a reload or by a restart.
func (w *world) takeOn(restart bool) {
	w.t.Helper()
	if restart {
		w.restart()
	} else {
		w.reload()
	}
	w.quiet()
}

// dues are the times at which documents are due, in order; none is at rest.
func (w *world) dues(urls []string) []time.Time {
	w.t.Helper()
	var dues []time.Time
	for _, u := range urls {
		r := w.record(u)
		if r.State != scheduler.Timed {
			w.t.Errorf("%s is %s, want it due at a time", u, r.State)
		}
		dues = append(dues, r.NextAt)
	}
	slices.SortFunc(dues, func(a, b time.Time) int { return cmp.Compare(a.UnixNano(), b.UnixNano()) })
	return dues
}

// TestRefreshWrittenLater: settings of refresh that are written or lowered later count for
// what is stored, at a reload and at a start, and nothing is due all at once.
func TestRefreshWrittenLater(t *testing.T) {
	skipShortDays(t)
	const day = 2 * time.Hour // of a short week
	for name, change := range map[string]func(s *scheduler.Settings, later bool){
		"minimumAgedS": func(s *scheduler.Settings, later bool) {
			if later {
				s.MinimumAged = 4 * day
			}
		},
		"minimumAgedS lowered": func(s *scheduler.Settings, later bool) {
			s.MinimumAged = 90 * day
			if later {
				s.MinimumAged = 4 * day
			}
		},
		"smartRefresh": func(s *scheduler.Settings, later bool) {
			s.SmartRefresh, s.MinAge, s.MaxAge = later, time.Hour, 4*day
		},
		"the greatest age lowered": func(s *scheduler.Settings, later bool) {
			s.SmartRefresh, s.MinAge, s.MaxAge = true, 30*day, 90*day
			if later {
				s.MinAge, s.MaxAge = time.Hour, 4*day
			}
		},
	} {
		for _, restart := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				urls := w.site(hostA, 80)
				change(&w.settings.Frontier, false)
				w.begin()
				w.quiet()
				time.Sleep(5 * day)
				if n := len(w.visits); n != len(urls) {
					t.Fatalf("%s: %d visits of %d pages before", name, n, len(urls))
				}
				change(&w.settings.Frontier, true)
				before := time.Now()
				w.takeOn(restart)
				dues := w.dues(urls)
				if last := dues[len(dues)-1]; last.After(before.Add(4*day + time.Minute)) {
					t.Errorf("%s: the last is due at %s", name, last)
				}
				for i := range 4 { // each day about a quarter
					from := before.Add(time.Duration(i) * day)
					n := 0
					for _, d := range dues {
						if !d.Before(from) && d.Before(from.Add(day)) {
							n++
						}
					}
					if n < 10 || n > 40 {
						t.Errorf("%s, restart %v: %d of %d due on day %d", name, restart, n, len(dues), i)
					}
				}
				w.takeOn(restart) // changes nothing
				if again := w.dues(urls); !slices.EqualFunc(dues[30:], again[30:], time.Time.Equal) {
					t.Errorf("%s: other times when nothing has changed", name)
				}
				time.Sleep(4 * day)
				w.quiet()
				for _, u := range urls {
					if n := w.hits(u); n < 2 {
						t.Errorf("%s: %s was asked for %d times", name, u, n)
					}
				}
				w.end()
			}, hostA+"/")
		}
	}
}

// TestErrorRefreshLowered: a page that failed is asked for again as the setting says that is
// written later.
func TestErrorRefreshLowered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 3)
		w.set(urls[1], answered{status: 404})
		w.settings.Frontier.ErrorRefresh = 365 * 24 * time.Hour
		w.begin()
		w.quiet()
		w.page(urls[1])
		w.settings.Frontier.ErrorRefresh = time.Hour
		w.takeOn(true)
		time.Sleep(2 * time.Hour)
		if !slices.Contains(w.index(), urls[1]) {
			t.Errorf("%+v, want the page found", w.record(urls[1]))
		}
		w.end()
	}, hostA+"/")
}

// TestRefreshTakenOut: what is due only because its age was written rests when it is not
// any more.
func TestRefreshTakenOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 10)
		w.settings.Frontier.MinimumAged = 24 * time.Hour
		w.begin()
		w.quiet()
		w.settings.Frontier.MinimumAged = 0
		w.takeOn(false)
		time.Sleep(48 * time.Hour)
		if n := len(w.visits); n != len(urls) {
			t.Errorf("%d visits of %d pages", n, len(urls))
		}
		if s := w.status(); s.Timed != 0 || !strings.Contains(s.Idle, noRefresh) {
			t.Errorf("%d are due, idle %q", s.Timed, s.Idle)
		}
		w.end()
	}, hostA+"/")
}

// openRules let every URL in.
func (w *world) openRules() {
	r := &w.settings.Rules
	r.DefaultAccept, r.DefaultIndex, r.DefaultFollow = true, true, true
}

// deep puts pages in of which each leads to the next one only.
func (w *world) deep(n int) (urls []string) {
	for i := range n {
		url := hostA + "/deep/0"
		if i > 0 {
			url = fmt.Sprintf("%s/deep/more/%d", hostA, i)
		}
		urls = append(urls, url)
		w.page(url, fmt.Sprintf("/deep/more/%d", i+1), fmt.Sprintf("/other/%d", i))
	}
	return urls
}

// TestRulesLetMoreIn: where nothing is refreshed, the pages that may have links that were
// outside are read once more when the rules let more in, and only those; the preview says
// how many. Where pages are refreshed their next refresh does it.
func TestRulesLetMoreIn(t *testing.T) {
	ignore := []actionrules.Rule{{
		If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/deep/more/3"},
		Then: []actionrules.Action{{Verb: actionrules.Ignore}},
	}}
	for _, tt := range []struct {
		name         string
		before       func(s *policy.Settings)
		reread       uint64
		known, later int // pages
	}{
		{"maxLinkDepth", func(s *policy.Settings) { s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 2} }, 1, 3, 6},
		{"maxPathDepth", func(s *policy.Settings) { s.Space.MaxPathDepth = &crawlspace.Limit{Max: 1} }, 1, 1, 6},
		{"an include", func(s *policy.Settings) { s.Space.Include = text("/deep/0,/more/1,/more/2") }, 3, 3, 6},
		{"an exclude", func(s *policy.Settings) { s.Space.Exclude = text("/more/2") }, 2, 2, 6},
		{"a reject list", func(s *policy.Settings) { s.Space.RejectList = file("reject.patterns", "/more/2") }, 2, 2, 6},
		{"crawl.rules", func(s *policy.Settings) { s.Space.CrawlRules = file("crawl.rules", "forbid "+hostA+"/deep/more/2") }, 2, 2, 6},
		{"a rule", func(s *policy.Settings) { s.Rules.Rules = ignore }, 3, 3, 6},
		{"a rule not to follow", func(s *policy.Settings) {
			s.Rules.Rules = []actionrules.Rule{{If: ignore[0].If, Then: []actionrules.Action{{Verb: actionrules.NoFollow}}}}
		}, 1, 4, 6},
	} {
		for _, refreshed := range []bool{false, true} {
			if testing.Short() && refreshed { // days go by
				continue
			}
			inWorld(t, func(t *testing.T, w *world) {
				urls := w.deep(6)
				w.openRules()
				w.settings.Frontier.MinimumAged = map[bool]time.Duration{true: 5 * time.Hour}[refreshed]
				after := w.settings
				tt.before(&w.settings)
				w.begin()
				w.quiet()
				documents := func() (n int) {
					for _, u := range urls {
						if slices.Contains(w.index(), u) {
							n++
						}
					}
					return n
				}
				if documents() != tt.known {
					t.Fatalf("%s: %d documents of %d", tt.name, documents(), tt.known)
				}
				w.settings = after
				p, err := review.NewPreview(t.Context(), w.settings, w.store, 3)
				if want := map[bool]uint64{false: tt.reread}[refreshed]; err != nil || p.Reread.Count != want {
					t.Errorf("%s: %d pages would be read again, %v; want %d", tt.name, p.Reread.Count, err, want)
				}
				w.takeOn(true)
				s := w.status()
				if s.Rules.Reread != p.Reread.Count {
					t.Errorf("%s: %d pages were read again, %d were foretold", tt.name, s.Rules.Reread, p.Reread.Count)
				}
				if refreshed {
					time.Sleep(6 * time.Hour)
					w.quiet()
				}
				if documents() != tt.later {
					t.Errorf("%s, refreshed %v: %d documents of %d", tt.name, refreshed, documents(), tt.later)
				}
				visits := len(w.visits)
				w.takeOn(false)
				if len(w.visits) != visits {
					t.Errorf("%s: fetched again though nothing has changed", tt.name)
				}
				w.end()
			}, hostA+"/deep/0")
		}
	}
}

// TestRulesLetLessIn: no page is read again for rules that only keep more out.
func TestRulesLetLessIn(t *testing.T) {
	for name, change := range map[string]func(s *policy.Settings){
		"maxLinkDepth": func(s *policy.Settings) { s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 4} },
		"an exclude":   func(s *policy.Settings) { s.Space.Exclude = text("/nowhere,/more/5") },
		"crawl.rules": func(s *policy.Settings) {
			s.Space.CrawlRules = file("crawl.rules", "forbid "+hostA+"/deep/more/5\nforbid domain x")
		},
		"a rule": func(s *policy.Settings) {
			s.Rules.Rules = append(s.Rules.Rules, actionrules.Rule{
				If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/deep/more/5"},
				Then: []actionrules.Action{{Verb: actionrules.Ignore}},
			})
		},
		"a kill list": func(s *policy.Settings) { s.Space.KillPatterns = file("kill", "/more/5") },
		"a root": func(s *policy.Settings) {
			s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: parse(t, hostB+"/"), Site: true})
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.deep(6)
			w.openRules()
			w.settings.Space.Exclude = text("/nowhere")
			w.settings.Space.CrawlRules = file("crawl.rules", "forbid domain x")
			w.settings.Space.KillPatterns = file("kill", "/nowhere")
			w.begin()
			w.quiet()
			visits := len(of(hostA, w.visits))
			change(&w.settings)
			w.takeOn(false)
			w.takeOn(true)
			if n := len(of(hostA, w.visits)); n != visits {
				t.Errorf("%s: %d visits more", name, n-visits)
			}
			w.end()
		}, hostA+"/deep/0")
	}
}

// TestIndexedAgain: a page that only the operator's lists and rules kept out of the index
// comes back when they do not any more, though nothing is refreshed.
func TestIndexedAgain(t *testing.T) {
	for name, keepOut := range map[string]func(s *policy.Settings){
		"a kill list": func(s *policy.Settings) { s.Space.KillPatterns = file("kill", "/p001") },
		"a rule": func(s *policy.Settings) {
			s.Rules.Rules = []actionrules.Rule{{
				If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/p001"},
				Then: []actionrules.Action{{Verb: actionrules.NoIndex}},
			}}
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			page := w.site(hostA, 5)[2]
			before := w.settings
			keepOut(&w.settings)
			w.begin()
			w.quiet()
			if slices.Contains(w.index(), page) {
				t.Fatalf("%s keeps nothing out", name)
			}
			visits := len(w.visits)
			w.settings = before
			w.takeOn(false)
			if !slices.Contains(w.index(), page) || len(w.visits) != visits+1 {
				t.Errorf("%s: %v after %d visits more, want the page by one", name, w.index(), len(w.visits)-visits)
			}
			w.end()
		}, hostA+"/")
	}
}
