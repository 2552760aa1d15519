// Package testpipe is an in-memory network with one address, for use under synctest, where kernel connections would
// block the test's own time. For tests only.
package testpipe

import (
	"context"
	"net"
)

// Listener accepts the connections that Dial makes. It is closed once.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

// Listen returns a Listener, which belongs to the bubble that calls it.
func Listen() *Listener { return &Listener{make(chan net.Conn), make(chan struct{})} }

// Dial waits until its connection is accepted, or ctx ends.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	close(l.closed)
	return nil
}

// Addr implements net.Listener; it is a loopback address.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
