package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func TestPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		f.add(storetest.Links(2, "http://h%d.test/", scheduler.Index)...)
		l := f.next()
		f.Pause()
		f.none(time.Hour)
		if s := f.Snapshot(); !f.Paused() || s.IdleCode != scheduler.IdlePaused {
			t.Errorf("Paused() = %t, Snapshot = %+v", f.Paused(), s)
		}
		f.complete(l, ok(l))
		got := make(chan *scheduler.Lease)
		go func() { got <- f.next() }()
		synctest.Wait()
		f.Resume()
		if l = <-got; f.Paused() {
			t.Error("still paused")
		}
		f.complete(l, ok(l))
	})
}

// TestAnnounce: work that others stored is given out.
func TestAnnounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		f := run(t, store)
		defer f.end()
		synctest.Wait()
		places, _, err := store.Add(t.Context(), storetest.Links(1, "http://a.test/", scheduler.Index), false)
		if err != nil {
			t.Fatal(err)
		}
		f.none(time.Hour)
		f.Announce(append(places, scheduler.Place{Source: scheduler.User})) // the latter holds nothing
		f.complete(f.next(), scheduler.Result{Status: 200})
		f.none(time.Hour)
		if n := f.Entries(); n != 0 {
			t.Errorf("%d hosts take memory", n)
		}
	})
}

// TestIdle tells the reasons apart.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		f := prepare(t, store)
		want := func(code scheduler.Idle) {
			t.Helper()
			s := f.Snapshot()
			if s.IdleCode != code || (s.Idle == "") != (code == "") {
				t.Errorf("idle %q, %q; want %q", s.IdleCode, s.Idle, code)
			}
		}
		want(scheduler.IdleStarting)
		f.start()
		synctest.Wait()
		want(scheduler.IdleDone)
		f.add(storetest.Links(2, "http://a.test/%d", scheduler.Index)...)
		want(scheduler.NotIdle)
		l := f.next()
		want(scheduler.IdleVisited)
		f.complete(l, ok(l))
		want(scheduler.IdleClosed)
		if s := f.Snapshot(); s.ClosedFor[scheduler.ByThrottle] != 1 || !s.NextOpening.Equal(time.Now().Add(throttle)) {
			t.Errorf("%+v", s)
		}
		l = f.next()
		want(scheduler.IdleFetching)
		f.complete(l, ok(l))
		set := scheduler.DefaultSettings()
		set.Weights[scheduler.Follow] = 0
		f.Apply(set)
		f.add(storetest.Link("http://b.test/", scheduler.Follow))
		want(scheduler.IdleOff)
		f.Pause()
		want(scheduler.IdlePaused)
		f.Stop()
		want(scheduler.IdleStopped)
		f.end()
		f = run(t, store.Reopen())
		defer f.end()
		synctest.Wait()
		want(scheduler.IdleClosed) // after an unclean end
	})
}

// TestApplyShares: new weights count from the next pick on.
func TestApplyShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.Weights = [scheduler.Sources]int{9, 1, 1, 1, 1, 1} })
		defer f.end()
		f.add(storetest.Links(300, "http://h%d.test/", scheduler.User)...)
		f.add(storetest.Links(300, "http://g%d.test/", scheduler.Follow)...)
		picks := func(n int) (user int) {
			for range n {
				l := f.next()
				if l.Place.Source == scheduler.User {
					user++
				}
				f.complete(l, ok(l))
			}
			return user
		}
		if n := picks(100); n < 88 || n > 92 {
			t.Errorf("user got %d of 100 picks, want its share of 90", n)
		}
		set := scheduler.DefaultSettings()
		set.Weights = [scheduler.Sources]int{1, 1, 1, 1, 9, 1}
		f.Apply(set)
		if n := picks(100); n < 8 || n > 12 {
			t.Errorf("user got %d of 100 picks by the new weights, want its share of 10", n)
		}
	})
}

// TestHosts lists the longest queues first, and then who rests for long.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		for h := range 10 {
			f.add(storetest.Links(10+h, fmt.Sprintf("http://h%d.test/%%d", h), scheduler.Index)...)
			f.add(storetest.Links(10-h, fmt.Sprintf("http://h%d.test/f/%%d", h), scheduler.Follow)...)
		}
		f.add(storetest.Links(2, "http://rests.test/%d", scheduler.User)...)
		f.complete(f.next(), scheduler.Result{Status: 503, HasRetryAfter: true, RetryAfter: time.Hour})
		busy := f.next()
		var got []string
		err := f.Hosts(t.Context(), 3, func(h scheduler.HostInfo) error {
			got = append(got, h.Origin)
			switch {
			case h.Origin == "http://rests.test" && (h.Closing != scheduler.ByRetryAfter || !h.Until.Equal(time.Now().Add(time.Hour)) || h.Waiting[scheduler.User] != 1):
				t.Errorf("%+v", h)
			case h.Origin == "http://h9.test" && (h.Waiting != [scheduler.Sources]uint64{scheduler.Index: 19, scheduler.Follow: 1} || !h.Until.IsZero()):
				t.Errorf("%+v", h)
			case h.Host == busy.Place.Host && h.InFlight != 1:
				t.Errorf("%+v", h)
			}
			return nil
		})
		if want := "[http://h9.test http://h8.test http://h7.test http://rests.test]"; err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	})
}

// TestDrainedLeavesSilentHosts: Drained ignores the URLs of a host that is down, and waits for others.
func TestDrainedLeavesSilentHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.Weights[scheduler.Follow] = 0 })
		defer f.end()
		const urls = 500
		f.add(storetest.Links(urls, "http://off.test/%d", scheduler.Follow)...) // that nobody waits for
		f.add(storetest.Links(urls, "http://down.test/%d", scheduler.Index)...)
		f.add(storetest.Links(urls, "http://up.test/%d", scheduler.Index)...)
		ctx, cancel := context.WithCancel(t.Context())
		drained := make(chan error, 1)
		go func() {
			drained <- f.Drained(t.Context())
			cancel()
		}()
		fetched := map[string]int{}
		for {
			l, err := f.Next(ctx)
			if err != nil {
				break
			}
			fetched[l.URL.Host()]++
			if l.URL.Host() == "down.test" {
				f.complete(l, scheduler.Result{Fault: fault.Refused})
			} else {
				f.complete(l, ok(l))
			}
		}
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		if fetched["up.test"] != urls || fetched["down.test"] < 10 || fetched["down.test"] >= urls {
			t.Errorf("fetched %v", fetched)
		}
	})
}
