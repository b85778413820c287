package server

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"pleat/internal/tracing"
)

// beginTrace begins the span of a call that has passed the checks of serveCall, so that nobody without a right to call
// makes spans. The routes of operators, which probes call all the time, have none, nor have event streams, which end
// when their clients leave.
func (s *Server) beginTrace(ctx context.Context, c *call, rt route) context.Context {
	if s.tracer == nil || rt.section == operationSection || rt.handler.eventStream {
		return ctx
	}
	ctx, c.span = s.tracer.Serve(ctx, &tracing.Request{
		Method: rt.method(),
		Route:  rt.path(),
		Path:   loggedPath(c.r),
		Scheme: s.public.Scheme,
		ID:     c.id,
		Caller: c.r.Header.Get(tracing.Header),
		Began:  c.began,
	})
	return ctx
}

// endTrace ends the span of a call, if it has one, with what the call was about. A client that left is no error.
func (c *call) endTrace() {
	if c.span == nil {
		return
	}
	if c.span.IsRecording() {
		about := c.subject()
		if about.job != "" {
			c.span.SetAttributes(tracing.JobID.String(string(about.job)))
		}
		if about.workflow != "" {
			c.span.SetAttributes(tracing.WorkflowID.String(string(about.workflow)))
		}
		if about.run != "" {
			c.span.SetAttributes(tracing.RunID.String(string(about.run)))
		}
	}
	tracing.Answered(c.span, c.w.status)
	c.span = nil
}

// traced returns ctx with the span of the call, if it has one.
func (c *call) traced(ctx context.Context) context.Context {
	if c.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, c.span)
}
