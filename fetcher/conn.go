package fetcher

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// watchedConn remembers that reading met the connection's end. net/http takes
// the half line before the end for a malformed header; only this tells a server
// that died in the middle of its header from one that speaks no HTTP.
type watchedConn struct {
	net.Conn
	ended   atomic.Bool
	limited atomic.Bool // what a proxy needs to lead to the host, by a deadline
	refused atomic.Bool // closed because there was no permit to ask anything over it
	permit  permit.Permit
}

// SyscallConn is that of the connection below, if it has one.
func (c *watchedConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// limit says how long a proxy may take: net/http limits SOCKS by nothing, and CONNECT
// by a minute.
func (c *watchedConn) limit(d time.Duration) error {
	c.limited.Store(true)
	return c.SetDeadline(time.Now().Add(d))
}

// inUse ends limit.
func (c *watchedConn) inUse() {
	if c.limited.Swap(false) {
		_ = c.SetDeadline(time.Time{}) // else the first use of it fails
	}
}

// Write asks for the permit before each write: between the question when the connection was got and the write lies the work of other goroutines,
// during which a process may be stopped for long.
func (c *watchedConn) Write(p []byte) (int, error) {
	if c.permit != nil && !c.permit.May() {
		c.refused.Store(true)
		_ = c.Close() // nothing can follow either
		return 0, permit.ErrEnded
	}
	return c.Conn.Write(p)
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.ended.Store(true)
	}
	return n, err
}

// hasEnded reports whether c, as net/http shows it after an error, was read to its end.
// Nobody else reads it any more, unless it speaks HTTP/2.
func hasEnded(c net.Conn) bool {
	for {
		switch layer := c.(type) {
		case *watchedConn:
			return layer.ended.Load()
		case *tls.Conn:
			if layer.ConnectionState().NegotiatedProtocol == "h2" {
				c = layer.NetConn()
				continue
			}
			// Inside of a tunnel TLS ends unseen. It says again what it met.
			_, err := layer.Read(make([]byte, 1))
			return isAny(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET)
		default:
			return false
		}
	}
}

// lowest returns the connection under all layers, nil if it is not one of ours.
func lowest(c net.Conn) *watchedConn {
	var found *watchedConn
	for {
		switch layer := c.(type) {
		case *tls.Conn:
			c = layer.NetConn()
		case *watchedConn:
			c, found = layer.Conn, layer
		default:
			return found
		}
	}
}

func ip(remote net.Addr) netip.Addr {
	if a, ok := remote.(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
