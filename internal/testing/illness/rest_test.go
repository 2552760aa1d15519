package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// dropLast takes the last page off a site that was crawled, and has that found out.
func dropLast(t *testing.T) (*world, documents) {
	t.Helper()
	w := newWorld(t, Options{Documents: 60, Answer: answerTime}, nil)
	want := w.healthy()
	time.Sleep(beforeIllness)
	w.site.Drop(59)
	w.refresh(crawl.Selection{URLs: []string{w.site.URL(59)}})
	time.Sleep(40 * time.Second)
	return w, want
}

// TestLonePageLeavesLater: what was pending when a service ended or was paused leaves within
// two minutes after it begins again, and not before.
func TestLonePageLeavesLater(t *testing.T) {
	t.Run("restart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, want := dropLast(t)
			w.end()
			time.Sleep(12 * time.Hour)
			from := time.Now()
			w.begin()
			time.Sleep(soon)
			w.wantGone(want, from, 59)
			w.end()
		})
	})
	t.Run("pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, want := dropLast(t)
			if err := w.crawl.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			from := time.Now()
			time.Sleep(12 * time.Hour)
			w.wantGone(want, from)
			if err := w.crawl.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(soon)
			w.wantGone(want, from, 59)
			w.end()
		})
	})
}

// TestPageComesBack: a page that has left is found again by itself within a day, also where
// the page that links to it answers 304.
func TestPageComesBack(t *testing.T) {
	for _, page := range []int{0, 59} {
		t.Run(fmt.Sprint(page), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Documents: 60, Answer: answerTime, Validators: true}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				from := time.Now()
				w.site.Drop(page)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(6 * time.Hour)
				w.wantGone(want, from, page)
				w.site.Restore(page)
				w.wantBack(want)
				w.end()
			})
		})
	}
}
