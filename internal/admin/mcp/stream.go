package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// A lock of a stream guards the number of open requests; the goroutines that read and write take it for a moment. The
// other one is held while a message is written.

// lastAnswers is how long the end of the input waits for responses that are due.
const lastAnswers = time.Minute

// notJSON is the response to a line that is not JSON, as JSON-RPC 2.0 section 5.1 requires.
const notJSON = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,` +
	`"message":"this line is not JSON: write a message on each line"}}` + "\n"

// stream is a pair of streams with a message on each line. It holds the end of the input back until each request has
// its response, since the SDK drops what is open then: a client may write all its requests, and close.
type stream struct {
	in   *bufio.Reader
	from io.Reader
	out  io.Writer
	rest []byte // of a line that is being read

	writing sync.Mutex // of out

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
	for len(s.rest) == 0 {
		line, err := s.in.ReadBytes('\n')
		switch {
		case len(line) == 0:
			s.awaitAnswers()
			return 0, err
		case json.Valid(line):
			s.count(line, true)
			s.rest = line
		case len(bytes.TrimSpace(line)) > 0: // the SDK would end
			if _, err := s.send([]byte(notJSON)); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// awaitAnswers waits until no request is open.
func (s *stream) awaitAnswers() {
	defer time.AfterFunc(lastAnswers, func() { s.end() }).Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open > 0 && !s.ended {
		s.change.Wait()
	}
}

// end lets awaitAnswers return. It reports whether it is the first call.
func (s *stream) end() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, s.ended = !s.ended, true
	s.change.Broadcast()
	return first
}

// Write implements io.Writer. It is called once a message.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.send(p)
	s.count(p, false)
	return n, err
}

// send writes a message.
func (s *stream) send(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.out.Write(p)
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

// Close implements io.Closer. It closes the input if it can be closed, which ends a read that waits. The SDK closes
// reader and writer, which are the same here.
func (s *stream) Close() error {
	if c, ok := s.from.(io.Closer); s.end() && ok {
		return c.Close()
	}
	return nil
}
