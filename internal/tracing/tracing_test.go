package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"pleat"
)

// tracer returns a Tracer whose roots are kept or not, and the spans that were.
func tracer(keep bool) (*Tracer, *tracetest.SpanRecorder) {
	root := sdktrace.NeverSample()
	if keep {
		root = sdktrace.AlwaysSample()
	}
	spans := tracetest.NewSpanRecorder()
	return New(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(root)),
		sdktrace.WithSpanProcessor(spans))), spans
}

const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"

// Neither the header of a caller nor its flag decides whether a request is kept, or the id of its trace.
func TestCallersDecideNothing(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, flag := range []string{"00", "01"} {
			tr, spans := tracer(keep)
			ctx, span := tr.Serve(t.Context(), &Request{Method: "POST", Route: "/v1/jobs", Caller: callers + flag,
				Began: time.Now()})
			text := Text(ctx)
			Answered(span, http.StatusOK)
			if want := map[bool]string{false: "-00", true: "-01"}[keep]; !strings.HasSuffix(text, want) {
				t.Errorf("keep %v, flag %s: the trace is %s", keep, flag, text)
			}
			if strings.Contains(text, "0af7651916cd43dd8448eb211c80319c") {
				t.Errorf("the caller chose the trace: %s", text)
			}
			if got := spans.Ended(); keep && (len(got) != 1 || len(got[0].Links()) != 1) || !keep && len(got) != 0 {
				t.Errorf("keep %v, flag %s: the spans are %v", keep, flag, got)
			}
		}
	}
}

// A trace that is not kept has no spans anywhere, but its text passes on, so that nobody begins another.
func TestWhatIsNotKept(t *testing.T) {
	tr, spans := tracer(true)
	task := &pleat.Task{Queue: "fold/mini", RunAt: time.Now()}
	ctx, span := tr.Process(t.Context(), &Task{
		Trace:   callers + "00",
		Task:    task,
		Asked:   time.Now(),
		Claimed: time.Now(),
	})
	_, inner := Start(ctx, "align", trace.SpanKindInternal)
	inner.End()
	span.End()
	if got := Text(ctx); got != callers+"00" || len(spans.Ended()) != 0 {
		t.Errorf("the trace is %s, the spans %v", got, spans.Ended())
	}
}

// Texts that are no trace are as none: they come from a database and from workers.
func TestTextsThatAreNone(t *testing.T) {
	tr, spans := tracer(true)
	for _, text := range []string{"", "x", callers, "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", strings.Repeat("0", 100_000)} {
		ctx, span := tr.Process(t.Context(), &Task{Trace: text, Task: &pleat.Task{Queue: "fold/mini"}})
		span.End()
		if Text(ctx) != "" || len(spans.Ended()) != 0 {
			t.Errorf("%.60q began the trace %s", text, Text(ctx))
		}
	}
}

// The wait in a queue ends with the claim, and never lasts less than nothing, whatever the clocks say.
func TestWait(t *testing.T) {
	now := time.Now()
	for _, k := range []pleat.Task{
		{RunAt: now.Add(-time.Minute)}, {Created: now.Add(-time.Minute)}, {RunAt: now.Add(time.Minute)}, {},
	} {
		tr, spans := tracer(true)
		k.Queue = "fold/mini"
		_, span := tr.Process(t.Context(), &Task{Trace: callers + "01", Task: &k, Claimed: now})
		span.End()
		wait := spans.Ended()[0]
		took := wait.EndTime().Sub(wait.StartTime())
		if wait.Name() != "wait fold/mini" || took != time.Minute && took != 0 || !wait.EndTime().Equal(now) {
			t.Errorf("%s lasts %v and ends at %v", wait.Name(), took, wait.EndTime())
		}
	}
}

func TestLog(t *testing.T) {
	tr, _ := tracer(true)
	ctx, span := tr.Serve(t.Context(), &Request{Method: "GET", Route: "/v1/jobs", Began: time.Now()})
	c := span.SpanContext()
	want := "trace_id=" + c.TraceID().String() + " span_id=" + c.SpanID().String()
	var out bytes.Buffer
	log := slog.New(Log(slog.NewTextHandler(&out, nil))).With("a", 1)
	log.InfoContext(ctx, "x")
	LogWith(ctx, log).Info("y")
	log.Info("z")
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], want) || !strings.Contains(lines[1], want) || strings.Contains(lines[2], "trace") {
		t.Errorf("the lines are %q, not with %s", lines, want)
	}
}

// Where traces are off, nothing is allocated for them.
func TestOffAllocatesNothing(t *testing.T) {
	var off *Tracer
	ctx, header := context.Background(), http.Header{}
	log := slog.New(Log(slog.DiscardHandler))
	task := &Task{Trace: callers + "01", Task: &pleat.Task{}}
	request := &Request{Caller: callers + "01"}
	if n := testing.AllocsPerRun(100, func() {
		_, span := off.Serve(ctx, request)
		if span != nil {
			t.Error("there is a span")
		}
		c, process := off.Process(ctx, task)
		c, inner := Start(c, "align", trace.SpanKindInternal)
		c, call := Call(c, "POST", "/x", "http://x")
		EndCall(call, 200)
		EndWith(inner, nil)
		process.End()
		Carry(c, header)
		if Text(c) != "" || LogWith(c, log) != log {
			t.Error("there is a trace")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
