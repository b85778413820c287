package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Log returns a handler that adds the ids of the trace and of the span to each line whose context has them.
func Log(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	for _, a := range logAttrs(ctx) {
		r.AddAttrs(a)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

// LogWith returns a log whose lines have the ids of the trace of ctx; the same log if it has none.
func LogWith(ctx context.Context, log *slog.Logger) *slog.Logger {
	for _, a := range logAttrs(ctx) {
		log = log.With(a)
	}
	return log
}

// logAttrs returns the ids of the trace and of the span of ctx; none if it has none.
func logAttrs(ctx context.Context) []slog.Attr {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String())}
}
