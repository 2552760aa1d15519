package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestOpening: the listener answers while stores are being opened, by TLS where the
// service will, and is whole afterwards.
func TestOpening(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var secured *tls.Config
			if scheme == "https" {
				var s AccessSettings
				s.Certificate, s.Key = certificate(t, t.TempDir(), "crawler.example")
				access, err := NewAccess(s)
				if err != nil {
					t.Fatal(err)
				}
				secured = access.TLS()
			}
			testOpening(t, l, scheme, secured)
		})
	}
	Opening(nil, nil, nil)()
}

func testOpening(t *testing.T, l net.Listener, scheme string, secured *tls.Config) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is made here
	ask := func(scheme, path string) (int, string) {
		t.Helper()
		answer, err := client.Get(scheme + "://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(b)
	}
	for range 2 {
		state := Starting("stores are being opened")
		done := Opening(l, secured, func() ReadinessProblem { return state })
		if code, body := ask(scheme, "/readyz"); code != http.StatusServiceUnavailable || body != "not ready\nstarting: stores are being opened\n" {
			t.Errorf("/readyz: %d %s", code, body)
		}
		if code, _ := ask(scheme, "/healthz"); code != http.StatusOK {
			t.Errorf("/healthz: %d", code)
		}
		if code, body := ask(scheme, "/status"); code != http.StatusServiceUnavailable || !strings.Contains(body, codeNotReady) {
			t.Errorf("/status: %d %s", code, body)
		}
		for _, standby := range []string{"0", "1"} {
			code, body := ask(scheme, "/metrics")
			if code != http.StatusOK || !strings.Contains(body, "\nsextant_ready 0\n") ||
				!strings.Contains(body, "\nsextant_standing_by "+standby+"\n") {
				t.Errorf("/metrics of %s: %d %s", state.Code, code, body)
			}
			state = StandingBy("node a crawls")
		}
		done()
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	if code, _ := ask("http", "/readyz"); code != http.StatusTeapot {
		t.Errorf("the next server: %d", code)
	}
	_ = server.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// TestClosing: a socket that Run has served tells that the service is stopping.
func TestClosing(t *testing.T) {
	data := t.TempDir()
	t.Chdir(data) // a socket's path is short
	owner, err := net.Listen("unix", SocketPath("."))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- NewServer(nil, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler)).Run(ctx, nil, owner)
	}()
	client := dial(t, ".", "")
	if err := client.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	closed := Closing(owner)
	client = dial(t, ".", "") // also while stores are being closed
	if err := client.Ready(t.Context()); err == nil || err.Error() != "not ready\nstopping: stores are being closed" {
		t.Errorf("Ready: %v", err)
	}
	for _, name := range []string{"reload", "pause"} {
		err := client.Post(t.Context(), "/"+name, nil, nil, new(struct{}))
		if err == nil || err.Error() != "the service is stopping: stores are being closed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	closed()
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	if c, err := Dial(t.Context(), ".", ""); c != nil || err != nil {
		t.Error("somebody answers on a closed socket")
	}
}
