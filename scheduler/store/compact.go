package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// Emptying runs in a goroutine of its own (Store.background), one at a time, that passes its changes to the committer
// as any caller does.

// A body that is needed for long (of a dead letter, or for a target that is down while its neighbours were replaced)
// keeps a whole segment. When more than half of all segments, and more than a few of them, is unused, the mostly unused
// ones are emptied: the bodies left in them are written again. Bodies that are delivered in order empty segments by
// themselves.

const (
	// compactBytes and compactOrders are about how much is moved in one write.
	compactBytes  = 1 << 20
	compactOrders = 500
	// compactKeys bounds the memory of one round.
	compactKeys = 100_000
)

// compactWhenDue starts emptying segments in the background if that is worthwhile.
func (s *Store) compactWhenDue() {
	victims := s.segments.Empty(s.committed.Load().Segment)
	if len(victims) == 0 {
		return
	}
	s.background.Go(func() {
		err := s.compact(victims)
		if err != nil && s.ended(context.Background()) == nil {
			s.log.Warn("cannot empty segments of the outbox; retrying later", "error", err)
		}
		// If the store is closed in the meantime, the next process finds it due again.
		_ = s.submit(&write{apply: func(g *group) error {
			g.s.segments.Emptied(err != nil)
			return nil
		}})
	})
}

// named is an order or dead letter with its key.
type named struct{ key, value []byte }

// compact moves all bodies in use out of segments, or as many as one round may.
func (s *Store) compact(victims map[uint64]bool) error {
	list, err := s.namedIn(victims, compactKeys)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(list, compactOrders) {
		if err := s.move(part); err != nil {
			return err
		}
	}
	return nil
}

// namedIn lists orders and dead letters with their bodies in the given segments, up to most.
func (s *Store) namedIn(victims map[uint64]bool, most int) (list []named, err error) {
	view := s.kv.View()
	defer view.Close()
	for _, kind := range []byte{record.KindOrder, record.KindHostLoss, record.KindEditLoss, record.KindDead} {
		err := s.walk(context.Background(), view, []byte{kind}, []byte{kind}, true, func(key, value []byte) error {
			if len(list) == most {
				return errEnough
			}
			o, err := orderIn(key, value)
			if err != nil {
				return s.damaged(fmt.Sprintf("key %x", key), err)
			}
			if !victims[o.Place.Segment] {
				return nil
			}
			list = append(list, named{bytes.Clone(key), bytes.Clone(value)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// orderIn reads an order or that of a dead letter, valid as long as v.
func orderIn(key, v []byte) (record.Order, error) {
	if key[0] == record.KindDead {
		d, err := record.DecodeDead(v)
		return d.Order, err
	}
	return record.DecodeOrder(v)
}

// move writes the bodies of orders into the current segment. It reads them outside of the committer, and skips orders
// that changed in the meantime.
func (s *Store) move(list []named) error {
	r := s.segments.Reader()
	defer r.Close()
	for len(list) > 0 {
		var bodies [][]byte // nil: lost
		for size := 0; len(bodies) < len(list) && size < compactBytes; {
			o, err := orderIn(list[len(bodies)].key, list[len(bodies)].value)
			if err != nil {
				return err
			}
			b, err := r.Read(o.Place)
			if err != nil && !errors.Is(err, segments.ErrDamaged) {
				return err
			}
			bodies, size = append(bodies, b), size+len(b)
		}
		part := list[:len(bodies)]
		if err := s.submit(&write{apply: func(g *group) error {
			for i := range part {
				if err := g.move(&part[i], bodies[i]); err != nil {
					return err
				}
				if err := g.seal(); err != nil {
					return err
				}
			}
			return nil
		}}); err != nil {
			return err
		}
		list = list[len(bodies):]
	}
	return nil
}

// move stores another place for the body of an unchanged order. If the body is damaged, it marks the order's body as
// lost.
func (g *group) move(n *named, body []byte) error {
	v, err := g.get(n.key)
	if err != nil || !bytes.Equal(v, n.value) {
		return err
	}
	var d record.Dead
	if n.key[0] == record.KindDead {
		d, err = record.DecodeDead(v)
	} else {
		d.Order, err = record.DecodeOrder(v)
	}
	if err != nil {
		return g.s.damaged(fmt.Sprintf("key %x", n.key), err)
	}
	o := &d.Order
	old, size := o.Place, o.Size()
	o.Place = record.BodyPlace{}
	if o.Lost = body == nil; !o.Lost {
		if err := g.keepBody(o, body); err != nil {
			return err
		}
	}
	if err := g.refer(o.Place.Segment, o.Size()); err != nil {
		return err
	}
	if err := g.release(old.Segment, size); err != nil {
		return err
	}
	if n.key[0] == record.KindDead {
		g.set(n.key, d.Encode())
		return nil
	}
	p, k, err := record.SplitPlaceOf(n.key)
	if err != nil {
		return g.s.damaged(fmt.Sprintf("key %x", n.key), err)
	}
	p = p.Numbered(p.Seq, o)
	if !p.Pends() {
		g.nextCount.Bytes += p.Size - size
	}
	g.set(n.key, o.Append(nil))
	g.set(p.IndexKey(k), p.Append(nil))
	return nil
}
