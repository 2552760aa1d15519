package crawl

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/scheduler"
)

// given returns how many documents on pages that begin so have the meta kind=page and the source news.
func (w *world) given(prefix string) (n int) {
	w.target.mu.Lock()
	defer w.target.mu.Unlock()
	for url, d := range w.target.documents {
		if len(url) >= len(prefix) && url[:len(prefix)] == prefix && slices.Equal(d.Metas["kind"], []string{"page"}) && d.Source == "news" {
			n++
		}
	}
	return n
}

// renew puts the settings of now in force, and has documents with other metas fetched at once.
func (w *world) renew(now bool) {
	w.t.Helper()
	change, err := w.crawl.Prepare(w.t.Context(), w.settings)
	if err != nil {
		w.t.Fatal(err)
	}
	if now {
		change.RenewNow()
	}
	if err := change.Apply(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// labelled gives the pages that begin so a meta and a source.
func labelled(prefix string) []actionrules.Rule {
	return []actionrules.Rule{{If: path(prefix), Then: []actionrules.Action{
		{Verb: actionrules.AddMeta, Name: "kind", Value: "page"}, {Verb: actionrules.SetSource, Name: "news"},
	}}}
}

// TestMetasWrittenLater: metas and a source that a rule gives later reach the documents that are there, and those
// alone are fetched: where nothing is refreshed at once, else within the age; with RenewNow at once. The preview
// foretells how many.
func TestMetasWrittenLater(t *testing.T) {
	const age = 40 * time.Hour
	for _, size := range []int{1, 16, 60} {
		for _, tt := range []struct {
			name    string
			refresh func(s *policy.Settings)
			now     bool
			within  time.Duration
		}{
			{"nothing refreshes", func(*policy.Settings) {}, false, 0},
			{"an age", func(s *policy.Settings) { s.Frontier.MinimumAged = age }, false, age},
			{"an age, now", func(s *policy.Settings) { s.Frontier.MinimumAged = age }, true, 0},
			{"smart", func(s *policy.Settings) {
				s.Frontier.SmartRefresh, s.Frontier.MinAge, s.Frontier.MaxAge = true, time.Hour, age
			}, false, age},
			{"a yearly schedule, now", func(s *policy.Settings) {
				s.Refreshes = []policy.Refresh{{Schedule: schedule(t, "@yearly"), Spec: "@yearly"}}
			}, true, 0},
		} {
			for _, restart := range []bool{false, true} {
				if testing.Short() && (size != 16 || tt.within > 0) { // days go by
					continue
				}
				inWorld(t, func(t *testing.T, w *world) {
					name := fmt.Sprintf("%s, %d pages, restart %v", tt.name, size, restart)
					pages := w.site(hostA, size)
					touched := min(size, 10)
					tt.refresh(&w.settings)
					w.begin()
					w.quiet()
					visits := len(w.visits)
					w.settings.Rules.Rules = labelled("/p00")
					p, err := review.NewPreview(t.Context(), w.settings, w.store, 3)
					if err != nil || p.Renewed.Count != uint64(touched) { //nolint:gosec // small
						t.Errorf("%s: the preview counts %d, %v; want %d", name, p.Renewed.Count, err, touched)
					}
					if restart {
						w.end()
						w.open()
						w.run(Once{RenewNow: tt.now})
					} else {
						w.renew(tt.now)
					}
					w.quiet()
					if n := w.status().Rules.Renewed; n != uint64(touched) { //nolint:gosec // small
						t.Errorf("%s: %d counted, want %d", name, n, touched)
					}
					if tt.within == 0 && len(w.visits)-visits != touched {
						t.Errorf("%s: %d visits, want those of %d pages", name, len(w.visits)-visits, touched)
					}
					time.Sleep(tt.within)
					w.quiet()
					if n := w.given(hostA + "/p00"); n != touched || w.given(hostA) != touched {
						t.Errorf("%s: %d of %d have them, in all %d", name, n, touched, w.given(hostA))
					}
					if n := len(w.index()); n != len(pages) {
						t.Errorf("%s: %d documents, want %d", name, n, len(pages))
					}
					visits = len(w.visits)
					w.renew(true)
					w.quiet()
					if tt.within == 0 && len(w.visits) != visits {
						t.Errorf("%s: fetched again though nothing has changed", name)
					}
					w.end()
				}, hostA+"/")
			}
		}
	}
}

// TestRootMetasWrittenLater: the kvs of a root reach documents that are there in a run that runs once, and leave them
// again.
func TestRootMetasWrittenLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pages := w.site(hostA, 5)
		_ = w.once()
		for _, kvs := range [][]actionrules.Meta{{{Name: "team", Value: "docs"}}, {{Name: "team", Value: "web"}}, nil} {
			w.settings.Rules.Roots[0].KVs = kvs
			_ = w.once()
			for _, p := range pages {
				if got := w.target.documents[p].Metas["team"]; len(got) != len(kvs) || len(kvs) > 0 && got[0] != kvs[0].Value {
					t.Errorf("%s has %q, want %v", p, got, kvs)
				}
			}
		}
		visits := len(w.visits)
		_ = w.once()
		if len(w.visits) != visits {
			t.Errorf("%d visits though nothing has changed", len(w.visits)-visits)
		}
	}, hostA+"/")
}

// TestRenewAfterReload: the operator's wish counts for rules that are in force already.
func TestRenewAfterReload(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.site(hostA, 5)
		w.settings.Frontier.MinimumAged = 1000 * time.Hour
		w.begin()
		w.quiet()
		w.settings.Rules.Rules = labelled("/")
		w.reload()
		w.quiet()
		if n := w.given(hostA); n != 0 {
			t.Errorf("%d have the metas at once", n)
		}
		w.renew(true)
		w.quiet()
		if n := w.given(hostA); n != 6 {
			t.Errorf("%d have the metas, want all 6", n)
		}
		w.end()
	}, hostA+"/")
}

// TestMetasWhileLossIsPending: a document whose loss is pending keeps it, and gets the metas when its page is good
// again.
func TestMetasWhileLossIsPending(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pages := w.site(hostA, 16)
		w.begin()
		w.quiet()
		lost := pages[1:11] // most of the host
		for _, p := range lost {
			w.set(p, answered{status: 404})
		}
		w.refresh(Selection{URLs: lost})
		w.settings.Rules.Rules = labelled("/")
		w.renew(true)
		w.quiet()
		if s := w.status(); s.Rules.Renewed != uint64(len(pages)-len(lost)) || s.Outbox.Pending != uint64(len(lost)) { //nolint:gosec // small
			t.Errorf("%d get metas, and %d losses are pending", s.Rules.Renewed, s.Outbox.Pending)
		}
		w.site(hostA, 16)
		time.Sleep(48 * time.Hour)
		w.quiet()
		if n := w.given(hostA); n != len(pages) || w.status().Outbox.Pending != 0 {
			t.Errorf("%d of %d have the metas", n, len(pages))
		}
		w.end()
	}, hostA+"/")
}

// TestSourceWrittenLaterLeavesTarget: a source that a rule gives later moves documents between targets without a
// wish to refresh them, and what that takes off a target is the edit's: too many wait for the operator.
func TestSourceWrittenLaterLeavesTarget(t *testing.T) {
	inShop(t, func(t *testing.T, w *world, shop *memoryTarget, pages []string) {
		w.settings.Rules.Rules = []actionrules.Rule{{If: path("/p00"), Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: "shop"}}}}
		w.reload()
		w.quiet()
		time.Sleep(time.Minute)
		_, edits := w.crawl.Losses()
		edit := edits[len(edits)-1]
		if edit.Deletions != 10 {
			t.Errorf("%+v, want its 10 deletions", edit)
		}
		w.wantShop("ten pages", shop, pages, int(edit.Sent), 10-int(edit.Sent))
		if _, err := w.crawl.Release(t.Context(), scheduler.DeletionFilter{Edit: edit.Number}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		w.wantShop("released", shop, pages, 10, 0)
	})
}
