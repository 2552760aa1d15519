package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// released has a third of a site go and the operator release it.
func released(t *testing.T, pages int) (*world, documents) {
	t.Helper()
	w := newWorld(t, Options{Documents: pages, Answer: answerTime}, nil)
	want := w.healthy()
	time.Sleep(beforeIllness)
	from := time.Now()
	w.site.Drop(lastThird(pages)...)
	w.refresh(crawl.Selection{All: true})
	time.Sleep(3 * time.Hour)
	w.release()
	time.Sleep(atOnce)
	w.wantGone(want, from, lastThird(pages)...)
	return w, want
}

// TestOutageAfterRelease: a release lets nothing go that is found later, when all of the site
// answers 404 for some minutes.
func TestOutageAfterRelease(t *testing.T) {
	for _, pages := range sizes(16, 60) {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, _ := released(t, pages)
				left, from := w.index.at(time.Now()), time.Now()
				w.site.FallIll(NotFound)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(3 * time.Minute)
				w.wantSpared(left, from)
				w.site.Heal()
				w.wantBack(left)
				w.end()
			})
		})
	}
}

// TestReleasedPagesGoAgain: nor the same pages, when they were back in between.
func TestReleasedPagesGoAgain(t *testing.T) {
	for _, pages := range sizes(16, 60) {
		if pages < 5 {
			continue // a third of it may go
		}
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, want := released(t, pages)
				w.site.Restore(lastThird(pages)...)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(atOnce)
				if missing, _, _ := w.index.at(time.Now()).state(want); len(missing) > 0 {
					t.Fatalf("%d documents did not come back: %s", len(missing), some(missing))
				}
				from := time.Now()
				w.site.Drop(lastThird(pages)...)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(3 * time.Hour)
				w.wantSpared(want, from)
				w.site.Restore(lastThird(pages)...)
				w.wantBack(want)
				w.end()
			})
		})
	}
}

// TestIllHostIsReleased: the operator's word holds for an ill host, too.
func TestIllHostIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Documents: 60, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		from := time.Now()
		w.site.FallIll(NotFound)
		for range 3 {
			w.refresh(crawl.Selection{All: true})
			time.Sleep(time.Hour)
		}
		if n := w.ill(); n != 1 {
			t.Errorf("%d hosts are ill, want the one", n)
		}
		pending := undone(w.status())
		w.release()
		time.Sleep(atOnce)
		if n := len(w.index.lost(want, from, time.Now())); n < pending || n == 0 {
			t.Errorf("%d documents left after the operator's word, want at least the %d that were pending", n, pending)
		}
		w.end()
	})
}
