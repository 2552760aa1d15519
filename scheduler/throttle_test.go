package scheduler_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func onHost(host string) scheduler.Throttle {
	return scheduler.Throttle{WholeHost: true, Match: func(u weburl.URL) bool { return u.Host() == host }}
}

func onPath(prefix string) scheduler.Throttle {
	return scheduler.Throttle{Match: func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), prefix) }}
}

func throttles(all ...scheduler.Throttle) func(*scheduler.Settings) {
	return func(s *scheduler.Settings) { s.Throttles = all }
}

// TestThrottlePauses: whose pause follows a request.
func TestThrottlePauses(t *testing.T) {
	fast, slow, path := onHost("fast.test"), onHost("slow.test"), onPath("/slow")
	fast.HasPause = true
	slow.Pause, slow.HasPause = 10*time.Second, true
	path.Pause, path.HasPause = 20*time.Second, true
	for _, aggressive := range []bool{false, true} {
		for _, c := range []struct {
			first string
			delay time.Duration
			want  time.Duration
		}{
			{"http://fast.test/", 0, 0},
			{"http://fast.test/", 3 * time.Second, 3 * time.Second},
			{"http://slow.test/", 0, 10 * time.Second},
			{"http://slow.test/", 15 * time.Second, 15 * time.Second},
			{"http://fast.test/slow", 0, 20 * time.Second},
			{"http://slow.test/slow", 0, 20 * time.Second},
			{"http://a.test/slow", time.Second, 20 * time.Second},
		} {
			synctest.Test(t, func(t *testing.T) {
				f := run(t, teststore.New(t), throttles(path, slow, fast), func(s *scheduler.Settings) { s.Aggressive = aggressive })
				defer f.end()
				first := storetest.Link(c.first, scheduler.User)
				f.add(first, storetest.Link(first.URL.Origin()+"/other", scheduler.Index))
				l := f.next()
				f.Delay(l.Place.Host, c.delay)
				f.complete(l, ok(l))
				begin := time.Now()
				f.next()
				if d := time.Since(begin); d != c.want {
					t.Errorf("aggressive %t: %v after %s, want %v", aggressive, d, c.first, c.want)
				}
			})
		}
	}
}

// TestThrottleFirstCounts: the first that matches, whether by host or by path; one
// that sets no pause leaves the Crawler's.
func TestThrottleFirstCounts(t *testing.T) {
	host, path := onHost("a.test"), onPath("/")
	host.Connections = 1
	path.Pause, path.HasPause = time.Minute, true
	for _, c := range []struct {
		order []scheduler.Throttle
		want  time.Duration
	}{{[]scheduler.Throttle{host, path}, throttle}, {[]scheduler.Throttle{path, host}, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			f := run(t, teststore.New(t), throttles(c.order...))
			defer f.end()
			f.add(storetest.Links(3, "http://a.test/%d", scheduler.Index)...)
			l := f.next()
			for range 2 {
				f.complete(l, ok(l))
				begin := time.Now()
				l = f.next()
				if d := time.Since(begin); d != c.want {
					t.Errorf("%v, want %v", d, c.want)
				}
			}
		})
	}
}

// TestThrottleConnections: never more at once than the throttle of each running
// request allows, and no fewer where work is there.
func TestThrottleConnections(t *testing.T) {
	host, path, alone := onHost("a.test"), onPath("/few"), onPath("/alone")
	host.Connections, host.HasPause = 4, true
	path.Connections, path.HasPause = 2, true
	alone.Pause, alone.HasPause = time.Second, true
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), throttles(alone, path, host))
		defer f.end()
		f.add(storetest.Links(80, "http://a.test/many/%d", scheduler.Index)...)
		f.add(storetest.Links(30, "http://a.test/few/%d", scheduler.Index)...)
		f.add(storetest.Links(10, "http://a.test/alone/%d", scheduler.IndexFollow)...)
		f.add(storetest.Links(3, "http://b.test/%d", scheduler.Index)...)
		var mu sync.Mutex
		running, peak := map[string]int{}, map[string]int{}
		var closedUntil time.Time
		f.work(20, func(l *scheduler.Lease) {
			kind := strings.Split(l.URL.Path(), "/")[1]
			if l.URL.Host() == "b.test" {
				time.Sleep(time.Second)
				f.complete(l, ok(l))
				return
			}
			mu.Lock()
			running[kind]++
			all := running["many"] + running["few"] + running["alone"]
			peak[kind] = max(peak[kind], all)
			if running["few"] > 0 && all > 2 || running["alone"] > 0 && all > 1 || all > 4 {
				t.Errorf("at once: %v", running)
			}
			if time.Now().Before(closedUntil) {
				t.Errorf("%v is early by %v", l.URL, time.Until(closedUntil))
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running[kind]--
			if kind == "alone" {
				closedUntil = time.Now().Add(time.Second)
			}
			mu.Unlock()
			f.complete(l, ok(l))
		})
		if peak["many"] != 4 || peak["few"] != 2 || peak["alone"] != 1 {
			t.Errorf("at most %v at once, want 4, 2 and 1", peak)
		}
	})
}

// TestThrottleHours: outside of its hours a host is closed, a path waits while the
// rest of its host goes on, and neither counts as an error.
func TestThrottleHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight UTC
		night := time.Now().In(time.Local)
		hour := night.Hour()
		host, path := onHost("a.test"), onPath("/day")
		host.Hours = []scheduler.Hours{{From: (hour + 2) % 24 * 60, To: (hour + 4) % 24 * 60}}
		path.Hours = []scheduler.Hours{{From: (hour + 1) % 24 * 60, To: (hour + 5) % 24 * 60}}
		store := teststore.New(t)
		f := run(t, store, throttles(host, path))
		defer f.end()
		f.add(storetest.Links(5, "http://a.test/%d", scheduler.User)...)
		f.add(storetest.Link("http://b.test/day", scheduler.Index), storetest.Link("http://b.test/", scheduler.Index))
		l := f.next()
		if l.URL.String() != "http://b.test/" || !time.Now().Equal(night) {
			t.Errorf("%v came after %v, want the one that has no hours at once", l.URL, time.Since(night))
		}
		f.complete(l, ok(l))
		if s := f.Snapshot(); s.ClosedFor[scheduler.ByHours] != 1 {
			t.Errorf("closed for %v, want one by its hours", s.ClosedFor)
		}
		r, err := store.Lookup(t.Context(), storetest.Link("http://b.test/day", 0).URL.Key())
		if err != nil || r.State != scheduler.Timed || r.Class != scheduler.Pending || r.Errors != 0 || !r.NextAt.Equal(night.Add(time.Hour)) ||
			!strings.Contains(r.LastError, "<Throttle>") {
			t.Errorf("record %+v, %v", r, err)
		}
		if n := f.Buffered(); n != 0 {
			t.Errorf("%d URLs of a closed host are in memory", n)
		}
		l = f.next()
		if l.URL.String() != "http://b.test/day" || time.Since(night) != time.Hour {
			t.Errorf("%v came after %v, want the path's when its hours begin", l.URL, time.Since(night))
		}
		f.complete(l, ok(l))
		for i := range 5 {
			l = f.next()
			if d := time.Since(night); l.URL.Host() != "a.test" || d != 2*time.Hour+time.Duration(i)*throttle {
				t.Errorf("%v came after %v", l.URL, d)
			}
			f.complete(l, ok(l))
		}
	})
}

// TestHoursChange: hours that Apply widens open at once, and what else closes
// the host stays.
func TestHoursChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().In(time.Local).Hour()
		host := onHost("a.test")
		host.Hours = []scheduler.Hours{{From: (hour + 2) % 24 * 60, To: (hour + 4) % 24 * 60}}
		f := run(t, teststore.New(t), throttles(host))
		defer f.end()
		f.add(storetest.Links(2, "http://a.test/%d", scheduler.User)...)
		f.none(time.Minute)
		f.Apply(scheduler.DefaultSettings())
		begin := time.Now()
		l := f.next()
		if d := time.Since(begin); d != 0 {
			t.Errorf("it opened after %v", d)
		}
		f.complete(l, ok(l))
		f.next()
		if d := time.Since(begin); d != throttle {
			t.Errorf("the second came after %v, want the throttle", d)
		}
	})
}

// TestHoursEnd: a host that is visited when its hours end is closed with its next URL.
func TestHoursEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().In(time.Local).Hour()
		host := onHost("a.test")
		host.Hours = []scheduler.Hours{{From: hour * 60, To: hour*60 + 1}}
		f := run(t, teststore.New(t), throttles(host))
		defer f.end()
		f.add(storetest.Links(40, "http://a.test/%d", scheduler.User)...)
		begin, n := time.Now(), 0
		for time.Since(begin) < time.Hour {
			l := f.next()
			if at := time.Since(begin) % (24 * time.Hour); at >= time.Minute {
				t.Fatalf("%v came %v after its hours began", l.URL, at)
			}
			n++
			f.complete(l, ok(l))
		}
		if n != 25 { // 24 in the minute, and the first of the next day
			t.Errorf("%d URLs, want 25", n)
		}
	})
}

// TestThrottleAfterCrash: after an unclean end a host rests for its own pause,
// though that is longer than the Crawler's and nothing of it was stored.
func TestThrottleAfterCrash(t *testing.T) {
	for _, aggressive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			host, path := onHost("a.test"), onPath("/slow")
			host.Pause, host.HasPause = time.Minute, true
			path.Pause, path.HasPause = time.Hour, true
			change := func(s *scheduler.Settings) { s.Throttles, s.Aggressive = []scheduler.Throttle{path, host}, aggressive }
			store := teststore.New(t)
			f := run(t, store, change)
			f.add(storetest.Links(2, "http://a.test/%d", scheduler.Index)...)
			f.add(storetest.Links(2, "http://b.test/slow/%d", scheduler.Index)...)
			f.next()
			f.next()
			f.end()
			f = run(t, store.Reopen(), change)
			defer f.end()
			begin := time.Now()
			for _, want := range []time.Duration{time.Minute, time.Hour} {
				l := f.next()
				if d := time.Since(begin); d != want {
					t.Errorf("%v came after %v, want %v", l.URL, d, want)
				}
				if want == time.Minute {
					f.complete(l, scheduler.Result{Status: 429, HasRetryAfter: true, RetryAfter: 2 * time.Hour})
				}
			}
		})
	}
}
