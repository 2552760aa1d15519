// Package http1 makes GET requests over kept connections of plain HTTP/1.1 (RFC 9112): what is
// most of a crawl of sites without TLS, for a part of what net/http costs. One goroutine does
// all of a request; net/http has two more for each connection. Whatever is not an
// answer of the plainest form is parsed by net/http itself.
//
// A Transport owns its connections. It starts no goroutine, but for a moment when a context ends or
// idle connections are looked after. Its mutex is held for moments, never over a call.
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

// The mutex of a Transport guards its hosts and their idle connections. All else of a connection belongs
// to the goroutine that asks by it.

// Limits that a request met. Their method Timeout is that of net.Error.
var (
	ErrHeader   error = &timeout{"timeout awaiting response headers"}
	ErrIdle     error = &timeout{"no byte of the body within the idle time-out"}
	ErrDownload error = &timeout{"not finished within the download time-out"}
)

type timeout struct{ text string }

func (e *timeout) Error() string { return e.text }

// Timeout makes it a net.Error with Temporary.
func (*timeout) Timeout() bool { return true }

// Temporary returns what net.Error wants beside Timeout.
func (*timeout) Temporary() bool { return true }

// Settings are what a Transport is made of. None but Permitted may be zero.
type Settings struct {
	// Dial connects to a "host:port".
	Dial func(ctx context.Context, network, hostPort string) (net.Conn, error)
	// Permitted, if not nil, is asked when there is a connection, right before the request goes out on it. Its error
	// ends the request.
	Permitted func(ctx context.Context) error
	// HeaderTimeout limits the wait from the request to the end of its answer's header, interim answers
	// included, BodyTimeout the wait for each next piece of the body.
	HeaderTimeout, BodyTimeout time.Duration
	// MaxHeaderBytes limits the header, interim answers included.
	MaxHeaderBytes int64
	// MaxPerHost limits the connections to a host and port, MaxIdle those that wait for a request, over all hosts,
	// IdleTime how long one waits.
	MaxPerHost, MaxIdle int
	IdleTime            time.Duration
}

// watchTime is how soon it is noticed that a server closed a connection that no request uses.
const watchTime = 10 * time.Second

// Transport makes requests. It is safe for concurrent use.
type Transport struct {
	settings Settings
	watch    time.Duration
	readers  sync.Pool // *bufio.Reader, of connections that wait for no answer

	mu     sync.Mutex
	hosts  map[string]*host
	oldest *conn // of the idle ones; each knows the next younger one
	newest *conn
	idle   int
	closed bool        // by CloseIdle, until the next request
	sweep  *time.Timer // runs tend
}

// host is what is known of a host and port while it has connections or requests.
type host struct {
	key   string
	seats chan struct{} // one for each request that has or makes a connection
	users int           // requests that know of it
	idle  []*conn       // the oldest first
}

// New returns a Transport.
func New(s Settings) *Transport {
	return &Transport{settings: s, hosts: map[string]*host{}, watch: watchTime}
}

// CloseIdle closes the connections that no request uses, and those in use after their requests.
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

// expired takes out the connections that wait since before; with zero, all. The caller has the mutex.
func (t *Transport) expired(before time.Time) (out []*conn) {
	for c := t.oldest; c != nil && (before.IsZero() || !c.since.After(before)); c = t.oldest {
		t.remove(c)
		out = append(out, c)
	}
	return out
}

// tend closes what has waited long enough, or was closed by the server (RFC 9112 section 9.5), and comes again for the rest.
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
		if k.conn.since.Equal(k.since) { // no request has taken it meanwhile
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

// enter makes the host known until it is left.
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

// leave ends what enter began. A connection that is alive is kept, another one closed.
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

// keep has the mutex.
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
	case t.idle > 1: // the timer waits for an older one
	case t.sweep == nil:
		t.sweep = time.AfterFunc(min(t.watch, t.settings.IdleTime), t.tend)
	default:
		t.sweep.Reset(min(t.watch, t.settings.IdleTime))
	}
}

// remove takes an idle connection out. The caller has the mutex. The oldest of all is the oldest of its
// host, the one that a request wants is the youngest: the search ends at once.
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

// forget has the mutex.
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

// stand gives a seat back.
func (h *host) stand() { <-h.seats }

// connection returns a kept connection to h or, if there is none that lives, a new one. With fresh it is new, and
// all that are kept are closed.
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

// address returns where host, of a URL of scheme http, is dialled.
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
