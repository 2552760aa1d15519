package scheduler_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// site is a set of hosts that measure how they are visited.
type site struct {
	t     *testing.T
	pause time.Duration // that must lie between requests, per host in pauses
	most  int           // requests at once

	mu       sync.Mutex
	pauses   map[weburl.HostKey]time.Duration
	running  map[weburl.HostKey]int
	ended    map[weburl.HostKey]time.Time
	notUntil map[weburl.HostKey]time.Time
	requests int
	peak     int
}

func newSite(t *testing.T, pause time.Duration, most int) *site {
	return &site{t: t, pause: pause, most: most,
		pauses: map[weburl.HostKey]time.Duration{}, running: map[weburl.HostKey]int{},
		ended: map[weburl.HostKey]time.Time{}, notUntil: map[weburl.HostKey]time.Time{}}
}

// visit is one request that takes d.
func (s *site) visit(h weburl.HostKey, d time.Duration) {
	s.mu.Lock()
	now := time.Now()
	pause, most := s.pause, s.most
	if p, ok := s.pauses[h]; ok {
		pause, most = max(p, pause), 1
	}
	if last, ok := s.ended[h]; ok && now.Sub(last) < pause {
		s.t.Errorf("a request %v after the end of the last, want %v", now.Sub(last), pause)
	}
	if until := s.notUntil[h]; now.Before(until) {
		s.t.Errorf("a request %v before the host may be visited", until.Sub(now))
	}
	if s.running[h]++; s.running[h] > most {
		s.t.Errorf("%d requests at once, want %d", s.running[h], most)
	}
	s.peak = max(s.peak, s.running[h])
	s.requests++
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
	s.running[h]--
	s.ended[h] = time.Now()
	s.mu.Unlock()
}

// TestNeverEarly crawls hosts that all have work in all fifos, with requests of
// all lengths, robots.txt requests, Crawl-delays, Retry-After and slow commits,
// and measures at the visited side.
func TestNeverEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newSite(t, throttle, 1), seeded.Rand(t)
		store := &storetest.Faulty{Store: teststore.New(t), Before: slowly(r)}
		f := run(t, store)
		defer f.end()
		for h := range 8 {
			for source := scheduler.User; source < scheduler.Refresh; source++ {
				f.add(storetest.Links(12, "http://h"+string(rune('a'+h))+".test/"+source.Name()+"/%d", source)...)
			}
		}
		slow, busy := storetest.Link("http://ha.test/", 0).URL.HostKey(), storetest.Link("http://hb.test/", 0).URL.HostKey()
		s.pauses[slow] = 20 * time.Second
		f.work(30, func(l *scheduler.Lease) {
			if l.Place.Host == slow {
				f.Delay(slow, s.pauses[slow])
			}
			s.visit(l.Place.Host, time.Duration(r.IntN(4000))*time.Millisecond)
			if r.IntN(5) == 0 {
				f.GiveBack(l, true, time.Time{})
				return
			}
			result := ok(l)
			if l.Place.Host == busy && r.IntN(10) == 0 {
				result = scheduler.Result{Status: 429, HasRetryAfter: true, RetryAfter: 5 * time.Minute, Decided: l.Record.Fifo}
				s.mu.Lock()
				s.notUntil[busy] = time.Now().Add(result.RetryAfter)
				s.mu.Unlock()
			}
			f.complete(l, result)
		})
		if s.requests < 8*5*12 {
			t.Errorf("%d requests, want one a URL at least", s.requests)
		}
	})
}

// TestThrottleIsUsed: a host is visited as soon as it may be, though commits
// take a while.
func TestThrottleIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newSite(t, throttle, 1), seeded.Rand(t)
		store := &storetest.Faulty{Store: teststore.New(t), Before: slowly(r)}
		f := run(t, store)
		defer f.end()
		f.add(storetest.Links(1000, "http://a.test/%d", scheduler.Index)...)
		begin := time.Now()
		f.work(4, func(l *scheduler.Lease) {
			s.visit(l.Place.Host, 100*time.Millisecond)
			f.complete(l, ok(l))
		})
		possible := 1000 * (throttle + 100*time.Millisecond)
		if took := time.Since(begin); took > possible*100/98 {
			t.Errorf("1000 pages took %v, want 98 %% of what the throttle allows, %v", took, possible)
		}
	})
}

func TestAggressive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0, 6)
		f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.Aggressive = true })
		defer f.end()
		f.add(storetest.Links(200, "http://a.test/%d", scheduler.Index)...)
		f.add(storetest.Links(200, "http://a.test/x%d", scheduler.Follow)...)
		f.add(storetest.Links(20, "http://slow.test/%d", scheduler.Follow)...)
		slow := storetest.Link("http://slow.test/", 0).URL.HostKey()
		s.pauses[slow] = time.Minute
		begin := time.Now()
		f.work(40, func(l *scheduler.Lease) {
			if l.Place.Host == slow {
				f.Delay(slow, time.Minute)
			}
			s.visit(l.Place.Host, time.Second)
			f.complete(l, ok(l))
		})
		if s.peak != 6 || s.requests != 420 {
			t.Errorf("%d requests, %d at once; want 420 and 6", s.requests, s.peak)
		}
		if d := time.Since(begin); d != 20*time.Second+19*time.Minute {
			t.Errorf("it took %v, want what the Crawl-delay asks for", d)
		}
	})
}

func TestExcludedCostsNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		f.add(storetest.Links(100, "http://a.test/%d", scheduler.Index)...)
		begin := time.Now()
		f.work(1, func(l *scheduler.Lease) {
			f.complete(l, scheduler.Result{Excluded: &scheduler.Exclusion{Status: 760}})
		})
		if d := time.Since(begin); d != 0 {
			t.Errorf("100 URLs that were not fetched took %v", d)
		}
	})
}

// TestHostBackoff: a host that fails again and again is asked less and less often.
func TestHostBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.Aggressive = true })
		defer f.end()
		f.add(storetest.Links(12, "http://a.test/%d", scheduler.Index)...)
		var gaps []time.Duration
		last := time.Now()
		for i := range 12 {
			l := f.next()
			gaps = append(gaps, time.Since(last))
			last = time.Now()
			r := scheduler.Result{Fault: fault.Timeout, Decided: scheduler.Index}
			if i == 10 {
				r = ok(l)
			}
			f.complete(l, r)
		}
		want := []time.Duration{0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60, 0}
		for i := range want {
			if least := want[i] * time.Second; gaps[i] < least || gaps[i] > least+least/4 {
				t.Errorf("gap %d is %v, want %v and up to a quarter more", i, gaps[i], least)
			}
		}
	})
}

// TestHostsWithoutWorkCostNothing counts entries after their gates opened.
func TestHostsWithoutWorkCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		synctest.Wait() // or Run's first look at the places may announce them a second time
		f.add(storetest.Links(1000, "http://h%d.test/", scheduler.Index)...)
		f.work(10, func(l *scheduler.Lease) { f.complete(l, ok(l)) })
		if s := f.Snapshot(); s.Hosts != 0 || s.HostsClosed != 1000 || s.InFlight != 0 {
			t.Errorf("Snapshot = %+v", s)
		}
		time.Sleep(throttle)
		synctest.Wait()
		if n := f.Entries(); n != 0 {
			t.Errorf("%d hosts take memory, want none", n)
		}
		if n := f.Buffered(); n != 0 {
			t.Errorf("%d URLs are in memory, want none", n)
		}
	})
}
