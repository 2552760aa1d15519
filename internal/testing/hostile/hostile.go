// Package hostile provides servers that each misbehave in a different way, over real sockets.
// testdata/hostile/servers.md describes their behaviour, and the expected result.
//
// The servers own their goroutines and connections, which end with the test; a mutex guards the list of connections.
package hostile

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// Each server has a goroutine that accepts, and one for each connection; the end of the test closes all connections,
// and waits for the goroutines. Servers.mu guards the list of connections.

// Servers is the set of running servers.
type Servers struct {
	URLs     map[string]string // by the name of the case
	Resolver *net.Resolver     // resolves the names in the URLs
	Roots    *x509.CertPool    // of servers with a good certificate
	// Exempt are their "host:port".
	Exempt []string

	mu          sync.Mutex
	conns       map[net.Conn]bool
	ended       sync.WaitGroup
	certificate tls.Certificate
}

// behaviour handles a connection, after a request was read or without.
type behaviour func(c net.Conn)

// Start runs the servers until the end of the test, which waits for their goroutines.
func Start(t testing.TB) *Servers {
	t.Helper()
	known := httptest.NewTLSServer(http.NotFoundHandler())
	known.Close() // only its certificate is needed: for 127.0.0.1 and example.com
	s := &Servers{
		URLs: map[string]string{}, Roots: x509.NewCertPool(), conns: map[net.Conn]bool{},
		certificate: known.TLS.Certificates[0],
	}
	s.Roots.AddCert(known.Certificate())
	var listeners []net.Listener
	listen := func(b behaviour) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		s.ended.Go(func() { s.accept(l, b) })
		return l.Addr().String()
	}
	for name, b := range http1() {
		s.URLs[name] = "http://" + listen(afterRobots(b)) + "/"
	}
	for name, b := range unread() {
		s.URLs[name] = "http://" + listen(b) + "/"
	}
	for name, b := range s.tls() {
		s.URLs[name] = "https://" + listen(b) + "/"
	}
	for name, b := range s.http2() {
		s.URLs[name] = "https://" + listen(b) + "/"
	}
	wrongHost := listen(s.secure(nil, ok))
	s.URLs["wrong host in the certificate"] = "https://localhost" + port(wrongHost) + "/"
	s.URLs["nobody listens"] = "http://" + testport.Reserve(t) + "/"
	plain := listen(afterRobots(text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")))
	names := zone()
	for name := range names {
		s.URLs[strings.TrimSuffix(name, ".test.")] = "http://" + strings.TrimSuffix(name, ".") + port(plain) + "/"
	}
	s.Resolver = resolver(names)
	for _, u := range s.URLs {
		_, rest, _ := strings.Cut(u, "://")
		s.Exempt = append(s.Exempt, strings.TrimSuffix(rest, "/"))
	}
	t.Cleanup(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.ended.Wait()
	})
	return s
}

// Names returns the names of the cases, sorted.
func (s *Servers) Names() []string { return slices.Sorted(maps.Keys(s.URLs)) }

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return ":" + p
}

func (s *Servers) accept(l net.Listener, b behaviour) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.ended.Go(func() {
			b(c)
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// buffered is a connection from which a request was read.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// afterRobots responds to robots.txt like a server without one, and otherwise like b.
func afterRobots(b behaviour) behaviour {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if req.URL.Path != "/robots.txt" {
				b(buffered{c, r})
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	}
}

// text responds with a text.
func text(s string) behaviour { return func(c net.Conn) { _, _ = io.WriteString(c, s) } }

var ok = text("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok")

// then responds with s and continues with more.
func then(s string, more behaviour) behaviour {
	return func(c net.Conn) {
		if _, err := io.WriteString(c, s); err == nil {
			more(c)
		}
	}
}

// stall waits until the peer hangs up.
func stall(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// reset makes the close a reset.
func reset(c net.Conn) {
	if b, ok := c.(buffered); ok {
		c = b.Conn
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// endless writes head and then block repeatedly.
func endless(head, block string) behaviour {
	block = strings.Repeat(block, 1+16384/len(block))
	return then(head, func(c net.Conn) {
		var err error
		for err == nil {
			_, err = io.WriteString(c, block)
		}
	})
}

// Case is a row of the list.
type Case struct {
	Name string
	// Fetch is the fault, or the status with the length of the body: "200 2".
	Fetch string
	// CloudView and Cautious are the resulting classes, by error policy.
	CloudView, Cautious string
	// Limit is the setting that ends the request: connect, tls, first byte, idle, download, or none.
	Limit string
	// Memory bounds in MiB the memory that both ends allocate during the request.
	Memory string
}

// OneOf reports whether got is one of the values in a cell of the list: "a or b".
func OneOf(got, want string) bool { return slices.Contains(strings.Split(want, " or "), got) }

// Read reads the table in a list.
func Read(t testing.TB, file string) []Case {
	t.Helper()
	var all []Case
	for line := range strings.Lines(string(testdir.Read(t, file))) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 6 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "server" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		all = append(all, Case{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]})
	}
	return all
}
