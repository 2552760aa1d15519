package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
)

// A crawl that runs once a night cannot wait beyond the end of a run.

// nightlySettings have every document asked for in each run.
func nightlySettings(s *policy.Settings) {
	s.Frontier.SmartRefresh, s.Frontier.MinimumAged = false, 12*time.Hour
	readRobotsHourly(s)
}

// nights are runs of one store, a day apart.
func (w *world) nights(n int) {
	w.t.Helper()
	for range n {
		time.Sleep(24 * time.Hour)
		w.once()
	}
}

// TestNightlyRunsOfAnIllSite: one night, or two, of an illness take hardly anything out of
// the index, and the first night after it has all of it back.
func TestNightlyRunsOfAnIllSite(t *testing.T) {
	kinds := append(parts(), NotFound)
	if wantsAll() {
		kinds = Illnesses()
	}
	for _, kind := range kinds {
		for _, pages := range sizes(16) {
			for _, ill := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%d/%d nights", kind, pages, ill), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { illNights(t, cell{illness: kind, pages: pages}, ill) })
				})
			}
		}
	}
}

func illNights(t *testing.T, c cell, ill int) {
	w := newWorld(t, c.options(), nightlySettings)
	w.once()
	want := w.complete()
	time.Sleep(23 * time.Hour)
	from := time.Now()
	w.site.FallIll(c.illness)
	time.Sleep(time.Hour)
	w.once()
	w.nights(ill - 1)
	w.wantSpared(want, from)
	w.site.Heal()
	w.nights(1)
	missing, changed, strange := w.index.at(time.Now()).state(want)
	if len(missing)+len(changed) > 0 {
		t.Errorf("the night after %d of %d documents are missing and %d are not the site's own: %s",
			len(missing), c.pages, len(changed), some(append(missing, changed...)))
	}
	w.open()
	w.wantUndone(len(strange))
	w.close()
}

// TestNightlyRunsOfWhatIsGone: a page leaves in the run that finds it gone, a section in
// the next.
func TestNightlyRunsOfWhatIsGone(t *testing.T) {
	for _, pages := range sizes(2, 16, 60) {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Documents: pages, Answer: answerTime}, nightlySettings)
				w.once()
				want := w.complete()
				gone := []int{pages - 1}
				from := time.Now()
				w.site.Drop(gone...)
				w.nights(1)
				w.wantGone(want, from, gone...)
				section := w.site.Section()
				w.site.Drop(section...)
				w.nights(2)
				w.wantGone(want, from, append(gone, section...)...)
				w.open()
				w.wantNothingUndone()
				w.close()
			})
		})
	}
}
