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

// watchedConn records that reading reached the connection's end. net/http reports a half line before the end as a
// malformed header; this distinguishes a server that died while it sent its header from one that does not speak HTTP.
type watchedConn struct {
	net.Conn
	ended   atomic.Bool
	limited atomic.Bool // a deadline limits the proxy's time to reach the host
	refused atomic.Bool // closed because there was no permit
	permit  permit.Permit
}

// SyscallConn returns that of the underlying connection, if it has one.
func (c *watchedConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// limit sets the time limit for a proxy: net/http has none for SOCKS, and a minute for CONNECT.
func (c *watchedConn) limit(d time.Duration) error {
	c.limited.Store(true)
	return c.SetDeadline(time.Now().Add(d))
}

// inUse ends limit.
func (c *watchedConn) inUse() {
	if c.limited.Swap(false) {
		_ = c.SetDeadline(time.Time{}) // otherwise the first use fails
	}
}

// Write checks the permit before each write: other goroutines run between obtaining the connection and writing, and the
// process may be stopped for long.
func (c *watchedConn) Write(p []byte) (int, error) {
	if c.permit != nil && !c.permit.May() {
		c.refused.Store(true)
		_ = c.Close() // nothing may follow
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

// hasEnded reports whether c, as net/http shows it after an error, was read to its end. No other goroutine reads c
// then, unless it is HTTP/2.
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
			// Inside a tunnel the end is hidden by TLS. A further read repeats the error.
			_, err := layer.Read(make([]byte, 1))
			return isAny(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET)
		default:
			return false
		}
	}
}

// lowest returns the connection below all layers, nil if it is not a watchedConn.
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
