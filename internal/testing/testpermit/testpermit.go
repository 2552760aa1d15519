// Package testpermit has a permit that tests give and take. The mutex of Switch guards what it says.
package testpermit

import (
	"context"
	"errors"
	"sync"
)

// ErrTaken is the cause of the contexts that end with the permit.
var ErrTaken = errors.New("the test took the permit")

// Switch is a permit.Permit. It begins as given.
type Switch struct {
	mu      sync.Mutex
	off     bool
	asked   int // of May, while it was off
	stretch context.Context
	end     context.CancelCauseFunc
	given   chan struct{} // closed by Give
}

// New returns a permit that is given.
func New() *Switch {
	s := &Switch{given: make(chan struct{})}
	s.stretch, s.end = context.WithCancelCause(context.Background())
	return s
}

// Take ends the permit, and with it all contexts under it.
func (s *Switch) Take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	s.end(ErrTaken)
}

// Expire ends the permit as for a process that was stopped and has just woken up: the contexts under it
// end only when somebody asks.
func (s *Switch) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

// Give gives the permit again.
func (s *Switch) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(ErrTaken)
	s.off = false
	s.stretch, s.end = context.WithCancelCause(context.Background())
	close(s.given)
	s.given = make(chan struct{})
}

// May implements permit.Permit.
func (s *Switch) May() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		s.asked++
		s.end(ErrTaken)
	}
	return !s.off
}

// Asked returns how often May said no.
func (s *Switch) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Acting implements permit.Permit.
func (s *Switch) Acting(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		s.mu.Lock()
		off, stretch, given := s.off && s.stretch.Err() != nil, s.stretch, s.given
		s.mu.Unlock()
		if !off {
			under, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(stretch, func() { cancel(context.Cause(stretch)) })
			return under, func() { stop(); cancel(nil) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-given:
		}
	}
}
