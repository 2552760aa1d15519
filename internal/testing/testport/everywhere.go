package testport

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Everywhere serves at each address of this machine, so that each is a host, until the test ends. It returns the port.
func Everywhere(t testing.TB, handler http.Handler) (port string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return port
}
