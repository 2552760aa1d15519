package deletion_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestReplaced: pages that move for good, each to one of its own, are neither too many nor
// an illness; whether that is in the index before or is found by the redirect.
func TestReplaced(t *testing.T) {
	for _, aliases := range []bool{true, false} {
		for _, known := range []bool{true, false} {
			for _, code := range []int{301, 308} {
				crawling(t, func(s *crawl) { s.set.IndexRedirectSources = aliases }, func(s *crawl) {
					all, twins := pages("a.test", 100), pages("b.test", 100)
					s.index(all...)
					if known {
						s.index(twins...)
					}
					for i, p := range all {
						s.says(leads(code, twins[i]), p)
					}
					s.visit(all...)
					if known {
						s.pass(5 * time.Minute)
						s.is("to known pages", 0, 0, 100)
					} else {
						s.pass(26 * time.Hour) // those that were held are asked for again
						s.is("to new pages", 0, 0, 100)
					}
					for i := range all {
						if r := s.record(twins[i]); !r.Indexed {
							t.Errorf("%s: %v, %v, want a document in place of the other", r.URL, r.Class, r.Deletion)
						}
						if r := s.record(all[i]); r.Class != scheduler.Redirect || r.Indexed {
							t.Errorf("%s: %v, indexed %t, want a redirect", r.URL, r.Class, r.Indexed)
						}
					}
				})
			}
		}
	}
}

// TestNotReplaced: a redirect that replaces nothing counts as any other answer that takes
// a document away.
func TestNotReplaced(t *testing.T) {
	home := storetest.Link("http://a.test/home", scheduler.Index)
	for name, c := range map[string]struct {
		code int
		to   func(i int) scheduler.Link
	}{
		"for now":      {302, func(i int) scheduler.Link { return storetest.Link(fmt.Sprintf("http://b.test/%d", i), scheduler.Index) }},
		"to one place": {301, func(int) scheduler.Link { return home }},
		"to two places": {301, func(i int) scheduler.Link {
			return storetest.Link(fmt.Sprintf("http://b.test/%d", i%2), scheduler.Index)
		}},
		"in pairs": {301, func(i int) scheduler.Link {
			return storetest.Link(fmt.Sprintf("http://b.test/%d", i/2), scheduler.Index)
		}},
	} {
		for _, aliases := range []bool{true, false} {
			crawling(t, func(s *crawl) { s.set.IndexRedirectSources = aliases }, func(s *crawl) {
				all := pages("a.test", 100)
				s.index(append(pages("b.test", 100), home)...)
				s.index(all...)
				for i, p := range all {
					s.says(leads(c.code, c.to(i)), p)
				}
				s.visit(all...)
				s.pass(5 * 24 * time.Hour)
				s.is(fmt.Sprintf("%s, aliases %t", name, aliases), 0, 100, 0)
			})
		}
	}
}

// TestWaitsForItsAnswer: a page that is to leave, is being asked for, and then gives no
// answer that tells anything, is not left behind.
func TestWaitsForItsAnswer(t *testing.T) {
	for name, then := range map[string]answer{"time-out": fails(fault.Timeout), "robots.txt cannot be had": unknown, "address": fails(fault.Address)} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 50)
			s.index(all...)
			s.says(status(404), all[0])
			s.visit(all[0])
			s.pass(50 * time.Second)
			s.visit(all[20]) // is good, so that the page may leave
			slow := func(l *scheduler.Lease) scheduler.Result {
				time.Sleep(5 * time.Minute)
				return then(l)
			}
			s.says(slow, all[0])
			if _, err := s.Add(s.t.Context(), all[:1], true); err != nil {
				t.Fatal(err)
			}
			s.pass(4 * time.Minute)
			s.is(name+", while it is asked for", 1, 0, 0)
			s.pass(10 * time.Minute)
			s.is(name+", afterwards", 0, 0, 1)
		})
	}
}

// TestUnavailableAfter: a document leaves when its time is over, by the page's own word, though
// the page is there and does not change.
func TestUnavailableAfter(t *testing.T) {
	for _, documents := range []int{1, 50} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", documents)
			over := time.Now().Add(48 * time.Hour)
			s.says(func(*scheduler.Lease) scheduler.Result {
				r := text(1)(nil)
				if !time.Now().Before(over) {
					r = noDocument(scheduler.ReasonUnavailable)(nil)
				}
				r.UnavailableAt = over
				return r
			}, all[0])
			s.index(all...)
			if documents == 1 { // a 304, which says nothing of the time
				s.says(func(*scheduler.Lease) scheduler.Result { return scheduler.Result{Status: 304, Conditional: true} }, all[0])
			}
			s.pass(time.Until(over) - time.Minute)
			s.is("before its time is over", 0, 0, 0)
			s.pass(10 * time.Minute)
			s.is("its time is over", 0, 0, 1)
			if n := s.visits(all[0]); n > 3 {
				t.Errorf("of %d documents: asked for %d times", documents, n)
			}
			s.pass(24 * time.Hour)
			s.is("a day later", 0, 0, 1)
		})
	}
}

// items returns documents that a feed has, of URLs that are not fetched.
func (s *crawl) items(host string, n int) []scheduler.Link {
	s.t.Helper()
	all := storetest.Links(n, "http://"+host+"/item/%d", scheduler.Index)
	for i := range all {
		all[i].Kind, all[i].Referrer = scheduler.KindItem, "http://"+host+"/feed"
	}
	if _, err := s.Add(s.t.Context(), all, false); err != nil {
		s.t.Fatal(err)
	}
	_, err := s.Revise(s.t.Context(), storetest.Keys(all), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		r.Class, r.Settled, r.Status = scheduler.OK, true, 200
		return &scheduler.Change{Next: r, Document: text(1)(nil).Document}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// drop has a store told that a feed does not list items any more.
func (s *crawl) drop(items ...scheduler.Link) {
	s.t.Helper()
	_, err := s.Revise(s.t.Context(), storetest.Keys(items), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		r.Reason, r.LastError = scheduler.ReasonItemGone, "gone"
		return &scheduler.Change{Next: r, Delete: "gone"}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestItems: the items of a feed are deleted in the same shares, and never asked for.
func TestItems(t *testing.T) {
	for _, c := range []struct {
		gone                int
		minute, hour, never bool
	}{{3, true, true, false}, {4, false, true, false}, {60, false, true, false}, {61, false, false, true}} {
		crawling(t, func(s *crawl) { s.set.Brake.Percent = 100 }, func(s *crawl) {
			all := s.items("a.test", 300)
			s.drop(all[:c.gone]...)
			after := func(when string, d time.Duration, gone bool) {
				s.pass(d)
				switch {
				case gone:
					s.is(when, 0, 0, c.gone)
				case c.never:
					s.is(when, 0, c.gone, 0)
				default:
					s.is(when, c.gone, 0, 0)
				}
			}
			after("after a minute", 70*time.Second, c.minute)
			after("after an hour", time.Hour, c.hour)
			after("after a week", 7*24*time.Hour, c.hour)
			if n := s.requests(); n > 0 {
				t.Errorf("%d items were asked for", n)
			}
		})
	}
}

// TestPageAmongItems: a page leaves though there is no other one to ask for, only the items
// of a feed; but not while other pages of its host are held.
func TestPageAmongItems(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		page := storetest.Link("http://a.test/page", scheduler.Index)
		s.items("a.test", 100)
		s.index(page)
		s.says(status(404), page)
		s.visit(page)
		s.pass(5 * time.Minute)
		s.is("a page among items", 0, 0, 1)
		if n := s.requests(); n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
	})
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 5)
		s.items("a.test", 7)
		s.index(all...)
		s.says(status(500), all...) // which a page may say by mistake
		s.visit(all[:3]...)
		s.pass(time.Minute)
		s.is("more than a fifth", 0, 3, 0)
		s.pass(25 * time.Hour) // the tally of what was held is over
		s.visit(all[3])
		s.pass(3 * time.Hour)
		s.is("one more", 1, 3, 0)
	})
}

// TestItemDeletedByRule, and not by an edit: it is not asked for, or the page would be
// indexed in its place.
func TestItemDeletedByRule(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.items("a.test", 100)
		_, err := s.Revise(s.t.Context(), storetest.Keys(all[:1]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			r.Reason, r.LastError = scheduler.ReasonKilled, "kill gate"
			return &scheduler.Change{Next: r, Delete: "kill gate"}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.pass(26 * time.Hour)
		if n := s.requests(); n > 0 {
			t.Errorf("%d requests", n)
		}
		s.is("an item that is killed", 0, 0, 1)
	})
}

// TestBrakeOff sends at once, what rests already too; what is held stays so.
func TestBrakeOff(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.Brake.On = false }, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(500), all...)
		s.visit(all...)
		s.is("off", 0, 0, 0) // the outcomes' own orders
		for _, p := range all {
			if r := s.record(p); r.Indexed || !r.Gone {
				t.Errorf("%+v, want it gone", r)
			}
		}
		s.pass(time.Hour)
		if n := s.Snapshot().IllHosts; n != 0 {
			t.Error("a host is ill")
		}
	})
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(404), all[0], all[5], all[10])
		s.visit(all...)
		other := pages("b.test", 5)
		s.index(other...)
		s.says(status(404), other...)
		s.visit(other...)
		s.pass(5 * time.Second)
		s.is("before it is off", 3, 5, 0)
		s.set.Brake.On = false
		s.Apply(s.set)
		s.pass(2 * time.Second)
		s.is("off", 0, 5, 3)
	})
}

// TestSmartsite: a document that fails once in any way is to go, but rests, and a good
// answer of the retry cancels that.
func TestSmartsite(t *testing.T) {
	for _, back := range []bool{true, false} {
		crawling(t, func(s *crawl) { s.set.Policy = scheduler.Smartsite }, func(s *crawl) {
			all := pages("a.test", 50)
			s.index(all...)
			s.says(fails(fault.Timeout), all[0])
			s.visit(all[0])
			s.pass(30 * time.Second)
			s.is("after a time-out", 1, 0, 0)
			if back {
				s.says(nil, all[0])
				s.pass(5 * time.Minute)
				s.is("back", 0, 0, 0)
				return
			}
			s.pass(5 * time.Minute)
			s.is("not back", 0, 0, 1)
			if r := s.record(all[0]); r.Class != scheduler.Temporary || r.State != scheduler.Timed || r.Errors < 2 || r.Indexed {
				t.Errorf("%+v, want it tried on", r)
			}
			s.says(text(3), all[0])
			s.pass(7 * time.Hour)
			if r := s.record(all[0]); !r.Indexed || r.Class != scheduler.OK {
				t.Errorf("%+v, want it indexed again", r)
			}
		})
	}
}

// TestForgetDeleted: the URL is forgotten with its document, when that leaves, and not before.
func TestForgetDeleted(t *testing.T) {
	crawling(t, func(s *crawl) { s.set.ForgetDeleted = true }, func(s *crawl) {
		all := pages("a.test", 50)
		all[1].Root = true
		s.index(all...)
		s.says(status(404), all[0], all[1])
		s.visit(all[0], all[1])
		s.pass(30 * time.Second)
		s.is("resting", 2, 0, 0)
		s.pass(2 * time.Minute)
		s.is("after a minute", 0, 0, 2)
		if _, err := s.memory.Lookup(s.t.Context(), all[0].URL.Key()); err == nil {
			t.Error("the URL is known")
		}
		if r := s.record(all[1]); r.Gone || r.Class != scheduler.Permanent || r.State != scheduler.Timed {
			t.Errorf("%+v, want the root known", r)
		}
	})
}

// TestLeavesTarget: documents that leave a target because their source is another count as
// deletions, and what is too many is not pushed yet.
func TestLeavesTarget(t *testing.T) {
	crawling(t, func(s *crawl) {
		s.set.LeavesTarget = func(from, to string) bool { return from == "s" && to == "elsewhere" }
	}, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		elsewhere := func(*scheduler.Lease) scheduler.Result {
			r := text(1)(nil)
			r.Document.Source = "elsewhere"
			return r
		}
		s.says(elsewhere, all...)
		s.visit(all...)
		moved := func() (n int) {
			for _, p := range all {
				r := s.record(p)
				if r.PushedSource == "elsewhere" {
					n++
				}
				if !r.Indexed || r.Class != scheduler.OK {
					t.Errorf("%+v, want a document", r)
				}
			}
			return n
		}
		if n := moved(); n < 10 || n > 12 { // those that left are taken to have been among the others
			t.Errorf("%d documents have left the target at once, want a fifth", n)
		}
		s.pass(30 * time.Minute)
		if n := moved(); n < 10 || n > 12 {
			t.Errorf("%d documents have left the target within the window", n)
		}
		s.pass(24 * time.Hour)
		if n := moved(); n != 50 {
			t.Errorf("%d documents have left the target, want all in the end", n)
		}
	})
}
