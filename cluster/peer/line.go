package peer

// line.go: connections that are kept, for small questions that come often. The mutex of Lines guards which are idle.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// idleMost is how many connections to one node are kept, and idleFor how long: the other end closes them after a minute.
	idleMost = 4
	idleFor  = 30 * time.Second
	// headMost bounds the head of an answer.
	headMost = 64 << 10
)

// Lines asks other nodes over connections that are kept. The proof is of a connection, and goes with each question.
type Lines struct {
	Client *Client

	mu     sync.Mutex
	idle   map[string][]*line
	closed bool
}

// line is a connection to a node.
type line struct {
	*tls.Conn
	limited io.LimitedReader
	r       *bufio.Reader
	since   time.Time // idle
}

func newLine(conn *tls.Conn) *line {
	on := &line{Conn: conn}
	on.limited.R = conn
	on.r = bufio.NewReader(&on.limited)
	return on
}

// Ask posts a question to the node at address, and gives its answer, of which no more is read than most bytes. A question may
// arrive twice: a connection that was kept may break without a word.
func (l *Lines) Ask(ctx context.Context, address, path string, question []byte, most int64) ([]byte, error) {
	for {
		on, kept, err := l.take(ctx, address)
		if err == nil {
			var answer []byte
			answer, err = l.exchange(ctx, on, address, path, question, most)
			if err == nil {
				return answer, nil
			}
		}
		if !kept || ctx.Err() != nil || !errors.Is(err, errBroken) {
			return nil, fmt.Errorf("node at %s: %w", address, err)
		}
	}
}

// errBroken says that a connection ended before an answer began.
var errBroken = errors.New("the connection broke")

// take is a connection that is idle, or a new one.
func (l *Lines) take(ctx context.Context, address string) (on *line, kept bool, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, false, errors.New("no node is asked any more")
	}
	for n := len(l.idle[address]); n > 0; n-- {
		on = l.idle[address][n-1]
		l.idle[address] = l.idle[address][:n-1]
		if time.Since(on.since) < idleFor {
			l.mu.Unlock()
			return on, true, nil
		}
		_ = on.Close()
	}
	l.mu.Unlock()
	conn, err := l.Client.connect(ctx, address)
	if err != nil {
		return nil, false, err
	}
	return newLine(conn), false, nil
}

// keep has a connection wait for the next question.
func (l *Lines) keep(address string, on *line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.idle[address]) >= idleMost {
		return ignoreClosed(on.Close())
	}
	if l.idle == nil {
		l.idle = map[string][]*line{}
	}
	on.since = time.Now()
	l.idle[address] = append(l.idle[address], on)
	return nil
}

// Close closes the connections that are idle; others end with their questions.
func (l *Lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var err error
	for _, all := range l.idle {
		for _, on := range all {
			err = errors.Join(err, ignoreClosed(on.Close()))
		}
	}
	l.idle = nil
	return err
}

// exchange asks, and reads the whole answer, in the time that a node may be silent.
func (l *Lines) exchange(ctx context.Context, on *line, address, path string, question []byte, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(question))
	if err != nil {
		return nil, errors.Join(err, ignoreClosed(on.Close()))
	}
	stop := context.AfterFunc(ctx, func() { _ = on.Close() })
	answer, goesOn, err := l.answer(on, req, most)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || !goesOn {
		if why := ctx.Err(); why != nil {
			err = why
		}
		return answer, errors.Join(err, ignoreClosed(on.Close()))
	}
	return answer, l.keep(address, on)
}

func (l *Lines) answer(on *line, req *http.Request, most int64) (answer []byte, goesOn bool, err error) {
	if err := l.Client.sign(on, req); err != nil {
		return nil, false, err
	}
	err = on.put(req)
	if err == nil {
		_, err = on.r.Peek(1)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, false, err // another connection would be as silent
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errBroken, err)
	}
	resp, err := l.Client.answer(on, req) //nolint:bodyclose // it is read to its end, or the connection is closed
	if err != nil {
		return nil, false, err
	}
	on.limited.N = most + headMost
	answer, err = io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(answer)) > most {
		err = fmt.Errorf("it answered more than %d bytes", most)
	}
	return answer, !resp.Close && on.r.Buffered() == 0, err
}

// sign puts the proof into a question.
func (c *Client) sign(on *line, req *http.Request) error {
	state := on.ConnectionState()
	own, err := c.Token.proof(&state, asks)
	if err == nil {
		req.Header.Set(header, own)
	}
	return err
}

// put sends a question; it and the head of its answer have the time that a node may be silent.
func (on *line) put(req *http.Request) error {
	if err := on.SetDeadline(time.Now().Add(silence)); err != nil {
		return err
	}
	on.limited.N = headMost
	return req.Write(on)
}

// answer reads the head of an answer, which bears the proof of who sent it.
func (c *Client) answer(on *line, req *http.Request) (*http.Response, error) {
	resp, err := http.ReadResponse(on.r, req)
	if err != nil {
		return nil, err
	}
	state := on.ConnectionState()
	return resp, c.judge(&state, resp)
}
