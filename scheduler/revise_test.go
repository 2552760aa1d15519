package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// indexAll gives each link a document.
func (r *running) indexAll(links []scheduler.Link) {
	r.t.Helper()
	r.add(links...)
	for range links {
		l := r.next()
		res := ok(l)
		res.Document = &scheduler.Document{Body: []byte("{}"), Hash: [16]byte{1}, Source: "s"}
		res.ETag, res.RulesVersion = "e", 7
		r.complete(l, res)
	}
}

// known gives each link a document and queues all again.
func (r *running) known(links []scheduler.Link) {
	r.t.Helper()
	r.indexAll(links)
	if n, err := r.Add(r.t.Context(), links, true); n != len(links) || err != nil {
		r.t.Fatal(n, err)
	}
}

func (r *running) counts(s scheduler.Store) scheduler.Counts {
	r.t.Helper()
	c, err := s.Counts(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// TestReviseOrdersDeletions: deletions of a revision are pending; the documents stay, and
// what comes back inside loses the deletion.
func TestReviseOrdersDeletions(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := teststore.New(t)
			f := run(t, store, func(s *scheduler.Settings) {
				s.Throttle, s.Aggressive = 0, true
				s.Deletions.Off = off
				s.DeletionBody = func(url, reason string, _ time.Time) []byte { return []byte(reason + " " + url) }
			})
			defer f.end()
			all := storetest.Links(20, "http://a.test/%d", scheduler.Index)
			f.indexAll(all)
			n, err := f.Revise(t.Context(), storetest.Keys(all[:8]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
				r.State, r.Class, r.Status, r.Reason = scheduler.AtRest, scheduler.Ignored, 760, scheduler.ReasonRules
				return &scheduler.Change{Next: r, Delete: "rule"}
			})
			if err != nil || n != 8 {
				t.Fatalf("Revise = %d, %v; want 8", n, err)
			}
			c := f.counts(store)
			r, err := store.Lookup(t.Context(), all[7].URL.Key())
			if err != nil || r.Status != 760 || c.ByClass[scheduler.Ignored] != 8 {
				t.Errorf("%+v, %v, counts %+v; want 8 excluded", r, err, c)
			}
			if off {
				if c.Outbox.Pending != 0 || c.Indexed != 12 || r.Indexed || r.ETag != "" {
					t.Errorf("%+v, counts %+v; want 8 deletions on their way", r, c)
				}
				return
			}
			if c.Outbox.Pending != 8 || c.Indexed != 20 || !r.Indexed || r.ETag != "e" || r.PushedSource != "s" || !r.LossPending {
				t.Errorf("%+v, counts %+v; want 8 deletions that are pending", r, c)
			}
			n, err = f.Revise(t.Context(), storetest.Keys(all[7:8]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
				r.State, r.Source = scheduler.Waiting, scheduler.Index
				return &scheduler.Change{Next: r, CancelDeletion: true}
			})
			if err != nil || n != 1 {
				t.Fatalf("Revise = %d, %v; want 1", n, err)
			}
			if n := f.counts(store).Outbox.Pending; n != 7 {
				t.Errorf("%d are pending, want that of the one that came back dropped", n)
			}
			l := f.next()
			if l.URL != all[7].URL || !l.Record.Indexed || l.Record.LossPending {
				t.Errorf("%v came with %+v, want the URL that was put back", l.URL, l.Record)
			}
			f.complete(l, ok(l))
			if n := f.counts(store).Outbox.Pending; n != 8 {
				t.Errorf("%d are pending, want the seven others' and that of the page without a document", n)
			}
		})
	}
}

// TestReviseMakesWorkKnown: URLs that a revision puts into a queue or lets wait
// for a time are given out, also if the store fails after it has stored them.
func TestReviseMakesWorkKnown(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			lost := errors.New("answer lost")
			store := &storetest.Faulty{Store: teststore.New(t)}
			if fails {
				store.After = func(_ context.Context, method string) error {
					if method == "Revise" {
						return lost
					}
					return nil
				}
			}
			f := run(t, store, func(s *scheduler.Settings) { s.Throttle, s.Aggressive = 0, true })
			defer f.end()
			all := storetest.Links(2, "http://a.test/%d", scheduler.Index)
			f.indexAll(all)
			at := time.Now().Add(time.Hour)
			_, err := f.Revise(t.Context(), storetest.Keys(all), func(k weburl.Key, r scheduler.Record) *scheduler.Change {
				r.State, r.Source = scheduler.Waiting, scheduler.Follow
				if k == all[1].URL.Key() {
					r.State, r.NextAt = scheduler.Timed, at
				}
				return &scheduler.Change{Next: r}
			})
			if errors.Is(err, lost) != fails {
				t.Fatalf("Revise = %v", err)
			}
			l := f.next()
			if l.URL != all[0].URL || l.Place.Source != scheduler.Follow {
				t.Errorf("%v came from %v, want the first from follow", l.URL, l.Place.Source)
			}
			f.complete(l, scheduler.Result{Status: 304, Conditional: true})
			if l := f.next(); l.URL != all[1].URL || time.Now().Before(at) {
				t.Errorf("%v came at %v, want the second not before %v", l.URL, time.Now(), at)
			}
		})
	}
}
