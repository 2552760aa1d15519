package http1

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// readerBytes is the read buffer of a connection. It has the size of net/http's: it bounds the line of a chunk, and the
// trailer.
const readerBytes = 4 << 10

// conn is a connection. It is used by one goroutine at a time.
type conn struct {
	net.Conn
	transport *Transport
	host      *host
	raw       syscall.RawConn  // nil: not a socket
	ask       func(fd uintptr) // sets silent
	silent    bool
	abort     func()
	aborted   chan struct{} // closed by abort
	reader    *bufio.Reader // of a response
	out       []byte        // of a request

	used    bool      // a response was received before
	began   bool      // a byte was received
	body    bool      // the header is complete
	left    int64     // header bytes left
	until   time.Time // of the whole request
	failure error     // of reading

	since          time.Time // when it became idle; zero: in use
	older, younger *conn     // idle ones; the transport's mutex guards them
}

func newConn(inner net.Conn, h *host, t *Transport) *conn {
	c := &conn{Conn: inner, host: h, transport: t, aborted: make(chan struct{})}
	c.abort = func() {
		_ = c.Close()
		close(c.aborted)
	}
	if s, ok := inner.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			c.raw = raw
			c.ask = func(fd uintptr) { c.silent = isSilent(fd) }
		}
	}
	return c
}

// begin prepares c for a request. It returns false if the peer has closed it, or has sent bytes without a request (RFC
// 9112 section 9.2), which must not be taken for the response.
func (c *conn) begin(until time.Time, kept bool) bool {
	c.used, c.began, c.body, c.failure = kept, false, false, nil
	c.left, c.until = c.transport.settings.MaxHeaderBytes, until
	deadline := time.Now().Add(c.transport.settings.HeaderTimeout)
	if until.Before(deadline) {
		deadline = until
	}
	if err := c.SetDeadline(deadline); err != nil {
		return false
	}
	if !kept || c.raw == nil {
		return true
	}
	c.silent = false
	return c.raw.Control(c.ask) == nil && c.silent
}

// isOpen checks an idle connection. A request may start using it at the same time, since isOpen changes nothing.
func (c *conn) isOpen() bool {
	if c.raw == nil {
		return true
	}
	silent := false
	err := c.raw.Control(func(fd uintptr) { silent = isSilent(fd) })
	return err == nil && silent
}

// Read reads from the network into the buffer, within the limits.
func (c *conn) Read(p []byte) (int, error) {
	if c.failure != nil {
		return 0, c.failure
	}
	if c.body {
		deadline := time.Now().Add(c.transport.settings.BodyTimeout)
		if c.until.Before(deadline) {
			deadline = c.until
		}
		if err := c.SetReadDeadline(deadline); err != nil {
			return 0, c.failed(err)
		}
	} else {
		if c.left <= 0 {
			return 0, c.failed(fmt.Errorf("response headers exceeded %d bytes", c.transport.settings.MaxHeaderBytes))
		}
		p = p[:min(int64(len(p)), c.left)]
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.began = true
		c.left -= int64(n)
	}
	if err != nil {
		err = c.failed(err)
	}
	return n, err
}

// failed records why the connection ended: half a line before that is not a malformed one.
func (c *conn) failed(err error) error {
	if isTimeout(err) {
		switch {
		case !time.Now().Before(c.until):
			err = ErrDownload
		case c.body:
			err = ErrIdle
		default:
			err = ErrHeader
		}
	}
	c.failure = err
	return err
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
