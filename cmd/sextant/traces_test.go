package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestTraces crawls a page and pushes it, with a collector in the environment: each has a trace with its parts.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	spans := map[string][]*tracepb.Span{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" {
			t.Errorf("%s gets the header of a trace", r.URL)
		}
		if r.URL.Path != "/v1/traces" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<title>Page</title>Its text"))
			return
		}
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range request.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name] = append(spans[s.Name], s)
				}
			}
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "CrawlConfig.xml")
	testdir.Write(t, path, strings.ReplaceAll(`<CrawlConfig>
<Crawler name="a" throttleTimeMS="0" crawlSitemaps="false"><Root url="SITE/page"/>
<Push kind="webhook" url="SITE/hook"/></Crawler></CrawlConfig>`, "SITE", server.URL))
	cmd := process(t, "run", "--once", "--listen=off", "-c", path, "-d", filepath.Join(dir, "data"))
	cmd.Env = append(cmd.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run --once: %v\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	pages := map[string]*tracepb.Span{}
	for _, s := range spans["page"] {
		pages[string(s.SpanId)] = s
	}
	for name, want := range map[string]int{"fetch": 2, "read": 1, "store": 1} {
		for _, s := range spans[name] {
			if parent := pages[string(s.ParentSpanId)]; parent == nil || parent.EndTimeUnixNano < s.EndTimeUnixNano {
				t.Errorf("%s is not in a page: %v", name, s)
			}
		}
		if len(spans[name]) != want {
			t.Errorf("%d spans %s, want %d", len(spans[name]), name, want)
		}
	}
	if len(spans["push"]) == 0 || len(spans["page"]) < 2 {
		t.Errorf("%d spans push, %d page", len(spans["push"]), len(spans["page"]))
	}
}
