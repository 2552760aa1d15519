package admin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits of concurrent long requests. A caller gets a slot only while fewer than its limit are taken, so readers leave
// room for operators, and the network for the socket.
const (
	maxHeavyReaders = 2
	maxHeavyTCP     = 3
	maxHeavy        = 4 // over the socket
)

// How many large bodies are read at once over TCP, before they take a slot.
const (
	smallBody         = 64 << 10 // the largest small body
	maxBodiesReaders  = 4        // of maxRequestBytes each
	maxBodiesOperator = 3        // of largeBody each
)

// slots counts the taken slots.
type slots struct{ atomic.Int64 }

// take takes a slot unless most are taken already.
func (s *slots) take(most int64) bool {
	for n := s.Load(); n < most; n = s.Load() {
		if s.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

func (s *slots) free() { s.Add(-1) }

// enter reads the body of a long request and then takes a slot, which leave returns. In this order a slow body does not
// block others.
func (s *Server) enter(c *call) (leave func(), err error) {
	if err := s.readBody(c); err != nil {
		return nil, err
	}
	most := int64(maxHeavy)
	switch {
	case c.caller.Role < Operator:
		most = maxHeavyReaders
	case !c.caller.Socket:
		most = maxHeavyTCP
	}
	if !s.heavy.take(most) {
		return nil, busy("%d long requests are in progress: retry when one has ended", most)
	}
	return s.heavy.free, nil
}

// readBody reads the whole body into memory. Over TCP the number of concurrent large ones is limited.
func (s *Server) readBody(c *call) error {
	var body bytes.Buffer
	_, err := io.CopyN(&body, c.r.Body, smallBody)
	if err == nil && !c.caller.Socket {
		places, most := &s.bodies.operator, int64(maxBodiesOperator)
		if c.caller.Role < Operator {
			places, most = &s.bodies.readers, maxBodiesReaders
		}
		if !places.take(most) {
			return busy("%d large request bodies are being read: retry when one has been received", most)
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
	return c.readUntil(time.Time{}) // the time for it does not count for the response
}

// brokenBody turns an error of reading a body into a response: it is the client's error.
func brokenBody(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	return wrong("the body of the request was cut off: %v", err)
}

// busy returns the response for a caller that should retry later.
func busy(format string, args ...any) *Problem {
	p := newProblem(http.StatusServiceUnavailable, codeBusy, format, args...)
	p.retryAfter = 5
	return p
}
