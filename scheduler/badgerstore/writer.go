package badgerstore

import (
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// The settler is one goroutine. Its mutex guards the list of what is to be told; committer
// and writer only add to that, so that neither ever waits for a caller.

// The writer is a goroutine of its own that Store.Close waits for. Batches and their bodies
// are in the form of package record.

// writeBatches is the writer: it makes batches durable, in order, and answers.
func (s *Store) writeBatches() {
	bodies := segments.Writer{Dir: s.dir}
	if s.sync {
		bodies.SyncNames = func() error { return badgerfiles.SyncDir(s.dir) }
	}
	defer func() { _ = bodies.Close() }() // what counts is synced
	for b := range s.batches {
		begin := time.Now()
		if b.err = bodies.Write(b.bodies); b.err == nil {
			s.reach(atBodies)
			b.err = s.writeBatch(b)
		} else {
			b.err = refused(s.dir, b.err)
		}
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
		// Last, so that a caller that is answered finds its write in the counters, too.
		s.answerAll(b, b.err)
		if b.err == nil {
			s.reach(atAnswered)
		}
		close(b.done)
	}
}

// writeBatch makes one batch durable.
func (s *Store) writeBatch(b *batch) error {
	s.reach(atBeforeCommit)
	err := s.kv.Commit(b.all())
	if err == nil {
		s.reach(atCommitted)
	}
	return err
}

// answerAll answers a batch's writes.
func (s *Store) answerAll(b *batch, err error) {
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

// settler tells the callers of Complete what came of it, one after the other and in order of
// the commits. What it has to tell is as much as its callers have under way.
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

// push has those of the writes told that are to be settled.
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

// run tells until stop is closed, which is when no method is under way any more, and calls
// after each time.
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
