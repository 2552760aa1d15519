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

// TestProbe: a kept connection that the server closed is asked nothing any more, and what the server said
// on it without being asked is no answer.
func TestProbe(t *testing.T) {
	for name, then := range map[string]func(net.Conn){
		"closed":      func(c net.Conn) { _ = c.Close() },
		"says more":   func(c net.Conn) { _, _ = io.WriteString(c, ok+"Content-Length: 4\r\n\r\nevil") },
		"only a byte": func(c net.Conn) { _, _ = io.WriteString(c, "H") },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var conns []net.Conn
			asked := map[int]int{}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					mu.Lock()
					n := len(conns)
					conns = append(conns, c)
					mu.Unlock()
					serving.Go(func() {
						defer func() { _ = c.Close() }()
						for r := bufio.NewReader(c); ; {
							if _, err := http.ReadRequest(r); err != nil {
								return
							}
							mu.Lock()
							asked[n]++
							mu.Unlock()
							_, _ = io.WriteString(c, page)
						}
					})
				}
			})
			var d net.Dialer
			var last net.Conn
			tr := New(settings(func(ctx context.Context, network, _ string) (c net.Conn, err error) {
				last, err = d.DialContext(ctx, network, l.Addr().String())
				return last, err
			}))
			for range 2 {
				if got, err := get(t.Context(), tr, "a.test"); err != nil || got != "body" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			mu.Lock()
			then(conns[0])
			mu.Unlock()
			awaitArrival(t, last)
			if got, err := get(t.Context(), tr, "a.test"); err != nil || got != "body" {
				t.Errorf("%q, %v", got, err)
			}
			tr.CloseIdle()
			_ = l.Close()
			serving.Wait()
			if len(conns) != 2 || asked[0] != 2 || asked[1] != 1 {
				t.Errorf("%d connections, asked %v; want 2, asked twice and once", len(conns), asked)
			}
		})
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
