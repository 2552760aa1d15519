package deletion_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// outages are what a site says of all its pages that is ill.
func outages() map[string]answer {
	sorry := storetest.Link("http://a.test/sorry", scheduler.Index)
	return map[string]answer{
		"500": status(500), "404": status(404), "time-out": fails(fault.Timeout), "no name": fails(fault.DNSNotFound),
		"noindex": noDocument(scheduler.ReasonNoIndex), "empty": noDocument(scheduler.ReasonEmpty), "copies": noDocument(scheduler.ReasonCopy),
		"canonical": noDocument(scheduler.ReasonCanonical), "robots.txt": forbidden, "302 to one place": leads(302, sorry), "301 to one place": leads(301, sorry),
		"log-in": func(*scheduler.Lease) scheduler.Result { return scheduler.Result{Status: 200, LoginPage: true} },
	}
}

// TestIllHost: of a site that is ill nothing leaves, however long that lasts and however
// many of its pages are asked for, and nothing has happened when it is well again.
func TestIllHost(t *testing.T) {
	visits := []int{12, 100}
	if testing.Short() {
		visits = visits[:1]
	}
	for name, out := range outages() {
		for _, visited := range visits {
			crawling(t, func(s *crawl) { s.set.Policy = scheduler.CloudView }, func(s *crawl) {
				all := pages("a.test", 100)
				s.index(all...)
				s.says(out, all...)
				s.visit(all[:visited]...)
				before := s.requests()
				s.pass(3 * 24 * time.Hour)
				s.mu.Lock()
				if len(s.left) > 0 {
					t.Errorf("%s, %d visited: %d left", name, visited, len(s.left))
				}
				s.mu.Unlock()
				if snap := s.Snapshot(); snap.IllHosts != 1 || len(snap.Ill) != 1 || snap.Ill[0].Origin != "http://a.test" {
					t.Errorf("%s: %d ill hosts, %v", name, snap.IllHosts, snap.Ill)
				}
				// Five documents, ever more seldom, and each that is bad again and again, as errors are.
				if n, most := s.requests()-before, 110+(visited+16)*40; n > most {
					t.Errorf("%s, %d visited: %d requests in three days, want %d at most", name, visited, n, most)
				}
				s.says(nil, all...)
				s.pass(3 * 24 * time.Hour)
				s.is(name+", well again", 0, 0, 0)
				if n := s.Snapshot().IllHosts; n != 0 {
					t.Errorf("%s: still ill", name)
				}
				for _, p := range all {
					if r := s.record(p); !r.Indexed || r.Class != scheduler.OK {
						t.Errorf("%s: %+v", name, r)
					}
				}
			})
		}
	}
}

// TestWellSlowly: good answers make a site well again that come one at a time, while nothing
// else of it is asked for. One bad answer between them counts, the same document does not.
func TestWellSlowly(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(500), all...)
		s.visit(all[:10]...)
		s.says(nil, all[20:]...)
		for i, p := range slices.Concat(all[20:24], all[10:11], all[30:34], all[30:32]) {
			s.visit(p)
			if !s.isIll(p) {
				t.Fatalf("well after %d visits", i+1)
			}
		}
		s.visit(all[40])
		if s.isIll(all[40]) {
			t.Error("ill after five good documents in a row")
		}
	})
}

// TestWellAgain: what is really gone of a site that was ill leaves when it is well.
func TestWellAgain(t *testing.T) {
	for _, restart := range []string{"never", "while it is ill", "when it is well"} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 100)
			s.index(all...)
			s.says(status(500), all...)
			s.visit(all[:40]...)
			s.pass(time.Hour)
			s.heldAs(scheduler.HeldIll)
			if held := len(s.deletions(scheduler.DeletionFilter{State: scheduler.DeletionHeld})); held < 40 {
				t.Errorf("%d held", held)
			}
			if restart == "while it is ill" {
				s.restart()
			}
			s.says(nil, all...)
			s.says(status(404), all[3], all[33])
			s.visit(all[50:60]...)
			s.pass(10 * time.Second)
			if n := s.Snapshot().IllHosts; n != 0 {
				t.Errorf("restart %s: still ill", restart)
			}
			if restart == "when it is well" {
				s.restart()
			}
			s.pass(30 * time.Hour)
			s.is("restart "+restart, 0, 0, 2)
			if !strings.Contains(s.log.String(), "a host is ill") || !strings.Contains(s.log.String(), "is well again") {
				t.Errorf("the log has\n%s", s.log)
			}
		})
	}
}

// TestIllAndGone: of a site that was ill and whose pages are gone indeed no more leave than
// of any other.
func TestIllAndGone(t *testing.T) {
	for _, gone := range []int{39, 50} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 200)
			s.index(all...)
			s.says(status(404), all[:gone]...)
			s.visit(all[:gone]...)
			s.pass(3 * 24 * time.Hour)
			if gone <= 40 {
				s.is("less than a fifth", 0, 0, gone)
			} else {
				s.is("more than a fifth", 0, gone, 0)
				s.heldAs(scheduler.HeldForHost)
			}
			if n := s.Snapshot().IllHosts; n != 0 {
				t.Errorf("%d gone: still ill", gone)
			}
		})
	}
}

// TestIllUpdates: while a site is ill no document of it is replaced either; afterwards it is.
func TestIllUpdates(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(500), all...)
		s.visit(all[:10]...)
		s.says(text(7), all[20:]...)
		before := s.record(all[20])
		s.visit(all[20])
		if r := s.record(all[20]); r.Hash != before.Hash || r.Class != scheduler.OK || time.Until(r.NextAt) > 10*time.Minute {
			t.Errorf("%+v, want the document as it was, and the page asked for again", r)
		}
		s.says(text(7), all...)
		s.pass(24 * time.Hour)
		s.is("well again", 0, 0, 0)
		if r := s.record(all[20]); r.Hash != [16]byte{7} {
			t.Errorf("%+v, want the new document", r)
		}
	})
}

// TestSection: a section of a site that is removed leaves after about an hour, though its
// pages are visited one after the other, which looks like an illness.
func TestSection(t *testing.T) {
	for _, inRow := range []bool{false, true} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 300)
			s.index(all...)
			section := every(20, all)
			s.says(status(404), section...)
			if inRow {
				s.visit(section...)
			} else {
				s.visit(all...)
			}
			s.pass(50 * time.Minute)
			s.is("before an hour", 15, 0, 0)
			s.pass(25 * time.Minute)
			s.is("after an hour", 0, 0, 15)
			for _, p := range section {
				if n := s.visits(p); n < 3 {
					t.Errorf("in a row %t: %v was asked for %d times, want once more", inRow, p.URL, n)
				}
			}
			s.pass(24 * time.Hour)
			if n := s.Snapshot().IllHosts; n != 0 {
				t.Errorf("in a row %t: the site is ill", inRow)
			}
		})
	}
}

// TestEverySecondPage of a site is more than may leave without the operator's word; if
// they come back, nothing has happened.
func TestEverySecondPage(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 301)
		s.index(all...)
		gone := every(2, all)
		s.says(status(404), gone...)
		s.visit(all...)
		s.pass(10 * 24 * time.Hour)
		s.is("every second page", 0, len(gone), 0)
		s.says(nil, gone...)
		s.pass(2 * 24 * time.Hour)
		s.is("all back", 0, 0, 0)
	})
}

// TestOneBadDocument makes no site ill, however often it is asked for and however few others
// there are.
func TestOneBadDocument(t *testing.T) {
	for _, documents := range []int{3, 10, 100} {
		for name, bad := range map[string]answer{"time-out": fails(fault.Timeout), "404": status(404), "redirect": leads(302, storetest.Link("http://b.test/", scheduler.Index))} {
			crawling(t, nil, func(s *crawl) {
				all := pages("a.test", documents)
				s.index(all...)
				s.says(bad, all[0])
				for range 12 {
					s.visit(all[0])
				}
				s.pass(20 * time.Hour)
				if strings.Contains(s.log.String(), "a host is ill") {
					t.Errorf("%s of %d documents: the log has\n%s", name, documents, s.log)
				}
			})
		}
	}
}

// TestDeadHost: a site that is ill for ever is asked ever more seldom whether it is well.
func TestDeadHost(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(404), all...)
		s.visit(all[:12]...)
		before := s.requests()
		s.pass(30 * 24 * time.Hour)
		// Five documents four times a day, and each of those that are held once a day.
		if n, most := s.requests()-before, 30*5*4+(12+16)*35+100; n > most {
			t.Errorf("%d requests within a month, want %d at most", n, most)
		}
	})
}
