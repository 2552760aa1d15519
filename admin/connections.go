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

// Connections over TCP. One that waits for its next request, or for the rest of one's
// header, gives way to a new one; whoever has shown no token may not wait long.
const (
	maxConnections = 256
	maxPerAddress  = 128
	strangerWaits  = 10 * time.Second
	// strangerTimeout bounds how slowly a stranger may send a body, or take an answer.
	strangerTimeout = 10 * time.Second
)

// connections are those that are open over TCP. Its methods may be called at once.
type connections struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	from   map[netip.Addr]int
	waited uint64 // how often one began to wait
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}, from: map[netip.Addr]int{}}
}

// connection is one of them. Its fields are guarded by connections.mu.
type connection struct {
	net.Conn
	of      *connections
	address netip.Addr

	answered int    // requests that are being answered; none: it waits
	since    uint64 // of those that wait, which began first
	known    bool   // its last request came with a token, or of somebody signed in
	expires  *time.Timer
	gone     bool
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

// makeRoom closes the one that has waited longest, of strangers first.
func (cs *connections) makeRoom(among func(*connection) bool) bool {
	var longest *connection
	for c := range cs.open {
		if c.answered > 0 || !among(c) {
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

// wait notes that a connection has nothing to do.
func (cs *connections) wait(c *connection) {
	cs.waited++
	c.since = cs.waited
	if c.known {
		return // the server's own limits do
	}
	since := c.since
	c.expires = time.AfterFunc(strangerWaits, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.answered == 0 && c.since == since {
			cs.drop(c)
		}
	})
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
	if c.expires != nil {
		c.expires.Stop()
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

// begin notes that a request is being answered, until end is called. It may take no
// longer than a stranger's.
func begin(w http.ResponseWriter, r *http.Request) (end func()) {
	setDeadlines(w, time.Now().Add(strangerTimeout))
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answered++
	c.known = false
	if c.expires != nil {
		c.expires.Stop()
	}
	return func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if c.answered--; c.answered == 0 && !c.gone {
			c.of.wait(c)
		}
	}
}

// admitCaller gives a request that is no stranger's the time that it needs.
func admitCaller(w http.ResponseWriter, r *http.Request, caller Caller) {
	if caller.Role < Reader {
		return
	}
	setDeadlines(w, time.Time{})
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.known = true
	}
}

// setDeadlines bounds how long a body may take to come, and an answer to be taken.
func setDeadlines(w http.ResponseWriter, t time.Time) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(t) // not supported inside of the process
	_ = control.SetWriteDeadline(t)
}
