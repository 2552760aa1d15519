package deletion_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

const day = 24 * time.Hour

// TestLonePageGone: a page that is gone leaves within two minutes of the visit, once another one was
// good; the crawl asks for that itself. It is asked for again 1 hour, 4 hours and a day later.
func TestLonePageGone(t *testing.T) {
	for _, documents := range []int{1, 2, 3, 5, 16, 300} {
		t.Run(fmt.Sprint(documents), func(t *testing.T) {
			crawling(t, nil, func(s *crawl) {
				all := s.indexed(documents)
				s.pass(time.Hour)
				s.says(status(404), all[0])
				s.visit(all[0])
				gone := time.Now()
				s.pass(55 * time.Second)
				s.is("before a minute", 1, 0)
				s.pass(65 * time.Second)
				s.is("after two minutes", 0, 1)
				if d := s.leftAt(all[0]).Sub(gone); d < time.Minute || d > 2*time.Minute {
					t.Errorf("it left after %v", d)
				}
				r := s.record(all[0])
				if r.Indexed || r.LossPending || r.Class != scheduler.Permanent || r.LostAt.IsZero() || r.State != scheduler.Timed {
					t.Errorf("%+v, want it known and lost", r)
				}
				for i, after := range []time.Duration{time.Hour, 5 * time.Hour, 29 * time.Hour} {
					s.pass(time.Until(s.leftAt(all[0]).Add(after - time.Minute)))
					before := s.visits(all[0])
					s.pass(2 * time.Minute)
					if got := s.visits(all[0]) - before; got != 1 {
						t.Errorf("visit %d after it left: asked for %d times, want once", i+1, got)
					}
				}
			})
		})
	}
}

// TestGoodResponseCancels: what comes back was never gone.
func TestGoodResponseCancels(t *testing.T) {
	unchanged := func(*scheduler.Lease) scheduler.Result { return scheduler.Result{Status: 304, Conditional: true} }
	for name, back := range map[string]answer{"304": unchanged, "200": good} {
		for _, gone := range []int{1, 10} {
			crawling(t, nil, func(s *crawl) {
				all := s.indexed(20)
				some := every(2, all)[:gone]
				s.meets(status(404), some...)
				s.pass(10 * time.Second)
				s.is("gone", gone, 0)
				s.says(back, all...)
				s.visit(some...)
				if r := s.record(all[0]); r.LossPending || !r.Indexed || r.Class != scheduler.OK || r.Misses != 0 || r.Reason != scheduler.NoReason {
					t.Errorf("%s: %+v, want it as before", name, r)
				}
				s.is(name, 0, 0)
				s.pass(8 * day)
				s.is(name+", later", 0, 0)
			})
		}
	}
}

// TestSection: a section of 5 % leaves within 25 hours, and not within 24.
func TestSection(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.meets(status(404), all[:5]...)
		s.pass(24*time.Hour - time.Minute)
		s.is("before a day", 5, 0)
		s.pass(time.Hour)
		s.is("after 25 hours", 0, 5)
	})
}

// TestJudgedSeldom: a host is not judged again and again while its losses wait for visits.
func TestJudgedSeldom(t *testing.T) {
	judged := 0
	crawling(t, func(s *crawl) {
		s.store = func(store scheduler.Store) scheduler.Store {
			return &storetest.Faulty{Store: store, Before: func(_ context.Context, method string) error {
				if method == "Deletions" {
					judged++
				}
				return nil
			}}
		}
	}, func(s *crawl) {
		all := s.indexed(100)
		s.meets(status(404), all[:5]...)
		s.pass(2 * time.Hour)
		s.visit(all[:5]...) // the fourth time: the next one is a day later
		s.pass(22*time.Hour + 5*time.Minute)
		judged = 0
		s.pass(time.Hour)
		if s.is("after 25 hours", 5, 0); judged > 10 {
			t.Errorf("the host was judged %d times in an hour", judged)
		}
	})
}

// TestRelaunch: 30 % of a site leave after a week, whatever says that they are gone, or at once at the
// operator's word. The host is not ill.
func TestRelaunch(t *testing.T) {
	for name, a := range map[string]answer{
		"404": status(404), "noindex": noDocument(scheduler.ReasonNoIndex), "robots.txt": forbidden,
		"301 to one page": leads(301, pages("a.test", 100)[99]),
	} {
		for _, release := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, release %t", name, release), func(t *testing.T) {
				crawling(t, nil, func(s *crawl) {
					all := s.indexed(100)
					s.says(a, all[:30]...)
					for i := range 30 { // among healthy ones, as refreshes come
						s.visit(all[i], all[30+2*i], all[31+2*i])
					}
					s.pass(time.Hour)
					s.is("gone", 30, 0)
					if release {
						n, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{Host: "http://a.test"})
						if err != nil || n != 30 {
							t.Fatalf("Release = %d, %v", n, err)
						}
						s.is("released", 0, 30)
						return
					}
					s.pass(6*day + 22*time.Hour)
					s.is("before a week", 30, 0)
					s.pass(2 * day)
					s.is("after a week", 0, 30)
				})
			})
		}
	}
}

// TestOutage: a host whose documents all turn bad loses none of them, and has all of them when it is
// well again.
func TestOutage(t *testing.T) {
	for name, a := range map[string]answer{
		"404": status(404), "500": status(500), "302 to one page": leads(302, pages("b.test", 1)[0]), "NXDOMAIN": fails(fault.DNSNotFound),
	} {
		for _, documents := range []int{3, 5, 16, 60} {
			if documents > scheduler.PoolBelow && name != "404" {
				continue // two days of it cost a second
			}
			t.Run(fmt.Sprintf("%s, %d documents", name, documents), func(t *testing.T) {
				crawling(t, nil, func(s *crawl) {
					all := s.indexed(documents)
					s.meets(a, all...)
					if documents > 5 && !s.isIll(all[0]) {
						t.Error("the host is not ill")
					}
					s.pass(2 * day)
					s.is("ill", documents, 0)
					s.says(good, all...)
					s.pass(25 * time.Hour)
					s.is("well", 0, 0)
					if s.isIll(all[0]) {
						t.Error("the host is still ill")
					}
				})
			})
		}
	}
}

// TestReleaseIsNoPass: what is found after a release is judged as if there had been none.
func TestReleaseIsNoPass(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(60)
		s.meets(status(404), all[:20]...)
		s.pass(time.Minute)
		s.releases(scheduler.DeletionFilter{Host: "http://a.test"}, 20)
		s.says(status(404), all...)
		s.visit(all[20:]...)
		s.pass(6 * day)
		s.is("an outage after it", 40, 20)
	})
}

// TestReleaseUpTo: a release carries out the set that was shown.
func TestReleaseUpTo(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(60)
		s.meets(status(404), all[:10]...)
		var last uint64
		for _, d := range s.deletions(scheduler.DeletionFilter{}) {
			last = max(last, d.Seq)
		}
		s.meets(status(404), all[10:20]...)
		s.releases(scheduler.DeletionFilter{UpTo: last}, 10)
		s.is("released", 10, 10)
	})
}

// TestPool: hosts of two documents behind one gate are one group.
func TestPool(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		var all []scheduler.Link
		for i := range 40 {
			all = append(all, pages(fmt.Sprintf("a%d.test", i), 2)...)
		}
		s.index(all...)
		s.meets(status(404), all...)
		s.pass(day)
		if left := s.lost(); left > 2 {
			t.Errorf("%d of 80 documents left within a day, want at most 2", left)
		}
		s.says(good, all...)
		s.pass(25 * time.Hour)
		s.back(all...)
	})
}

// TestHostIsGone: a host that is taken down is out of the index after 30 days, by itself.
func TestHostIsGone(t *testing.T) {
	for _, documents := range []int{1, 2, 5, 12} {
		for name, a := range map[string]answer{"refused": fails(fault.Refused), "500": status(500), "parked": leads(302, pages("parked.test", 1)[0])} {
			if documents != 5 && name != "refused" {
				continue // a month goes by
			}
			t.Run(fmt.Sprintf("%d documents, %s", documents, name), func(t *testing.T) {
				crawling(t, nil, func(s *crawl) {
					all := s.indexed(documents)
					s.meets(a, all...)
					s.pass(29 * day)
					s.is("29 days", documents, 0)
					s.pass(3 * day)
					s.is("32 days", 0, documents)
				})
			})
		}
	}
}

// TestHostIsGoneBeforeItsRetries: the losses of a host that is gone do not wait for retries. A large host has more of
// them than there is time for. An outage of 29 days loses nothing.
func TestHostIsGoneBeforeItsRetries(t *testing.T) {
	for _, back := range []bool{false, true} {
		crawling(t, func(s *crawl) { s.set.MaxTemporaryErrors = 1000 }, func(s *crawl) {
			all := s.indexed(12)
			s.meets(fails(fault.Refused), all...)
			s.pass(23 * time.Hour)
			s.is("a day", 0, 0)
			s.pass(28 * day)
			s.is("29 days", 12, 0)
			if back {
				s.says(good, all...)
				s.pass(25 * time.Hour)
				s.is("back", 0, 0)
				return
			}
			s.pass(3 * day)
			s.is("32 days", 0, 12)
		})
	}
}

// TestAllAreAsked: the retries of a host that is down and has few turns leave some turns for documents that were not
// asked for yet.
func TestAllAreAsked(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.Throttle = 5 * time.Minute }, func(s *crawl) {
		all := s.indexed(80)
		s.says(fails(fault.Refused), all...)
		var keys []weburl.Key
		for _, p := range all {
			keys = append(keys, p.URL.Key())
		}
		_, err := s.Revise(s.t.Context(), keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			r.State, r.Source = scheduler.Waiting, scheduler.Refresh
			return &scheduler.Change{Next: r}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.pass(5 * day)
		s.is("five days", 80, 0)
	})
}

// TestGoneMeanwhile: a host that came back while nothing ran is not gone before it is asked.
func TestGoneMeanwhile(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(12)
		s.meets(fails(fault.Refused), all...)
		s.pass(12 * day)
		s.end()
		s.says(good, all...)
		time.Sleep(20 * day)
		s.memory = s.memory.Reopen()
		s.begin()
		s.pass(25 * time.Hour)
		s.is("back", 0, 0)
	})
}

// TestGoneHostReturns: a host that was gone and comes back is protected as any other.
func TestGoneHostReturns(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(5)
		s.meets(fails(fault.Refused), all...)
		s.pass(32 * day)
		s.is("gone", 0, 5)
		s.meets(good, all...)
		s.back(all...)
		s.meets(fails(fault.Refused), all...)
		s.pass(20 * day)
		s.is("down again", 5, 5)
	})
}

// TestRestart: a restart neither hurries nor stops a loss.
func TestRestart(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.meets(status(404), all[:5]...)
		for range 23 {
			s.pass(time.Hour)
			s.restart()
		}
		s.is("before a day", 5, 0)
		s.pass(2 * time.Hour)
		s.is("after a day", 0, 5)
	})
}

// TestReturned: when one lost document of a host is back the others are asked for at once.
func TestReturned(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.meets(status(404), all[:15]...)
		s.pass(10 * day)
		s.is("lost", 0, 15)
		s.says(good, all...)
		s.pass(25 * time.Hour)
		s.back(all[:15]...)
	})
}

// TestOff is the seed's letter: each permanent error deletes at once.
func TestOff(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.Deletions.Off = true }, func(s *crawl) {
		all := s.indexed(20)
		s.meets(status(404), all...)
		s.is("off", 0, 0)
		for _, p := range all {
			if r := s.record(p); r.Indexed || !r.LostAt.IsZero() || r.NextAt.Before(time.Now().Add(day)) {
				t.Errorf("%+v, want it deleted, and not asked for again soon", r)
			}
		}
	})
}

// TestSwitchedOff carries out what is pending.
func TestSwitchedOff(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(20)
		s.meets(status(404), all...)
		s.is("ill", 20, 0)
		set := s.set
		set.Deletions.Off = true
		s.Apply(set)
		s.pass(10 * time.Second)
		s.is("switched off", 0, 20)
	})
}

// moves is a page that moved for good to the page of the same number of another host.
func moves(to []scheduler.Link, from []scheduler.Link) map[weburl.Key]answer {
	all := map[weburl.Key]answer{}
	for i := range from {
		all[from[i].URL.Key()] = leads(301, to[i])
	}
	return all
}

// TestMove: pages that move for good to pages of the same texts leave as those come, and the host is not ill.
func TestMove(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		from, to := pages("a.test", 60), pages("b.test", 60)
		same := func(i uint64) answer {
			return func(*scheduler.Lease) scheduler.Result { return document(weburl.Key{9: byte(i)}, i, 8) }
		}
		for i := range from {
			s.says(same(uint64(i)), from[i], to[i])
		}
		s.index(from...)
		for k, a := range moves(to, from) {
			s.mu.Lock()
			s.answers[k] = a
			s.mu.Unlock()
		}
		s.visit(from...)
		s.pass(2 * time.Hour)
		s.is("moved", 0, 60)
		if s.isIll(from[0]) {
			t.Error("the old host is ill")
		}
		s.back(to...)
	})
}

// TestMoveToApologies: pages that move for good to pages of other texts are lost as others are.
func TestMoveToApologies(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		from, to := pages("a.test", 60), pages("a.test/sorry", 60)
		s.index(from...)
		for k, a := range moves(to, from) {
			s.mu.Lock()
			s.answers[k] = a
			s.mu.Unlock()
		}
		s.visit(from...)
		s.pass(6 * day)
		if left := s.lost(); left > 2 {
			t.Errorf("%d of 60 documents left within 6 days", left)
		}
	})
}

// born is a redirect to a document of its own each time, which nobody knew before.
func (s *crawl) born(host string) answer {
	n := 0
	return func(*scheduler.Lease) scheduler.Result {
		n++
		to := pages(fmt.Sprintf("%s/login/%d", host, n), 1)[0]
		return scheduler.Result{Status: 302, Redirect: &to, Location: to.URL.String()}
	}
}

// TestDocumentsOfTheFault: documents that come with a fault neither make its losses few nor vouch for the host.
func TestDocumentsOfTheFault(t *testing.T) {
	for _, documents := range []int{5, 16, 60} {
		t.Run(fmt.Sprint(documents), func(t *testing.T) {
			crawling(t, nil, func(s *crawl) {
				all := s.indexed(documents)
				s.pass(time.Hour)
				s.says(s.born("a.test"), all...)
				for range 6 {
					s.visit(all...)
					s.pass(day)
					s.restart()
				}
				if left := s.lost(); left > 2 {
					t.Errorf("%d of %d documents left", left, documents)
				}
				s.says(good, all...)
				s.pass(25 * time.Hour)
				s.back(all...)
			})
		})
	}
}

// TestLongOutageEnds: when an outage of nearly a week ends, its losses are cancelled one by one, and the last ones are
// few; but nothing is carried out before its own page was asked for.
func TestLongOutageEnds(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.Throttle = 20 * time.Second }, func(s *crawl) {
		all := s.indexed(60)
		s.pass(time.Hour)
		s.says(text(2), all...) // of each page another one
		s.visit(all[:30]...)
		s.says(status(500), all[30:]...)
		s.pass(7*day - 2*time.Hour) // no loss has lasted deletionHoldS
		s.says(good, all...)
		s.pass(26 * time.Hour)
		for _, p := range all {
			if r := s.record(p); r.Lively > 0 || !r.Indexed || r.LossPending {
				t.Errorf("%+v, want it as it was", r)
			}
		}
	})
}

// TestMostIsGone: a site of which only the home page is left is well again, and what is gone leaves.
func TestMostIsGone(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(50)
		s.pass(time.Hour)
		s.says(status(404), all[1:]...)
		s.visit(all...)
		s.pass(time.Hour)
		if !s.isIll(all[0]) {
			t.Error("the host is not ill")
		}
		for range 9 {
			s.visit(all[0]) // as a refresh does
			s.pass(day)
		}
		s.is("nine days later", 0, 49)
	})
}
