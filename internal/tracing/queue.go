package tracing

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"pleat"
)

// The attributes that no convention has, on the spans of tasks.
const (
	Attempt   = attribute.Key("pleat.task.attempt")
	Outcome   = attribute.Key("pleat.task.outcome")
	Model     = attribute.Key("pleat.model")
	Engine    = attribute.Key("pleat.engine")
	Sequences = attribute.Key("pleat.alignment.sequences")
	Files     = attribute.Key("pleat.files.count")
	FilesSize = attribute.Key("pleat.files.size")
)

// Task is an attempt at a task as a span describes it: a message of a queue, in the words of the conventions.
type Task struct {
	Trace    string // of the run that the task works on or is about; empty: none
	Task     *pleat.Task
	Queue    string // the name to show; empty: that of the task
	Job      pleat.JobID
	Workflow pleat.WorkflowID
	Run      pleat.RunID
	Asked    time.Time // when this process began to claim it; zero: there is no span of the claim
	Claimed  time.Time // by the clock of the service, as the times of the task are
}

// queue returns the name of the queue that spans show.
func (m *Task) queue() string {
	if m.Queue != "" {
		return m.Queue
	}
	return m.Task.Queue
}

// attributes returns those that all spans of a task have.
func (m *Task) attributes() []attribute.KeyValue {
	out := []attribute.KeyValue{
		semconv.MessagingSystemKey.String("pleat"),
		semconv.MessagingDestinationNameKey.String(m.queue()),
		semconv.MessagingMessageIDKey.String(string(m.Task.ID)),
		Attempt.Int(m.Task.Attempt),
	}
	for _, id := range []struct {
		key attribute.Key
		id  string
	}{{RunID, string(m.Run)}, {JobID, string(m.Job)}, {WorkflowID, string(m.Workflow)}} {
		if id.id != "" {
			out = append(out, id.key.String(id.id))
		}
	}
	return out
}

// operation returns the attributes of an operation on a queue.
func operation(name string, kind attribute.KeyValue) []attribute.KeyValue {
	return []attribute.KeyValue{semconv.MessagingOperationNameKey.String(name), kind}
}

// Process begins the span of an attempt at a claimed task, in the trace of its run. The spans of its wait in the queue
// and of its claim, which are over, come before.
func (t *Tracer) Process(ctx context.Context, m *Task) (context.Context, trace.Span) {
	ctx, sampled := t.waited(ctx, m)
	if !sampled {
		return ctx, none
	}
	if !m.Asked.IsZero() {
		_, span := t.otel.Start(ctx, "claim "+m.queue(), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithTimestamp(m.Asked), trace.WithAttributes(m.attributes()...),
			trace.WithAttributes(operation("claim", semconv.MessagingOperationTypeReceive)...))
		span.End()
	}
	return t.otel.Start(ctx, "process "+m.queue(), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(m.attributes()...),
		trace.WithAttributes(operation("process", semconv.MessagingOperationTypeProcess)...),
		trace.WithAttributes(semconv.MessagingClientIDKey.String(string(m.Task.Worker))))
}

// waited returns ctx with the trace of a task, and whether spans of it are kept; then it makes that of the task's wait
// in its queue.
func (t *Tracer) waited(ctx context.Context, m *Task) (context.Context, bool) {
	ctx, sampled := t.continued(ctx, m.Trace)
	if !sampled {
		return ctx, false
	}
	ready := m.Task.RunAt
	if ready.IsZero() {
		ready = m.Task.Created
	}
	if ready.IsZero() || ready.After(m.Claimed) {
		ready = m.Claimed
	}
	_, span := t.otel.Start(ctx, "wait "+m.queue(), trace.WithTimestamp(ready), trace.WithAttributes(m.attributes()...))
	span.End(trace.WithTimestamp(m.Claimed))
	return ctx, true
}

// Finish begins the span in which the end of an attempt is stored, inside that of the attempt.
func Finish(ctx context.Context, queue string) (context.Context, trace.Span) {
	return Start(ctx, "finish "+queue, trace.SpanKindClient,
		append(operation("finish", semconv.MessagingOperationTypeSettle),
			semconv.MessagingSystemKey.String("pleat"), semconv.MessagingDestinationNameKey.String(queue))...)
}

// Deliver begins the span of an attempt at a delivery to a URL, of which it shows only the host: the rest may hold a
// secret of the receiver.
func (t *Tracer) Deliver(ctx context.Context, m *Task, to string) (context.Context, trace.Span) {
	ctx, sampled := t.waited(ctx, m)
	if !sampled {
		return ctx, none
	}
	attrs := []attribute.KeyValue{semconv.HTTPRequestMethodKey.String("POST")}
	if u, err := url.Parse(to); err == nil {
		attrs = append(attrs, semconv.ServerAddressKey.String(u.Hostname()), semconv.URLSchemeKey.String(u.Scheme))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			attrs = append(attrs, semconv.ServerPortKey.Int(port))
		}
	}
	return t.otel.Start(ctx, "POST webhook", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(m.attributes()...), trace.WithAttributes(attrs...))
}

// Delivered ends the span of an attempt at a delivery with the status of the receiver, 0 for none, and the class of the
// error, empty for none.
func Delivered(s trace.Span, status int, class string) {
	if status != 0 && s.IsRecording() {
		s.SetAttributes(semconv.HTTPResponseStatusCodeKey.Int(status))
	}
	if class != "" {
		Fail(s, class)
	}
	s.End()
}
