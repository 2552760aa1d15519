package copies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestOrderOfTheCrawl: which pages are copies of one another does not depend on the order in
// which they come; only which one of them is the original does. Each page has one copy at
// most: of small sites whose pages have a copy of each kind about one in a hundred still
// depends on it.
func TestOrderOfTheCrawl(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 3))
		l := copysites.Layout{
			Host: "order.example", Frame: 50 * r.IntN(8), Own: 20 + r.IntN(300),
			Pages: 10 + r.IntN(60), Seed: seed,
		}
		l.Copied = r.IntN(l.Pages + 1)
		pages := copysites.Site(l)
		var want []int
		for n := range uint64(4) {
			w := newWorld(t, pages)
			w.crawl(in(seed+n, pages)...)
			got := w.groups()
			if n == 0 {
				want = got
				continue
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%+v: %s (%s) is with %s in one order and with %s in another", l, pages[i].URL(), pages[i].Kind, pages[want[i]].URL(), pages[got[i]].URL())
				}
			}
		}
	})
}

// TestAllCopiesOfAPage: a page that has a copy of each kind at once is found with all of
// them; copies that are not like each other are both like the page.
func TestAllCopiesOfAPage(t *testing.T) {
	pages := copysites.Copied(7, 30, 250)
	w := newWorld(t, pages)
	w.crawl(in(2, pages)...)
	got := w.tally()
	if len(got.lost) > 0 {
		t.Errorf("lost are %v", got.lost)
	}
	for kind, n := range got.copies {
		if got.found[kind] < n*9/10 {
			t.Errorf("%s: %d of %d are found", kind, got.found[kind], n)
		}
	}
}

// TestCommonTitle: what was found to be nearly a copy by a title is none any more when many
// pages turn out to have that title.
func TestCommonTitle(t *testing.T) {
	pages := copysites.Site(copysites.Layout{Host: "h.example", Frame: 100, Own: 150, Pages: 40, Seed: 1})
	form := pages[0]
	const n = 30
	for i := range n {
		p := form
		p.Path, p.Title = fmt.Sprintf("/form/%d", i), "Form"
		p.Text = strings.Replace(form.Text, "sponsored", fmt.Sprint("part number ", 1000+i, " sponsored"), 1)
		pages = append(pages, p)
	}
	w := newWorld(t, pages)
	var order []int
	for i := range pages {
		order = append(order, i)
	}
	w.crawl(order[:40+near.MaxTitled]...)
	if got := w.tally(); len(got.lost) != near.MaxTitled-1 {
		t.Fatalf("of %d pages that differ in one number %d are copies", near.MaxTitled, len(got.lost))
	}
	w.crawl(order[40+near.MaxTitled:]...)
	if got := w.tally(); len(got.lost) > 0 {
		t.Errorf("of %d pages that differ in one number %d are lost: %v", n, len(got.lost), got.lost)
	}
}

// TestFrameChanges: when a site gets another frame no page is lost while some pages have it,
// and copies are found when all have it.
func TestFrameChanges(t *testing.T) {
	for _, own := range []int{15, 200} {
		before := copysites.Site(copysites.Layout{Host: "h.example", Frame: 300, Own: own, Pages: 60, Copied: 30, Seed: 1})
		w := newWorld(t, before)
		w.crawl(in(1, before)...)
		copies := len(w.tally().found)
		menu := copysites.Site(copysites.Layout{Host: "h.example", Frame: 400, Own: 4, Pages: 1, Seed: 99})[0].Text
		for _, i := range in(3, before) {
			p := w.pages[i]
			p.Text = menu + p.Text
			w.pages[i] = p
			w.crawl(i)
			if got := w.tally(); len(got.lost) > 0 {
				t.Fatalf("%d words of their own: %v are lost", own, got.lost)
			}
		}
		if got := len(w.tally().found); got < copies {
			t.Errorf("%d words of their own: %d kinds of copies are found after the change, %d before", own, got, copies)
		}
	}
}

// TestRestart: another process knows what the one before found, and goes on with it.
func TestRestart(t *testing.T) {
	pages := copysites.Site(copysites.Layout{Host: "h.example", Frame: 100, Own: 200, Pages: 60, Copied: 40, Seed: 1})
	w := newWorld(t, pages)
	order := in(1, pages)
	w.crawl(order[:60]...)
	w.fetches = 0
	w.restart()
	if w.crawl(); w.fetches != 0 {
		t.Errorf("%d pages are fetched again at a start", w.fetches)
	}
	w.crawl(order[60:]...)
	whole := newWorld(t, pages)
	whole.crawl(order...)
	if got, want := w.groups(), whole.groups(); !slices.Equal(got, want) {
		t.Errorf("after a restart other pages are copies:\n%v, want\n%v", got, want)
	}
}

// TestOriginalGoes: of the copies of a page that goes, one is the next original.
func TestOriginalGoes(t *testing.T) {
	pages := copysites.Copied(7, 12, 250)
	w := newWorld(t, pages)
	w.crawl(in(2, pages)...)
	for i := range pages {
		if pages[i].Of < 0 && w.found(i) < 0 {
			w.pages[i].Text = gone
			w.crawl(i)
		}
	}
	documents := map[weburl.Key]bool{}
	for i := range pages {
		r := w.records[w.urls[i].Key()]
		if r.Indexed {
			documents[w.urls[i].Key()] = true
		}
	}
	for i := range pages {
		if of := w.found(i); of >= 0 && !documents[w.urls[of].Key()] {
			t.Errorf("%s is a copy of %s, which is no document", pages[i].URL(), pages[of].URL())
		}
	}
}

// TestManyHosts: of more hosts than are held the frames are not lost.
func TestManyHosts(t *testing.T) {
	const hosts, each = maxHosts + 50, 10
	var pages []copysites.Page
	var order []int
	for h := range hosts {
		pages = append(pages, copysites.Site(copysites.Layout{Host: fmt.Sprintf("h%d.example", h), Frame: 40, Own: 40, Pages: each, Seed: uint64(h)})...)
	}
	for i := range each {
		for h := range hosts {
			order = append(order, h*each+i)
		}
	}
	w := newWorld(t, pages)
	w.crawl(order...)
	ready := 0
	for h := range hosts {
		if f, err := near.DecodeFrame(w.values[frameValue(w.urls[h*each].HostKey())]); err == nil && f.Ready() {
			ready++
		}
	}
	if ready < hosts {
		t.Errorf("the frames of %d of %d hosts are stored", ready, hosts)
	}
}
