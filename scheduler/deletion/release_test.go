package deletion_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// held returns a crawl with 100 documents each of two hosts, of which a half is held: for
// 404 and for noindex, by turns.
func heldHalf(t *testing.T, test func(s *crawl, a, b []scheduler.Link)) {
	t.Helper()
	crawling(t, nil, func(s *crawl) {
		a, b := pages("a.test", 100), pages("b.test", 100)
		for _, all := range [][]scheduler.Link{a, b} {
			s.index(all...)
			s.says(status(404), every(4, all)...)
			s.says(noDocument(scheduler.ReasonNoIndex), every(4, all[2:])...)
			s.visit(all...)
		}
		s.pass(time.Minute)
		s.is("half of it", 0, 100, 0)
		s.heldAs(scheduler.HeldForHost)
		test(s, a, b)
	})
}

// TestRelease: the selected deletions leave at once, and for a day so do later ones of the
// same hosts and reasons, after the shortest rest and however many they are.
func TestRelease(t *testing.T) {
	const hostA = "http://a.test"
	for name, c := range map[string]struct {
		filter scheduler.DeletionFilter
		n      int
		// Which later deletions leave.
		a404, aNoIndex, b404 bool
	}{
		"all":             {scheduler.DeletionFilter{}, 100, true, true, true},
		"held":            {scheduler.DeletionFilter{State: scheduler.DeletionHeld}, 100, true, true, true},
		"host":            {scheduler.DeletionFilter{Host: hostA}, 50, true, true, false},
		"reason":          {scheduler.DeletionFilter{Reason: scheduler.ReasonNotFound}, 50, true, false, true},
		"host and reason": {scheduler.DeletionFilter{Host: hostA, Reason: scheduler.ReasonNoIndex}, 25, false, true, false},
		"URL":             {scheduler.DeletionFilter{URLs: []string{hostA + "/0", "http://A.test:80/4", hostA + "/1"}}, 2, false, false, false},
		"none":            {scheduler.DeletionFilter{State: scheduler.DeletionResting}, 0, false, false, false},
		"other host":      {scheduler.DeletionFilter{Host: "http://c.test"}, 0, false, false, false},
	} {
		heldHalf(t, func(s *crawl, a, b []scheduler.Link) {
			n, err := s.owner.Release(s.t.Context(), c.filter)
			if n != c.n || err != nil {
				t.Errorf("%s: Release = %d, %v; want %d", name, n, err, c.n)
			}
			s.is(name, 0, 100-c.n, c.n)
			later := map[string]struct {
				answer answer
				page   scheduler.Link
				leaves bool
			}{
				"404 of a":     {status(404), a[1], c.a404},
				"noindex of a": {noDocument(scheduler.ReasonNoIndex), a[3], c.aNoIndex},
				"404 of b":     {status(410), b[1], c.b404},
			}
			for _, l := range later {
				s.says(l.answer, l.page)
				s.visit(l.page)
			}
			s.restart() // which the operator's word outlives
			s.pass(10 * time.Second)
			for what, l := range later {
				if left := !s.leftAt(l.page).IsZero(); left != l.leaves {
					t.Errorf("%s, then a %s: left %t, want %t", name, what, left, l.leaves)
				}
			}
			s.pass(25 * time.Hour)
			s.says(status(404), every(2, a[1:])...)
			s.visit(a...)
			s.pass(time.Minute)
			left := 0
			for _, p := range every(2, a[5:]) {
				if !s.leftAt(p).IsZero() {
					left++
				}
			}
			if left > 0 {
				t.Errorf("%s: %d left on the next day", name, left)
			}
		})
	}
}

// TestReleaseOfWaiting: what is released leaves though its URL is being asked for; what that
// answers is judged by what is stored then.
func TestReleaseWhileAsked(t *testing.T) {
	for name, then := range map[string]answer{"gone": status(404), "back": text(9)} {
		heldHalf(t, func(s *crawl, a, _ []scheduler.Link) {
			s.says(func(l *scheduler.Lease) scheduler.Result {
				time.Sleep(time.Minute)
				return then(l)
			}, a[0])
			if _, err := s.Add(s.t.Context(), a[:1], true); err != nil {
				t.Fatal(err)
			}
			s.pass(10 * time.Second)
			n, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{URLs: []string{a[0].URL.String()}})
			if n != 1 || err != nil || s.leftAt(a[0]).IsZero() {
				t.Errorf("%s: Release = %d, %v", name, n, err)
			}
			s.pass(5 * time.Minute)
			if n := s.visits(a[0]); n > 4 {
				t.Errorf("%s: asked for %d times", name, n)
			}
			if r := s.record(a[0]); r.Indexed != (name == "back") || r.Deletion != scheduler.NoDeletion {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
}

// TestDrop: the selected deletions are forgotten and their URLs fetched again.
func TestDrop(t *testing.T) {
	heldHalf(t, func(s *crawl, a, _ []scheduler.Link) {
		s.says(nil, a...)
		s.says(status(404), a[0])
		n, err := s.owner.Drop(s.t.Context(), scheduler.DeletionFilter{Host: "http://a.test"})
		if n != 50 || err != nil {
			t.Errorf("Drop = %d, %v", n, err)
		}
		s.drain()
		s.is("dropped, and fetched again", 1, 50, 0)
		for _, p := range every(2, a) {
			if n := s.visits(p); n != 3 {
				t.Errorf("%v was asked for %d times, want once more", p.URL, n)
			}
		}
		s.pass(15 * time.Minute)
		s.is("one is gone indeed", 0, 50, 1)
	})
}

// TestHeldDeletions by all that they can be chosen by, each once.
func TestHeldDeletions(t *testing.T) {
	heldHalf(t, func(s *crawl, a, b []scheduler.Link) {
		s.says(status(404), a[1])
		s.visit(a[1]) // is held, as there are too many already
		c := pages("c.test", 10)
		s.index(c...)
		s.says(status(404), c[0])
		s.visit(c[0])
		s.edit(false)
		s.kill(b[1], b[3])
		s.pass(time.Second)
		for name, want := range map[string]struct {
			filter scheduler.DeletionFilter
			n      int
		}{
			"all":         {scheduler.DeletionFilter{}, 104},
			"resting":     {scheduler.DeletionFilter{State: scheduler.DeletionResting}, 3},
			"held":        {scheduler.DeletionFilter{State: scheduler.DeletionHeld}, 101},
			"host":        {scheduler.DeletionFilter{Host: "http://b.test"}, 52},
			"of the edit": {scheduler.DeletionFilter{Edit: 1}, 2},
			"reason":      {scheduler.DeletionFilter{Reason: scheduler.ReasonKilled}, 2},
			"URL":         {scheduler.DeletionFilter{URLs: []string{c[0].URL.String(), a[0].URL.String(), a[99].URL.String()}}, 2},
		} {
			seen := map[weburl.Key]bool{}
			for _, d := range s.deletions(want.filter) {
				if seen[d.Key] || !want.filter.Selects(&d) {
					t.Errorf("%s: %+v is listed, or twice", name, d)
				}
				seen[d.Key] = true
			}
			if len(seen) != want.n {
				t.Errorf("%s: %d are listed, want %d", name, len(seen), want.n)
			}
		}
		if _, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{URLs: []string{"nonsense"}}); err == nil {
			t.Error("no URL is released")
		}
	})
}

// TestManyAtOnce: batches end where the list does.
func TestManyAtOnce(t *testing.T) {
	for _, n := range []int{499, 500, 501, 1001} {
		crawling(t, func(s *crawl) { s.set.Throttle, s.set.Aggressive = 0, true }, func(s *crawl) {
			all := pages("a.test", n)
			s.index(all...)
			s.edit(true)
			s.kill(all...)
			s.owner.EndEdit()
			s.pass(time.Minute)
			s.is(fmt.Sprintf("%d at once", n), 0, 0, n)
		})
	}
}
