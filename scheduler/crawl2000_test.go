package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// server measures from the visited side: how early requests come, and how long a
// host lies idle that could have been visited.
type server struct {
	mu       sync.Mutex
	ended    map[weburl.HostKey]time.Time // of the last request; of the test at first
	early    int
	requests int
	idle     time.Duration
}

func (s *server) visit(h weburl.HostKey, answer time.Duration) {
	s.mu.Lock()
	s.requests++
	if gap := time.Since(s.ended[h]); gap < throttle {
		s.early++
	} else {
		s.idle += gap - throttle
	}
	s.mu.Unlock()
	time.Sleep(answer)
	s.mu.Lock()
	s.ended[h] = time.Now()
	s.mu.Unlock()
}

// TestPoliteAndPrompt crawls 2,000 hosts that answer after 50 to 500 ms, robots.txt
// first, on a store that takes its time: no request is early, and hosts wait for
// the crawler at most 2 % of the time in which they could be visited.
func TestPoliteAndPrompt(t *testing.T) {
	const hosts, length = 2000, time.Minute
	synctest.Test(t, func(t *testing.T) {
		r := seeded.Rand(t)
		store := &storetest.Faulty{Store: teststore.New(t)}
		f := run(t, store)
		defer f.end()
		s := &server{ended: map[weburl.HostKey]time.Time{}}
		for h := range hosts {
			all := storetest.Links(30, fmt.Sprintf("http://h%d.test/%%d", h), scheduler.Source(1+h%4))
			f.add(all...)
			s.ended[all[0].URL.HostKey()] = time.Now().Add(-throttle)
		}
		store.Before = func(context.Context, string) error {
			time.Sleep(time.Duration(1+r.IntN(10)) * time.Millisecond)
			return nil
		}
		answer := func() time.Duration { return time.Duration(50+r.IntN(450)) * time.Millisecond }
		var robots sync.Map
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		var workers sync.WaitGroup
		for range 1000 {
			workers.Go(func() {
				for {
					l, err := f.Next(ctx)
					if err != nil {
						return
					}
					s.visit(l.Place.Host, answer())
					if _, known := robots.LoadOrStore(l.Place.Host, nil); !known {
						f.GiveBack(l, true, time.Time{})
						continue
					}
					f.complete(l, ok(l))
				}
			})
		}
		workers.Wait()
		for _, at := range s.ended { // a host that was forgotten would lie idle at the end
			s.idle += max(begin.Add(length).Sub(at)-throttle, 0)
		}
		share := 100 * (1 - s.idle.Seconds()/(hosts*length.Seconds()))
		t.Logf("%d requests, %d early, %.2f %% of what the throttle allows", s.requests, s.early, share)
		if s.early > 0 || share < 98 || s.requests < hosts*20 {
			t.Errorf("%d requests, %d early, %.2f %%; want none early and at least 98 %%", s.requests, s.early, share)
		}
	})
}
