package main

import (
	"strings"
	"testing"
)

func TestPprofRefuses(t *testing.T) {
	for _, address := range []string{"6060", "0.0.0.0:6060", "example.com:6060", ":6060"} {
		var stderr strings.Builder
		if code := run(t.Context(), []string{"sextant", "run", "--pprof", address}, strings.NewReader(""), &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "--pprof") {
			t.Errorf("%s: %d %s", address, code, stderr.String())
		}
	}
}
