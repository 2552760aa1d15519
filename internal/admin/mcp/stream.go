package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// The lock of a stream guards the number of open requests. The goroutines that read and write take it for a moment.

// lastAnswers is how long the end of the input waits for responses that are due.
const lastAnswers = time.Minute

// stream is a pair of streams with a message on each line. It holds the end of the input back until each request has
// its response, since the SDK drops what is open then: a client may write all its requests, and close.
type stream struct {
	in   *bufio.Reader
	from io.Reader
	out  io.Writer
	rest []byte // of a line that is being read

	mu     sync.Mutex
	change sync.Cond // of mu
	open   int       // requests
	ended  bool
}

func newStream(in io.Reader, out io.Writer) *stream {
	s := &stream{in: bufio.NewReader(in), from: in, out: out}
	s.change.L = &s.mu
	return s
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		line, err := s.in.ReadBytes('\n')
		if len(line) == 0 {
			s.awaitAnswers()
			return 0, err
		}
		s.count(line, true)
		s.rest = line
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// awaitAnswers waits until no request is open.
func (s *stream) awaitAnswers() {
	defer time.AfterFunc(lastAnswers, s.end).Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open > 0 && !s.ended {
		s.change.Wait()
	}
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.change.Broadcast()
}

// Write implements io.Writer. It is called once a message.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	s.count(p, false)
	return n, err
}

// count counts the requests of a line, or their responses.
func (s *stream) count(line []byte, asked bool) {
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	all := make([]message, 1)
	if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("[")) {
		_ = json.Unmarshal(line, &all) // the SDK says what is wrong with it
	} else {
		_ = json.Unmarshal(line, &all[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range all {
		switch {
		case len(m.ID) == 0:
		case asked && m.Method != "":
			s.open++
		case !asked && m.Method == "":
			s.open--
		}
	}
	s.change.Broadcast()
}

// Close implements io.Closer. It closes the input if it can be closed, which ends a read that waits.
func (s *stream) Close() error {
	s.end()
	if c, ok := s.from.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
