package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestRestForRequests: a host rests a pause for four requests of a page, its own or of a page of another host, and
// one pause at least.
func TestRestForRequests(t *testing.T) {
	for requests, want := range map[int]time.Duration{1: throttle, 4: throttle, 5: throttle * 5 / 4, 40: 10 * throttle} {
		for _, own := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := run(t, teststore.New(t))
				defer f.end()
				f.add(storetest.Links(3, "http://a.test/%d", scheduler.Index)...)
				key := storetest.Link("http://a.test/", scheduler.Index).URL.HostKey()
				if own {
					l := f.next()
					r := ok(l)
					r.Requests = requests - 1
					f.complete(l, r)
				} else {
					f.Rest(key, requests)
				}
				begin := time.Now()
				if until := f.RestsUntil(key); until.Sub(begin) != want {
					t.Errorf("%d requests: rests for %v, want %v", requests, until.Sub(begin), want)
				}
				f.GiveBack(f.next(), false, time.Time{})
				if d := time.Since(begin); d != want {
					t.Errorf("%d requests, its own %t: next after %v, want %v", requests, own, d, want)
				}
			})
		}
	}
}

// TestBeside: a request of others is one of the host's, before its first URL was taken
// as well as after, and its pause is the one that its URLs have.
func TestBeside(t *testing.T) {
	slow := onHost("slow.test")
	slow.Pause, slow.HasPause = 10*time.Second, true
	for _, c := range []struct {
		host    string
		visited bool // a URL of it was completed before
		want    time.Duration
	}{
		{"a.test", false, throttle},
		{"a.test", true, throttle},
		{"slow.test", true, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := run(t, teststore.New(t), throttles(slow))
			defer f.end()
			f.add(storetest.Links(3, "http://"+c.host+"/%d", scheduler.Index)...)
			key := storetest.Link("http://"+c.host+"/", scheduler.Index).URL.HostKey()
			if c.visited {
				l := f.next()
				f.complete(l, ok(l))
				if _, until, ok := f.Beside(key); ok || time.Until(until) != c.want {
					t.Errorf("%s: beside in the pause: %t, in %v", c.host, ok, time.Until(until))
				}
				time.Sleep(c.want)
			}
			end, _, free := f.Beside(key)
			if !free {
				t.Fatalf("%s: busy", c.host)
			}
			if _, _, ok := f.Beside(key); ok {
				t.Errorf("%s: two requests at once", c.host)
			}
			f.none(time.Minute)
			begin := time.Now()
			end()
			l := f.next()
			if d := time.Since(begin); d != c.want {
				t.Errorf("%s, visited %t: %v after a request beside, want %v", c.host, c.visited, d, c.want)
			}
			if _, _, ok := f.Beside(key); ok {
				t.Errorf("%s: beside a lease", c.host)
			}
			f.GiveBack(l, false, time.Time{})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		end, _, ok := f.Beside(storetest.Link("http://unknown.test/", scheduler.Index).URL.HostKey())
		if !ok {
			t.Fatal("a host without URLs is busy")
		}
		end()
	})
}
