package route

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"pleat/internal/tracing"
)

// beginTrace begins the span of a call that has passed the checks of serveCall, so that nobody without a right to call
// makes spans. The routes of operators, which probes call all the time, have none, nor have event streams, which end
// when their clients leave.
func (k *Core) beginTrace(ctx context.Context, c *Call, rt Route) context.Context {
	if k.tracer == nil || rt.Probed || rt.Handler.SendsEvents() {
		return ctx
	}
	ctx, c.span = k.tracer.Serve(ctx, &tracing.Request{
		Method: rt.Method(),
		Route:  rt.Path(),
		Path:   loggedPath(c.R),
		Scheme: k.site.public.Scheme,
		ID:     c.ID,
		Caller: c.R.Header.Get(tracing.Header),
		Began:  c.began.StartedAt(),
	})
	return ctx
}

// endTrace ends the span of a call, if it has one, with what the call was about. A client that left is no error.
func (c *Call) endTrace() {
	if c.span == nil {
		return
	}
	if c.span.IsRecording() {
		about := c.subject()
		if about.Job != "" {
			c.span.SetAttributes(tracing.JobID.String(string(about.Job)))
		}
		if about.Workflow != "" {
			c.span.SetAttributes(tracing.WorkflowID.String(string(about.Workflow)))
		}
		if about.Run != "" {
			c.span.SetAttributes(tracing.RunID.String(string(about.Run)))
		}
	}
	tracing.Answered(c.span, c.W.status)
	c.span = nil
}

// traced returns ctx with the span of the call, if it has one.
func (c *Call) traced(ctx context.Context) context.Context {
	if c.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, c.span)
}
