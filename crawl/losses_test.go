package crawl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// queried puts a home page with n pages in that have a query, and returns their URLs by the form of them:
// %d is the page.
func (w *world) queried(n int, forms ...string) [][]string {
	urls := make([][]string, len(forms))
	var links []string
	for i := range n {
		for form, name := range forms {
			url := hostA + fmt.Sprintf(name, i)
			w.set(url, answered{body: prose(uint64(i), 60, "")}) //nolint:gosec // small
			urls[form] = append(urls[form], url)
		}
		links = append(links, fmt.Sprintf(forms[0], i))
	}
	w.page(hostA+"/", links...)
	for form := range urls {
		urls[form] = append(urls[form], hostA+"/")
		slices.Sort(urls[form])
	}
	return urls
}

// TestRenamedLater: pages that the settings give other names are in the index under these alone, by the end of a
// run as in the service. They are no deletions that an edit would have to wait with, nor does the preview say so.
func TestRenamedLater(t *testing.T) {
	for name, c := range map[string]struct {
		form   string
		change func(*crawlspace.Settings)
	}{
		"canonical": {"/p?a=1&b=%d", func(s *crawlspace.Settings) {
			s.Canonical = &crawlspace.Canonical{Options: weburl.Options{SortQuery: true}}
		}},
		"query filter": {"/p?b=%d", func(s *crawlspace.Settings) { s.QueryFilter = &crawlspace.Text{Value: "b"} }},
	} {
		for _, service := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, service %t", name, service), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					urls := w.queried(12, "/p?b=%d&a=1", c.form)
					if err := w.once(); err != nil {
						t.Error(err)
					}
					if diff := cmp.Diff(urls[0], w.index()); diff != "" {
						t.Fatalf("at first (-want +got):\n%s", diff)
					}
					c.change(&w.settings.Space)
					w.open()
					p, err := review.NewPreview(t.Context(), w.settings, w.store, 0)
					if err != nil || p.Deleted.Count != 12 || p.Held != 0 {
						t.Errorf("the preview deletes %d and holds %d, %v; want 12 and none", p.Deleted.Count, p.Held, err)
					}
					w.close()
					if service {
						w.begin()
						w.quiet()
						time.Sleep(10 * time.Minute)
						w.end()
					} else if err := w.once(); err != nil {
						t.Error(err)
					}
					w.wantDocuments("documents", urls[1])
					w.open()
					if s := w.status(); s.Outbox.Pending != 0 {
						t.Errorf("%d deletions are pending", s.Outbox.Pending)
					}
					w.close()
				}, hostA+"/")
			})
		}
	}
}

// TestRenamedTwice: pages that get another name before the first one is in the index wait for the second one.
func TestRenamedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.queried(12, "/p?b=%d&a=1", "/p?b=%d")
		w.begin()
		w.quiet()
		w.settings.Space.Canonical = &crawlspace.Canonical{Options: weburl.Options{SortQuery: true}} // where nothing is
		w.reload()
		w.quiet()
		w.settings.Space.Canonical = nil
		w.settings.Space.QueryFilter = &crawlspace.Text{Value: "b"}
		w.reload()
		w.quiet()
		time.Sleep(time.Hour)
		w.wantDocuments("documents", urls[1])
		if s := w.status(); s.Outbox.Pending != 0 {
			t.Errorf("%d deletions are pending", s.Outbox.Pending)
		}
		w.end()
	}, hostA+"/")
}

// TestFirstLoginForm: a form that asks for a password in place of a page does not replace its document, though no
// other page has shown it yet; another text does, a minute later.
func TestFirstLoginForm(t *testing.T) {
	for form, gone := range map[string]time.Duration{`<form><input type="password" name="p"></form>`: 24 * time.Hour, "": time.Minute} {
		inWorld(t, func(t *testing.T, w *world) {
			page := w.site(hostA, 12)[5]
			w.begin()
			w.quiet()
			before, _ := w.document(page)
			w.set(page, answered{body: prose(100, 40, "Sign in") + form})
			if _, err := w.crawl.Refresh(t.Context(), Selection{URLs: []string{page}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(gone - time.Second)
			if d, _ := w.document(page); d.Text != before.Text || !w.record(page).LossPending {
				t.Errorf("form %q: within %s the text is %q", form, gone, d.Text)
			}
			if form != "" {
				w.set(page, answered{body: prose(4, 40, "This is the page at /p004.html")})
			}
			time.Sleep(25 * time.Hour)
			if d, _ := w.document(page); (d.Text == before.Text) != (form != "") || w.record(page).LossPending {
				t.Errorf("form %q: later the text is %q", form, d.Text)
			}
			w.end()
		}, hostA+"/")
	}
}

// TestTextOfTwo: the new text of one of two pages replaces the old one within two minutes, whichever of them is asked
// for first. Later requests, an hour and five hours on, look whether the old text has returned.
func TestTextOfTwo(t *testing.T) {
	for i := range 2 {
		inWorld(t, func(t *testing.T, w *world) {
			w.settings.Frontier.Aggressive = false
			urls := w.site(hostA, 1)
			w.begin()
			w.quiet()
			w.set(urls[i], answered{body: prose(100, 40, "something else") + `<a href="/p000.html">a link</a>`})
			w.refresh(Selection{URLs: urls[i : i+1]})
			time.Sleep(2 * time.Minute)
			if d, _ := w.document(urls[i]); !strings.Contains(d.Text, "something else") {
				t.Errorf("two minutes later the text of %s is %q", urls[i], d.Text)
			}
			before := w.visited()
			time.Sleep(20 * time.Hour)
			if n := w.visited() - before; n > 2 {
				t.Errorf("%s: %d requests after the new text was pushed", urls[i], n)
			}
			w.end()
		}, hostA+"/")
	}
}

// visited returns the number of requests for pages so far.
func (w *world) visited() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.visits)
}

// inShop is a world with an index for documents of the source shop and one for those of none, whose documents
// have no source.
func inShop(t *testing.T, fn func(t *testing.T, w *world, shop *memoryTarget, pages []string)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		shop := &memoryTarget{documents: map[string]push.Document{}}
		w.targets = func() []push.TargetSettings {
			none, its := "", "shop"
			return []push.TargetSettings{{Target: namedTarget{w.target, "none"}, Source: &none}, {Target: namedTarget{shop, "shop"}, Source: &its}}
		}
		w.settings.Frontier.LeavesTarget = func(from, to string) bool { return from != to }
		pages := w.site(hostA, 60)
		w.begin()
		w.quiet()
		fn(t, w, shop, pages)
		w.end()
	}, hostA+"/")
}

// sold gives the pages that begin so the source shop, and has all of them visited.
func (w *world) sold(prefixes ...string) {
	w.t.Helper()
	w.settings.Rules.Rules = nil
	for _, p := range prefixes {
		w.settings.Rules.Rules = append(w.settings.Rules.Rules, actionrules.Rule{If: path(p), Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: "shop"}}})
	}
	w.reload()
	w.quiet()
	w.refresh(Selection{All: true})
	time.Sleep(time.Minute)
}

func (w *world) wantShop(when string, shop *memoryTarget, pages []string, moved, pending int) {
	w.t.Helper()
	shop.mu.Lock()
	has := slices.Sorted(maps.Keys(shop.documents))
	shop.mu.Unlock()
	if len(has) != moved || len(w.index()) != len(pages)-moved {
		w.t.Errorf("%s: the shop has %d documents and the other index %d; want %d and %d", when, len(has), len(w.index()), moved, len(pages)-moved)
	}
	if s := w.status(); s.Outbox.Pending != uint64(pending) { //nolint:gosec // small
		w.t.Errorf("%s: %d are pending, want %d", when, s.Outbox.Pending, pending)
	}
}

// TestSourceChangesByEdit: a change of source that takes documents off a target is an edit's deletion there: it is
// carried out at once where it is little, and at the operator's word where it is not, however often the pages
// are visited and whatever else is edited in the meantime.
func TestSourceChangesByEdit(t *testing.T) {
	skipShortDays(t)
	inShop(t, func(t *testing.T, w *world, shop *memoryTarget, pages []string) {
		w.sold("/p000", "/p001")
		w.wantShop("two pages", shop, pages, 2, 0)
		w.sold("/p00", "/p01")
		_, edits := w.crawl.Losses()
		edit := edits[len(edits)-1]
		most := int(deletion.EditMost(61)) // may leave before the others are visited
		if edit.State != deletion.EditHeld || edit.Deletions != 18 || edit.Sent > uint64(most) {
			t.Errorf("%+v, want its 18 deletions to wait for the operator, up to %d", edit, most)
		}
		moved, pending := 2+int(edit.Sent), 18-int(edit.Sent)
		w.wantShop("twenty pages", shop, pages, moved, pending)
		for range 9 {
			time.Sleep(25 * time.Hour)
			w.refresh(Selection{All: true})
		}
		w.wantShop("nine days later", shop, pages, moved, pending)
		w.sold("/p00", "/p01", "/unrelated")
		w.wantShop("after another edit", shop, pages, moved, pending)
		if n, err := w.crawl.Release(t.Context(), scheduler.DeletionFilter{Edit: edit.Number}); n != pending || err != nil {
			t.Errorf("%d released, %v", n, err)
		}
		time.Sleep(time.Minute)
		w.wantShop("released", shop, pages, 20, 0)
		w.refresh(Selection{All: true})
		w.wantShop("visited after that", shop, pages, 20, 0)
	})
	inShop(t, func(t *testing.T, w *world, shop *memoryTarget, pages []string) {
		w.sold("/p00", "/p01")
		if s := w.status(); s.Outbox.Pending < 17 {
			t.Errorf("%d are pending, want all of twenty, up to three", s.Outbox.Pending)
		}
		w.sold()
		w.wantShop("taken back", shop, pages, 0, 0)
	})
}
