package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func keys(links []scheduler.Link) []weburl.Key {
	var all []weburl.Key
	for _, l := range links {
		all = append(all, l.URL.Key())
	}
	return all
}

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

// TestReviseOrdersDeletions: deletions of a revision go through the brake; of a
// held one the document stays, and who comes back inside loses the held deletion.
func TestReviseOrdersDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store, func(s *scheduler.Settings) {
			s.Throttle = 0
			s.Aggressive = true
			s.Brake = scheduler.Brake{On: true, Min: 3, Percent: 10, Window: time.Hour}
			s.DeletionBody = func(url, reason string, _ time.Time) []byte { return []byte(reason + " " + url) }
		})
		defer f.end()
		all := links(20, "http://a.test/%d", scheduler.Index)
		f.indexAll(all)
		n, err := f.Revise(t.Context(), keys(all[:8]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			r.State, r.Class, r.Status = scheduler.AtRest, scheduler.Ignored, 760
			return &scheduler.Change{Next: r, Delete: "rule"}
		})
		if err != nil || n != 8 {
			t.Fatalf("Revise = %d, %v; want 8", n, err)
		}
		c, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.Outbox.Held != 5 || c.Indexed != 17 || c.ByClass[scheduler.Ignored] != 8 {
			t.Errorf("counts %+v, want 3 deletions sent and 5 held", c)
		}
		if b := f.Snapshot().Brake; b.Sent != 3 || b.Held != 5 {
			t.Errorf("brake %+v, want 3 and 5", b)
		}
		r, err := store.Lookup(t.Context(), all[7].URL.Key())
		if err != nil || !r.Indexed || r.ETag != "e" || r.PushedSource != "s" || r.Status != 760 {
			t.Errorf("held: %+v, %v; want its document kept", r, err)
		}
		if r, err = store.Lookup(t.Context(), all[0].URL.Key()); err != nil || r.Indexed || r.ETag != "" {
			t.Errorf("deleted: %+v, %v; want no document", r, err)
		}
		n, err = f.Revise(t.Context(), keys(all[7:8]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			r.State, r.Source = scheduler.Waiting, scheduler.Index
			return &scheduler.Change{Next: r, CancelHeld: true}
		})
		if err != nil || n != 1 {
			t.Fatalf("Revise = %d, %v; want 1", n, err)
		}
		l := f.next()
		if l.URL != all[7].URL || !l.Record.Indexed {
			t.Errorf("%v came with %+v, want the URL that was put back", l.URL, l.Record)
		}
		f.complete(l, ok(l))
		if c, _ := store.Counts(t.Context()); c.Outbox.Held != 5-1+1 {
			t.Errorf("%d held, want the four others' and that of the page without a document", c.Outbox.Held)
		}
	})
}

// TestReviseCountsWhatItRemoves: the percentage is of the documents before the
// first deletion, also within one call.
func TestReviseCountsWhatItRemoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store, func(s *scheduler.Settings) {
			s.Throttle, s.Aggressive = 0, true
			s.Brake = scheduler.Brake{On: true, Percent: 35, Window: time.Hour}
		})
		defer f.end()
		all := links(20, "http://a.test/%d", scheduler.Index)
		f.indexAll(all)
		_, err := f.Revise(t.Context(), keys(all[:9]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			return &scheduler.Change{Next: r, Delete: "rule"}
		})
		c, countErr := store.Counts(t.Context())
		if err != nil || countErr != nil || c.Indexed != 13 || c.Outbox.Held != 2 {
			t.Errorf("%+v, %v; want 7 of 20 deleted and 2 held", c, err)
		}
		brake := scheduler.Brake{On: true, Percent: 35, Window: time.Hour}
		if got := brake.Holds(9, 20); got != 2 {
			t.Errorf("Holds = %d, want 2 as above", got)
		}
		for _, b := range []scheduler.Brake{{}, {On: true, Window: 1}, {Percent: 1, Window: 1}, {On: true, Percent: 50, Window: 1}, {On: true, Min: 9, Percent: 1, Window: 1}} {
			if got := b.Holds(9, 20); got != 0 {
				t.Errorf("Holds of %+v = %d, want 0", b, got)
			}
		}
	})
}

// TestReviseKeepsTheWindow: however long a revision takes and whoever looks at the
// brake meanwhile, its window ages with the clock.
func TestReviseKeepsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store, func(s *scheduler.Settings) {
			s.Throttle, s.Aggressive = 0, true
			s.Brake = scheduler.Brake{On: true, Min: 2, Window: time.Hour}
		})
		defer f.end()
		all := links(3, "http://a.test/%d", scheduler.Index)
		f.indexAll(all)
		for i := range all {
			// Who waits for a store that sleeps holds up the time of all.
			synctest.Wait()
			_, err := f.Revise(t.Context(), keys(all[i:i+1]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
				time.Sleep(20 * time.Minute)
				f.Snapshot()
				return &scheduler.Change{Next: r, Delete: "rule"}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if c, err := store.Counts(t.Context()); err != nil || c.Outbox.Held != 1 {
			t.Errorf("%+v, %v; want the third deletion of the hour held", c.Outbox, err)
		}
	})
}

// TestReviseMakesWorkKnown: URLs that a revision puts into a queue or lets wait
// for a time are given out, also if the store fails after it has stored them.
func TestReviseMakesWorkKnown(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			lost := errors.New("answer lost")
			store := &storetest.Faulty{Store: storetest.NewMemory()}
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
			all := links(2, "http://a.test/%d", scheduler.Index)
			f.indexAll(all)
			at := time.Now().Add(time.Hour)
			_, err := f.Revise(t.Context(), keys(all), func(k weburl.Key, r scheduler.Record) *scheduler.Change {
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
			f.complete(l, ok(l))
			if l := f.next(); l.URL != all[1].URL || time.Now().Before(at) {
				t.Errorf("%v came at %v, want the second not before %v", l.URL, time.Now(), at)
			}
		})
	}
}
