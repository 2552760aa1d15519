package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
)

// dropLast takes the last page off a site that was crawled, and has that found out.
func dropLast(w *world) documents {
	want := w.healthy()
	time.Sleep(beforeIllness)
	w.site.Drop(w.site.Len() - 1)
	w.refresh(crawl.Selection{All: true})
	return want
}

// wantLone wants the last page to leave about a minute after from, and nothing else.
func (w *world) wantLone(of documents, from time.Time) {
	w.t.Helper()
	time.Sleep(time.Hour)
	lost := w.index.lost(of, from.Add(-24*time.Hour), time.Now())
	if len(lost) != 1 || lost[0].url != w.site.URL(w.site.Len()-1) {
		w.t.Fatalf("%d documents left, want the one that is gone: %s", len(lost), describe(lost))
	}
	if after := lost[0].at.Sub(from); after < rest || after > 5*rest {
		w.t.Errorf("it left after %s, want about %s", after, rest)
	}
}

// TestRestBeginsAnew: a service that begins has each deletion rest from the beginning, and
// in a pause no time goes by.
func TestRestBeginsAnew(t *testing.T) {
	const before = 40 * time.Second
	t.Run("restart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, sicksite.Options{Documents: 61, Answer: answerTime}, nil)
			want := dropLast(w)
			time.Sleep(before)
			w.end()
			time.Sleep(12 * time.Hour)
			w.begin()
			w.wantLone(want, time.Now().Add(-time.Second)) // what begins takes a moment
			w.end()
		})
	})
	t.Run("pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, sicksite.Options{Documents: 61, Answer: answerTime}, nil)
			want := dropLast(w)
			time.Sleep(before)
			if err := w.crawl.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(12 * time.Hour)
			if lost := w.index.lost(want, time.Now().Add(-12*time.Hour), time.Now()); len(lost) > 0 {
				t.Errorf("%d documents left in a pause: %s", len(lost), describe(lost))
			}
			resumed := time.Now()
			if err := w.crawl.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.wantLone(want, resumed.Add(-before))
			w.end()
		})
	})
}

// TestNeighbourIsIll: a host that is ill holds up no deletion of another.
func TestNeighbourIsIll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := sicksite.New(sicksite.Options{Documents: 61, Answer: answerTime, Origin: "http://" + sicksite.Neighbour})
		w := newWorldOf(t, sicksite.New(sicksite.Options{Documents: 61, Answer: answerTime}), second, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		w.site.Drop(60)
		second.FallIll(sicksite.NotFound)
		w.refresh(crawl.Selection{All: true})
		w.wantLone(want.below(w.site.URL(0)), time.Now())
		if lost := w.index.lost(want.below(second.URL(0)), time.Now().Add(-2*time.Hour), time.Now()); len(lost) > anHour(61) {
			t.Errorf("%d documents of the ill one left, want at most %d: %s", len(lost), anHour(61), describe(lost))
		}
		w.end()
	})
}

// TestThirdNeedsAWord: of a third of a site that is taken down no more than a fifth leaves
// in a day, and the rest when the operator says so.
func TestThirdNeedsAWord(t *testing.T) {
	for _, pages := range []int{61, 301} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: pages, Answer: answerTime}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				var gone []int
				for i := pages - pages/3; i < pages; i++ {
					gone = append(gone, i)
				}
				from := time.Now()
				w.site.Drop(gone...)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(6 * time.Hour)
				if lost := w.index.lost(want, from, time.Now()); len(lost) > aDay(pages) {
					t.Errorf("%d documents left before the operator's word, want at most %d", len(lost), aDay(pages))
				}
				w.release()
				time.Sleep(6 * time.Hour)
				if lost := w.index.lost(want, from, time.Now()); len(lost) != len(gone) {
					t.Errorf("%d documents left after the operator's word, want all %d", len(lost), len(gone))
				}
				w.wantNothingUndone()
				w.end()
			})
		})
	}
}

// TestPageComesBack: a page that was gone for longer than its deletion rested is found
// again by itself, also where the page that links to it answers 304.
func TestPageComesBack(t *testing.T) {
	for _, page := range []int{0, 60} {
		t.Run(fmt.Sprint(page), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: 61, Answer: answerTime, Validators: true}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				from := time.Now()
				w.site.Drop(page)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(6 * time.Hour)
				if lost := w.index.lost(want, from, time.Now()); len(lost) != 1 || lost[0].url != w.site.URL(page) {
					t.Errorf("%d documents left, want the one that is gone: %s", len(lost), describe(lost))
				}
				w.site.Restore(page)
				time.Sleep(recovery())
				if missing, changed, _ := w.index.at(time.Now()).state(want); len(missing)+len(changed) > 0 {
					t.Errorf("%d documents are missing and %d changed: %s", len(missing), len(changed), some(missing))
				}
				w.end()
			})
		})
	}
}
