package service

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestPprof(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var warned strings.Builder
	stop := ServePprof(t.Context(), l, slog.New(slog.NewTextHandler(&warned, &slog.HandlerOptions{Level: slog.LevelWarn})))
	address := "http://" + l.Addr().String()
	answer, err := http.Get(address + "/debug/pprof/goroutine?debug=1") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || !strings.Contains(string(text), "goroutine profile") {
		t.Errorf("%v: %s", err, text)
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/debug/pprof/cmdline", nil)
	for host, want := range map[string]int{"127.0.0.1": http.StatusOK, "rebound.example.com": http.StatusForbidden, "localhost:1": http.StatusOK} {
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusForbidden != (want == http.StatusForbidden) {
			t.Errorf("%s: %d", host, answer.StatusCode)
		}
	}
	stop()
	if warned.Len() > 0 {
		t.Error(warned.String())
	}
}
