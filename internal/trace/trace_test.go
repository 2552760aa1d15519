package trace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/sextant-crawler/sextant/internal/testing/testlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector receives spans.
type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	about string // service.name
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request v1.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "a b" || r.Header.Get("X-Other") != "c" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				c.about = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

func TestSpansAreSent(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_SERVICE_NAME", "another")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=a%20b, X-Other = c")
	ctx, end, err := Begin(t.Context(), "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	outer, page := Start(ctx, "page")
	page.Text("url.full", "http://a.test/")
	_, fetch := Start(outer, "fetch")
	fetch.Number("http.response.status_code", 200)
	fetch.End(errors.New("broken"))
	page.End(nil)
	end()
	if len(c.spans) != 2 || c.about != "another" {
		t.Fatalf("spans %v of %q", c.spans, c.about)
	}
	inner, whole := c.spans[0], c.spans[1]
	if inner.Name != "fetch" || whole.Name != "page" || string(inner.ParentSpanId) != string(whole.SpanId) ||
		string(inner.TraceId) != string(whole.TraceId) || len(whole.TraceId) != 16 || len(whole.ParentSpanId) != 0 ||
		whole.StartTimeUnixNano == 0 || whole.EndTimeUnixNano < inner.EndTimeUnixNano || whole.Kind != tracepb.Span_SPAN_KIND_INTERNAL ||
		inner.Status.Message != "broken" || whole.Attributes[0].Value.GetStringValue() != "http://a.test/" ||
		inner.Status.Code != tracepb.Status_STATUS_CODE_ERROR || len(whole.Attributes) != 1 ||
		inner.Attributes[0].Value.GetIntValue() != 200 {
		t.Errorf("%v in %v", inner, whole)
	}
}

// TestOff: without a collector nothing is recorded, and nothing allocated.
func TestOff(t *testing.T) {
	for _, environment := range [][2]string{{"A", ""}, {"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none"}} {
		t.Run(environment[0], func(t *testing.T) {
			if environment[0] != "A" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
				t.Setenv(environment[0], environment[1])
			}
			ctx, end, err := Begin(t.Context(), "1", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			if n := testing.AllocsPerRun(100, func() {
				_, span := Start(ctx, "page")
				span.Text("url.full", "x")
				span.Number("n", 1)
				span.End(nil)
				if span.On() {
					t.Error("it is recorded")
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestCollectorIsDown: it is logged once, and stops nothing.
func TestCollectorIsDown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if log := logOfSpan(t, server.URL); log == "" {
		t.Error("nothing is logged")
	}
}

// TestCollectorIsSlow: the end does not wait for a collector that does not respond, and the log warns.
func TestCollectorIsSlow(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	defer func(d time.Duration) { endTime = d }(endTime)
	endTime = time.Millisecond
	if log := logOfSpan(t, server.URL); !strings.Contains(log, "level=WARN") {
		t.Errorf("the log has %q, want a warning", log)
	}
}

// logOfSpan sends a span to a collector and returns the log.
func logOfSpan(t *testing.T, collector string) string {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector+"/v1/traces")
	log := &testlog.Buffer{}
	ctx, end, err := Begin(t.Context(), "1", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, span := Start(ctx, "page")
	span.End(nil)
	end()
	return log.String()
}

func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	for range 8 { // as deep as a page's
		ctx = context.WithoutCancel(ctx)
	}
	for b.Loop() {
		_, span := Start(ctx, "page")
		span.End(nil)
	}
}
