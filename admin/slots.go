package admin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// How many requests that take long are answered at once: fewer for those who may do less,
// so that a reader never keeps an operator waiting, nor the network the machine.
const (
	maxHeavyReaders = 2
	maxHeavyTCP     = 3 // readers' with them
	maxHeavy        = 4 // those over the socket with them
)

// Their bodies are read before, and only so many large ones at once over TCP.
const (
	smallBody         = 64 << 10
	maxBodiesReaders  = 4 // of maxRequestBytes each
	maxBodiesOperator = 3 // of maxConfigBytes each
)

// slots are places for requests. The zero value has none taken.
type slots struct {
	mu    sync.Mutex
	taken int
}

// take takes a slot unless most are taken.
func (s *slots) take(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= most {
		return false
	}
	s.taken++
	return true
}

func (s *slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
}

// enter reads the body of a request that takes long, and then takes its slot, which leave
// gives back: a body that comes slowly keeps nobody waiting.
func (s *Server) enter(c *call) (leave func(), err error) {
	if err := s.readBody(c); err != nil {
		return nil, err
	}
	most := maxHeavy
	switch {
	case c.caller.Role < Operator:
		most = maxHeavyReaders
	case !c.caller.Socket:
		most = maxHeavyTCP
	}
	if !s.heavy.take(most) {
		return nil, busy("%d requests that take long are being answered: try again when one has ended", most)
	}
	return s.heavy.free, nil
}

// readBody reads a whole body into memory. Over TCP a large one needs a place.
func (s *Server) readBody(c *call) error {
	var body bytes.Buffer
	_, err := io.CopyN(&body, c.r.Body, smallBody)
	if err == nil && !c.caller.Socket {
		places, most := &s.bodies.operator, maxBodiesOperator
		if c.caller.Role < Operator {
			places, most = &s.bodies.readers, maxBodiesReaders
		}
		if !places.take(most) {
			return busy("%d large requests are being read: try again when one is there", most)
		}
		defer places.free()
	}
	if err == nil {
		_, err = body.ReadFrom(c.r.Body)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return brokenBody(err)
	}
	c.r.Body = io.NopCloser(&body)
	return c.readUntil(time.Time{}) // the time for it does not count for the answer
}

// brokenBody is the answer to a body that did not come: that is no failure of the service.
func brokenBody(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	return wrong("the body of the request breaks off: %v", err)
}

// busy is the answer to somebody who comes at a bad moment.
func busy(format string, args ...any) *Problem {
	p := newProblem(http.StatusServiceUnavailable, codeBusy, format, args...)
	p.retryAfter = 5
	return p
}
