package copies

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// TestAlikeEstimates: Alike is the Jaccard similarity of the word pairs, for texts of all lengths, with and without a
// frame. The standard deviation of 64 minima is at most 0.0625.
func TestAlikeEstimates(t *testing.T) {
	const mostMean, mostRMS = 0.03, 0.08
	for _, l := range []copysites.Layout{{Own: 20}, {Own: 100}, {Own: 600}, {Own: 100, Frame: 50}, {Own: 600, Frame: 300}} {
		l.Host, l.Pages, l.Seed = "a.example", 400, uint64(l.Own)
		pages := copysites.Site(l)
		r := rand.New(rand.NewPCG(l.Seed, 7))
		template := templateOf(some(r, pages, 32))
		var all judged
		for i := range pages {
			all.compare(pages[i], template.edited(r, pages[i], pages[(i+1)%len(pages)], r.Float64()), template)
		}
		mean, rms := all.errors()
		t.Logf("%d words and a frame of %d: mean error %.3f, root mean square %.3f", l.Own, l.Frame, mean, rms)
		if math.Abs(mean) > mostMean || rms > mostRMS {
			t.Errorf("%d words and a frame of %d: mean error %.3f, root mean square %.3f, want %v and %v at most",
				l.Own, l.Frame, mean, rms, mostMean, mostRMS)
		}
	}
}

// TestCorpusAlike measures on real pages how often thresholds of Alike judge otherwise than the exact similarity.
func TestCorpusAlike(t *testing.T) {
	if !wholeCorpus() {
		t.Skip("make corpus runs it")
	}
	t.Log("far: of pairs whose exact similarity is 0.15 or more from the threshold")
	t.Log("| pairs | n | exact: least, 5, 50, 95 %, most | Alike | % wrong at 0.2 (far) | at 0.5 | at 0.7 |")
	for _, folder := range []string{"/usr/share/doc/libboost1.81-doc", "/usr/share/doc/sqlite3"} {
		pages := documentation(t, folder)
		if len(pages) == 0 {
			testneed.Missing(t, "%s is not there: apt-get install libboost1.81-doc sqlite3-doc", folder)
		}
		measureAlike(t, folder[len("/usr/share/doc/"):], pages)
	}
	for _, own := range []int{60, 200, 600} {
		name := fmt.Sprintf("generated, frame of 300 words, %d of their own", own)
		measureAlike(t, name, copysites.Site(copysites.Layout{Host: "a.example", Frame: 300, Own: own, Pages: 500, Seed: 5}))
	}
	for _, own := range []int{15, 60, 100} {
		pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 300, Own: own, Pages: 500, Seed: 5})
		for i := range pages {
			pages[i].Title = "The site's title"
		}
		name := fmt.Sprintf("generated with one title, frame of 300 words, %d of their own", own)
		measureErrorPages(t, name, rand.New(rand.NewPCG(uint64(own), 4)), pages, pages[0].Title)
	}
}

// measureAlike measures one site.
func measureAlike(t *testing.T, name string, pages []copysites.Page) {
	t.Helper()
	const pairs = 600
	r := rand.New(rand.NewPCG(uint64(len(pages)), 3))
	template := templateOf(some(r, pages, 32))
	var versions, versionsOwn, short, others, othersOwn judged
	for range pairs {
		two := some(r, pages, 2)
		changed := template.edited(r, two[0], two[1], r.Float64())
		versions.compare(two[0], changed)
		versionsOwn.compare(two[0], changed, template)
		if len(strings.Fields(two[0].Text)) < 100 {
			short.compare(two[0], changed, template)
		}
		others.compare(two[0], two[1])
		othersOwn.compare(two[0], two[1], template)
	}
	versions.log(t, name+": versions of a page")
	versionsOwn.log(t, name+": the same without the template")
	short.log(t, name+": the same, pages of fewer than 100 words")
	others.log(t, name+": two pages")
	othersOwn.log(t, name+": two pages without the template")
	measureErrorPages(t, name, r, pages, "")
}

// apology returns the title and the text of an error page with an id.
func apology(kind, id string) (title, text string) {
	switch kind {
	case "short":
		return "Error", "Error " + id
	case "medium":
		return "Sorry " + id, "Sorry, something went wrong. Please try again in a few minutes. " +
			"If it happens again, tell our support the reference " + id + "."
	}
	return "Service unavailable", "We are sorry: the page " + id + " is not available at the moment. " +
		"Our engineers have been told and are working on it. Meanwhile you may go back to the start page, use the search, " +
		"or look at the list of all services and at the announcements of planned maintenance. If you need help at once, " +
		"call us from Monday to Friday, or write to us with the reference " + id + ". Thank you for your patience."
}

// measureErrorPages compares error pages in the site's frame with each other, which should be over 0.7, and with
// documents, which should be under 0.2. The error pages have titles of their own, unless one is given.
func measureErrorPages(t *testing.T, name string, r *rand.Rand, pages []copysites.Page, siteTitle string) {
	t.Helper()
	const pairs = 200
	documents := templateOf(some(r, pages, 32))
	for _, kind := range []string{"short", "medium", "long"} {
		failed := func() copysites.Page {
			title, text := apology(kind, fmt.Sprintf("%x-%x", r.Uint32(), r.Uint32()))
			if siteTitle != "" {
				title = siteTitle
			}
			return copysites.Page{Title: title, Text: documents.frame(pages[r.IntN(len(pages))]) + " " + text}
		}
		for _, share := range []int{0, 4, 12} { // of the last 32 responses
			responses := some(r, pages, 32-share)
			for range share {
				responses = append(responses, failed())
			}
			templates := []hostTemplate{documents}
			if share > 0 {
				templates = append(templates, templateOf(responses))
			}
			var each, document judged
			for range pairs {
				each.compare(failed(), failed(), templates...)
				document.compare(pages[r.IntN(len(pages))], failed(), templates...)
			}
			t.Logf("%s: %s error pages, %d of 32 responses: alike%s, %.1f %% over 0.7; to documents%s, %.1f %% under 0.2",
				name, kind, share, quantiles(each.got), each.over(0.7), quantiles(document.got), document.under(0.2))
		}
	}
}
