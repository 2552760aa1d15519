package testport

import (
	"net"
	"os"
	"testing"
)

// TestWhose: of two ends of a connection, both of this process, each is found; one that is closed, and one of another
// process, is not.
func TestWhose(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	want := func(pid int, want bool) {
		t.Helper()
		if is, err := Whose(pid, c.LocalAddr(), c.RemoteAddr()); is != want || err != nil {
			t.Errorf("%v from %v: %t, %v", c.LocalAddr(), c.RemoteAddr(), is, err)
		}
	}
	want(os.Getpid(), true)
	if os.Getuid() == 0 { // who may look at others
		want(1, false)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	want(os.Getpid(), false)
}
