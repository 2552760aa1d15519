package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// The lock of connections guards all of them, and the fields of each. The goroutines of a server take it when a
// connection changes its state, and those of requests when the caller is known; never over a request.

// Limits of connections over TCP. A stranger is a caller without a valid token. A connection that is idle, or a
// stranger's, is closed when a new one needs its place, so only callers with a token can fill all places, and readers
// only some.
const (
	maxConnections = 256
	maxPerAddress  = 128
	// maxReaderRequests is the maximum number of concurrent requests of readers.
	maxReaderRequests = 64
)

// connections keeps track of the open TCP connections of a server. It is safe for concurrent use.
type connections struct {
	mu    sync.Mutex
	open  map[net.Conn]*connection
	turns uint64 // counts changes of states
}

func newConnections() *connections { return &connections{open: map[net.Conn]*connection{}} }

// connection is one of them.
type connection struct {
	address netip.Addr
	since   uint64 // value of turns at its last change: orders idle connections
	known   bool   // the caller of its last request had a token
	atWork  bool   // such a request is in progress
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// limit limits the connections of a server that does not serve yet.
func (cs *connections) limit(server *http.Server) {
	server.ConnState = cs.changed
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
}

// changed records a new state of a connection. For a new one it closes another one if necessary, or the new one if all
// others are at work.
func (cs *connections) changed(c net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	one := cs.open[c]
	switch state {
	case http.StateNew:
		one = &connection{address: addressOf(c.RemoteAddr().String())}
		if !cs.room(maxPerAddress, func(other *connection) bool { return other.address == one.address }) ||
			!cs.room(maxConnections, func(*connection) bool { return true }) {
			cs.drop(c)
			return
		}
		cs.open[c] = one
	case http.StateClosed, http.StateHijacked:
		delete(cs.open, c)
	case http.StateActive:
		if one != nil {
			one.known = false // until admitted
		}
	case http.StateIdle:
	}
	if one != nil { // it was not closed to make room
		cs.turns++
		one.since, one.atWork = cs.turns, false
	}
}

// room makes room for one more among some connections if they are most already: it closes one that is not at work, a
// stranger's if there is one, and among these the one that has been idle longest.
func (cs *connections) room(most int, among func(*connection) bool) bool {
	n := 0
	var first net.Conn
	for c, one := range cs.open {
		if !among(one) {
			continue
		}
		n++
		if best := cs.open[first]; !one.atWork &&
			(best == nil || best.known && !one.known || best.known == one.known && one.since < best.since) {
			first = c
		}
	}
	if n >= most && first != nil {
		cs.drop(first)
	}
	return n < most || first != nil
}

// drop closes a connection.
func (cs *connections) drop(c net.Conn) {
	delete(cs.open, c)
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn() // it does not wait
	}
	_ = c.Close() // its readers and writers are told
}

// admitted records that the caller of a request has a token.
func (cs *connections) admitted(r *http.Request) {
	c, _ := r.Context().Value(connectionKey{}).(net.Conn)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if one := cs.open[c]; one != nil {
		one.known, one.atWork = true, true
	}
}
