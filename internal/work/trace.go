package work

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/tracing"
)

// traced describes an attempt, which this worker asked for at a time, for its spans.
func (t *runningTask) traced(claimedAt time.Time) *tracing.Task {
	m := &tracing.Task{
		Trace:   t.Trace,
		Task:    &t.Task,
		Run:     t.Task.Run,
		Asked:   claimedAt,
		Claimed: t.Claimed,
	}
	switch {
	case t.Fold != nil:
		m.Job = t.Fold.Job
	case t.Workflow != nil:
		m.Workflow = t.Workflow.ID
	}
	return m
}

// predict runs an engine, in a span of its own.
func (p *Pool) predict(t *runningTask, w pleat.Work, s pleat.Sink) pleat.Output {
	ctx, span := tracing.Start(t.ctx, "predict "+w.Model.Name, trace.SpanKindInternal,
		tracing.Model.String(w.Model.Name))
	defer span.End()
	out := p.engines.Run(ctx, w, s)
	if out.Engine != "" {
		span.SetAttributes(tracing.Engine.String(out.Engine))
	}
	if out.Failure != nil {
		tracing.Fail(span, string(out.Failure.Kind))
	}
	return out
}

// putFiles is storeFiles in a span of its own.
func (p *Pool) putFiles(t *runningTask, dir string, files []pleat.File) ([]pleat.Artifact, error) {
	ctx, span := tracing.Start(t.ctx, "put files", trace.SpanKindInternal, tracing.Files.Int(len(files)))
	out, err := p.storeFiles(ctx, t, dir, files)
	size := int64(0)
	for i := range out {
		size += out[i].Bytes
	}
	span.SetAttributes(tracing.FilesSize.Int64(size))
	tracing.EndWith(span, err)
	return out, err
}

// traced begins the span of a search for alignments.
func (a *alignmentStage) traced(ctx context.Context, sequences int) (context.Context, trace.Span) {
	return tracing.Start(ctx, "align", trace.SpanKindInternal, tracing.Sequences.Int(sequences))
}

// tracedFollowUp describes a follow-up for its spans.
func tracedFollowUp(f *runs.FollowUp) *tracing.Task {
	return &tracing.Task{Trace: f.Trace, Task: &f.Task, Run: f.Delivery.Run, Claimed: f.Claimed}
}
