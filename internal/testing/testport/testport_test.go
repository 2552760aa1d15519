package testport

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestReserve: no server listens on the address until one that was given it does, repeatedly; and the system assigns
// the port to no other socket.
func TestReserve(t *testing.T) {
	address := Reserve(t)
	refused := func() {
		t.Helper()
		if c, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("%v, %v; want that the connection is refused", c, err)
		}
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	refused()
	for range 3 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err := errors.Join(err, accepted.Close(), l.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		refused()
	}
	// All ports that can be had: the reserved one is not among them.
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 500 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			break
		}
		if held = append(held, l); l.Addr().String() == address {
			t.Fatal("the reserved port was given to somebody else")
		}
	}
}
