package crawl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTemporaryRedirectMovesNoSite: a home page that redirects for a while, however often it
// is seen to, takes no document out of the index; with nothing stored of it, a site is
// crawled where its home page redirects to, for a while or for good.
func TestTemporaryRedirectMovesNoSite(t *testing.T) {
	skipShortDays(t)
	for _, status := range []int{302, 303, 307, 200} {
		inWorld(t, func(t *testing.T, w *world) {
			old := w.site(hostA, 60)
			w.site(hostB, 5)
			w.begin()
			w.quiet()
			away := answered{status: status, to: hostB + "/"}
			if status == 200 {
				away = answered{body: `<html><head><title>x</title><meta http-equiv="refresh" content="0; url=` + hostB + `/"></head><body>Soon.`}
			}
			w.set(hostA+"/", away)
			for range 4 {
				w.refresh(Selection{URLs: []string{hostA + "/"}})
				time.Sleep(25 * time.Hour)
			}
			pages := slices.DeleteFunc(of(hostA, w.index()), func(u string) bool { return u == old[0] })
			if diff := cmp.Diff(old[1:], pages); diff != "" {
				t.Errorf("%d: documents but for the home page (-before +after):\n%s", status, diff)
			}
			if n := len(of(hostB, w.index())); n > 0 {
				t.Errorf("%d: %d documents of the other host", status, n)
			}
			w.restart()
			w.quiet()
			if n := len(of(hostA, w.index())); n < 60 {
				t.Errorf("%d: %d documents left after a restart", status, n)
			}
			w.end()
		}, hostA+"/")
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.set(hostA+"/", answered{status: 302, to: hostB + "/"})
		now := w.site(hostB, 5)
		if err := w.once(); err != nil {
			t.Error(err)
		}
		w.wantDocuments("a first crawl", now)
	}, hostA+"/")
}

// TestMovedForGood: with documents stored, a site moves when its home page says for good, a
// day apart, that it has; each old document stays until its twin is in the index, and those
// without a twin stay.
func TestMovedForGood(t *testing.T) {
	skipShortDays(t)
	inWorld(t, func(t *testing.T, w *world) {
		site := func(origin string, n int) []string { // with a home page that has the same text at both places
			urls := w.site(origin, n)
			home := w.pages[origin+"/"]
			home.body = prose(7, 60, "welcome") + strings.ReplaceAll(home.body, origin, "")
			w.set(origin+"/", home)
			return urls
		}
		old := site(hostA, 40)
		w.begin()
		w.quiet()
		now := site(hostB, 30) // ten pages have not moved with the others
		w.set(hostA+"/", answered{status: 301, to: hostB + "/"})
		again := func() { w.refresh(Selection{URLs: []string{hostA + "/"}}) }
		again()
		time.Sleep(23 * time.Hour)
		again()
		if n := len(of(hostB, w.index())); n > 0 {
			t.Fatalf("within a day %d documents of the new place", n)
		}
		w.restart()
		time.Sleep(2 * time.Hour)
		again()
		time.Sleep(time.Hour)
		w.quiet()
		if diff := cmp.Diff(now, of(hostB, w.index())); diff != "" {
			t.Errorf("documents of the new place (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(old[31:], of(hostA, w.index())); diff != "" {
			t.Errorf("documents of the old place (-want +got):\n%s", diff)
		}
		if s := w.status(); s.Outbox.Pending != 10 {
			t.Errorf("%+v, want the deletions of the 10 pages that have not moved to be pending", s.Outbox)
		}
		time.Sleep(3 * 24 * time.Hour)
		if n := len(of(hostA, w.index())); n != 10 {
			t.Errorf("%d documents of the old place after days, want 10", n)
		}
		site(hostB, 31) // one more has followed
		w.refresh(Selection{URLs: []string{hostB + "/"}})
		time.Sleep(25 * time.Hour)
		if diff := cmp.Diff(old[32:], of(hostA, w.index())); diff != "" {
			t.Errorf("documents of the old place when one more has moved (-want +got):\n%s", diff)
		}
		if _, e := w.crawl.Losses(); len(e) > 0 {
			t.Errorf("a site that moved is the operator's edit: %+v", e)
		}
		if strings.Contains(w.logged.String(), "a host is ill") {
			t.Error("the old host is called ill")
		}
		// The home page is a page again: its site is crawled again at once, and the other
		// place is left a day later.
		site(hostA, 41)
		again()
		if n := len(of(hostA, w.index())); n != 42 || len(of(hostB, w.index())) != 32 {
			t.Errorf("%v after the home page came back", w.index())
		}
		time.Sleep(25 * time.Hour)
		again()
		time.Sleep(24 * time.Hour)
		if n := len(of(hostA, w.index())); n != 42 || len(of(hostB, w.index())) != 0 {
			t.Errorf("%d old and %v a day after the home page came back", n, of(hostB, w.index()))
		}
		w.end()
	}, hostA+"/")
}

// TestMovesInTwoSteps: a home page that leads on to where its site has moved already moves
// nothing, though the page in between is of neither.
func TestMovesInTwoSteps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(hostA+"/", answered{status: 301, to: hostB + "/"})
		w.set(hostB+"/", answered{status: 301, to: hostC + "/"})
		now := w.site(hostC, 5)
		w.begin()
		w.quiet()
		for range 3 {
			w.refresh(Selection{URLs: []string{hostA + "/"}})
			time.Sleep(25 * time.Hour)
		}
		w.wantDocuments("documents", now)
		if n := w.hits(now[1]); n != 1 {
			t.Errorf("a page of the new place was asked for %d times, want once", n)
		}
		w.end()
	}, hostA+"/")
}

// TestMovedWhileRead: a page of the old place that stays inside by a root of its own was read before the
// site moved. What it links to at the new place is crawled.
func TestMovedWhileRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Workers = 1
		w.settings.Rules.Roots[0].Site = false
		w.set(hostA+"/own", answered{body: `<html><head><meta name="robots" content="noindex"></head><body><a href="` + hostB + `/linked">x</a>`})
		w.set(hostA+"/", answered{status: 302, to: hostB + "/home"})
		w.page(hostB + "/home")
		w.page(hostB + "/linked")
		if err := w.once(); err != nil {
			t.Error(err)
		}
		if n := w.hits(hostB + "/linked"); n != 1 {
			t.Errorf("the linked page was fetched %d times, want once; fetched: %v", n, w.visits)
		}
	}, hostA+"/own", hostA+"/")
}

// wantDocuments checks the URLs in the index.
func (w *world) wantDocuments(when string, want []string) {
	w.t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), w.index()); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}
