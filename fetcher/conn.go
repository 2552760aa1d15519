package fetcher

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
)

// watchedConn remembers that reading met the connection's end. net/http takes
// the half line before the end for a malformed header; only this tells a server
// that died in the middle of its header from one that speaks no HTTP.
type watchedConn struct {
	net.Conn
	ended atomic.Bool
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.ended.Store(true)
	}
	return n, err
}

// hasEnded says whether c, as net/http shows it, was read to its end.
func hasEnded(c net.Conn) bool {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	w, ok := c.(*watchedConn)
	return ok && w.ended.Load()
}

func remote(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
