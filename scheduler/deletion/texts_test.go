package deletion_test

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestNewText: a page with another text has it in the index a minute later, if others are good.
func TestNewText(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(20)
		before := s.record(all[0])
		s.says(text(2), all[0])
		s.visit(all[0])
		s.is("just seen", 1, 0)
		if r := s.record(all[0]); r.Hash != before.Hash || r.Sketch != before.Sketch || !r.Indexed {
			t.Errorf("%+v, want the document that is in the index", r)
		}
		s.pass(2 * time.Minute)
		s.is("two minutes later", 0, 1)
		if r := s.record(all[0]); r.Hash == before.Hash || !r.Indexed || r.Lively != 1 {
			t.Errorf("%+v, want the new text", r)
		}
	})
}

// TestTextReturns: a page that got another text is asked for again 1, 5 and 29 hours later. The text that it had before
// replaces the other one at once, also on a host of one page, and the others of the host are asked for.
func TestTextReturns(t *testing.T) {
	for documents, rest := range map[int]time.Duration{1: day, 2: time.Minute} {
		crawling(t, nil, func(s *crawl) {
			all := s.indexed(documents)
			before := s.record(all[0])
			s.meets(text(2), all...)
			s.pass(rest + 2*time.Minute)
			s.is("replaced", 0, documents)
			for i, after := range []time.Duration{time.Hour, 5 * time.Hour} {
				s.pass(time.Until(s.leftAt(all[0]).Add(after - time.Minute)))
				visits := s.visits(all[0])
				s.pass(3 * time.Minute)
				if got := s.visits(all[0]) - visits; got != 1 {
					t.Errorf("%d documents, visit %d after it was replaced: asked for %d times, want once", documents, i+1, got)
				}
			}
			if r := s.record(all[0]); r.Hash == before.Hash || r.LostAt.IsZero() || r.Before != before.Sketch {
				t.Errorf("%d documents: %+v, want the new text", documents, r)
			}
			s.says(good, all...)
			s.pass(25 * time.Hour)
			s.is("well again", 0, documents)
			for _, p := range all {
				if r := s.record(p); r.Hash[0] != 1 || !r.LostAt.IsZero() || r.LossPending {
					t.Errorf("%d documents: %+v, want the text that it had before", documents, r)
				}
			}
		})
	}
}

// TestRedesign: a site in which all texts change is not ill. The texts are in the index after a week, or
// at once at the operator's word.
func TestRedesign(t *testing.T) {
	for _, release := range []bool{false, true} {
		crawling(t, nil, func(s *crawl) {
			all := s.indexed(60)
			s.meets(text(2), all...)
			if s.isIll(all[0]) {
				t.Error("the host is ill")
			}
			s.is("all texts are others", 60, 0)
			if release {
				s.releases(scheduler.DeletionFilter{}, 60)
				s.is("released", 0, 60)
				return
			}
			s.pass(7*day - time.Hour)
			s.is("before a week", 60, 0)
			s.pass(day + 2*time.Hour)
			s.is("after a week", 0, 60)
		})
	}
}

// TestApologies: texts that are much the same on all pages make the host ill, and none is replaced.
func TestApologies(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(60)
		before := s.record(all[5])
		s.meets(func(l *scheduler.Lease) scheduler.Result { return document(l.Key, 9, 55) }, all...)
		if !s.isIll(all[0]) {
			t.Error("the host is not ill")
		}
		s.pass(20 * day)
		if r := s.record(all[5]); r.Hash != before.Hash {
			t.Error("a document was replaced")
		}
		s.is("apologies", 60, 0)
		s.says(good, all...)
		s.pass(25 * time.Hour)
		s.is("well again", 0, 0)
	})
}

// TestLivelyPage: a page that is new at every visit is pushed each time from the fourth on.
func TestLivelyPage(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(20)
		n := uint64(10)
		s.says(func(l *scheduler.Lease) scheduler.Result { n++; return document(l.Key, n, 0) }, all[0])
		for range 6 {
			s.visit(all[0])
			s.pass(day)
		}
		before := s.record(all[0])
		if before.Lively != 3 {
			t.Fatalf("%+v, want it lively", before)
		}
		s.visit(all[0])
		if r := s.record(all[0]); r.LossPending || r.Hash == before.Hash {
			t.Errorf("%+v, want the new text", r)
		}
	})
}

// TestAnotherReading: texts that are others because they are read otherwise are no losses.
func TestAnotherReading(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(20)
		s.says(func(l *scheduler.Lease) scheduler.Result {
			r := document(l.Key, 3, 0)
			r.Document.Reading = 2
			return r
		}, all...)
		s.visit(all...)
		s.is("read otherwise", 0, 0)
	})
}

// TestApologiesWithAnotherReading: if texts that are read otherwise are much the same on all pages, they replace two
// documents at most, and the host is ill.
func TestApologiesWithAnotherReading(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(60)
		s.says(func(l *scheduler.Lease) scheduler.Result {
			r := document(l.Key, 3, 55)
			r.Document.Reading = 2
			return r
		}, all...)
		s.visit(all...)
		s.is("apologies", 58, 0)
		if !s.isIll(all[0]) {
			t.Error("the host is not ill")
		}
	})
}
