// Package trace records the way of pages and push requests as spans of OpenTelemetry, if the environment names a
// collector (OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). A context carries the tracer; without
// one, a span costs a lookup in the context.
//
// The global provider of OpenTelemetry stays unset, so that libraries record nothing. The SDK has a goroutine that
// sends spans in batches; the function that Begin returns waits for it.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// endTime bounds the sending of the last spans. Tests shorten it.
var endTime = 5 * time.Second

// scopeName names the program among the libraries that make spans.
const scopeName = "github.com/sextant-crawler/sextant"

type tracerKey struct{}

// wanted reports whether the environment asks for traces.
func wanted() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Begin returns a context whose spans are sent as the environment says, and a function that sends the last ones and
// ends. Without a collector the context is unchanged.
func Begin(ctx context.Context, version string, log *slog.Logger) (context.Context, func(), error) {
	if !wanted() {
		return ctx, func() {}, nil
	}
	exporter, err := newExporter()
	if err != nil {
		return ctx, nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "sextant"),
		attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return ctx, nil, err
	}
	var told atomic.Bool
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !told.Swap(true) {
			log.Warn("traces cannot be sent; further errors of this kind are logged at the level debug", "error", err)
			return
		}
		log.Debug("traces cannot be sent", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	end := func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if err := provider.Shutdown(ending); err != nil {
			otel.Handle(fmt.Errorf("the last ones, within %s: %w", endTime, err))
		}
	}
	return context.WithValue(ctx, tracerKey{}, provider.Tracer(scopeName)), end, nil
}

// Span is a part of the way. The zero value records nothing.
type Span struct{ span trace.Span }

// Start begins a span, below that of the context.
func Start(ctx context.Context, name string) (context.Context, Span) {
	tracer, ok := ctx.Value(tracerKey{}).(trace.Tracer)
	if !ok {
		return ctx, Span{}
	}
	ctx, span := tracer.Start(ctx, name)
	return ctx, Span{span}
}

// On reports whether the span is recorded.
func (s Span) On() bool { return s.span != nil }

// Text sets an attribute.
func (s Span) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number sets an attribute.
func (s Span) Number(key string, value int) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// End ends the span, with an error or nil.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}
