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

// Connections over TCP. One that waits for a request, or is a stranger's, who has shown no
// token, gives way to a new one. So nobody is shut out, as long as those who have a token
// are not at work on all of them, of which readers cannot have so many.
const (
	maxConnections = 256
	maxPerAddress  = 128
	// strangerTimeout bounds how long a stranger may wait, and then be answered.
	strangerTimeout = 10 * time.Second
	// maxReaderRequests of readers are answered at once.
	maxReaderRequests = 64
)

// connections are those that are open over TCP. Its methods may be called at once.
type connections struct {
	mu    sync.Mutex
	open  map[*connection]struct{}
	from  map[netip.Addr]int
	turns uint64 // how often one began to wait, or a request of a stranger
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}, from: map[netip.Addr]int{}}
}

// connection is one of them. Its fields are guarded by connections.mu.
type connection struct {
	net.Conn
	of      *connections
	address netip.Addr

	atWork  int    // requests of people with a token that are being answered
	since   uint64 // of those that are not at work, which began first
	known   bool   // its last request was of somebody with a token
	expires *time.Timer
	gone    bool
}

// listen has the connections of l bounded.
func (cs *connections) listen(l net.Listener) net.Listener { return &boundedListener{l, cs} }

type boundedListener struct {
	net.Listener
	connections *connections
}

// Accept gives the next connection that there is room for. Any other is closed.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := l.connections.admit(c); admitted != nil {
			return admitted, nil
		}
		_ = c.Close() // whoever is at its end sees that it is
	}
}

// admit takes a connection in, for which another may be closed; nil if all are at work.
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

// makeRoom closes the one that has not been at work for longest, of strangers first.
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

// wait notes that a connection has nothing to do, or that a stranger has it.
func (cs *connections) wait(c *connection) {
	if c.gone {
		return
	}
	cs.turns++
	c.since = cs.turns
	c.stopTimer()
	if c.known {
		return // the server's own limits do
	}
	since := c.since
	c.expires = time.AfterFunc(strangerTimeout, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.atWork == 0 && c.since == since {
			cs.drop(c)
		}
	})
}

func (c *connection) stopTimer() {
	if c.expires != nil {
		c.expires.Stop()
	}
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
	c.stopTimer()
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
	known bool // who makes it has a token
}

// answeringKey is the key of a request's answering in its context.
type answeringKey struct{}

// begin notes a request, which is a stranger's until admitted says otherwise, until end is
// called.
func begin(w http.ResponseWriter, r *http.Request) (noted *http.Request, end func()) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the last answer may have had one
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

// admitted notes that the caller of a request is no stranger.
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
		c.stopTimer()
	}
}
