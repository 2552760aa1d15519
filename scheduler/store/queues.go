package store

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// queueState returns a queue's state as seen by this write.
func (g *group) queueState(p scheduler.Place) (record.Queue, error) {
	return remembered(g, &g.places, p, record.PlaceKey(p), "queue", record.DecodeQueue)
}

func (g *group) setQueueState(p scheduler.Place, q record.Queue) {
	g.scratch = q.Append(g.scratch[:0])
	g.set(record.PlaceKey(p), g.scratch)
}

// enqueue puts a URL at the end of a queue and returns its number. URLs that a batch puts into one queue share chunks.
func (g *group) enqueue(p scheduler.Place, k weburl.Key) (uint64, error) {
	q, err := g.queueState(p)
	if err != nil {
		return 0, err
	}
	chunk, seq := g.openChunk(p)
	g.nextCount.Seq = max(g.nextCount.Seq, seq)
	g.scratch = chunk.Append(g.scratch[:0], k)
	g.set(record.QueueKey(p, seq), g.scratch)
	if q.Count == 0 {
		q.Floor = seq
	}
	q.Count++
	g.setQueueState(p, q)
	return seq, nil
}

// openChunk returns the chunk of a queue that this batch has begun, nil for a new one, and the next number in it. Only
// chunks in the batch grow; stored chunks do not.
func (g *group) openChunk(p scheduler.Place) (record.Chunk, uint64) {
	if first, ok := g.batch.chunks[p]; ok {
		// An undone or completed URL is not in the chunk.
		v, _ := g.batch.find(record.QueueKey(p, first))
		if c := record.Chunk(v); c != nil && c.Next() < record.ChunkLen {
			return c, first + c.Next()
		}
	}
	first := (g.nextCount.Seq/record.ChunkLen + 1) * record.ChunkLen
	if g.batch.chunks == nil {
		g.batch.chunks = map[scheduler.Place]uint64{}
	}
	g.batch.chunks[p] = first
	return nil, first
}

// mostDone is the most chunks that a queue's state records. Usually only the few current ones are recorded.
const mostDone = 32

// dequeue removes a URL from a queue. It removes the chunk with the last URL in it, which is known if the chunk is
// full, if the queue is empty, or if everything left in the queue is newer.
func (g *group) dequeue(p scheduler.Place, seq uint64) error {
	q, err := g.queueState(p)
	if err != nil {
		return err
	}
	if q.Count == 0 {
		return g.s.damaged(fmt.Sprintf("queue %x", record.PlaceKey(p)), fmt.Errorf("number %d is pending in it, but it is empty", seq))
	}
	q.Count--
	var all bool
	if q.Done, all = q.Done.With(seq, g.done[:0]); all || q.Count == 0 {
		g.remove(record.QueueKey(p, seq))
	}
	g.done = q.Done
	if q.Count == 0 {
		g.removeChunks(p, q.Done)
		g.remove(record.PlaceKey(p))
		return nil
	}
	if q.Done.Len() > mostDone {
		if q.Done, err = g.rewriteChunk(p, q.Done); err != nil {
			return err
		}
	}
	g.setQueueState(p, q)
	return nil
}

// removeChunks removes chunks whose URLs are all done.
func (g *group) removeChunks(p scheduler.Place, done record.Done) {
	for i := range done.Len() {
		chunk, _ := done.At(i)
		g.remove(record.QueueKey(p, chunk*record.ChunkLen))
	}
}

// rewriteChunk removes the done URLs from the oldest chunk, so that the state need not record them.
func (g *group) rewriteChunk(p scheduler.Place, done record.Done) (record.Done, error) {
	chunk, of := done.At(0)
	key := record.QueueKey(p, chunk*record.ChunkLen)
	v, err := g.get(key)
	if err == nil && !record.Chunk(v).Valid() {
		err = g.s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
	}
	if err != nil {
		return nil, err
	}
	g.set(key, record.Chunk(v).Without(of))
	return done.Behind(chunk), nil
}

// raise sets a queue's floor as given by the caller: no URL with a lower number is queued.
func (g *group) raise(p scheduler.Place, floor uint64) error {
	q, err := g.queueState(p)
	if err != nil || q.Count == 0 || floor <= q.Floor {
		return err
	}
	floor = min(floor, g.nextCount.Seq+1)
	if first, ok := g.batch.chunks[p]; ok {
		floor = min(floor, first) // it may grow
	}
	if floor <= q.Floor {
		return nil
	}
	q.Floor = floor
	if chunk := floor / record.ChunkLen; chunk > 0 {
		left := q.Done.Behind(chunk - 1)
		g.removeChunks(p, q.Done[:len(q.Done)-len(left)])
		q.Done = left
	}
	g.setQueueState(p, q)
	return nil
}

// Places implements scheduler.Store. It reads one small key for each place.
func (s *Store) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	return s.view(ctx, func(view kv.View) error {
		return s.walk(ctx, view, []byte{record.KindPlace}, []byte{record.KindPlace}, true, func(key, value []byte) error {
			p, q, err := s.placeOf(key, value)
			if err != nil {
				return err
			}
			return fn(p, q.Count)
		})
	})
}

// Waits implements scheduler.Store.
func (s *Store) Waits(ctx context.Context, p scheduler.Place) (n uint64, err error) {
	err = s.view(ctx, func(view kv.View) error {
		q, err := s.placeState(view, p)
		n = q.Count
		return err
	})
	return n, err
}

// placeOf reads a queue's state.
func (s *Store) placeOf(key, value []byte) (p scheduler.Place, q record.Queue, err error) {
	if err = record.ErrLength; len(key) == record.PlaceKeyLen {
		p = record.SplitPlaceKey(key)
		q, err = record.DecodeQueue(value)
	}
	if err != nil {
		return p, q, s.damaged(fmt.Sprintf("key %x", key), err)
	}
	return p, q, nil
}

// placeState reads a queue's state from a snapshot.
func (s *Store) placeState(view kv.View, p scheduler.Place) (record.Queue, error) {
	key := record.PlaceKey(p)
	v, err := view.Get(key)
	var q record.Queue
	if err == nil {
		q, err = record.DecodeQueue(v)
	}
	if err != nil {
		return q, s.damaged(fmt.Sprintf("queue %x", key), err)
	}
	return q, nil
}
