package main

import (
	"context"
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
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- servePprof(ctx, l) }()
	address := "http://" + l.Addr().String()
	if text, err := read(address + "/debug/pprof/goroutine?debug=1"); err != nil || !strings.Contains(text, "goroutine profile") {
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
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPprofRefuses(t *testing.T) {
	for _, address := range []string{"6060", "0.0.0.0:6060", "example.com:6060", ":6060"} {
		var stderr strings.Builder
		if code := run(t.Context(), []string{"sextant", "run", "--pprof", address}, strings.NewReader(""), &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "--pprof") {
			t.Errorf("%s: %d %s", address, code, stderr.String())
		}
	}
}
