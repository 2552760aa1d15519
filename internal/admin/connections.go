package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// The lock of connections guards all of them, and the fields of each. The goroutines of requests take it when a
// connection opens or closes, or a request begins or ends; never over one.

// Limits of connections over TCP. A stranger is a caller without a valid token. A connection that is idle, or a
// stranger's, is closed when a new one needs its place, so only callers with a token can fill all places, and readers
// only some.
const (
	maxConnections = 256
	maxPerAddress  = 128
	// maxReaderRequests is the maximum number of concurrent requests of readers.
	maxReaderRequests = 64
)

// connections keeps track of the open TCP connections. It is safe for concurrent use.
type connections struct {
	mu    sync.Mutex
	open  map[*connection]struct{}
	from  map[netip.Addr]int
	turns uint64 // counts waits and requests without credentials
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}, from: map[netip.Addr]int{}}
}

// connection is one of them. Its fields are guarded by connections.mu.
type connection struct {
	net.Conn
	of      *connections
	address netip.Addr

	atWork int    // requests in progress whose callers have a token
	since  uint64 // value of turns at its last wait: orders idle connections
	known  bool   // the caller of its last request had a token
	gone   bool
}

// listen wraps l so that its connections are limited.
func (cs *connections) listen(l net.Listener) net.Listener { return &boundedListener{l, cs} }

type boundedListener struct {
	net.Listener
	connections *connections
}

// Accept returns the next connection for which there is room, and closes others.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := l.connections.admit(c); admitted != nil {
			return admitted, nil
		}
		_ = c.Close() // the client sees that
	}
}

// admit adds a connection, closing another one if necessary. It returns nil if all
// others are at work.
func (cs *connections) admit(c net.Conn) *connection {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	in := &connection{Conn: c, of: cs, address: addressOf(c.RemoteAddr().String())}
	if cs.from[in.address] >= maxPerAddress && !cs.makeRoom(func(other *connection) bool { return other.address == in.address }) ||
		len(cs.open) >= maxConnections && !cs.makeRoom(func(*connection) bool { return true }) {
		return nil
	}
	cs.open[in] = struct{}{}
	cs.from[in.address]++
	cs.wait(in)
	return in
}

// makeRoom closes a connection that is not at work: a stranger's if there is one, and among these
// the one that has been idle longest.
func (cs *connections) makeRoom(among func(*connection) bool) bool {
	var longest *connection
	for c := range cs.open {
		if c.atWork > 0 || !among(c) {
			continue
		}
		if longest == nil || longest.known && !c.known || longest.known == c.known && c.since < longest.since {
			longest = c
		}
	}
	if longest == nil {
		return false
	}
	cs.drop(longest)
	return true
}

// wait records that a connection is idle, or that a stranger's request begins.
func (cs *connections) wait(c *connection) {
	cs.turns++
	c.since = cs.turns
}

// drop closes a connection.
func (cs *connections) drop(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	delete(cs.open, c)
	if cs.from[c.address]--; cs.from[c.address] == 0 {
		delete(cs.from, c.address)
	}
	_ = c.Conn.Close() // its readers and writers are told
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.drop(c)
	return nil
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection puts a connection into the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if c, ok := c.(*connection); ok {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	return ctx
}

// answering is a request on a connection.
type answering struct {
	on    *connection
	known bool // its caller has a token
}

// answeringKey is the key of a request's answering in its context.
type answeringKey struct{}

// begin records the start of a request, and end its end. It counts as a stranger's until
// admitted is called with the request that begin returns.
func begin(w http.ResponseWriter, r *http.Request) (begun *http.Request, end func()) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // an earlier response may have set one
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return r, func() {}
	}
	a := &answering{on: c}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.atWork == 0 {
		c.known = false
		c.of.wait(c)
	}
	return r.WithContext(context.WithValue(r.Context(), answeringKey{}, a)), func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if a.known {
			c.atWork--
		}
		if c.atWork == 0 {
			c.of.wait(c)
		}
	}
}

// admitted records that the caller of a request has a token.
func admitted(r *http.Request) {
	a, ok := r.Context().Value(answeringKey{}).(*answering)
	if !ok {
		return
	}
	c := a.on
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !a.known {
		a.known, c.known = true, true
		c.atWork++
	}
}
