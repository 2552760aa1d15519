package admin

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// dial opens a connection that says nothing yet.
func (d *door) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask makes a request on a connection and reads its answer, which leaves it open.
func ask(t *testing.T, c net.Conn, path, token string) error {
	t.Helper()
	if token != "" {
		token = "Authorization: Bearer " + token + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, token); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", path, answer.StatusCode)
	}
	return err
}

// TestIdleConnections: connections that are silent, incomplete or answered make room for others; those at work stay.
func TestIdleConnections(t *testing.T) {
	for name, idle := range map[string]func(i int, c net.Conn) error{
		"nothing": func(int, net.Conn) error { return nil },
		"half of a header": func(_ int, c net.Conn) error {
			_, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: loc")
			return err
		},
		"an answer": func(i int, c net.Conn) error {
			if i > requestsBurst/2 { // more of them are sent away
				return nil
			}
			return ask(t, c, "/healthz", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDoor(t, nil, nil)
			const cases = `{"cases":""}`
			atWork := d.slowRequest(t, "/api/v1/test", d.reader, len(cases))
			signedIn := d.dial(t)
			if err := ask(t, signedIn, "/api/v1/hosts", d.reader); err != nil {
				t.Fatal(err)
			}
			for i := range maxConnections + 10 {
				if err := idle(i, d.dial(t)); err != nil {
					t.Fatal(err)
				}
			}
			soon, cancel := context.WithTimeout(t.Context(), headerTimeout/2) // before any is closed for its age
			defer cancel()
			if answer, body := d.do(t, d.request(t, "GET", "/healthz", "", "").WithContext(soon)); answer.StatusCode != http.StatusOK {
				t.Errorf("healthz: %d %s", answer.StatusCode, body)
			}
			if err := ask(t, signedIn, "/api/v1/hosts", d.reader); err != nil {
				t.Errorf("a connection with a token that waited: %v", err)
			}
			if _, err := io.WriteString(atWork, cases); err != nil {
				t.Error(err)
			}
			if answer, err := http.ReadResponse(bufio.NewReader(atWork), nil); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("a request that went on: %v, %v", answer, err)
			}
		})
	}
}

// remoteConn is an end of a pipe that seems to come from an address.
type remoteConn struct {
	net.Conn
	remote string
}

func (c remoteConn) RemoteAddr() net.Addr { return remoteAddr(c.remote) }

type remoteAddr string

func (remoteAddr) Network() string  { return "tcp" }
func (a remoteAddr) String() string { return string(a) }

// admitFrom opens a connection from an address; closed reports whether it was closed.
func admitFrom(cs *connections, remote string) (c net.Conn, closed func() bool) {
	near, far := net.Pipe()
	c = remoteConn{near, remote}
	cs.changed(c, http.StateNew)
	return c, func() bool {
		_ = far.SetReadDeadline(time.Now().Add(-time.Second))
		_, err := far.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
}

// from counts the open connections by address.
func (cs *connections) from() map[netip.Addr]int {
	from := map[netip.Addr]int{}
	for _, c := range cs.open {
		from[c.address]++
	}
	return from
}

// TestConnectionsPerAddress: an address that has all that it may closes its own, oldest
// first, and not those of others.
func TestConnectionsPerAddress(t *testing.T) {
	cs := newConnections()
	_, otherClosed := admitFrom(cs, "192.0.2.1:1")
	var closed []func() bool
	for i := range maxPerAddress + 2 {
		c, f := admitFrom(cs, fmt.Sprintf("[2001:db8::%x]:%d", i, i)) // of one network
		if cs.open[c] == nil {
			t.Fatalf("%d is refused", i)
		}
		closed = append(closed, f)
	}
	for i, f := range closed {
		if want := i < 2; f() != want {
			t.Errorf("%d is closed: %v", i, !want)
		}
	}
	if otherClosed() || len(cs.open) != maxPerAddress+1 || len(cs.from()) != 2 {
		t.Errorf("%d are open from %d addresses", len(cs.open), len(cs.from()))
	}
}

// request begins a request on a connection, of somebody with a role.
func request(t *testing.T, cs *connections, c net.Conn, role Role) (end func()) {
	cs.changed(c, http.StateActive)
	if role >= Reader {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), connectionKey{}, c), "GET", "/", nil)
		cs.admitted(r)
		cs.admitted(r) // within it another one is made
	}
	return func() { cs.changed(c, http.StateIdle) }
}

// TestConnectionsAtWork: while all are at work a new one is refused; otherwise strangers are closed first, then the
// longest idle one.
func TestConnectionsAtWork(t *testing.T) {
	cs := newConnections()
	var all []net.Conn
	var closed []func() bool
	var ends []func()
	for i := range maxConnections {
		c, f := admitFrom(cs, fmt.Sprintf("192.0.2.%d:1", i%200))
		all, closed, ends = append(all, c), append(closed, f), append(ends, request(t, cs, c, Reader))
	}
	if c, closed := admitFrom(cs, "198.51.100.1:1"); cs.open[c] != nil || !closed() {
		t.Error("one too many is let in")
	}
	for _, i := range []int{2, 0, 1, 4} {
		ends[i]()
	}
	request(t, cs, all[1], Nobody)()
	request(t, cs, all[4], Local) // is being answered
	for _, i := range []int{1, 4, 2, 0, -1} {
		if i >= 0 && closed[i]() {
			t.Errorf("%d is closed already", i)
		}
		c, _ := admitFrom(cs, "198.51.100.1:1")
		if (cs.open[c] == nil) != (i < 0) || i >= 0 && !closed[i]() {
			t.Fatalf("%d is not closed for a new one", i)
		}
		if i >= 0 {
			ends[i]() // the server sees later that it is closed
			request(t, cs, c, Operator)
		}
	}
	for _, c := range all {
		cs.changed(c, http.StateClosed)
	}
	if len(cs.open) != 4 || cs.from()[addressOf("198.51.100.1:1")] != 4 {
		t.Errorf("%d are open from %d addresses", len(cs.open), len(cs.from()))
	}
}

// TestReadersLeaveRoom: readers whose requests go on keep nobody out.
func TestReadersLeaveRoom(t *testing.T) {
	d := openDoor(t, nil, nil)
	for range maxReaderRequests {
		d.slowRequest(t, "/api/v1/test", d.reader, 10)
	}
	for path, c := range map[string]struct {
		token  string
		status int
	}{"/healthz": {"", 200}, "/api/v1/status": {d.operator, 200}, "/api/v1/hosts": {d.reader, 503}} {
		if answer, body := d.do(t, d.request(t, "GET", path, c.token, "")); answer.StatusCode != c.status {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}

// TestBodyThatBreaksOff is no failure of the service.
func TestBodyThatBreaksOff(t *testing.T) {
	d := openDoor(t, nil, nil)
	for _, path := range []string{"/api/v1/check", "/api/v1/add"} {
		c := d.slowRequest(t, path, d.operator, 10).(*net.TCPConn)
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %v, %v", path, answer, err)
		}
	}
	if strings.Contains(d.log.String(), "level=ERROR") {
		t.Errorf("the log: %s", d.log.String())
	}
}

// TestIdleConnectionsSecured: by TLS, and by HTTP/2, too.
func TestIdleConnectionsSecured(t *testing.T) {
	cert, key := certificate(t, t.TempDir(), "crawler.example")
	d := openDoor(t, func(s *AccessSettings) { s.Certificate, s.Key = cert, key }, nil)
	d.url = strings.Replace(d.url, "http://", "https://", 1)
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is made here
	t.Cleanup(client.CloseIdleConnections)
	d.client = client
	get := func(path, token string) *http.Response {
		t.Helper()
		soon, cancel := context.WithTimeout(t.Context(), headerTimeout/2)
		defer cancel()
		answer, body := d.do(t, d.request(t, "GET", path, token, "").WithContext(soon))
		if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
			t.Errorf("%s: %s %d %s", path, answer.Proto, answer.StatusCode, body)
		}
		return answer
	}
	get("/api/v1/hosts", d.reader)
	for range maxConnections + 10 {
		c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
	answer, body := d.do(t, d.request(t, "GET", "/api/v1/hosts", d.reader, "").WithContext(httptrace.WithClientTrace(t.Context(), trace)))
	if answer.StatusCode != http.StatusOK || !reused {
		t.Errorf("on the connection that waited: %d %s, reused %v", answer.StatusCode, body, reused)
	}
	client.CloseIdleConnections()
	get("/healthz", "")
}
