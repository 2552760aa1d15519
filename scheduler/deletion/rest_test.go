package deletion_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestLone404: a document that is gone leaves after about a minute, once its site was seen
// to be well; the crawl asks for that itself.
func TestLone404(t *testing.T) {
	for _, documents := range []int{1, 2, 3, 5, 9, 10, 16, 17, 300} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", documents)
			s.index(all...)
			s.pass(time.Hour)
			before := 0
			for _, p := range all {
				before += s.visits(p)
			}
			s.says(status(404), all[0])
			s.visit(all[0])
			gone := time.Now()
			s.pass(55 * time.Second)
			s.is("before a minute", 1, 0, 0)
			s.pass(10 * time.Second)
			s.is("after a minute", 0, 0, 1)
			asked := -before
			for _, p := range all {
				asked += s.visits(p)
			}
			if want := min(documents, 5) + 1; asked != want || s.visits(all[0]) != 3 {
				t.Errorf("of %d documents: %d requests, %d for the page; want %d and 3", documents, asked, s.visits(all[0]), want)
			}
			r := s.record(all[0])
			if r.Indexed || !r.Gone || r.Class != scheduler.Permanent || r.Deletion != scheduler.NoDeletion || r.Misses != 1 || r.State != scheduler.Timed {
				t.Errorf("of %d documents: %+v, want it known and gone", documents, r)
			}
			if d := s.leftAt(all[0]).Sub(gone); d < time.Minute || d > 65*time.Second {
				t.Errorf("of %d documents: left after %v", documents, d)
			}
			s.pass(6 * 24 * time.Hour)
			if n := s.visits(all[0]); n != 3 {
				t.Errorf("of %d documents: asked for %d times in a week, want 3", documents, n)
			}
		})
	}
}

// TestGoodAnswerCancels: what comes back was never gone, whether its deletion rests or is
// held.
func TestGoodAnswerCancels(t *testing.T) {
	unchanged := func(*scheduler.Lease) scheduler.Result { return scheduler.Result{Status: 304, Conditional: true} }
	for name, back := range map[string]answer{"304": unchanged, "200": good, "200, changed": text(2)} {
		for _, gone := range []int{1, 10} { // of 20: the latter are held
			crawling(t, nil, func(s *crawl) {
				all := pages("a.test", 20)
				s.index(all...)
				s.says(status(404), every(2, all)[:gone]...)
				s.visit(all...)
				s.pass(10 * time.Second)
				if gone == 1 {
					s.is("gone", 1, 0, 0)
				} else {
					s.is("gone", 0, gone, 0)
				}
				s.says(back, all...)
				s.visit(every(2, all)[0])
				if r := s.record(all[0]); r.Deletion != scheduler.NoDeletion || !r.Indexed || r.Class != scheduler.OK || r.Misses != 0 || r.Reason != scheduler.NoReason {
					t.Errorf("%s: %+v, want it as before", name, r)
				}
				s.pass(3 * time.Hour) // the others are asked for again, too
				s.is(name, 0, 0, 0)
				s.pass(3 * 24 * time.Hour)
				s.is(name+", later", 0, 0, 0)
			})
		}
	}
}

// every returns each nth of some pages, from the first on.
func every(n int, all []scheduler.Link) (some []scheduler.Link) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// requests is how many pages the crawl has asked for.
func (s *crawl) requests() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.asked {
		n += len(times)
	}
	return n
}

// TestNoAnswer: while nothing tells whether a site is well its deletions rest on, and are
// held in the end; it is not asked without end for that.
func TestNoAnswer(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(404), all[0])
		s.visit(all[0])
		s.says(unknown, all...)
		before := s.requests()
		s.pass(23 * time.Hour)
		s.is("after 23 hours", 1, 0, 0)
		s.pass(2 * time.Hour)
		s.is("after 25 hours", 0, 1, 0)
		s.heldAs(scheduler.HeldUnsure)
		if n := s.requests() - before; n > 500 { // each page that waits is looked at every hour
			t.Errorf("%d requests", n)
		}
		s.says(good, all...)
		s.says(status(404), all[0])
		s.visit(all...)
		s.pass(3 * 24 * time.Hour)
		s.is("after all was well", 0, 1, 0)
	})
}

// TestBadControl: one bad answer of those asked for the control keeps a deletion back until
// another sample is good.
func TestBadControl(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 5) // the whole host is the sample
		s.index(all...)
		s.says(status(404), all[0])
		s.visit(all[0])
		s.says(fails(fault.Timeout), all[4])
		s.pass(10 * time.Minute)
		s.is("one of four does not answer", 1, 0, 0)
		s.says(good, all[4])
		s.pass(30 * time.Minute)
		s.is("all of four answer", 0, 0, 1)
	})
}

// TestPauseStopsTheClock of all rests.
func TestPauseStopsTheClock(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(404), all[0])
		s.visit(all[0])
		s.pass(30 * time.Second)
		s.Pause()
		s.pass(50 * time.Hour)
		s.is("in the pause", 1, 0, 0)
		s.Resume()
		s.pass(25 * time.Second)
		s.is("after 55 seconds", 1, 0, 0)
		s.pass(10 * time.Second)
		s.is("after 65 seconds", 0, 0, 1)
	})
}

// TestRestartBeginsAnew: what another process has seen lets nothing leave.
func TestRestartBeginsAnew(t *testing.T) {
	for _, c := range []struct {
		gone int
		rest time.Duration
	}{{1, time.Minute}, {10, time.Hour}} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 100)
			s.index(all...)
			s.says(status(404), every(10, all)[:c.gone]...)
			s.visit(all...)
			for range 5 {
				s.pass(c.rest - 15*time.Second)
				s.is("before the rest is over", c.gone, 0, 0)
				s.restart()
			}
			s.pass(c.rest - 2*time.Second)
			s.is("before the last rest is over", c.gone, 0, 0)
			s.pass(30 * time.Second)
			s.is("after the last rest", 0, 0, c.gone)
		})
	}
}

// TestShares: of how many documents how many leave within a minute, within an hour, or only
// with the operator's word.
func TestShares(t *testing.T) {
	const minute, hour, never = 90 * time.Second, 62 * time.Minute, 0
	for _, c := range []struct {
		documents, gone int
		within          time.Duration
	}{
		{2, 2, minute},
		{4, 2, minute}, {4, 3, never}, {4, 4, never},
		{10, 2, minute}, {10, 3, never},
		{100, 2, minute}, {100, 3, hour}, {100, 20, hour}, {100, 21, never},
		{300, 3, minute}, {300, 4, hour}, {300, 15, hour}, {300, 60, hour}, {300, 61, never},
	} {
		crawling(t, func(s *crawl) { s.set.Brake.Percent = 100 }, func(s *crawl) {
			all := pages("a.test", c.documents)
			s.index(all...)
			var gone []scheduler.Link
			for i, p := range all { // evenly, so that the site is well
				if (i+1)*c.gone/c.documents > i*c.gone/c.documents {
					gone = append(gone, p)
				}
			}
			s.says(status(404), gone...)
			s.visit(all...)
			switch c.within {
			case never:
				s.pass(3 * 24 * time.Hour)
				s.is("for ever", 0, c.gone, 0)
			case minute:
				s.pass(minute)
				s.is("after a minute", 0, 0, c.gone)
			default:
				s.pass(c.within - 5*time.Minute)
				s.is("after less than an hour", c.gone, 0, 0)
				s.pass(5 * time.Minute)
				s.is("after an hour", 0, 0, c.gone)
				most := 0
				for _, p := range gone {
					n := s.visits(p)
					most += n
					if n < 3 {
						t.Errorf("%v was asked for %d times, want once more after an hour", p.URL, n)
					}
				}
				if most > 3*c.gone+2 { // one may be asked for both by itself and for its deletion
					t.Errorf("they were asked for %d times", most)
				}
			}
			if t.Failed() {
				t.Fatalf("%d of %d", c.gone, c.documents)
			}
		})
	}
}

// TestBudgets: what has left within an hour, or a day, counts for what may leave next.
func TestBudgets(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50) // of which two may leave in an hour, and ten in a day
		s.index(all...)
		begin := time.Now()
		for i := range 11 { // never too many at once
			s.says(status(404), all[i*3])
			s.visit(all[i*3])
			s.pass(4 * time.Minute)
		}
		s.is("within an hour", 9, 0, 2)
		s.pass(3*time.Hour - time.Since(begin))
		s.is("within three hours", 1, 0, 10)
		s.pass(24*time.Hour - time.Since(begin))
		s.is("within a day", 1, 0, 10)
		s.pass(3 * time.Hour)
		s.is("on the next day", 0, 0, 11)
	})
}

// TestIndexWide: small hosts, of which each may lose what it has, do not empty the index
// together.
func TestIndexWide(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := storetest.Links(40, "http://h%d.test/", scheduler.Index)
		s.index(all...)
		s.says(status(404), all[:30]...)
		s.visit(all...)
		s.pass(10 * time.Minute)
		s.is("a fifth of the index", 0, 22, 8)
		s.heldAs(scheduler.HeldForAll)
		if b := s.Snapshot().Brake; b != (scheduler.BrakeSnapshot{On: true, Sent: 8}) {
			t.Errorf("%+v", b)
		}
		s.restart()
		if b := s.Snapshot().Brake; b.Sent != 8 {
			t.Errorf("%+v after a restart", b)
		}
		s.says(status(404), all[39])
		s.visit(all[39])
		s.pass(5 * time.Minute)
		s.is("one more within the window", 0, 23, 8)
		s.pass(2 * time.Hour)
		s.is("a window later", 0, 23, 8) // held is held
		s.says(status(404), all[38])
		s.visit(all[38])
		s.pass(5 * time.Minute)
		s.is("one of the next window", 0, 23, 9)
	})
	crawling(t, nil, func(s *crawl) { // three in any case
		all := storetest.Links(5, "http://h%d.test/", scheduler.Index)
		s.index(all...)
		s.says(status(404), all...)
		s.visit(all...)
		s.pass(10 * time.Minute)
		s.is("three of five", 0, 2, 3)
	})
}

// TestSteadyFlow: deletions that come one after the other for hours leave one after the
// other, too.
func TestSteadyFlow(t *testing.T) {
	if testing.Short() {
		t.Skip("2,900 requests, one after the other")
	}
	crawling(t, func(s *crawl) { s.set.Brake.Percent = 100 }, func(s *crawl) {
		all := pages("a.test", 2000)
		s.index(all...)
		begin := time.Now()
		for i := range 300 { // fifteen per cent
			s.says(status(404), all[5*i])
			s.visit(all[5*i], all[5*i+1], all[5*i+2])
			s.pass(20 * time.Second)
		}
		s.mu.Lock()
		left := len(s.left)
		s.mu.Unlock()
		if left < 80 {
			t.Errorf("%d left within %v", left, time.Since(begin))
		}
		s.pass(90 * time.Minute)
		s.is("after all", 0, 0, 300)
		if n := s.requests() - 2000 - 3*300; n > 400 { // each once more, and the control rounds
			t.Errorf("%d requests for 300 deletions", n)
		}
	})
}

// TestHeldIsOver: what was held because there was too much counts no longer when it came
// back.
func TestHeldIsOver(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(404), every(2, all)...)
		s.visit(all...)
		s.pass(10 * time.Second)
		s.is("half of it is gone", 0, 25, 0)
		s.says(nil, all...)
		s.visit(every(2, all)...)
		s.is("it is back", 0, 0, 0)
		s.pass(time.Hour)
		s.says(status(404), all[3])
		s.visit(all[3])
		s.pass(5 * time.Minute)
		s.is("one is gone", 0, 0, 1)
	})
	crawling(t, nil, func(s *crawl) { // but what did not come back does count
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(404), every(4, all)...)
		s.visit(all...)
		s.pass(10 * time.Second)
		s.is("a quarter of it is gone", 0, 13, 0)
		s.says(status(404), all[3])
		s.visit(all[3])
		s.pass(5 * time.Minute)
		s.is("one more is gone", 0, 14, 0)
		s.pass(25 * time.Hour)
		s.says(status(404), all[7])
		s.visit(all[7])
		s.pass(5 * time.Minute)
		s.is("one on the next day", 0, 14, 1)
	})
}

// TestDamagedHost: the deletions of a host that cannot be judged keep nobody from judging
// the others, and are judged when they can be.
func TestDamagedHost(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.Brake.Percent = 100 }, func(s *crawl) {
		hosts := storetest.Links(20, "http://h%d.test/", scheduler.Index)
		s.index(hosts...)
		ledgers := func(v []byte) {
			for _, p := range hosts[:10] {
				k := p.URL.HostKey()
				if err := s.memory.SetValue(s.t.Context(), scheduler.HostValue(k, "scheduler.deletions"), v); err != nil {
					t.Fatal(err)
				}
			}
		}
		ledgers([]byte("garbage"))
		s.says(status(404), hosts...)
		s.visit(hosts...)
		s.pass(5 * time.Minute)
		s.is("those of the sound hosts", 10, 0, 10)
		if !strings.Contains(s.log.String(), "cannot judge resting deletions") || !strings.Contains(s.log.String(), "host=http://h0.test") {
			t.Errorf("the log has\n%s", s.log)
		}
		ledgers(nil)
		s.pass(5 * time.Minute)
		s.is("all", 0, 0, 20)
	})
}

// TestAskingFails: a store that fails keeps nothing from being asked for later.
func TestAskingFails(t *testing.T) {
	for _, method := range []string{"Revise", "Lookup", "ReviseDeletions", "Documents", "Deletions", "Counts"} {
		var fails atomic.Int32
		crawling(t, func(s *crawl) {
			s.store = func(store scheduler.Store) scheduler.Store {
				return &storetest.Faulty{Store: store, Before: func(_ context.Context, m string) error {
					if m == method && fails.Add(-1) >= 0 {
						return errDisk
					}
					return nil
				}}
			}
		}, func(s *crawl) {
			all := pages("a.test", 50)
			s.index(all...)
			s.says(status(404), all[0])
			s.visit(all[0])
			s.pass(58 * time.Second)
			fails.Store(3)
			s.pass(90 * time.Second)
			s.is(method+" fails", 0, 0, 1)
		})
	}
}
