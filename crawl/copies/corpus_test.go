package copies

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// corpus says how much is measured: SEXTANT_CORPUS=all, as make corpus sets it, takes sites
// of all sizes and documentations of other programs.
func wholeCorpus() bool { return os.Getenv("SEXTANT_CORPUS") == "all" }

// layouts are the sites of the corpus.
func layouts() (all []copysites.Layout) {
	frames, owns, pages := []int{50, 500}, []int{15, 60, 100, 600}, 70
	if wholeCorpus() {
		frames, owns, pages = []int{50, 100, 200, 300, 500}, []int{4, 8, 15, 40, 60, 80, 100, 150, 200, 400, 600}, 350
	}
	for _, own := range owns {
		for _, frame := range frames {
			all = append(all, copysites.Layout{Host: "corpus.example", Frame: frame, Own: own, Pages: pages, Copied: pages * 4 / 5, Seed: uint64(1000*frame + own)})
		}
	}
	return all
}

// TestCorpus: no distinct page is lost, and of the copies of pages with 100 words of their
// own nine of ten of each kind are found.
func TestCorpus(t *testing.T) {
	const least = 0.9
	found, copies := map[string]map[int]int{}, map[string]map[int]int{}
	var owns []int
	for _, l := range layouts() {
		pages := copysites.Site(l)
		w := newWorld(t, pages)
		w.crawl(in(l.Seed, pages)...)
		got := w.tally()
		if len(got.lost) > 0 {
			t.Errorf("a frame of %d words and %d of their own: %d distinct pages are lost: %v", l.Frame, l.Own, len(got.lost), got.lost)
		}
		if len(owns) == 0 || owns[len(owns)-1] != l.Own {
			owns = append(owns, l.Own)
		}
		for kind, n := range got.copies {
			if copies[kind] == nil {
				found[kind], copies[kind] = map[int]int{}, map[int]int{}
			}
			found[kind][l.Own] += got.found[kind]
			copies[kind][l.Own] += n
		}
	}
	t.Logf("| own words | %s |", strings.Trim(strings.ReplaceAll(fmt.Sprint(owns), " ", " | "), "[]"))
	for _, kind := range copysites.Kinds() {
		var row strings.Builder
		for _, own := range owns {
			share := float64(found[kind][own]) / float64(copies[kind][own])
			fmt.Fprintf(&row, " %.0f |", 100*share)
			if own >= 100 && share < least {
				t.Errorf("%s, %d words of their own: %.2f are found, want %.2f", kind, own, share, least)
			}
		}
		t.Logf("| %s |%s", kind, row.String())
	}
}

// TestForms: of sites whose pages look alike, and are distinct, none is lost.
func TestForms(t *testing.T) {
	seeds := uint64(2)
	if wholeCorpus() {
		seeds = 20
	}
	for seed := range seeds {
		for name, pages := range copysites.Forms(100 * (seed + 1)) {
			w := newWorld(t, pages)
			w.crawl(in(seed, pages)...)
			if got := w.tally(); len(got.lost) > 0 {
				t.Errorf("%s, seed %d: %d of %d pages are lost: %.300v", name, seed, len(got.lost), len(pages), got.lost)
			}
		}
	}
}

// TestDocumentations crawls the documentations of two programs, of which all pages are
// distinct but for three that are there twice.
func TestDocumentations(t *testing.T) {
	if !wholeCorpus() {
		t.Skip("make corpus runs it")
	}
	for folder, copies := range map[string]map[string]string{
		"/usr/share/doc/libboost1.81-doc": {},
		"/usr/share/doc/sqlite3": {
			"/fileformat.html": "/fileformat2.html", "/releaselog/current.html": "/releaselog/3_40_1.html",
		},
	} {
		pages := documentation(t, folder)
		if len(pages) == 0 {
			testneed.Missing(t, "%s is not there: apt-get install libboost1.81-doc sqlite3-doc", folder)
		}
		w := newWorld(t, pages)
		w.crawl(in(1, pages)...)
		got := map[string]string{}
		for i := range pages {
			if of := w.found(i); of >= 0 {
				from, to := pages[i].Path, pages[of].Path
				if _, ok := copies[to]; ok {
					from, to = to, from
				}
				got[from] = to
			}
		}
		if d := cmp.Diff(copies, got); d != "" {
			t.Errorf("copies among %d pages of %s (-want +got):\n%s", len(pages), folder, d)
		}
		t.Logf("%s: %d pages, %d copies, %d fetches", folder, len(pages), len(got), w.fetches)
	}
}

// documentation reads the pages below a folder.
func documentation(t *testing.T, folder string) (pages []copysites.Page) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".html" {
			return nil //nolint:nilerr // what cannot be read is no page
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, err := extract.HTML(b, "text/html", extract.Options{})
		if err == nil {
			pages = append(pages, copysites.Page{Host: "docs.example", Path: strings.TrimPrefix(path, folder), Title: p.Title, Text: p.Text, Of: -1})
		}
		return nil //nolint:nilerr // what cannot be decoded is no page
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
