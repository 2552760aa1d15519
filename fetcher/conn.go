package fetcher

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
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

// hasEnded says whether c, as net/http shows it after an error, was read to its end.
// Nobody else reads it any more, unless it speaks HTTP/2.
func hasEnded(c net.Conn) bool {
	for {
		secure, ok := c.(*tls.Conn)
		if !ok {
			break
		}
		if secure.ConnectionState().NegotiatedProtocol != "h2" {
			// TLS has an end of its own, before that of the connection below; it says
			// again what it met.
			_, err := secure.Read(make([]byte, 1))
			return isAny(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET)
		}
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
