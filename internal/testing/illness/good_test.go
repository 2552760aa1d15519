package illness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// What is wanted must happen, and soon: these are losses that are not illness.

const (
	rest    = time.Minute      // after which a lone page is asked for again
	soon    = 2 * time.Minute  // within which it has left
	atOnce  = 10 * time.Minute // within which a release is carried out, and all of a refresh
	hold    = 7 * 24 * time.Hour
	held    = hold + 36*time.Hour // daily visits of a week, the last of them
	goneFor = 30 * 24 * time.Hour
)

// TestLonePageLeaves: a page that is gone leaves the index within two minutes of the visit
// that finds it gone, and nothing else does, also where it was the only one.
func TestLonePageLeaves(t *testing.T) {
	for _, pages := range sizes(1, 2, 16) {
		for _, how := range []Illness{NotFound, Gone} {
			inBubble(t, fmt.Sprintf("%s/%d", how, pages), func(t *testing.T) {
				w, want := crawled(t, nil, pages)
				w.site.End(how, pages-1)
				found := time.Now()
				w.refresh(crawl.Selection{URLs: []string{w.site.URL(pages - 1)}})
				time.Sleep(rest - time.Second)
				w.wantGone(want, found)
				time.Sleep(soon - rest + 2*time.Second)
				w.wantGone(want, found, pages-1)
				w.wantNothingUndone()
				time.Sleep(24 * time.Hour)
				w.wantGone(want, found, pages-1)
				w.end()
			})
		}
	}
}

// TestHundredthLeaves: one in a hundred pages of a site leaves in one refresh, and the site
// is never taken to be ill.
func TestHundredthLeaves(t *testing.T) {
	const pages = 5000
	synctest.Test(t, func(t *testing.T) {
		w, want := crawled(t, nil, pages)
		var gone []int
		for i := range pages / 100 {
			gone = append(gone, pages/2+i)
		}
		found := time.Now()
		w.site.Drop(gone...)
		w.refresh(crawl.Selection{All: true})
		w.wantNeverIll(atOnce)
		w.wantGone(want, found, gone...)
		w.wantNothingUndone()
		w.end()
	})
}

// TestSectionLeaves: a twentieth of the pages leaves in a day, and not sooner.
func TestSectionLeaves(t *testing.T) {
	for _, pages := range sizes(60, 300) {
		if pages < 60 {
			continue // a twentieth is at most two pages
		}
		inBubble(t, fmt.Sprint(pages), func(t *testing.T) {
			w, want := crawled(t, nil, pages)
			section := w.site.Section()
			w.site.Drop(section...)
			found := time.Now()
			w.refresh(crawl.Selection{All: true})
			time.Sleep(23 * time.Hour)
			if n := len(w.index.lost(want, found, time.Now())); n > firstDay(pages) {
				t.Errorf("%d documents left within 23 hours, want at most %d", n, firstDay(pages))
			}
			w.wantNeverIll(2 * time.Hour)
			w.wantGone(want, found, section...)
			w.wantNothingUndone()
			w.end()
		})
	}
}

// lastThird are 30 % of the pages of a site.
func lastThird(pages int) []int {
	var third []int
	for i := pages - pages*3/10; i < pages; i++ {
		third = append(third, i)
	}
	return third
}

// endings returns how a third of a site goes, each an explicit loss.
func endings() []Illness {
	return []Illness{
		NotFound, Noindex, OneCanonical, Disallowed, MovedToOne,
	}
}

// TestThirdLeaves: 30 % of a site that are taken down leave after a week, by themselves. A week costs a second, so a
// usual test run has all endings in one crawl.
func TestThirdLeaves(t *testing.T) {
	var together []goneHost
	var each [][]goneHost
	for _, how := range endings() {
		together = append(together, goneHost{how, 16})
		if !wantsAll() {
			continue
		}
		for _, pages := range sizes() {
			if pages*3/10 > firstDay(pages) {
				each = append(each, []goneHost{{how, pages}})
			}
		}
	}
	for _, hosts := range append(each, together) {
		inBubble(t, name(hosts), func(t *testing.T) { thirdLeaves(t, hosts) })
	}
}

func thirdLeaves(t *testing.T, hosts []goneHost) {
	var sites []*Site
	for i, host := range hosts {
		sites = append(sites, newSite(i, host.pages))
	}
	w, want := crawledOf(t, readRobotsHourly, sites...)
	from := time.Now()
	gone := documents{}
	for i, host := range hosts {
		third := lastThird(host.pages)
		sites[i].End(host.kind, third...)
		for _, page := range third {
			gone[sites[i].URL(page)] = want[sites[i].URL(page)]
		}
	}
	w.refresh(crawl.Selection{All: true})
	time.Sleep(hold - time.Hour)
	for i, host := range hosts {
		if n := len(w.index.lost(want.below(sites[i].URL(0)), from, time.Now())); n > firstDay(host.pages) {
			t.Errorf("%s: %d documents left within a week, want at most %d", host.kind, n, firstDay(host.pages))
		}
	}
	time.Sleep(held - hold + time.Hour)
	left := documents{}
	for _, o := range w.index.lost(want, from, time.Now()) {
		left[o.url] = want[o.url]
	}
	if missing, _, strange := left.state(gone); len(missing)+len(strange) > 0 {
		t.Errorf("%d documents are still there (%s), and %d others left (%s)",
			len(missing), some(missing), len(strange), some(strange))
	}
	w.wantNothingUndone()
	w.end()
}

// TestThirdIsReleased: they leave at once when the operator says so.
func TestThirdIsReleased(t *testing.T) {
	for _, how := range endings() {
		for _, pages := range sizes(16) {
			inBubble(t, fmt.Sprintf("%s/%d", how, pages), func(t *testing.T) {
				w, want := crawled(t, readRobotsHourly, pages)
				from := time.Now()
				w.site.End(how, lastThird(pages)...)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(3 * time.Hour)
				if n := len(w.index.lost(want, from, time.Now())); n > firstDay(pages) {
					t.Errorf("%d documents left before the operator's word, want at most %d", n, firstDay(pages))
				}
				w.release()
				time.Sleep(atOnce)
				w.wantGone(want, from, lastThird(pages)...)
				w.wantNothingUndone()
				w.end()
			})
		}
	}
}

// TestOffDeletesAtOnce: without the rule every permanent error deletes at once.
func TestOffDeletesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, want := crawled(t, deleteAtOnce, 60)
		from := time.Now()
		w.site.FallIll(NotFound)
		w.refresh(crawl.Selection{All: true})
		time.Sleep(rest / 2)
		if n := len(w.index.lost(want, from, time.Now())); n != 60 {
			t.Errorf("%d of 60 documents left within %s", n, rest/2)
		}
		w.wantNothingUndone()
		w.end()
	})
}
