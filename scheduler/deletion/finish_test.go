package deletion_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// finish is the end of a crawl that runs once.
func (s *crawl) finishRun() (took time.Duration) {
	s.t.Helper()
	began := time.Now()
	for range 20 {
		s.drain()
		asked, err := s.owner.Finish(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if asked == 0 {
			synctest.Wait()
			return time.Since(began)
		}
	}
	s.t.Fatal("the run does not end")
	return 0
}

// TestFinish: a run waits a minute for a few losses and leaves the others pending.
func TestFinish(t *testing.T) {
	for _, tt := range []struct{ documents, gone, left int }{{1, 1, 1}, {20, 1, 1}, {20, 2, 2}, {100, 5, 0}, {20, 20, 0}} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", tt.documents)
			s.index(all...)
			s.meets(status(404), all[:tt.gone]...)
			took := s.finishRun()
			s.is("at the end", tt.gone-tt.left, tt.left)
			if took > 2*time.Minute {
				t.Errorf("%d of %d gone: the end took %v", tt.gone, tt.documents, took)
			}
		})
	}
}

// TestNights: a part that is ill on one night loses nothing, whenever the run is.
func TestNights(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(60)
		for night := range 5 {
			s.says(good, all...)
			if night == 1 {
				s.says(status(404), every(6, all)...)
			}
			s.visit(all...)
			s.finishRun()
			s.pass(day)
			s.restart()
		}
		for _, p := range all {
			if r := s.record(p); !r.Indexed || r.LossPending {
				t.Errorf("%+v, want it in the index", r)
			}
		}
		s.is("five nights later", 0, 0)
	})
}
