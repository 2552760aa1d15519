package deletion_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestDeletionsRace: all that may be asked of the deletions at once, by anybody, beside a
// crawl with several workers of a site that changes all the time. The store and the records
// agree in the end.
func TestDeletionsRace(t *testing.T) {
	crawling(t, func(s *crawl) {
		s.set.Throttle, s.set.Aggressive = 0, true
		s.returns = true
	}, func(s *crawl) {
		all := append(pages("a.test", 60), pages("b.test", 30)...)
		s.index(all...)
		ctx, cancel := context.WithTimeout(s.t.Context(), 12*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for range 4 { // beside the one that crawls anyway
			wg.Go(func() {
				if err := s.work(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		d, ways := s.owner, badAnswers()
		set := s.set
		for i, act := range []func(rnd *rand.Rand){
			func(rnd *rand.Rand) { s.says(ways[rnd.IntN(len(ways))], all[rnd.IntN(len(all))]) },
			func(rnd *rand.Rand) { s.says(nil, all[rnd.IntN(len(all))]) },
			func(rnd *rand.Rand) { _, _ = s.Add(ctx, slices.Clone(all[:rnd.IntN(len(all))]), true) },
			func(*rand.Rand) { _, _ = d.Release(ctx, scheduler.DeletionFilter{Host: "http://a.test"}) },
			func(*rand.Rand) { _, _ = d.Drop(ctx, scheduler.DeletionFilter{Reason: scheduler.ReasonNotFound}) },
			func(*rand.Rand) { _, _ = d.BeginEdit(ctx, false) },
			func(*rand.Rand) { d.EndEdit() },
			func(rnd *rand.Rand) { _, _ = d.AllowEdit(ctx, uint64(rnd.IntN(10))) },
			func(*rand.Rand) { _, _ = s.Snapshot(), s.Ill() },
			func(*rand.Rand) { _ = d.Edits() },
			func(rnd *rand.Rand) {
				next := set
				next.Brake.On = rnd.IntN(2) == 0
				s.Apply(next)
			},
			func(*rand.Rand) { s.Pause(); s.Resume() },
			func(rnd *rand.Rand) {
				_, _ = s.Revise(ctx, storetest.Keys(all[:rnd.IntN(len(all))]), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
					r.Reason = scheduler.ReasonKilled
					return &scheduler.Change{Next: r, Delete: "killed"}
				})
			},
			func(*rand.Rand) {
				_ = s.memory.HeldDeletions(ctx, scheduler.DeletionFilter{}, func(scheduler.StoredDeletion) error { return nil })
			},
		} {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 5)) //nolint:gosec // few
				for ctx.Err() == nil {
					act(rnd)
					time.Sleep(time.Duration(1+rnd.IntN(600)) * time.Second)
				}
			})
		}
		wg.Wait()
		s.Apply(set)
		s.Resume()
		s.says(nil, all...)
		s.pass(2 * 24 * time.Hour)
		s.sound("in the end")
		if _, err := d.Finish(s.t.Context()); err != nil {
			t.Error(err)
		}
	})
}
