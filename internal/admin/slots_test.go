package admin

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// slowRequest begins a request whose body never comes, and returns once the service waits
// for it.
func (d *door) slowRequest(t *testing.T, path, token string, length int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, token, length)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%s is answered with %q, %v", path, line, err)
	}
	return c
}

// TestSlowBodies: requests with slow bodies block no others, neither over TCP nor over the socket.
func TestSlowBodies(t *testing.T) {
	d := openDoor(t, nil, nil)
	for range 5 {
		d.slowRequest(t, "/api/v1/test", d.reader, 100)
	}
	const cases = `{"cases":"http://a.test/ crawl"}`
	for who, token := range map[string]string{"a reader": d.reader, "the operator": d.operator} {
		if answer, body := d.do(t, d.request(t, "POST", "/api/v1/test", token, cases)); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", who, answer.StatusCode, body)
		}
	}
	owner := dial(t, d.data, "")
	if _, err := asked[Verification](t, owner, "/verify"); err != nil {
		t.Errorf("over the socket: %v", err)
	}
}

// TestLargeBodies: of the readers' large bodies so many are read at once, which is told,
// and the operator's are read beside them.
func TestLargeBodies(t *testing.T) {
	var s *Server
	d := openDoor(t, nil, func(made *Server) { s = made })
	large := `{"cases":"` + strings.Repeat(" ", smallBody) + `"}`
	for range maxBodiesReaders {
		c := d.slowRequest(t, "/api/v1/test", d.reader, len(large)+1)
		if _, err := c.Write([]byte(large)); err != nil {
			t.Fatal(err)
		}
	}
	for s.bodies.readers.Load() < maxBodiesReaders {
		runtime.Gosched() // they are on their way
	}
	if answer, body := d.do(t, d.request(t, "POST", "/api/v1/test", d.reader, large)); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"busy"`) {
		t.Errorf("another reader: %d %s", answer.StatusCode, body)
	}
	if answer, body := d.do(t, d.request(t, "POST", "/api/v1/test", d.operator, large)); answer.StatusCode != http.StatusOK {
		t.Errorf("the operator: %d %s", answer.StatusCode, body)
	}
	if answer, body := d.do(t, d.request(t, "POST", "/api/v1/test", d.reader, `{"cases":""}`)); answer.StatusCode != http.StatusOK {
		t.Errorf("a small one: %d %s", answer.StatusCode, body)
	}
	if answer, _ := d.do(t, d.request(t, "POST", "/api/v1/test", d.reader, strings.Repeat(" ", maxRequestBytes+1))); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a reader's that is too large: %d", answer.StatusCode)
	}
}

// TestSlotsInOrder: long requests of readers leave room for the operator's, and those over
// TCP for the socket's.
func TestSlotsInOrder(t *testing.T) {
	var s *Server
	d := openDoor(t, nil, func(made *Server) { s = made })
	owner := dial(t, d.data, "")
	for running, want := range []string{"reader operator socket", "reader operator socket", "operator socket", "socket", ""} {
		var may []string
		for _, who := range []struct{ name, token string }{{"reader", d.reader}, {"operator", d.operator}} {
			switch answer, body := d.do(t, d.request(t, "GET", "/api/v1/verify", who.token, "")); answer.StatusCode {
			case http.StatusOK:
				may = append(may, who.name)
			case http.StatusServiceUnavailable:
			default:
				t.Errorf("%s: %d %s", who.name, answer.StatusCode, body)
			}
		}
		if _, err := asked[Verification](t, owner, "/verify"); err == nil {
			may = append(may, "socket")
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("beside %d: %q may, want %q", running, got, want)
		}
		s.heavy.take(maxHeavy)
	}
}
