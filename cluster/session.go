package cluster

// session.go: what every call to the engine goes through. session.mu guards the highest
// revision seen and when the engine answered last; all goroutines of a node take it.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrSetBack says that the engine has forgotten steps: it was restored from an old backup,
// emptied, or is another one. Nothing may be built on it before a recovery.
var ErrSetBack = errors.New("the engine was set back")

// session is an engine that is watched for being set back. Answers are linearizable, so none may
// be older than one that had arrived before its question was sent.
type session struct {
	engine Engine
	clock  Clock
	mu     sync.Mutex
	seen   Revision
	// answered is when the engine answered last, by the node's clock, and at that time of day.
	answered   time.Duration
	answeredAt time.Time
}

// silent is since when the engine has not answered, if that is longer ago than within; else zero.
func (s *session) silent(within time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock.Now()-s.answered <= within {
		return time.Time{}
	}
	return s.answeredAt
}

func (s *session) highest() Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *session) saw(before, now Revision) error {
	if now < before {
		return fmt.Errorf("%w: it is at revision %d, and was at %d before: stop all nodes, then sextant cluster recover", ErrSetBack, now, before)
	}
	s.mu.Lock()
	s.seen, s.answered, s.answeredAt = max(s.seen, now), s.clock.Now(), s.clock.Wall()
	s.mu.Unlock()
	return nil
}

func (s *session) commit(ctx context.Context, step Step) (Outcome, error) {
	before := s.highest()
	out, err := s.engine.Commit(ctx, step)
	if err == nil {
		err = s.saw(before, out.Revision)
	}
	return out, err
}

func (s *session) read(ctx context.Context, keys ...string) (View, error) {
	before := s.highest()
	v, err := s.engine.Read(ctx, keys...)
	if err == nil {
		err = s.saw(before, v.Revision)
	}
	return v, err
}

func (s *session) list(ctx context.Context, from, to string, limit int) (View, error) {
	before := s.highest()
	v, err := s.engine.List(ctx, from, to, limit)
	if err == nil {
		err = s.saw(before, v.Revision)
	}
	return v, err
}

// all is list of a whole range.
func (s *session) all(ctx context.Context, from, to string) (View, error) {
	before := s.highest()
	v, err := ListAll(ctx, s.engine, from, to)
	if err == nil {
		err = s.saw(before, v.Revision)
	}
	return v, err
}
