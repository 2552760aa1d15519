// Package http1 makes GET requests over kept connections of plain HTTP/1.1 (RFC 9112), which are most of a crawl of
// sites without TLS, at a part of the cost of net/http. One goroutine handles a request; net/http has two more for each
// connection. A response that is not of the simplest form is parsed by net/http itself.
//
// A Transport owns its connections. It starts no goroutine, except briefly when a context ends or idle connections are
// checked. Its mutex is held briefly, never over a call.
package http1

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"
)

// The mutex of a Transport guards its hosts and their idle connections. Everything else of a connection belongs to the
// goroutine whose request uses it.

// Errors for exceeded limits. Their Timeout method is that of net.Error.
var (
	ErrHeader   error = &timeout{"timeout awaiting response headers"}
	ErrIdle     error = &timeout{"no byte of the body within the idle time-out"}
	ErrDownload error = &timeout{"not finished within the download time-out"}
)

type timeout struct{ text string }

func (e *timeout) Error() string { return e.text }

// Timeout implements net.Error.
func (*timeout) Timeout() bool { return true }

// Temporary implements net.Error.
func (*timeout) Temporary() bool { return true }

// Settings configures a Transport. Only Permitted may be zero.
type Settings struct {
	// Dial connects to a "host:port".
	Dial func(ctx context.Context, network, hostPort string) (net.Conn, error)
	// Permitted, if not nil, is called once there is a connection, right before the request is sent on it. Its error
	// ends the request.
	Permitted func(ctx context.Context) error
	// HeaderTimeout limits the wait from the request to the end of its response's header, interim responses included;
	// BodyTimeout limits the wait for each next piece of the body.
	HeaderTimeout, BodyTimeout time.Duration
	// MaxHeaderBytes limits the header, interim responses included.
	MaxHeaderBytes int64
	// MaxPerHost limits the connections to a host and port, MaxIdle the idle ones over all hosts, IdleTime how long one
	// may be idle.
	MaxPerHost, MaxIdle int
	IdleTime            time.Duration
}

// watchTime is the interval at which idle connections are checked for being closed by the server.
const watchTime = 10 * time.Second

// Transport makes requests. It is safe for concurrent use.
type Transport struct {
	settings Settings
	watch    time.Duration
	readers  sync.Pool // *bufio.Reader, of connections without a response to read

	mu     sync.Mutex
	hosts  map[string]*host
	oldest *conn // of the idle ones; each links to the next younger one
	newest *conn
	idle   int
	closed bool        // by CloseIdle, until the next request
	sweep  *time.Timer // runs tend
}

// host is the state of a host and port while it has connections or requests.
type host struct {
	key   string
	seats chan struct{} // one for each request that has or makes a connection
	users int           // requests that use it
	idle  []*conn       // the oldest first
}

// New returns a Transport.
func New(s Settings) *Transport {
	return &Transport{settings: s, hosts: map[string]*host{}, watch: watchTime}
}

// CloseIdle closes the idle connections, and those in use after their requests.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	t.closed = true
	if t.sweep != nil {
		t.sweep.Stop()
	}
	all := t.expired(time.Time{})
	t.mu.Unlock()
	closeAll(all)
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		_ = c.Close() // nothing is lost with it
	}
}

// expired removes the connections that have been idle since before; all if that is zero. The caller holds the mutex.
func (t *Transport) expired(before time.Time) (out []*conn) {
	for c := t.oldest; c != nil && (before.IsZero() || !c.since.After(before)); c = t.oldest {
		t.remove(c)
		out = append(out, c)
	}
	return out
}

// tend closes connections that were idle for too long, or that the server has closed (RFC 9112 section 9.5), and
// schedules the next check.
func (t *Transport) tend() {
	type kept struct {
		conn  *conn
		since time.Time
	}
	var all []kept
	t.mu.Lock()
	out := t.expired(time.Now().Add(-t.settings.IdleTime))
	for c := t.oldest; c != nil; c = c.younger {
		all = append(all, kept{c, c.since})
	}
	t.mu.Unlock()
	for _, k := range all {
		if k.conn.isOpen() {
			continue
		}
		t.mu.Lock()
		if k.conn.since.Equal(k.since) { // no request has taken it in the meantime
			t.remove(k.conn)
			out = append(out, k.conn)
		}
		t.mu.Unlock()
	}
	closeAll(out)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.oldest != nil {
		t.sweep.Reset(min(t.watch, time.Until(t.oldest.since.Add(t.settings.IdleTime))))
	}
}

// enter returns the entry of a host, which stays until leave.
func (t *Transport) enter(key string) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = false
	h := t.hosts[key]
	if h == nil {
		h = &host{key: strings.Clone(key), seats: make(chan struct{}, t.settings.MaxPerHost)}
		t.hosts[h.key] = h
	}
	h.users++
	return h
}

// leave undoes enter. It keeps a usable connection, and closes any other.
func (t *Transport) leave(h *host, c *conn, alive bool) {
	var out []*conn
	t.mu.Lock()
	if c != nil && alive && !t.closed {
		if t.idle >= t.settings.MaxIdle {
			out = append(out, t.oldest)
			t.remove(t.oldest)
		}
		t.keep(c)
	} else if c != nil {
		out = append(out, c)
	}
	h.users--
	t.forget(h)
	t.mu.Unlock()
	closeAll(out)
}

// keep adds an idle connection. The caller holds the mutex.
func (t *Transport) keep(c *conn) {
	c.since, c.older = time.Now(), t.newest
	if t.newest != nil {
		t.newest.younger = c
	} else {
		t.oldest = c
	}
	t.newest = c
	c.host.idle = append(c.host.idle, c)
	t.idle++
	switch {
	case t.idle > 1: // the timer is set for an older one
	case t.sweep == nil:
		t.sweep = time.AfterFunc(min(t.watch, t.settings.IdleTime), t.tend)
	default:
		t.sweep.Reset(min(t.watch, t.settings.IdleTime))
	}
}

// remove removes an idle connection. The caller holds the mutex. The oldest of all is the oldest of its host, and
// requests take the youngest, so the search ends at once.
func (t *Transport) remove(c *conn) {
	if c.older != nil {
		c.older.younger = c.younger
	} else {
		t.oldest = c.younger
	}
	if c.younger != nil {
		c.younger.older = c.older
	} else {
		t.newest = c.older
	}
	c.older, c.younger, c.since = nil, nil, time.Time{}
	t.idle--
	h := c.host
	if last := len(h.idle) - 1; h.idle[last] == c {
		h.idle[last], h.idle = nil, h.idle[:last]
	} else {
		h.idle = h.idle[:copy(h.idle, h.idle[1:])]
	}
	t.forget(h)
}

// forget drops an unused host. The caller holds the mutex.
func (t *Transport) forget(h *host) {
	if h.users == 0 && len(h.idle) == 0 {
		delete(t.hosts, h.key)
	}
}

// take returns the youngest idle connection of h, nil if there is none.
func (t *Transport) take(h *host) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(h.idle) == 0 {
		return nil
	}
	c := h.idle[len(h.idle)-1]
	t.remove(c)
	return c
}

// sit waits for one of the host's seats.
func (h *host) sit(ctx context.Context, until time.Time) error {
	select {
	case h.seats <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case h.seats <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return ErrDownload
	}
}

// stand returns a seat.
func (h *host) stand() { <-h.seats }

// connection returns a kept connection to h or, if none is usable, a new one. With fresh set it is new, and all kept
// ones are closed.
func (t *Transport) connection(ctx context.Context, h *host, r *Request, fresh bool) (*conn, error) {
	for c := t.take(h); c != nil; c = t.take(h) {
		if !fresh && c.begin(r.Until, true) {
			return c, nil
		}
		_ = c.Close()
	}
	dial, cancel := context.WithDeadlineCause(ctx, r.Until, ErrDownload)
	defer cancel()
	inner, err := t.settings.Dial(dial, "tcp", address(h.key))
	if err != nil {
		if errors.Is(context.Cause(dial), ErrDownload) && ctx.Err() == nil {
			err = ErrDownload
		}
		return nil, err
	}
	c := newConn(inner, h, t)
	c.begin(r.Until, false)
	return c, nil
}

// address returns the address to dial for the host of an http URL.
func address(host string) string {
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + ":80"
}

func (t *Transport) reader(c *conn) *bufio.Reader {
	if r, _ := t.readers.Get().(*bufio.Reader); r != nil {
		r.Reset(c)
		return r
	}
	return bufio.NewReaderSize(c, readerBytes)
}
