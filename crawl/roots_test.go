package crawl

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
)

// redirectsOut are configurations in which a root redirects to where nothing may be crawled.
func redirectsOut() map[string]func(w *world) {
	return map[string]func(w *world){
		"a path": func(w *world) { w.roots(hostA + "/docs/") },
		"no site": func(w *world) {
			w.settings.Rules.Roots[0].Site = false
			w.settings.Rules.Rules = []actionrules.Rule{{
				If:   actionrules.Atom{Field: actionrules.FieldHost, Kind: actionrules.KindExact, Norm: actionrules.NormNorm, Value: "192.0.2.1"},
				Then: []actionrules.Action{{Verb: actionrules.Accept}, {Verb: actionrules.Index}, {Verb: actionrules.Follow}},
			}}
		},
		"a pattern": func(w *world) { w.settings.Space.Include = text("192.0.2.1") },
		"a domain rule": func(w *world) {
			w.settings.Space.CrawlRules = file("crawl.rules", "allow domain 192.0.2.1\nforbid domain *")
		},
		"the start": func(w *world) {
			w.roots(hostA + "/docs/")
			w.settings.Rules.DefaultAccept, w.settings.Rules.DefaultIndex, w.settings.Rules.DefaultFollow = true, true, true
			w.settings.Space.StartURLMatch = &crawlspace.StartURLMatch{Host: true, Scheme: true}
		},
	}
}

// TestRootLeadsOutAtFirst: a root that redirects out of the crawl space is told of at once,
// with what to write, and a crawl of nothing else fails.
func TestRootLeadsOutAtFirst(t *testing.T) {
	for name, configure := range redirectsOut() {
		inWorld(t, func(t *testing.T, w *world) {
			configure(w)
			root, target := w.settings.Rules.Roots[0].URL.String(), hostB+"/elsewhere"
			w.set(root, answered{status: http.StatusMovedPermanently, to: target})
			w.page(target)
			err := w.once()
			if !errors.Is(err, ErrNoRoot) || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), `write url="`+target+`" in its Root`) {
				t.Errorf("%s: %v, want an error that names the root and what to write", name, err)
			}
			if log := w.logged.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, target) {
				t.Errorf("%s: one warning expected in\n%s", name, log)
			}
			w.begin()
			w.quiet()
			failing := w.status().RootsFailing
			if len(failing) != 1 || failing[0].URL != root || failing[0].Status != 301 || failing[0].Reason != "redirect" || failing[0].Since == nil {
				t.Errorf("%s: failing roots %+v", name, failing)
			}
			w.end()
			w.open()
			stored, err := StoredStatus(t.Context(), "test", w.store)
			if err != nil || cmp.Diff(failing, stored.RootsFailing) != "" {
				t.Errorf("%s: without a service %+v, %v", name, stored.RootsFailing, err)
			}
			w.close()
		}, hostA+"/")
	}
}

// TestPageLeadsOut: a page that redirects out of the crawl space says so.
func TestPageLeadsOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.page(hostA+"/", "/in", "/out")
		w.page(hostA + "/page")
		w.set(hostA+"/in", answered{status: http.StatusMovedPermanently, to: hostA + "/page"})
		w.set(hostA+"/out", answered{status: http.StatusMovedPermanently, to: hostB + "/page"})
		if err := w.once(); err != nil {
			t.Fatal(err)
		}
		w.open()
		const words = "leads to " + hostB + "/page, outside the crawl space ("
		if r := w.record(hostA + "/out"); r.Reason != scheduler.ReasonRedirect || !strings.Contains(r.LastError, words) {
			t.Errorf("out: %v, %s", r.Reason, r.LastError)
		}
		if r := w.record(hostA + "/in"); r.Reason != scheduler.ReasonRedirect || strings.Contains(r.LastError, "crawl space") {
			t.Errorf("in: %v, %s", r.Reason, r.LastError)
		}
		w.close()
	}, hostA+"/")
}

// TestRootLeadsOutLater: what is stored stays when all of a site redirects out of the crawl
// space, in whatever way it is outside, and when its root alone does.
func TestRootLeadsOutLater(t *testing.T) {
	skipShortDays(t)
	for name, configure := range redirectsOut() {
		for _, all := range []bool{true, false} {
			if !all && name != "a path" {
				continue
			}
			inWorld(t, func(t *testing.T, w *world) {
				configure(w)
				root := w.settings.Rules.Roots[0].URL.String()
				home := w.settings.Rules.Roots[0].URL
				var pages []string
				for _, u := range w.site(hostA, 60)[1:] {
					page := home.Origin() + strings.TrimSuffix(home.PathAndQuery(), "/") + u[len(hostA):]
					w.page(page)
					pages = append(pages, page)
				}
				w.page(root, pages...)
				w.begin()
				w.quiet()
				if n := len(w.index()); n != 61 {
					t.Fatalf("%s: %d documents", name, n)
				}
				w.set(root, answered{status: 301, to: hostB + "/"})
				if all {
					for _, p := range pages {
						w.set(p, answered{status: 301, to: strings.Replace(p, hostA, hostB, 1)})
					}
				}
				for range 3 {
					w.refresh(Selection{All: true})
					time.Sleep(25 * time.Hour)
				}
				if n := len(w.index()); n < 60 {
					t.Errorf("%s, all %v: %d documents left", name, all, n)
				}
				w.end()
			}, hostA+"/")
		}
	}
}

// TestRootStaysARoot: a root that fails is asked for again by refresh and by schedule, and
// one that the store does not know any more is added by them.
func TestRootStaysARoot(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		for name, selection := range map[string]Selection{"url": {URLs: []string{hostA + "/"}}, "all": {All: true}, "group": {Group: "default"}} {
			inWorld(t, func(t *testing.T, w *world) {
				urls := w.site(hostA, 3)
				w.settings.Frontier.Policy = scheduler.Cautious
				w.begin()
				w.quiet()
				home := w.pages[hostA+"/"]
				w.set(hostA+"/", answered{status: 404})
				w.refresh(Selection{All: true})
				if forgotten {
					if err := w.store.Forget(t.Context(), parse(t, hostA+"/").Key(), nil); err != nil {
						t.Fatal(err)
					}
				}
				w.set(hostA+"/", home)
				before := w.hits(hostA + "/")
				if done := w.refresh(selection); done.URLs == 0 {
					t.Errorf("forgotten %v, by %s: nothing is queued", forgotten, name)
				}
				if w.hits(hostA+"/") == before || len(w.index()) != len(urls) {
					t.Errorf("forgotten %v, by %s: the root is not asked for; %v", forgotten, name, w.index())
				}
				w.end()
			}, hostA+"/")
		}
	}
}

// TestRootIsTold: that a root cannot be crawled is in log and status, until it can.
func TestRootIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.site(hostA, 3)
		w.begin()
		w.quiet()
		if failing := w.status().RootsFailing; failing != nil {
			t.Errorf("%+v fail at first", failing)
		}
		home := w.pages[hostA+"/"]
		w.set(hostA+"/", answered{status: 500})
		w.refresh(Selection{All: true})
		failing := w.status().RootsFailing
		if len(failing) != 1 || failing[0].Status != 500 || failing[0].Reason != "5xx" {
			t.Errorf("failing roots %+v", failing)
		}
		if !strings.Contains(w.logged.String(), "a root cannot be crawled") {
			t.Error("the log does not tell of it")
		}
		w.set(hostA+"/", home)
		w.refresh(Selection{All: true})
		if failing := w.status().RootsFailing; failing != nil {
			t.Errorf("%+v fail at last", failing)
		}
		w.end()
	}, hostA+"/")
}

// TestRootTakenOut: a URL that is no root any more is forgotten as others are; one that
// becomes a root is none of those any more. So it is for URLs that wait meanwhile.
func TestRootTakenOut(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			page := w.site(hostA, 3)[1]
			w.begin()
			w.quiet()
			isRoot := func() bool { return w.record(page).Root }
			change := func(roots ...string) {
				t.Helper()
				if waiting {
					if err := w.crawl.Pause(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := w.crawl.Submit(t.Context(), []string{hostA + "/"}); err != nil {
						t.Fatal(err)
					}
					if _, err := w.crawl.Refresh(t.Context(), Selection{All: true}); err != nil {
						t.Fatal(err)
					}
				}
				w.roots(roots...)
				w.reload()
				if waiting {
					if err := w.crawl.Resume(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				w.quiet()
			}
			if isRoot() {
				t.Error("a page is a root")
			}
			change(hostA+"/", page)
			if !isRoot() {
				t.Errorf("waiting %v: a page that became a root is none", waiting)
			}
			change(hostA + "/")
			if isRoot() {
				t.Errorf("waiting %v: a page that is no root any more is one still", waiting)
			}
			w.end()
			w.begin()
			w.quiet()
			stored, err := storedRoots(t.Context(), w.store)
			if err != nil || len(stored) != 1 || slices.Contains(stored, parse(t, page).Key()) {
				t.Errorf("waiting %v: %d roots are stored, %v; want one", waiting, len(stored), err)
			}
			w.end()
		}, hostA+"/")
	}
}
