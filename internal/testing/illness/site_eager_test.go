package illness

import (
	"net"
	"sync"
	"time"
)

// Each connection has a goroutine that writes what was kept to its pipe, until the
// connection is closed and nothing is left. eagerConn.mu guards what is kept.

// eagerListener accepts connections whose writes do not block. In a pipe a write lasts until it is read, so a client
// that sends an alert about a certificate would wait for a server that is still writing.
type eagerListener struct{ net.Listener }

// Accept implements net.Listener.
func (l eagerListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &eagerConn{Conn: conn, more: make(chan struct{}, 1)}
	go c.run()
	return c, nil
}

// flushTime is how long a client has to read what is left when a connection is closed.
const flushTime = time.Minute

// eagerConn keeps what is written until it is read.
type eagerConn struct {
	net.Conn
	more chan struct{} // capacity 1: there may be something to do

	mu     sync.Mutex
	unread [][]byte
	closed bool
	err    error // of the pipe
}

// Write implements net.Conn.
func (c *eagerConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if c.closed {
		return 0, net.ErrClosed
	}
	c.unread = append(c.unread, append([]byte(nil), p...))
	c.wake()
	return len(p), nil
}

// Close implements net.Conn; what was written is still to be read.
func (c *eagerConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.wake()
	return c.SetDeadline(time.Now().Add(flushTime))
}

func (c *eagerConn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// run hands over what is written, until the connection is closed.
func (c *eagerConn) run() {
	for range c.more {
		todo, closed := c.take()
		for _, p := range todo {
			if _, err := c.Conn.Write(p); err != nil {
				c.fail(err)
			}
		}
		if closed { // after which nothing is written
			_ = c.Conn.Close()
			return
		}
	}
}

func (c *eagerConn) take() (todo [][]byte, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	todo, c.unread = c.unread, nil
	return todo, c.closed
}

func (c *eagerConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}
