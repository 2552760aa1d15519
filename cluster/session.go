package cluster

// session.go: what every call to the engine goes through. session.mu guards the highest
// revision seen; all goroutines of a node take it.

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrSetBack says that the engine has forgotten steps: it was restored from an old backup,
// emptied, or is another one. Nothing may be built on it before a recovery.
var ErrSetBack = errors.New("the engine was set back")

// session is an engine that is watched for being set back. Answers are linearizable, so none may
// be older than one that had arrived before its question was sent.
type session struct {
	engine Engine
	mu     sync.Mutex
	seen   Revision
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
	s.seen = max(s.seen, now)
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
