package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ErrMissing says that the other node does not have what it was asked for.
var ErrMissing = errors.New("the other node does not have it")

// ErrDeclined says that the other node does not do what it was asked for, and why.
var ErrDeclined = errors.New("it declined")

const (
	connectFor = 5 * time.Second
	// silence is how long the other node may send less than enough.
	silence = 30 * time.Second
	enough  = 16 << 10
)

// Client asks other nodes. Each question has a connection of its own, since the proof is of one
// connection, and questions are rare.
type Client struct {
	Token Token
	// Dial connects; nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Get asks the node at address for a path. The answer is read until its end or until ctx ends, and
// closed. ErrProof if the node does not have the token; nothing of what it said is given then.
func (c *Client) Get(ctx context.Context, address, path string) (io.ReadCloser, error) {
	return c.Do(ctx, http.MethodGet, address, path)
}

// Do is Get with another method, for what is no question.
func (c *Client) Do(ctx context.Context, method, address, path string) (io.ReadCloser, error) {
	return c.send(ctx, method, address, path, nil)
}

// Post sends a question that is too long for a path; the answer is read as that of Get.
func (c *Client) Post(ctx context.Context, address, path string, question []byte) (io.ReadCloser, error) {
	return c.send(ctx, http.MethodPost, address, path, question)
}

func (c *Client) send(ctx context.Context, method, address, path string, question []byte) (io.ReadCloser, error) {
	body, err := c.do(ctx, method, address, path, question)
	if err != nil {
		return nil, fmt.Errorf("node at %s: %w", address, err)
	}
	return body, nil
}

func (c *Client) do(ctx context.Context, method, address, path string, question []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+address+path, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	conn, err := c.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends reads and writes
	body, err := c.ask(conn, req)
	if err != nil {
		stop()
		if why := ctx.Err(); why != nil {
			err = why
		}
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	return &answer{body, conn, stop}, nil
}

// connect makes a TLS connection. Who is at the other end is told by its proof, not by its certificate.
func (c *Client) connect(ctx context.Context, address string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, InsecureSkipVerify: true}) //nolint:gosec // see above
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	return conn, nil
}

// ask sends a request with the proof, and wants the other's before it looks at anything else.
func (c *Client) ask(conn *tls.Conn, req *http.Request) (io.Reader, error) {
	on := newLine(conn)
	req.Header.Set("TE", "trailers") // see Cut
	if err := c.sign(on, req); err != nil {
		return nil, err
	}
	if err := on.put(req); err != nil {
		return nil, err
	}
	resp, err := c.answer(on, req) //nolint:bodyclose // it ends with the connection, which the caller closes
	if err != nil {
		return nil, err
	}
	on.limited.R, on.limited.N = &patient{Conn: conn}, 1<<62
	return whole{resp}, nil
}

// judge is what is wrong with an answer. Without the proof nothing else of it counts.
func (c *Client) judge(state *tls.ConnectionState, resp *http.Response) error {
	switch {
	case !c.Token.proves(state, answers, resp.Header.Get(header)):
		return fmt.Errorf("%w (it answered %d): give all nodes the same one", ErrProof, resp.StatusCode)
	case resp.StatusCode == http.StatusNotFound:
		return ErrMissing
	case resp.StatusCode == http.StatusConflict:
		words, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return errors.Join(fmt.Errorf("%w: %s", ErrDeclined, strings.TrimSpace(string(words))), err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("it answered %s", http.StatusText(resp.StatusCode))
	}
	return nil
}

// patient waits for each next piece of an answer for so long in all: a node that sends byte after byte would hold up
// who asked for days. What the reader itself takes between two reads does not count.
type patient struct {
	*tls.Conn
	wants int           // bytes of this piece
	left  time.Duration // for them
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	if p.wants <= 0 {
		p.wants, p.left = enough, silence
	}
	begun := time.Now()
	if err := p.SetReadDeadline(begun.Add(p.left)); err != nil {
		return 0, err
	}
	n, err := p.Conn.Read(b)
	p.wants -= n
	p.left -= time.Since(begun)
	return n, err
}

// answer is what a node sends.
type answer struct {
	io.Reader
	conn *tls.Conn
	stop func() bool
}

// Close implements io.Closer.
func (a *answer) Close() error {
	a.stop()
	return ignoreClosed(a.conn.Close())
}

// ignoreClosed passes over what follows from the other end's, or ctx's, being first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
