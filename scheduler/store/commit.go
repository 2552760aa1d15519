package store

import (
	"context"
	"runtime"
)

// write is a change that is queued for the committer.
type write struct {
	ctx   context.Context
	apply func(*group) error
	// alone is set if apply iterates over keys: it must find all earlier writes in the database, and the later writes must
	// find all of the earlier one's.
	alone bool
	// The result goes to done, or to settled, which the settler calls.
	done    chan error
	settled func(error)
}

// do passes a change to the committer and waits until it is durable.
func (s *Store) do(ctx context.Context, w *write) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if s.readOnly {
		return s.words(errReadOnly)
	}
	w.ctx, w.done = ctx, make(chan error, 1)
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take passes a change to the committer. The settler reports its result later; until then the call counts as running.
func (s *Store) take(ctx context.Context, w *write) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	err := s.words(errReadOnly)
	if !s.readOnly {
		w.ctx = context.WithoutCancel(ctx)
		select {
		case s.writes <- w:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	s.leave()
	return err
}

// answer reports the result of a write, in the order of commits.
func (s *Store) answer(w *write, err error) {
	if w.settled == nil {
		w.done <- err
		return
	}
	s.settler.push(err, w)
}

// change is do for most changes.
func (s *Store) change(ctx context.Context, apply func(*group) error) error {
	return s.do(ctx, &write{apply: apply})
}

// changeAlone is do for changes that walk over keys.
func (s *Store) changeAlone(ctx context.Context, apply func(*group) error) error {
	return s.do(ctx, &write{apply: apply, alone: true})
}

// commitWrites is the committer. It applies queued writes to a batch while the writer makes the one before durable. It
// passes the batch on when the writer is idle and no write is queued, or when the batch is full. See gathering for the
// exception.
func (s *Store) commitWrites() {
	g := newGroup(s)
	defer close(s.batches)
	for {
		full := len(g.batch.acks) >= groupWrites
		if n := len(g.batch.acks); n > 0 && g.inFlight == nil && (full || s.pause() && !g.gathering.waits(n)) {
			_ = g.commit() // its writes get the error
			continue
		}
		writes := s.writes
		if full {
			writes = nil
		}
		select {
		case w := <-writes:
			g.take(w)
		case <-g.settled():
			_ = g.settle() // kept in s.failed
		case <-g.gathering.expired():
		case l := <-s.loaded:
			g.adopt(l)
		case <-s.stop:
			g.saveLast() // the other queued writes belong to callers that gave up
			g.closeSnapshot()
			return
		}
		if g.inFlight == nil && len(g.batch.acks) == 0 {
			g.closeSnapshot() // the engine keeps old versions for it
		}
	}
}

// pause reports whether no write is queued, after giving the callers just acknowledged time to send another.
func (s *Store) pause() bool {
	if len(s.writes) > 0 {
		return false
	}
	runtime.Gosched()
	return len(s.writes) == 0
}

// signal wakes the relay for new orders.
func (s *Store) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
