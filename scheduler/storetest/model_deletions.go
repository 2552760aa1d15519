package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// reviseDeletions changes the deletions of some URLs, with or without one.
func (m *model) reviseDeletions() {
	keys, ordered := m.someKeys()
	seed := m.rand.Uint64()
	m.ticks += time.Duration(len(keys))
	first := m.ticks
	m.both(fmt.Sprintf("ReviseDeletions(%v) with %d", keys, seed), func(s scheduler.Store) (any, error) {
		calls := map[weburl.Key][]any{}
		places, n, err := s.ReviseDeletions(m.ctx, keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			draw := m.drawFor(seed, d.Key)
			calls[d.Key] = append(calls[d.Key], normalDeletion(d), normal(r))
			if draw.IntN(4) == 0 {
				return nil
			}
			v := &scheduler.Revision{Next: r, Move: scheduler.DeletionMove(draw.IntN(4)), Hold: scheduler.Hold(1 + draw.IntN(3)), CancelDeletion: draw.IntN(6) == 0}
			if !ordered && v.Move == scheduler.RestDeletion {
				v.Move = scheduler.KeepDeletion
			}
			v.Next.Misses++
			if v.Next.Indexed = v.Move != scheduler.SendDeletion; r.State != scheduler.Waiting {
				v.Next.State, v.Next.Source = scheduler.State(draw.IntN(3)), scheduler.Source(draw.IntN(scheduler.Sources))
				v.Next.NextAt = m.now.Add(time.Duration(draw.IntN(100))*time.Second + first - time.Duration(slices.Index(keys, d.Key)))
				v.Forget = draw.IntN(6) == 0
			}
			if ordered && draw.IntN(6) == 0 {
				v.Order = order(draw, v.Forget)
			}
			return v
		})
		return []any{calls, places, n}, err
	})
}

// compareDeletions compares what rests and what is held, and the groups.
func (m *model) compareDeletions() {
	m.Helper()
	m.both("deletions", func(s scheduler.Store) (any, error) {
		var list []scheduler.StoredDeletion
		add := func(d scheduler.StoredDeletion) error { list = append(list, normalDeletion(d)); return nil }
		err := s.HeldDeletions(m.ctx, scheduler.DeletionFilter{}, add)
		counts := map[scheduler.DeletionGroup]uint64{}
		groupsErr := s.DeletionGroups(m.ctx, func(g scheduler.DeletionGroup, n uint64) error {
			counts[g] = n
			return s.Deletions(m.ctx, g, add)
		})
		return []any{list, counts}, errors.Join(err, groupsErr)
	})
}

// normalDeletion is d without its number, and with its times told only by whether they are set.
func normalDeletion(d scheduler.StoredDeletion) scheduler.StoredDeletion {
	d.Seq = 0
	for _, at := range []*time.Time{&d.At, &d.Again} {
		if !at.IsZero() {
			*at = time.Unix(1, 0)
		}
	}
	return d
}
