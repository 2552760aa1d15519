package crawl

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestSlotsGoToTheFewest has one Crawl hold all slots and others ask for one.
func TestSlotsGoToTheFewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(3)
		greedy, a, b := s.share(), s.share(), s.share()
		for range 3 {
			if err := greedy.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var order []string
		ask := func(name string, sh *share) {
			go func() {
				if err := sh.take(t.Context()); err == nil {
					order = append(order, name)
				}
			}()
			synctest.Wait()
		}
		ask("greedy", greedy)
		ask("a1", a)
		ask("a2", a)
		ask("b1", b)
		for range 3 {
			greedy.back()
			synctest.Wait()
		}
		// a1 has waited longer than b1; then b has fewer than a, and greedy as many as they.
		want := []string{"a1", "b1", "greedy"}
		if len(order) != 3 || order[0] != want[0] || order[1] != want[1] || order[2] != want[2] {
			t.Errorf("%v instead of %v", order, want)
		}
		a.back()
		synctest.Wait()
		if len(order) != 4 || order[3] != "a2" {
			t.Errorf("%v: a2 waits for ever", order)
		}
	})
}

// TestSlotsAreNotLost returns up waiting at random moments; at the end all slots are free.
func TestSlotsAreNotLost(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(r, "slots")
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 60).Draw(r, "steps")
		synctest.Test(t, func(t *testing.T) {
			s := NewSlots(n)
			shares := []*share{s.share(), s.share(), s.share()}
			held := make([]int, len(shares))
			got := make(chan int, len(steps))
			cancels := make([][]context.CancelFunc, len(shares))
			most, now := 0, 0
			for _, step := range steps {
				i := step % len(shares)
				if step < len(shares) {
					ctx, cancel := context.WithCancel(t.Context())
					cancels[i] = append(cancels[i], cancel)
					go func() {
						if shares[i].take(ctx) == nil {
							got <- i
						}
					}()
				} else if held[i] > 0 {
					held[i]--
					now--
					shares[i].back()
				} else if len(cancels[i]) > 0 {
					cancels[i][0]()
					cancels[i] = cancels[i][1:]
				}
				synctest.Wait()
				for len(got) > 0 {
					held[<-got]++
					now++
				}
				most = max(most, now)
			}
			if most > n {
				t.Errorf("%d of %d slots were given", most, n)
			}
			for _, all := range cancels {
				for _, cancel := range all {
					cancel()
				}
			}
			synctest.Wait()
			for len(got) > 0 {
				held[<-got]++
			}
			for i, sh := range shares {
				for range held[i] {
					sh.back()
				}
				if len(sh.queue) > 0 || sh.used != 0 {
					t.Errorf("share %d: %d wait, %d used", i, len(sh.queue), sh.used)
				}
			}
			if s.free != n {
				t.Errorf("%d of %d slots are free at the end", s.free, n)
			}
		})
	})
}

// TestSlotsEndWithContext returns up while none is free.
func TestSlotsEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := NewSlots(0).share() // one at least
		if err := sh.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sh.take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if len(sh.queue) != 0 {
			t.Error("it waits still")
		}
	})
}
