package tracing

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// The attributes that no convention has, on the spans of requests.
const (
	RequestID  = attribute.Key("pleat.request.id")
	JobID      = attribute.Key("pleat.job.id")
	RunID      = attribute.Key("pleat.run.id")
	WorkflowID = attribute.Key("pleat.workflow.id")
)

// Request is what a span says of a request to a server.
type Request struct {
	Method string
	Route  string // the pattern of the path, such as /v1/jobs/{id}
	Path   string // without the names of files
	Scheme string // of the public address
	ID     string
	Caller string // the trace that the caller names; empty: none
	Began  time.Time
}

// Serve begins the span of a request of a user, which began before. It is the root of a trace of its own: a caller
// decides neither the id of the trace nor whether it is kept, so that no header makes a server keep more than its
// operator wants. The trace that the caller names is linked. Without a Tracer the span is nil.
func (t *Tracer) Serve(ctx context.Context, r *Request) (context.Context, trace.Span) {
	if t == nil {
		return ctx, nil
	}
	options := []trace.SpanStartOption{
		trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(r.Began),
	}
	if caller := parse(r.Caller); caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	ctx, span := t.otel.Start(ctx, r.Method+" "+r.Route, options...)
	if span.IsRecording() {
		span.SetAttributes(
			semconv.HTTPRequestMethodKey.String(r.Method),
			semconv.HTTPRouteKey.String(r.Route),
			semconv.URLPathKey.String(r.Path),
			semconv.URLSchemeKey.String(r.Scheme),
			RequestID.String(r.ID),
		)
	}
	return ctx, span
}

// Answered ends the span of a request with the status of its answer. Only a fault of the service is an error.
func Answered(s trace.Span, status int) {
	if !s.IsRecording() {
		return
	}
	s.SetAttributes(semconv.HTTPResponseStatusCodeKey.Int(status))
	if status >= http.StatusInternalServerError {
		Fail(s, strconv.Itoa(status))
	}
	s.End()
}

// ServeWorker begins the span of a call of a worker, inside the span of the worker. The worker must be one of the
// service, since it decides whether the span is kept.
func (t *Tracer) ServeWorker(ctx context.Context, r *http.Request, route string) (context.Context, trace.Span) {
	ctx, sampled := t.continued(ctx, r.Header.Get(Header))
	if !sampled {
		return ctx, none
	}
	return t.otel.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRouteKey.String(route)))
}

// Call begins the span of a worker's call of its server, if ctx has a span that is kept. End it with EndCall.
func Call(ctx context.Context, method, route, server string) (context.Context, trace.Span) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, none
	}
	host := ""
	if u, err := url.Parse(server); err == nil {
		host = u.Hostname()
	}
	return Start(ctx, method+" "+route, trace.SpanKindClient, semconv.HTTPRequestMethodKey.String(method),
		semconv.URLTemplateKey.String(route), semconv.ServerAddressKey.String(host))
}

// EndCall ends the span of a call that was answered with a status; 0: it was not.
func EndCall(s trace.Span, status int) {
	switch {
	case !s.IsRecording():
	case status == 0:
		Fail(s, "unavailable")
	default:
		s.SetAttributes(semconv.HTTPResponseStatusCodeKey.Int(status))
		if status >= http.StatusBadRequest {
			Fail(s, strconv.Itoa(status))
		}
	}
	s.End()
}

// Carry puts the trace of ctx into the header of a request, if there is one.
func Carry(ctx context.Context, h http.Header) {
	if text := Text(ctx); text != "" {
		h.Set(Header, text)
	}
}
