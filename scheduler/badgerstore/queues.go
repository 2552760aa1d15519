package badgerstore

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// queueState reads a queue's state as this write must see it.
func (g *group) queueState(p scheduler.Place) (record.Queue, error) {
	key := record.PlaceKey(p)
	v, ok := g.changed(key)
	if !ok {
		if q, ok := g.places.find(p); ok {
			return q, nil
		}
		var err error
		if v, err = g.get(key); err != nil {
			return record.Queue{}, err
		}
	}
	q, err := record.DecodeQueue(v)
	if err != nil {
		return q, g.s.damaged(fmt.Sprintf("queue %x", key), err)
	}
	if !ok {
		g.places.put(p, q)
	}
	return q, nil
}

func (g *group) setQueueState(p scheduler.Place, q record.Queue) {
	if q.Count == 0 {
		g.remove(record.PlaceKey(p))
		return
	}
	g.scratch = q.Append(g.scratch[:0])
	g.set(record.PlaceKey(p), g.scratch)
}

// enqueue counts a URL that was put into a queue under a new number.
func (g *group) enqueue(p scheduler.Place, seq uint64) error {
	q, err := g.queueState(p)
	if err != nil {
		return err
	}
	if q.Count == 0 {
		q.Floor = seq
	}
	q.Count++
	g.setQueueState(p, q)
	return nil
}

// dequeue counts a URL that was taken out of a queue.
func (g *group) dequeue(p scheduler.Place, seq uint64) error {
	q, err := g.queueState(p)
	if err != nil {
		return err
	}
	if q.Count == 0 {
		return g.s.damaged(fmt.Sprintf("queue %x", record.PlaceKey(p)), fmt.Errorf("number %d waits in it, but it is empty", seq))
	}
	q.Count--
	if seq == q.Floor {
		q.Floor++
	}
	g.setQueueState(p, q)
	return nil
}

// raise takes the caller's word that nothing waits in a queue below a number.
func (g *group) raise(p scheduler.Place, floor uint64) error {
	q, err := g.queueState(p)
	if err != nil || q.Count == 0 || floor <= q.Floor {
		return err
	}
	q.Floor = min(floor, g.nextCount.Seq+1)
	g.setQueueState(p, q)
	return nil
}

// Places implements scheduler.Store. It reads one small key for each place.
func (s *Store) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	return s.view(ctx, func(txn *badger.Txn) error {
		return s.walk(ctx, txn, []byte{record.KindPlace}, []byte{record.KindPlace}, false, func(item *badger.Item) error {
			p, q, err := s.placeOf(item)
			if err != nil {
				return err
			}
			return fn(p, q.Count)
		})
	})
}

// Waits implements scheduler.Store.
func (s *Store) Waits(ctx context.Context, p scheduler.Place) (n uint64, err error) {
	err = s.view(ctx, func(txn *badger.Txn) error {
		q, err := s.placeState(txn, p)
		n = q.Count
		return err
	})
	return n, err
}

// placeOf reads a queue's state.
func (s *Store) placeOf(item *badger.Item) (p scheduler.Place, q record.Queue, err error) {
	if err = record.ErrLength; len(item.Key()) == record.PlaceKeyLen {
		p = record.SplitPlaceKey(item.Key())
		err = valueOf(item, func(v []byte) error {
			q, err = record.DecodeQueue(v)
			return err
		})
	}
	if err != nil {
		return p, q, s.damaged(fmt.Sprintf("key %x", item.Key()), err)
	}
	return p, q, nil
}

// placeState reads a queue's state of a snapshot.
func (s *Store) placeState(txn *badger.Txn, p scheduler.Place) (record.Queue, error) {
	key := record.PlaceKey(p)
	v, err := read(txn, key)
	var q record.Queue
	if err == nil {
		q, err = record.DecodeQueue(v)
	}
	if err != nil {
		return q, s.damaged(fmt.Sprintf("queue %x", key), err)
	}
	return q, nil
}
