package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Request is a GET request. Its strings are sent unchanged; see Sendable.
type Request struct {
	// Host is that of the URL as written, with its port if that is not 80; Target is path and query.
	Host, Target string
	// Header holds complete lines, each with its end.
	Header []byte
	// Fields are further lines; one without a value is omitted.
	Fields [2]Field
	// Until is the deadline of the whole request.
	Until time.Time
}

// Field is a header line.
type Field struct{ Name, Value string }

// Answer is a response. It is used by one goroutine, which must close it.
type Answer struct {
	Status int
	Header http.Header
	Length int64    // of the body, -1 if unknown
	Remote net.Addr // the peer

	conn *conn         // nil: closed
	body io.ReadCloser // nil: read Length bytes from conn
	left int64
	end  bool        // the end of the body was read
	last bool        // the connection accepts no further request
	stop func() bool // cancels the abort at the end of ctx
}

// Get makes a request, and returns when the header of its response is complete. If ctx has ended, the error is that of
// ctx.
func (t *Transport) Get(ctx context.Context, r *Request) (*Answer, error) {
	h := t.enter(r.Host)
	if err := h.acquire(ctx, r.Until); err != nil {
		t.leave(h, nil, false)
		return nil, err
	}
	for fresh := false; ; fresh = true {
		c, err := t.connection(ctx, h, r, fresh)
		if err != nil {
			t.leave(h, nil, false)
			h.release()
			return nil, err
		}
		a, err := c.exchange(ctx, r)
		if err == nil {
			return a, nil
		}
		// A server may close a kept connection just when it is reused (RFC 9112 section 9.3.1).
		if c.used && !c.began && c.failure != nil && !isTimeout(err) && ctx.Err() == nil {
			_ = c.Close()
			continue
		}
		t.leave(h, c, false)
		h.release()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
}

// exchange sends r and reads the header of its response.
func (c *conn) exchange(ctx context.Context, r *Request) (*Answer, error) {
	a := &Answer{conn: c}
	if ctx.Done() != nil {
		a.stop = context.AfterFunc(ctx, c.abort)
	}
	c.reader = c.transport.reader(c)
	err := c.send(ctx, r)
	if err == nil {
		err = a.readHeader()
	}
	if err != nil {
		a.detach()
		if c.failure != nil {
			err = c.failure
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	c.body = true
	a.Remote = c.RemoteAddr()
	return a, nil
}

func (c *conn) send(ctx context.Context, r *Request) error {
	if permitted := c.transport.settings.Permitted; permitted != nil {
		if err := permitted(ctx); err != nil {
			return err
		}
	}
	c.out = r.append(c.out[:0])
	if _, err := c.Write(c.out); err != nil {
		return c.failed(err)
	}
	return nil
}

func (r *Request) append(b []byte) []byte {
	b = append(b, "GET "...)
	b = append(b, r.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.Host...)
	b = append(b, "\r\n"...)
	b = append(b, r.Header...)
	for _, f := range r.Fields {
		if f.Value != "" {
			b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

func (a *Answer) readHeader() error {
	r := a.conn.reader
	for {
		if a.readPlain(r) {
			return nil
		}
		resp, err := http.ReadResponse(r, nil) //nolint:bodyclose // it closes nothing; Close ends the connection
		if err != nil {
			return err
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue // an interim response
		}
		a.Status, a.Header, a.Length, a.body = resp.StatusCode, resp.Header, resp.ContentLength, resp.Body
		a.last = resp.Close || resp.StatusCode < http.StatusOK
		if a.end = resp.Body == http.NoBody; a.end {
			a.Length = 0
		}
		return nil
	}
}

// Read reads the body.
func (a *Answer) Read(p []byte) (int, error) {
	switch {
	case a.conn == nil:
		return 0, http.ErrBodyReadAfterClose
	case a.end:
		return 0, io.EOF
	case a.body != nil:
		n, err := a.body.Read(p)
		a.end = err == io.EOF
		return n, err
	}
	n, err := a.conn.reader.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	if a.end = a.left == 0; a.end {
		return n, io.EOF
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close ends the request. The connection is reused if the complete response was read, and nothing else was received.
func (a *Answer) Close() {
	c := a.conn
	if c == nil {
		return
	}
	alive := a.end && !a.last && c.failure == nil && c.reader.Buffered() == 0
	alive = a.detach() && alive
	c.transport.leave(c.host, c, alive)
	c.host.release() // after leave, so that the goroutine that waits for the seat finds the connection
}

// detach takes the connection from the response and from ctx. It returns false if ctx has ended.
func (a *Answer) detach() bool {
	c := a.conn
	a.conn = nil
	ok := a.stop == nil || a.stop()
	if !ok {
		<-c.aborted
	}
	c.reader.Reset(nil)
	c.transport.readers.Put(c.reader)
	c.reader = nil
	return ok
}
