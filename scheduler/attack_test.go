package scheduler_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// absurdTimes are instants that a clock which jumps may have left in a store.
func absurdTimes() []time.Time {
	return []time.Time{
		{}, time.Unix(0, 0), time.Unix(-1, 0), time.Unix(0, 1), time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Unix(0, math.MaxInt64), time.Unix(0, math.MaxInt64).Add(1),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
}

// settled stores a URL, so that its record and its host are as after a lease.
func settled(t *testing.T, s scheduler.Store, l scheduler.Link, change func(*scheduler.Completion)) {
	t.Helper()
	if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
		t.Fatal(err)
	}
	r, err := s.Lookup(t.Context(), l.URL.Key())
	if err != nil {
		t.Fatal(err)
	}
	c := scheduler.Completion{Key: l.URL.Key(), Seq: r.Seq, Taken: scheduler.Place{Source: r.Source, Host: r.Host}, Next: r}
	change(&c)
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
}

// TestAbsurdHostStates: whatever a clock that jumped has left of a host, it is
// neither closed for more than a day nor visited before its pause has passed.
func TestAbsurdHostStates(t *testing.T) {
	var states []scheduler.HostState
	for _, at := range absurdTimes() {
		states = append(states, scheduler.HostState{NextAt: at})
	}
	for _, n := range []int64{math.MaxInt64, math.MinInt64, -1} {
		states = append(states,
			scheduler.HostState{Errors: int(n)}, scheduler.HostState{Responses: uint16(n), Ill: true, IllSince: time.Unix(n, 0)}, //nolint:gosec // any bits
			scheduler.HostState{Backoff: time.Duration(max(n, -int64(time.Hour)))})
	}
	for _, state := range states {
		for _, crash := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := teststore.New(t)
				word := fmt.Sprintf("%+v, crash %t", state, crash)
				settled(t, store, storetest.Link("http://a.test/0", scheduler.Index), func(c *scheduler.Completion) {
					state.Origin = c.Next.URL
					c.Host, c.Next.State = &state, scheduler.AtRest
				})
				if _, _, err := store.Add(t.Context(), storetest.Links(4, "http://a.test/%d", scheduler.Index), false); err != nil {
					t.Fatal(err)
				}
				if !crash {
					if err := store.Close(); err != nil {
						t.Fatal(err)
					}
				}
				f := run(t, store.Reopen())
				defer f.end()
				begin := time.Now()
				for i := range 3 {
					l := f.next()
					if state.Backoff < math.MaxInt64 && time.Since(begin) > 25*time.Hour {
						t.Errorf("%s: visit %d after %v", word, i, time.Since(begin))
					}
					if (i > 0 || crash) && time.Since(begin) < throttle {
						t.Errorf("%s: visit %d after %v, want the throttle at least", word, i, time.Since(begin))
					}
					f.complete(l, ok(l))
					begin = time.Now()
				}
			})
		}
	}
}

// TestAbsurdDueTimes: URLs due in the distant past are given out; those due in the distant future are not, and delay no
// others.
func TestAbsurdDueTimes(t *testing.T) {
	for _, jump := range []time.Duration{0, -30 * 24 * time.Hour, 30 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := teststore.New(t)
			if jump > 0 {
				time.Sleep(jump)
			}
			now, want := time.Now(), map[string]bool{}
			for i, at := range append(absurdTimes(), now.Add(jump), now.Add(time.Hour)) {
				l := storetest.Link(fmt.Sprintf("http://h%d.test/", i), scheduler.Follow)
				settled(t, store, l, func(c *scheduler.Completion) {
					c.Next.State, c.Next.NextAt, c.Next.Class = scheduler.Timed, at, scheduler.OK
				})
				if at.Before(now.Add(48 * time.Hour)) {
					want[l.URL.String()] = true
				}
			}
			f := run(t, store)
			defer f.end()
			for range len(want) {
				l := f.next()
				if !want[l.URL.String()] {
					t.Errorf("jump %v: %s is given out, and again or too early", jump, l.URL)
				}
				delete(want, l.URL.String())
				f.complete(l, ok(l))
			}
			if d := time.Since(now); d > 48*time.Hour {
				t.Errorf("jump %v: it took %v", jump, d)
			}
			f.none(24 * time.Hour)
		})
	}
}

// TestHugeRetryAfter: a server's Retry-After of centuries, or less than nothing, closes
// its host for a day at most and never opens it early.
func TestHugeRetryAfter(t *testing.T) {
	for _, after := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, 200 * 365 * 24 * time.Hour, 0, -1, math.MinInt64} {
		synctest.Test(t, func(t *testing.T) {
			f := run(t, teststore.New(t))
			defer f.end()
			f.add(storetest.Links(2, "http://a.test/%d", scheduler.Index)...)
			f.complete(f.next(), scheduler.Result{Status: 503, HasRetryAfter: true, RetryAfter: after})
			begin := time.Now()
			f.next()
			if d := time.Since(begin); d < throttle || d > 25*time.Hour {
				t.Errorf("Retry-After %v: the next visit came after %v", after, d)
			}
		})
	}
}
