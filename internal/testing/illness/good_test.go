package illness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
)

// What is wanted must happen, and soon: these are deletions that are not illness.

// rest is how long an order to delete rests by default.
const rest = time.Minute

// TestLonePageLeaves: a page that is gone leaves the index about a minute after it was
// found to be, and nothing else does, also where it was the only one.
func TestLonePageLeaves(t *testing.T) {
	for _, pages := range []int{1, 2, 16, 61, 301} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: pages, Answer: answerTime}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				w.site.Drop(pages - 1)
				found := time.Now()
				w.refresh(crawl.Selection{All: true})
				time.Sleep(24 * time.Hour)
				lost := w.index.lost(want, found, time.Now())
				if len(lost) != 1 || lost[0].url != w.site.URL(pages-1) {
					t.Fatalf("%d documents left, want the one that is gone: %s", len(lost), describe(lost))
				}
				if after := lost[0].at.Sub(found); after < rest || after > 5*rest {
					t.Errorf("it left after %s, want about %s", after, rest)
				}
				w.wantNothingUndone()
				w.end()
			})
		})
	}
}

// wantNothingUndone wants no deletion to be held or to rest.
func (w *world) wantNothingUndone() {
	w.t.Helper()
	w.wantUndone(0)
}

// wantUndone wants no more than so many deletions to be held or to rest.
func (w *world) wantUndone(most int) {
	w.t.Helper()
	if held, resting := undone(w.status()); held+resting > uint64(most) {
		w.t.Errorf("%d deletions are held and %d rest, want at most %d", held, resting, most)
	}
}

// TestSectionLeaves: a twentieth of the pages leaves in about an hour, and not sooner but
// for what may leave in any hour.
func TestSectionLeaves(t *testing.T) {
	sizes := []int{61, 301}
	if wantsAll() {
		sizes = append(sizes, 5000)
	}
	for _, pages := range sizes {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: pages, Answer: answerTime}, nil)
				want := w.healthy()
				time.Sleep(beforeIllness)
				section := w.site.Section()
				w.site.Drop(section...)
				found := time.Now()
				w.refresh(crawl.Selection{All: true})
				time.Sleep(24 * time.Hour)
				lost := w.index.lost(want, found, time.Now())
				if len(lost) != len(section) {
					t.Fatalf("%d documents left, want the %d that are gone: %s", len(lost), len(section), describe(lost))
				}
				soon := len(within(lost, found, 55*time.Minute))
				if last := lost[len(lost)-1].at.Sub(found); soon > anHour(pages) || last > 100*time.Minute {
					t.Errorf("%d left within 55 minutes, want at most %d; the last after %s, want about an hour", soon, anHour(pages), last)
				}
				w.wantNothingUndone()
				w.end()
			})
		})
	}
}

// TestSiteBecomesSecure: where all pages answer 301 to their twins at https, the twins
// take their places: nothing is held, and hardly a page is in the index in neither form.
func TestSiteBecomesSecure(t *testing.T) {
	for _, pages := range []int{2, 16, 61, 301} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sicksite.Options{Documents: pages, Answer: answerTime}, nil)
				plain := w.healthy()
				time.Sleep(beforeIllness)
				w.site.Secure()
				moved := time.Now()
				for range 3 { // the home page has to say so at two visits, a day apart
					w.refresh(crawl.Selection{All: true})
					time.Sleep(26 * time.Hour)
				}
				twins := documents{}
				for url, content := range plain {
					twins["https"+strings.TrimPrefix(url, "http")] = content
				}
				missing, changed, strange := w.index.at(time.Now()).state(twins)
				if len(missing)+len(changed)+len(strange) > 0 {
					t.Errorf("of %d twins %d are missing (%s), %d changed; %d others are in the index (%s)",
						pages, len(missing), some(missing), len(changed), len(strange), some(strange))
				}
				if n := w.index.gaps(w.index.lost(plain, moved, time.Now())); n > anHour(pages) {
					t.Errorf("%d pages left before their twins came, want at most %d", n, anHour(pages))
				}
				w.wantNothingUndone()
				w.end()
			})
		})
	}
}

// gaps counts the plain documents among the lost whose twin was not in the index yet.
func (x *index) gaps(lost []order) (n int) {
	for _, o := range lost {
		if _, ok := x.at(o.at)["https"+strings.TrimPrefix(o.url, "http")]; !ok {
			n++
		}
	}
	return n
}

// TestRemovedLeaveAtOnce: what the operator removes rests for no time.
func TestRemovedLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sicksite.Options{Documents: 61, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		var urls []string
		for i := 30; i < 61; i++ {
			urls = append(urls, w.site.URL(i))
		}
		from := time.Now()
		done, err := w.crawl.Remove(t.Context(), crawl.Selection{URLs: urls})
		if err != nil || done.Deletions != len(urls) {
			t.Fatalf("%+v, %v", done, err)
		}
		time.Sleep(10 * time.Second)
		var gone []string
		for _, o := range w.index.lost(want, from, time.Now()) {
			gone = append(gone, o.url)
		}
		slices.Sort(gone)
		slices.Sort(urls)
		if !slices.Equal(gone, urls) {
			t.Errorf("%d of %d left within 10 s", len(gone), len(urls))
		}
		w.wantNothingUndone()
		w.end()
	})
}

// kill has a kill list with these patterns put in force.
func (w *world) kill(patterns ...string) {
	w.t.Helper()
	w.settings.Space.KillPatterns = nil
	if len(patterns) > 0 {
		w.settings.Space.KillPatterns = &crawlspace.File{Name: "kill.patterns", Content: []byte(strings.Join(patterns, "\n") + "\n")}
	}
	if err := w.crawl.Reload(w.t.Context(), w.settings); err != nil {
		w.t.Fatal(err)
	}
}

// TestLongKillListIsHeld: what a kill list takes off the index is held until the operator
// says a word, also over edits that do not touch it.
func TestLongKillListIsHeld(t *testing.T) {
	pages := 1001
	if wantsAll() {
		pages = 12_001
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sicksite.Options{Documents: pages}, nil)
		want := w.healthy()
		killed := len(want.below(w.site.URL(0) + "doc/"))
		time.Sleep(beforeIllness)
		from := time.Now()
		w.kill("/doc/")
		for i := range 4 {
			time.Sleep(90 * time.Minute)
			if lost := w.index.lost(want, from, time.Now()); len(lost) > 0 {
				t.Fatalf("%d of %d documents left after %s: %s", len(lost), killed, time.Since(from), describe(lost))
			}
			if held, resting := undone(w.status()); held != uint64(killed) || resting > 0 {
				t.Errorf("%d deletions are held and %d rest, want all %d held", held, resting, killed)
			}
			w.kill(append(unrelated(i+1), "/doc/")...)
		}
		from = time.Now()
		w.release()
		time.Sleep(10 * time.Minute)
		if lost := w.index.lost(want, from, time.Now()); len(lost) != killed {
			t.Errorf("%d of %d documents left after the operator's word", len(lost), killed)
		}
		w.wantNothingUndone()
		w.end()
	})
}

// unrelated are patterns of nothing.
func unrelated(n int) []string {
	var patterns []string
	for i := range n {
		patterns = append(patterns, fmt.Sprintf("/nothing-%d/", i))
	}
	return patterns
}

// TestKillListTakenBack: what it would have taken off the index stays.
func TestKillListTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sicksite.Options{Documents: 301, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		w.kill("/doc/")
		time.Sleep(time.Hour)
		w.kill()
		time.Sleep(recovery())
		if missing, changed, _ := w.index.at(time.Now()).state(want); len(missing)+len(changed) > 0 {
			t.Errorf("%d documents are missing and %d changed: %s", len(missing), len(changed), some(missing))
		}
		w.wantNothingUndone()
		w.end()
	})
}

// TestShortKillListLeaves: an edit that takes few documents off the index needs no word.
func TestShortKillListLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sicksite.Options{Documents: 61, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		from := time.Now()
		w.kill(w.site.Path(50), w.site.Path(59))
		time.Sleep(10 * time.Minute)
		if lost := w.index.lost(want, from, time.Now()); len(lost) != 2 {
			t.Errorf("%d documents left within 10 minutes, want the 2 that are killed: %s", len(lost), describe(lost))
		}
		w.wantNothingUndone()
		w.end()
	})
}
