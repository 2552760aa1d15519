package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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
	m.both(fmt.Sprintf("ReviseDeletions(%v) with %d", keys, seed), func(s changes) (any, error) {
		calls := map[weburl.Key][]any{}
		places, n, err := s.ReviseDeletions(m.ctx, keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			draw := m.drawFor(seed, d.Key)
			calls[d.Key] = append(calls[d.Key], normalDeletion(d), normal(r))
			if draw.IntN(4) == 0 {
				return nil
			}
			v := &scheduler.Revision{Next: r, Move: scheduler.DeletionMove(draw.IntN(3)), CancelDeletion: draw.IntN(6) == 0}
			v.Next.Misses++
			drawDocument(draw, &v.Next)
			if v.Next.Indexed = v.Move != scheduler.SendDeletion || d.Replaces; r.State != scheduler.Waiting {
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

// normalDeletion is d without its number.
func normalDeletion(d scheduler.StoredDeletion) scheduler.StoredDeletion {
	d.Seq = 0
	return d
}

// drawDocument draws the document fields of a record.
func drawDocument(r *rand.Rand, rec *scheduler.Record) {
	rec.Indexed, rec.LostAt = r.IntN(2) == 0, time.Time{}
	if r.IntN(4) == 0 {
		rec.Hash[0], rec.Sketch.Title = byte(r.IntN(3)), r.Uint32N(2)
		rec.Reading, rec.MetasHash, rec.Lively = uint16(r.IntN(2)), uint32(r.IntN(2)), uint8(r.IntN(3))
	}
	if !rec.Indexed && r.IntN(3) == 0 {
		rec.LostAt = time.Unix(1e9+r.Int64N(100), 0).UTC()
	}
}

// order is a document or a deletion, which is pending or not. A URL that is forgotten is deleted at once.
func order(r *rand.Rand, forget bool) *scheduler.Order {
	o := &scheduler.Order{Op: scheduler.OrderDelete, Source: "s", Body: []byte("{}"), Reason: scheduler.Reason(r.IntN(5)), Text: fmt.Sprint("text ", r.IntN(100))}
	if forget {
		return o
	}
	if r.IntN(2) == 0 {
		o.Op, o.Body = scheduler.OrderAdd, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(3000))
	}
	if r.IntN(3) > 0 {
		loss := scheduler.NewLoss(r.IntN(2) == 0, time.Unix(1e9+r.Int64N(1e6), 0).UTC())
		loss.Least = scheduler.LossClass(r.IntN(3))
		if o.Op == scheduler.OrderAdd {
			loss.Hash, loss.Sketch.Title = [16]byte{1 + byte(r.IntN(255))}, r.Uint32()
		}
		o.Loss, o.Day = &loss, 24*time.Hour
		if o.Op == scheduler.OrderDelete && r.IntN(3) == 0 {
			o.Reason = scheduler.ReasonTarget
		}
	}
	if r.IntN(3) == 0 {
		o.Edit = 1 + r.Uint64N(2)
	}
	return o
}

// populate gives one host nearly as many documents as a host outside the pool has, so that the other operations move it
// in and out of the pool.
func (m *model) populate() {
	var links []scheduler.Link
	for i := range scheduler.PoolBelow - 3 {
		links = append(links, m.link(fmt.Sprint("http://h0.test/p", i), scheduler.Index))
	}
	m.both("Add to populate", func(s changes) (any, error) {
		places, n, err := s.Add(m.ctx, links, false)
		return []any{places, n}, err
	})
	for _, ref := range m.ref.inState(scheduler.Waiting) {
		tested := m.taken(ref)
		of := staleCompletion{tested: completion(tested), ref: completion(ref)}
		of.tested.Next.Indexed, of.ref.Next.Indexed = true, true
		m.completeBoth("Complete to populate", of)
	}
}
