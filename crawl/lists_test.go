package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestRoundsReadLists: a round of discovery asks for the sitemaps, feeds and XML files of the configuration, and what
// they list newly is crawled; without discovery for them alone.
func TestRoundsReadLists(t *testing.T) {
	for _, listsOnly := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			w.openRules()
			w.settings.SitemapMaxBytes, w.settings.SitemapMaxLinks = 1<<20, 1000
			w.settings.Rounds, w.settings.ListsOnly = time.Hour, listsOnly
			w.page(hostA + "/")
			for _, p := range []string{"/m1", "/m2", "/f1", "/f2"} {
				w.page(hostA + p)
			}
			list := func(n int) {
				var urls, items string
				for i := range n {
					urls += fmt.Sprintf("<url><loc>%s/m%d</loc></url>", hostA, i+1)
					items += fmt.Sprintf("<item><link>%s/f%d</link><title>t</title></item>", hostA, i+1)
				}
				w.set(hostA+"/map.xml", answered{kind: "text/xml", body: "<urlset>" + urls + "</urlset>"})
				w.set(hostA+"/feed.rss", answered{kind: "text/xml", body: "<rss><channel>" + items + "</channel></rss>"})
			}
			w.settings.Sources = []policy.Source{
				{URL: parse(t, hostA+"/map.xml"), Kind: scheduler.KindSitemap}, {URL: parse(t, hostA+"/feed.rss"), Kind: scheduler.KindFeed},
			}
			list(1)
			w.begin()
			w.quiet()
			list(2)
			time.Sleep(2*time.Hour + 30*time.Minute)
			w.quiet()
			home := map[bool]int{false: 3, true: 1}[listsOnly]
			for url, want := range map[string]int{"/": home, "/map.xml": 3, "/feed.rss": 3, "/m1": 1, "/m2": 1, "/f1": 1, "/f2": 1} {
				if n := w.hits(hostA + url); n != want {
					t.Errorf("lists only %v: %s was asked for %d times, want %d", listsOnly, url, n, want)
				}
			}
			w.end()
		}, hostA+"/")
	}
}

// people puts an XML file with n documents in, and into the settings.
func (w *world) people(n int) {
	w.t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<p u="/d/%d"><t>%s</t></p>`, i, prose(uint64(i), 40, "person")) //nolint:gosec // small
	}
	w.set(hostA+"/people.xml", answered{kind: "text/xml", body: "<a>" + b.String() + "</a>"})
	x := &policy.XMLDocuments{}
	for to, text := range map[*feeds.Path]string{&x.Link: "@u", &x.Title: "t", &x.Text: "t"} {
		var err error
		if *to, err = feeds.ParsePath(text); err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	if x.Path, err = feeds.ElementPath("//p"); err != nil {
		w.t.Fatal(err)
	}
	w.settings.Sources = []policy.Source{{URL: parse(w.t, hostA+"/people.xml"), Kind: scheduler.KindXML, XML: x}}
}

// TestXMLDocumentsTakenOut: the documents of an XML file go when the configuration does not name it any more, as those
// of an edit: at once where they are few, else at the operator's word. Named again before that, they stay; after it,
// they come back.
func TestXMLDocumentsTakenOut(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, n := range []int{1, 3, 16, 300} {
			inWorld(t, func(t *testing.T, w *world) {
				w.openRules()
				w.settings.SitemapMaxBytes, w.settings.SitemapMaxLinks = 1<<20, 1000
				pages := w.site(hostA, 4)
				w.people(n)
				named := w.settings.Sources
				w.begin()
				w.quiet()
				if len(w.index()) != len(pages)+n {
					t.Fatalf("%d documents", len(w.index()))
				}
				_, edits := w.crawl.Losses()
				if len(edits) > 0 {
					t.Errorf("%+v, though nothing was edited", edits)
				}
				w.settings.Sources = nil
				p, err := review.NewPreview(t.Context(), w.settings, w.store, 1)
				if err != nil || p.Deleted.Count != uint64(n) || len(p.Deleted.By) != 1 || !strings.Contains(p.Deleted.By[0].String(), "<XMLDocuments>") { //nolint:gosec // small
					t.Errorf("%d of them: %+v, %v", n, p.Deleted, err)
				}
				few := n <= int(deletion.EditMost(uint64(len(pages)+n))) //nolint:gosec // small
				if (p.Held == 0) != few {
					t.Errorf("%d of them: %d would be held", n, p.Held)
				}
				w.takeOn(restart)
				time.Sleep(time.Minute)
				want := len(pages) + n
				if few {
					want = len(pages)
				}
				if len(w.index()) != want {
					t.Errorf("%d of them, restart %v: %d documents, want %d", n, restart, len(w.index()), want)
				}
				if !few {
					w.settings.Space.KillPatterns = file("kill", "/nowhere") // another edit
					w.takeOn(restart)
					time.Sleep(time.Minute)
					if s := w.status(); s.Outbox.Pending != uint64(n) { //nolint:gosec // small
						t.Errorf("%d of them: %d pending after another edit", n, s.Outbox.Pending)
					}
					w.settings.Sources = named
					w.takeOn(restart)
					time.Sleep(time.Minute)
					if s := w.status(); s.Outbox.Pending != 0 || len(w.index()) != want {
						t.Errorf("%d of them, named again: %d pending, %d documents", n, s.Outbox.Pending, len(w.index()))
					}
					w.settings.Sources = nil
					w.crawl.AllowNextEdit()
					w.reload()
					w.quiet()
					time.Sleep(time.Minute)
				}
				if !slices.Equal(w.index(), slices.Sorted(slices.Values(pages))) {
					t.Errorf("%d of them: left are %d documents", n, len(w.index()))
				}
				w.settings.Sources = named
				w.takeOn(restart)
				w.quiet()
				if len(w.index()) != len(pages)+n || w.hits(hostA+"/d/0") > 0 {
					t.Errorf("%d of them, restart %v: %d documents when it is named again", n, restart, len(w.index()))
				}
				w.end()
			}, hostA+"/")
		}
	}
}

// TestOneOfSeveralXMLDocumentsTakenOut: the other file may list the same documents, so they stay.
func TestOneOfSeveralXMLDocumentsTakenOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.openRules()
		w.settings.SitemapMaxBytes, w.settings.SitemapMaxLinks = 1<<20, 1000
		w.site(hostA, 4)
		w.people(16)
		one := w.settings.Sources[0]
		other := one
		var err error
		if other.URL, err = weburl.Parse(hostA + "/others.xml"); err != nil {
			t.Fatal(err)
		}
		w.settings.Sources = []policy.Source{one, other}
		w.begin()
		w.quiet()
		before := len(w.index())
		w.settings.Sources = []policy.Source{other}
		p, err := review.NewPreview(t.Context(), w.settings, w.store, 1)
		if err != nil || p.Deleted.Count != 0 || !strings.Contains(p.Note, "stay while other ones exist") {
			t.Errorf("%+v, %v", p, err)
		}
		w.takeOn(false)
		time.Sleep(time.Minute)
		if len(w.index()) != before || w.status().Outbox.Pending != 0 {
			t.Errorf("%d documents, want %d", len(w.index()), before)
		}
	})
}
