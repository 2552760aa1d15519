package deletion_test

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
)

// finishing judges at the end of a crawl that runs once, as crawl does. It returns in how many
// rounds, and how many URLs were asked for.
func (s *crawl) finishing() (rounds, asked int) {
	s.t.Helper()
	for rounds = 1; rounds <= 4; rounds++ {
		s.drain()
		n, err := s.owner.Finish(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		asked += n
		if n == 0 {
			break
		}
	}
	s.drain()
	return rounds, asked
}

// TestFinish: at the end of a crawl that runs once all that can be judged is, without rest,
// after one control round.
func TestFinish(t *testing.T) {
	for name, c := range map[string]struct {
		documents, gone     int
		other               answer // of the other documents, from then on
		resting, held, left int
		asked               int // at most
	}{
		"nothing":          {20, 0, nil, 0, 0, 0, 0},
		"one":              {300, 1, nil, 0, 0, 1, 5},
		"the only one":     {1, 1, nil, 0, 0, 1, 1},
		"many":             {100, 15, nil, 0, 0, 15, 19},
		"too many":         {100, 21, nil, 0, 21, 0, 0},
		"others are bad":   {300, 1, status(500), 1, 0, 0, 5},
		"others time out":  {300, 1, fails(fault.Timeout), 1, 0, 0, 5},
		"others are asked": {300, 1, unknown, 1, 0, 0, 5},
	} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", c.documents)
			s.index(all...)
			var gone []scheduler.Link
			for i, p := range all {
				if (i+1)*c.gone/c.documents > i*c.gone/c.documents {
					gone = append(gone, p)
				}
			}
			s.says(status(404), gone...)
			s.visit(all...)
			if c.other != nil {
				s.says(c.other, all...)
				s.says(status(404), gone...)
			}
			begin := time.Now()
			rounds, asked := s.finishing()
			if rounds > 3 || asked > c.asked || asked < c.asked && c.asked > 0 && c.held == 0 && name != "many" {
				t.Errorf("%s: %d rounds, %d asked for; want %d", name, rounds, asked, c.asked)
			}
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("%s: it took %v", name, d)
			}
			if c.other == nil {
				s.is(name, c.resting, c.held, c.left)
			} else if len(s.left) > 0 || s.record(gone[0]).Deletion != scheduler.DeletionResting {
				t.Errorf("%s: %d left, %+v", name, len(s.left), s.record(gone[0]))
			}
		})
	}
}

// TestFinishEdit: an edit by which all URLs were judged is decided, too.
func TestFinishEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.kill(all[:3]...)
		s.owner.EndEdit()
		if _, err := s.owner.Finish(s.t.Context()); err != nil {
			t.Fatal(err)
		}
		s.is("little", 0, 0, 3)
	})
}

// TestFinishAfterIllness: a site that was ill and is well gets what it needs to be judged.
func TestFinishAfterIllness(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(500), all...)
		s.visit(all[:15]...)
		s.says(nil, all...)
		s.says(status(404), all[3])
		rounds, _ := s.finishing()
		s.pass(time.Second)
		s.is("well again", 0, 0, 1)
		if rounds > 4 {
			t.Errorf("%d rounds", rounds)
		}
	})
}

// TestFinishLater: a control round that failed during the run does not stand in for the one
// at its end.
func TestFinishLater(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.says(status(404), all[0])
		s.visit(all[0])
		s.says(unknown, all[1:]...)
		s.pass(3 * time.Hour)
		s.is("nothing is known", 1, 0, 0)
		s.says(nil, all[1:]...)
		s.visit(all[1:]...)
		s.pass(time.Second)
		s.says(status(404), all[7])
		s.visit(all[7])
		s.finishing()
		s.pass(time.Second)
		s.is("in the end", 0, 0, 2)
	})
}

// TestFinishBeforeRun: a crawl with nothing to do may reach its end before the owner has begun.
func TestFinishBeforeRun(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 20)
		s.index(all...)
		s.says(status(404), all[0])
		s.visit(all[0])
		s.is("it rests", 1, 0, 0)
		s.late = make(chan struct{})
		s.restart()
		if rounds, asked := s.finishing(); rounds != 2 || asked == 0 {
			t.Errorf("%d rounds, %d asked for", rounds, asked)
		}
		close(s.late)
		s.pass(time.Second)
		s.is("in the end", 0, 0, 1)
	})
}
