package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
)

// A crawl that runs once a night has no time to let anything rest beyond the end of a run.

// nights are runs of one store, a day apart.
func (w *world) nights(n int) {
	w.t.Helper()
	for range n {
		time.Sleep(24 * time.Hour)
		w.once(true)
	}
}

// TestNightlyRunsOfAnIllSite: one night, or three, of an illness take hardly anything out
// of the index, and what rests or is held goes away in the nights after it.
func TestNightlyRunsOfAnIllSite(t *testing.T) {
	kinds := []sicksite.Illness{sicksite.NotFound, sicksite.SoftNotFound, sicksite.LoginRedirect, sicksite.EverySecondPage}
	sizes := []int{16}
	if wantsAll() {
		kinds, sizes = sicksite.Illnesses(), []int{1, 2, 16, 61, 301}
	}
	for _, kind := range kinds {
		for _, pages := range sizes {
			for _, ill := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s/%d/%d nights", kind, pages, ill), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { illNights(t, cell{illness: kind, pages: pages}, ill) })
				})
			}
		}
	}
}

func illNights(t *testing.T, c cell, ill int) {
	w := newWorld(t, c.options(), c.change)
	w.once(false)
	want := w.complete()
	from := time.Now()
	w.site.FallIll(c.illness)
	w.nights(ill)
	lost := w.index.lost(want, from, time.Now())
	most := anHour(c.pages)
	if c.illness.Believed() { // and a run has no hour to wait
		most = aDay(c.pages)
	}
	if n := worst(lost, time.Hour); n > most {
		t.Errorf("%d of %d documents left in one night, want at most %d; the first: %s", n, c.pages, most, describe(lost))
	}
	w.site.Heal()
	w.nights(8)
	missing, changed, strange := w.index.at(time.Now()).state(want)
	if len(missing)+len(changed) > 0 {
		t.Errorf("eight nights later %d of %d documents are missing and %d are not the site's own: %s",
			len(missing), c.pages, len(changed), some(append(missing, changed...)))
	}
	w.open()
	w.wantUndone(excused(len(strange), c.pages))
	w.close()
}

// TestNightlyRunsOfWhatIsGone: a page leaves in the run that finds it gone, a section in
// that run or the next.
func TestNightlyRunsOfWhatIsGone(t *testing.T) {
	for _, pages := range []int{2, 16, 61, 301} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: pages, Answer: answerTime}, nil)
				w.once(false)
				want := w.complete()
				gone := []int{pages - 1}
				from := time.Now()
				w.site.Drop(gone...)
				w.nights(1)
				if lost := w.index.lost(want, from, time.Now()); len(lost) != 1 || lost[0].url != w.site.URL(pages-1) {
					t.Errorf("%d documents left in the night, want the one that is gone: %s", len(lost), describe(lost))
				}
				section := w.site.Section()
				gone = append(gone, section...)
				w.site.Drop(section...)
				w.nights(2)
				if lost := w.index.lost(want, from, time.Now()); len(lost) != len(gone) {
					t.Errorf("%d documents left, want the %d that are gone: %s", len(lost), len(gone), describe(lost))
				}
				w.open()
				w.wantNothingUndone()
				w.close()
			})
		})
	}
}
