package crawl

import (
	stdhtml "html"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// served are pages of a copysites.Page each, all on one host.
func served(pages []copysites.Page) map[string]string {
	all := map[string]string{}
	for i := range pages {
		p := &pages[i]
		all[p.Path] = "<title>" + stdhtml.EscapeString(p.Title) + "</title><p>" + strings.ReplaceAll(p.Text, "\n", "<p>")
	}
	return all
}

// TestPagesOfAFormAreIndexed: pages that have a menu in common and little text of their own,
// or one form, are all documents.
func TestPagesOfAFormAreIndexed(t *testing.T) {
	for name, pages := range copysites.Forms(1) {
		t.Run(name, func(t *testing.T) {
			site := siteOf(t, served(pages))
			b := duplicateBench(t, site)
			b.once()
			want := append(slices.Sorted(maps.Keys(served(pages))), "/start")
			slices.Sort(want)
			if diff := cmp.Diff(want, paths(site.Origins()[0], b.indexed())); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCopiesOfAnOlderVersionComeBack: pages that a version without signatures took for copies
// are fetched again when this one starts, and are documents.
func TestCopiesOfAnOlderVersionComeBack(t *testing.T) {
	pages := copysites.Site(copysites.Layout{Host: "h.example", Frame: 100, Own: 30, Pages: 12, Seed: 1})
	site := siteOf(t, served(pages))
	origin := site.Origins()[0]
	b := duplicateBench(t, site)
	b.once()
	all := paths(origin, b.indexed())
	var keys []weburl.Key
	for _, p := range pages {
		u, err := weburl.Parse(origin + p.Path)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, u.Key())
	}
	b.with(func(_ *Crawl, store *badgerstore.Store) {
		_, _, err := store.Revise(t.Context(), keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
			if r.Signature = ""; r.URL != origin+pages[0].Path {
				r.Indexed, r.Hash, r.DuplicateOf, r.Reason = false, [16]byte{}, origin+pages[0].Path, scheduler.ReasonNearCopy
			}
			return &scheduler.Revision{Next: r}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if got := len(b.indexed()); got != len(all) { // of the target, which was told of no deletion
		t.Fatalf("%d documents, want %d", got, len(all))
	}
	b.once()
	for _, p := range pages {
		if r, _ := b.record(origin + p.Path); !r.Indexed || r.DuplicateOf != "" {
			t.Errorf("%s is %+v", p.Path, r)
		}
	}
}
