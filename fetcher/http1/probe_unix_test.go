//go:build unix

package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

// overTCP is a server in the kernel, each of whose connections answers each request with a page.
type overTCP struct {
	Listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	asked    map[int]int // requests by the number of their connection
	serving  sync.WaitGroup
	dialled  net.Conn // the last one, at the other end
}

func listen(t *testing.T) *overTCP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &overTCP{Listener: l, asked: map[int]int{}}
	s.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			n := len(s.conns)
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.serving.Go(func() { s.serve(c, n) })
		}
	})
	return s
}

func (s *overTCP) serve(c net.Conn, n int) {
	defer func() { _ = c.Close() }()
	for r := bufio.NewReader(c); ; {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		s.mu.Lock()
		s.asked[n]++
		s.mu.Unlock()
		_, _ = io.WriteString(c, page)
	}
}

func (s *overTCP) dial(ctx context.Context, network, _ string) (c net.Conn, err error) {
	s.dialled, err = new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	return s.dialled, err
}

// TestProbe: a kept connection that the server closed is asked nothing any more, and what the server said
// on it without being asked is no answer.
func TestProbe(t *testing.T) {
	for name, then := range map[string]func(net.Conn){
		"closed":      func(c net.Conn) { _ = c.Close() },
		"says more":   func(c net.Conn) { _, _ = io.WriteString(c, ok+"Content-Length: 4\r\n\r\nevil") },
		"only a byte": func(c net.Conn) { _, _ = io.WriteString(c, "H") },
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			tr := New(settings(s.dial))
			for range 2 {
				if got, err := get(t.Context(), tr, "a.test"); err != nil || got != "body" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			s.mu.Lock()
			then(s.conns[0])
			s.mu.Unlock()
			awaitArrival(t, s.dialled)
			if got, err := get(t.Context(), tr, "a.test"); err != nil || got != "body" {
				t.Errorf("%q, %v", got, err)
			}
			tr.CloseIdle()
			_ = s.Listener.Close()
			s.serving.Wait()
			if len(s.conns) != 2 || s.asked[0] != 2 || s.asked[1] != 1 {
				t.Errorf("%d connections, asked %v; want 2, asked twice and once", len(s.conns), s.asked)
			}
		})
	}
}

// TestClosedWhileIdle: a connection that the server closed is closed here too, without a request; one that is open
// stays.
func TestClosedWhileIdle(t *testing.T) {
	s, open := listen(t), listen(t)
	tr := New(settings(func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		if hostPort == "open.test:80" {
			return open.dial(ctx, network, hostPort)
		}
		return s.dial(ctx, network, hostPort)
	}))
	tr.watch = time.Millisecond
	for _, host := range []string{"a.test", "open.test"} {
		if _, err := get(t.Context(), tr, host); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	_ = s.conns[0].Close()
	s.mu.Unlock()
	for tr.knows("a.test") {
		time.Sleep(time.Millisecond)
	}
	if !tr.knows("open.test") {
		t.Error("an open connection was closed")
	}
	tr.CloseIdle()
	for _, s := range []*overTCP{s, open} {
		_ = s.Listener.Close()
		s.serving.Wait()
	}
}

// awaitArrival waits until the other end's doing has come to c, and leaves it there.
func awaitArrival(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for there := false; !there; {
		if err := raw.Control(func(fd uintptr) {
			var b [1]byte
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
			there = n > 0 || n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
		}); err != nil {
			t.Fatal(err)
		}
		if !there {
			time.Sleep(time.Millisecond)
		}
	}
}
