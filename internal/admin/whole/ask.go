package whole

// ask.go: how a node is asked, and what its answer looks like. Goroutines: open starts one for each part; the part of this node has one that writes.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Missing is the header that names the nodes whose part is not in an answer, each with the reason.
const Missing = "Sextant-Missing"

// Bounds of what a node says.
const (
	// headFor is how long a node may take to begin: a list that is sorted is read whole before.
	headFor = 5 * time.Minute
	// pageFor is how long it may take for all of an answer that is no stream.
	pageFor = 30 * time.Second
	// MaxQuestion and maxAnswer bound what is read whole, maxLine one line.
	MaxQuestion = 8 << 20
	maxAnswer   = 8 << 20
	maxLine     = 4 << 20
)

// Question is what one node asks another.
type Question struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with the query
	// Role and Name are of who asks.
	Role  string `json:"role"`
	Name  string `json:"name,omitempty"`
	Media string `json:"media,omitempty"` // of the body
	Body  []byte `json:"body,omitempty"`
	// Lines asks for a list as lines with their cursors.
	Lines bool `json:"lines,omitempty"`
}

// Node is one that has a part of the crawl.
type Node struct {
	Name string
	// Ask sends a question; the answer is read until ctx ends, and closed.
	Ask func(ctx context.Context, q *Question) (io.ReadCloser, error)
}

// head is the first line of an answer.
type head struct {
	Status int `json:"status"`
	// Lacks says which partitions the node should answer for, and does not have yet.
	Lacks string `json:"lacks,omitempty"`
}

// part is a node's answer as it comes.
type part struct {
	node   string
	status int
	lacks  string // what is not in the answer, although it counts
	body   *bufio.Reader
	closer io.Closer
	err    error // why it counts no more
}

func (p *part) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// open asks all nodes at once, and waits until each has begun to answer.
func open(ctx context.Context, nodes []Node, q *Question) []*part {
	parts := make([]*part, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		parts[i] = &part{node: n.Name}
		all.Go(func() { parts[i].open(ctx, n, q) })
	}
	all.Wait()
	return parts
}

var errLate = errors.New("it gave no answer in time")

func (p *part) open(ctx context.Context, n Node, q *Question) {
	ctx, cancel := context.WithCancelCause(ctx)
	begun := time.AfterFunc(headFor, func() { cancel(errLate) })
	defer begun.Stop()
	body, err := n.Ask(ctx, q)
	if err != nil {
		p.err = errors.Join(context.Cause(ctx), err)
		if errors.Is(p.err, errLate) {
			p.err = errLate
		}
		cancel(nil)
		return
	}
	p.body, p.closer = bufio.NewReader(body), closers{body, func() { cancel(nil) }}
	var h head
	if line, err := p.line(); err != nil {
		p.fail("its answer cannot be read: %w", errors.Join(context.Cause(ctx), err))
	} else if err := json.Unmarshal(line, &h); err != nil || h.Status < 200 || h.Status > 599 {
		p.fail("its answer is garbage")
	}
	p.status, p.lacks = h.Status, h.Lacks
}

// closers closes a body, and then ends its context.
type closers struct {
	io.Closer
	end func()
}

// Close implements io.Closer.
func (c closers) Close() error {
	defer c.end()
	return c.Closer.Close()
}

// line reads the next line, of bounded length.
func (p *part) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := p.body.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		line = append(line, piece...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// rest reads what is left of an answer.
func (p *part) rest() []byte {
	if p.err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(p.body, maxAnswer+1))
	switch {
	case err != nil:
		p.fail("its answer broke off: %w", err)
	case len(b) > maxAnswer:
		p.fail("its answer is larger than %d bytes", maxAnswer)
	}
	return b
}

func closeAll(parts []*part) {
	for _, p := range parts {
		if p.closer != nil {
			_ = p.closer.Close() // the answer was read, or is not wanted any more
		}
	}
}

// detail is what a problem says to people.
func detail(body []byte) string {
	var p struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(body, &p) != nil || p.Detail == "" {
		return "no words"
	}
	return p.Detail
}

// writer writes an answer in the form that open reads. It is the http.ResponseWriter of a node's own part.
type writer struct {
	to     io.Writer
	header http.Header
	lacks  string
	begun  bool
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if !w.begun {
		w.begun = true
		_ = json.NewEncoder(w.to).Encode(head{status, w.lacks})
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(b)
}
