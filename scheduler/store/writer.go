package store

import (
	"sync"
	"time"
)

// The settler is one goroutine. Its mutex guards the list of results; committer and writer only append to it, so that
// neither ever waits for a caller.

// The writer is a goroutine that Store.Close waits for.

// writeBatches is the writer: it makes batches durable, in order, and acknowledges their writes.
func (s *Store) writeBatches() {
	for b := range s.batches {
		begin := time.Now()
		b.err = s.writeBatch(b)
		s.timing.add(time.Since(begin), len(b.acks), b.count)
		if b.err == nil {
			c := b.counters
			s.committed.Store(&c)
			s.commits.Store(b.no)
			s.segments.Remember(b.bodies)
			if b.orders {
				s.signal()
			}
		}
		// Last, so that an answered caller also finds its write in the counters.
		s.acknowledgeAll(b, b.err)
		if b.err == nil {
			s.reach(atAnswered)
		}
		close(b.done)
	}
}

// writeBatch makes one batch durable.
func (s *Store) writeBatch(b *batch) error {
	for i := range b.bodies {
		n := &b.bodies[i]
		if err := s.kv.Append(n.Place.Segment, n.Place.Offset, n.Bytes); err != nil {
			return err
		}
	}
	s.reach(atBodies)
	s.reach(atBeforeCommit)
	err := s.kv.Commit(b.all())
	if err == nil {
		s.reach(atCommitted)
	}
	return err
}

// acknowledgeAll acknowledges a batch's writes.
func (s *Store) acknowledgeAll(b *batch, err error) {
	later := 0
	for _, w := range b.acks {
		if w.settled == nil {
			w.done <- err
		} else {
			later++
		}
	}
	if later > 0 {
		s.settler.push(err, b.acks...)
	}
}

// settler reports results to the callers of Complete, one after the other and in order of the commits. Its list is
// bounded by its callers' running completions.
type settler struct {
	some chan struct{} // there are some; capacity 1

	mu   sync.Mutex
	list []settlement
}

type settlement struct {
	settled func(error)
	err     error
}

func newSettler() settler { return settler{some: make(chan struct{}, 1)} }

// push adds the results of the writes that are to be settled.
func (t *settler) push(err error, writes ...*write) {
	t.mu.Lock()
	for _, w := range writes {
		if w.settled != nil {
			t.list = append(t.list, settlement{w.settled, err})
		}
	}
	t.mu.Unlock()
	select {
	case t.some <- struct{}{}:
	default:
	}
}

// run reports results until stop is closed, when no method is running, and calls after each time.
func (t *settler) run(stop <-chan struct{}, after func()) {
	var list []settlement
	for {
		select {
		case <-t.some:
		case <-stop:
			return
		}
		t.mu.Lock()
		list, t.list = t.list, list[:0]
		t.mu.Unlock()
		for _, l := range list {
			l.settled(l.err)
			after()
		}
		clear(list)
	}
}
