package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// New texts that are the site's own.

// redesigned has a site that was crawled take new titles and texts, and all of it asked for.
func redesigned(t *testing.T, pages int) *world {
	t.Helper()
	w := newWorld(t, Options{Documents: pages, Answer: answerTime, Validators: true}, nil)
	w.healthy()
	time.Sleep(beforeIllness)
	w.site.Redesign()
	w.refresh(crawl.Selection{All: true})
	return w
}

// renewed counts the documents that have the title of now.
func (w *world) renewed() (n int) {
	titles := w.index.titles()
	for i := range w.site.Len() {
		if titles[w.site.URL(i)] == w.site.Title(i) {
			n++
		}
	}
	return n
}

// TestRedesign: a redesign in which all texts change is in the index after a week by itself,
// and at once when the operator releases it.
func TestRedesign(t *testing.T) {
	for _, pages := range sizes(16) {
		t.Run(fmt.Sprintf("itself/%d", pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := redesigned(t, pages)
				w.wantNeverIll(held)
				if n := w.renewed(); n != pages {
					t.Errorf("%d of %d documents are new after %s", n, pages, held)
				}
				w.wantNothingUndone()
				w.end()
			})
		})
		t.Run(fmt.Sprintf("release/%d", pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := redesigned(t, pages)
				time.Sleep(3 * time.Hour)
				if n := w.renewed(); n > firstDay(pages) {
					t.Errorf("%d of %d documents are new before the operator's word, want at most %d",
						n, pages, firstDay(pages))
				}
				w.release()
				time.Sleep(atOnce)
				if n := w.renewed(); n != pages {
					t.Errorf("%d of %d documents are new %s after the operator's word", n, pages, atOnce)
				}
				w.wantNothingUndone()
				w.end()
			})
		})
	}
}

// TestLivePage: a page that is new at every visit is pushed at each of them from the fourth on.
func TestLivePage(t *testing.T) {
	for _, pages := range sizes(16) {
		if pages < 2 {
			continue // the only page of a host is new after a day
		}
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Documents: pages, Answer: answerTime}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				news := pages - 1
				w.site.Live(news)
				for visit := 1; visit <= 8; visit++ {
					w.refresh(crawl.Selection{URLs: []string{w.site.URL(news)}})
					time.Sleep(10 * time.Second)
					if got := w.index.titles()[w.site.URL(news)]; visit > 3 && got != w.site.Title(news) {
						t.Errorf("visit %d: the index has %q, the page %q", visit, got, w.site.Title(news))
					}
					time.Sleep(6 * time.Hour)
				}
				w.wantNothingUndone()
				if missing, changed, _ := w.index.at(time.Now()).state(want); len(missing) > 0 || len(changed) > 1 {
					t.Errorf("%d documents are missing and %d changed", len(missing), len(changed))
				}
				w.end()
			})
		})
	}
}
