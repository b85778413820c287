// Package tracing makes the spans of a trace: what a request has caused, from its answer through the queue and the
// worker to each delivery. The names of spans and attributes are those of OpenTelemetry's semantic conventions where
// these have one; docs/operations.md, «Traces», lists them, and a test compares it with what a receiver gets.
//
// A trace passes from process to process as the text of W3C Trace Context (traceparent). This package must not know
// where spans go or how many are kept: package telemetry sets that up. Without it there is no Tracer, and nothing here
// costs more than a look at a pointer or a context.
package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"pleat"
)

// Header is the header that carries the text of a trace.
const Header = "Traceparent"

// SchemaURL names the version of the semantic conventions whose names the spans have.
const SchemaURL = semconv.SchemaURL

// Tracer begins the spans of one process. Nil begins none; all methods accept it.
type Tracer struct{ otel trace.Tracer }

// scope is the name of the instrumentation, as receivers show it.
const scope = "pleat"

// New returns a Tracer whose spans a provider gets.
func New(p trace.TracerProvider) *Tracer {
	return &Tracer{p.Tracer(scope, trace.WithInstrumentationVersion(pleat.Version), trace.WithSchemaURL(SchemaURL))}
}

// Text returns the trace of ctx as the text of W3C Trace Context; empty: it has none. It says which span caused what
// follows, and whether the trace is kept, and nothing else.
func Text(ctx context.Context) string {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags()&trace.FlagsSampled)
}

// parse returns the trace that a text names; an invalid one if it is not the text of W3C Trace Context.
func parse(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": text}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// continued returns ctx with the trace of a text, and whether spans of it are kept. A Tracer that is nil, and a text
// that names no trace, change nothing.
func (t *Tracer) continued(ctx context.Context, text string) (context.Context, bool) {
	if t == nil {
		return ctx, false
	}
	c := parse(text)
	if !c.IsValid() {
		return ctx, false
	}
	return trace.ContextWithRemoteSpanContext(ctx, c), c.IsSampled()
}

// none is the span of what is not traced.
var none trace.Span = noop.Span{}

// Start begins a span inside the span of ctx. If ctx has none that is kept, it does nothing.
func Start(
	ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue,
) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, none
	}
	t := New(parent.TracerProvider())
	return t.otel.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// Fail marks what a span measures as failed, with a class of errors that has few values.
func Fail(s trace.Span, class string) {
	if !s.IsRecording() {
		return
	}
	s.SetStatus(codes.Error, "")
	s.SetAttributes(semconv.ErrorTypeKey.String(class))
}

// EndWith ends a span, as failed if there was an error.
func EndWith(s trace.Span, err error) {
	if err != nil {
		Fail(s, classOf(err))
	}
	s.End()
}

// classOf returns the code of an error.
func classOf(err error) string { return string(pleat.CodeOf(err)) }
