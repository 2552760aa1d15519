package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestRequeuedInFlight: what the operator re-queues while it is fetched for a
// refresh is not fetched beside that, but once more when that has ended, however
// it does, and not from the refresh source again.
func TestRequeuedInFlight(t *testing.T) {
	for name, end := range map[string]func(f *running, l *scheduler.Lease){
		"completed":  func(f *running, l *scheduler.Lease) { f.complete(l, ok(l)) },
		"given back": func(f *running, l *scheduler.Lease) { f.GiveBack(l, true, time.Time{}) },
		"waits": func(f *running, l *scheduler.Lease) {
			if err := f.Wait(f.t.Context(), l, time.Now().Add(time.Second), scheduler.ReasonRobotsUnreachable, "robots.txt"); err != nil {
				f.t.Error(err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := teststore.New(t)
			due := storetest.Links(2, "http://a.test/%d", scheduler.Index)
			prepareDue(t, store, due)
			f := run(t, store, func(s *scheduler.Settings) { s.SmartRefresh, s.Aggressive, s.Throttle = true, true, 0 })
			defer f.end()
			f.complete(f.next(), scheduler.Result{Status: 200}) // the host is known now
			first := f.next()
			if first.Place.Source != scheduler.Refresh {
				t.Fatalf("%v came from %v", first.URL, first.Place.Source)
			}
			again := due[1:]
			again[0].Fifo = scheduler.User
			if n, err := f.Add(t.Context(), again, true); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			f.add(storetest.Link("http://a.test/other", scheduler.Follow))
			if l := f.next(); l.Key == first.Key {
				t.Fatalf("%s: %v is fetched twice at once", name, l.URL)
			} else {
				f.complete(l, ok(l))
			}
			f.none(time.Minute)
			end(f, first)
			l := f.next()
			if l.Key != first.Key || l.Place.Source != scheduler.User {
				t.Errorf("%s: %v came from %v, want it from user", name, l.URL, l.Place.Source)
			}
			f.complete(l, ok(l))
			f.none(time.Minute)
			if c := f.counts(store); c.Pending != [scheduler.Sources]uint64{} {
				t.Errorf("%s: %v wait", name, c.Pending)
			}
		})
	}
}
