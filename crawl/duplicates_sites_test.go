package crawl

import (
	stdhtml "html"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
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
	if testing.Short() {
		t.Skip("many pages, which are fetched as those of TestDuplicates are")
	}
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
