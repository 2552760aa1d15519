package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// sendTime bounds a request to the collector, and maxReply what is read of its response.
const (
	sendTime = 10 * time.Second
	maxReply = 64 << 10
)

// exporter sends spans by OTLP over HTTP with protobuf (opentelemetry.io/docs/specs/otlp). OpenTelemetry's own exporter
// would link gRPC. Spans that cannot be sent are dropped.
type exporter struct {
	client *http.Client
	url    string
	header http.Header
}

// newExporter reads the environment, as opentelemetry.io/docs/specs/otel/protocol/exporter defines it.
func newExporter() (*exporter, error) {
	address := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if address == "" {
		address = strings.TrimSuffix(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "/") + "/v1/traces"
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the collector of traces %q: write a URL such as http://127.0.0.1:4318", address)
	}
	e := &exporter{url: address, header: http.Header{"Content-Type": {"application/x-protobuf"}}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	e.client = &http.Client{Transport: transport, Timeout: sendTime}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			key, value, ok := strings.Cut(pair, "=")
			if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
				e.header.Set(strings.TrimSpace(key), value)
			}
		}
	}
	return e, nil
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(encode(spans)))
	if err != nil {
		return err
	}
	request.Header = e.header.Clone()
	reply, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply)) // so that the connection is used again
	if reply.StatusCode/100 != 2 {
		return fmt.Errorf("the collector of traces responds with status %d", reply.StatusCode)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// message is an encoded message of protobuf.
type message []byte

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m message) varint(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) time(field protowire.Number, t time.Time) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), uint64(t.UnixNano())) //nolint:gosec // after 1970
}

func (m message) attributes(field protowire.Number, all []attribute.KeyValue) message {
	for _, a := range all {
		var value message
		if a.Value.Type() == attribute.INT64 {
			value = value.varint(3, uint64(a.Value.AsInt64())) //nolint:gosec // as protobuf has it
		} else {
			value = value.bytes(1, []byte(a.Value.String()))
		}
		m = m.bytes(field, message(nil).bytes(1, []byte(a.Key)).bytes(2, value))
	}
	return m
}

// encode returns an ExportTraceServiceRequest. The numbers are those of its fields. All spans have one resource.
func encode(spans []sdktrace.ReadOnlySpan) []byte {
	scope := message(nil).bytes(1, message(nil).bytes(1, []byte(scopeName)))
	for _, s := range spans {
		trace, id := s.SpanContext().TraceID(), s.SpanContext().SpanID()
		span := message(nil).bytes(1, trace[:]).bytes(2, id[:])
		if parent := s.Parent().SpanID(); parent.IsValid() {
			span = span.bytes(4, parent[:])
		}
		span = span.bytes(5, []byte(s.Name())).varint(6, uint64(s.SpanKind())) //nolint:gosec // a small number
		span = span.time(7, s.StartTime()).time(8, s.EndTime()).attributes(9, s.Attributes())
		if s.Status().Code == codes.Error {
			span = span.bytes(15, message(nil).bytes(2, []byte(s.Status().Description)).varint(3, 2))
		}
		scope = scope.bytes(2, span)
	}
	resource := message(nil).attributes(1, spans[0].Resource().Attributes())
	return message(nil).bytes(1, message(nil).bytes(1, resource).bytes(2, scope))
}
