package apart_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/apart"
	"pleat/internal/engine/builtin"
	"pleat/internal/engine/enginetest"
	"pleat/internal/flow"
)

func TestMain(m *testing.M) {
	apart.Main()
	os.Exit(m.Run())
}

// newEngine returns an engine whose processes may use some memory.
func newEngine(name string, memory int64) engine.Engine {
	return apart.New(name, builtin.Options{}, memory, slog.New(slog.DiscardHandler))
}

// compared is a task that compares the Trp-cage with itself.
func compared(t *testing.T, e engine.Engine) pleat.Work {
	t.Helper()
	s := pleat.ComparedStructure{Name: "2jof.pdb", File: "input/2jof.pdb"}
	return pleat.Work{
		Kind:    pleat.TaskCompare,
		Task:    "task",
		Model:   e.Models()[0],
		Dir:     enginetest.TrpCage(t),
		Compare: &pleat.CompareInput{Structures: []pleat.ComparedStructure{s, s}, Reference: 1},
	}
}

// folded is a task of the engine null.
func folded(t *testing.T, e engine.Engine, parameters map[string]any) pleat.Work {
	t.Helper()
	return pleat.Work{
		Kind:  pleat.TaskFold,
		Task:  "task",
		Tries: 1,
		Model: e.Models()[0],
		Dir:   t.TempDir(),
		Fold: &pleat.FoldInput{
			Sequences: []pleat.Sequence{{ID: "s", Kind: pleat.Protein, Text: "GSGS", Chains: []string{"A"}, Count: 1}},
			Params:    pleat.Params{Model: "null", Values: parameters},
			Seed:      "7",
		},
	}
}

// A task that a worker has died with has the same output in a process of its own.
func TestSameOutput(t *testing.T) {
	t.Parallel()
	e := newEngine("compare", 0)
	w := compared(t, e)
	var rows []string
	var stages [2]map[string]int
	for tries := range 2 {
		w.Tries = tries
		sink := &enginetest.Sink{}
		out := e.Run(t.Context(), w, sink)
		if out.Failure != nil {
			t.Fatal(out.Failure)
		}
		rows = append(rows, string(out.Row))
		stages[tries] = sink.Stages
	}
	if d := cmp.Diff(rows[0], rows[1]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(stages[0], stages[1]); d != "" {
		t.Error(d)
	}
	null := newEngine("null", 0)
	out := null.Run(t.Context(), folded(t, null, map[string]any{"recyclingSteps": 2.0}), &enginetest.Sink{})
	if out.Failure != nil || len(out.Files) != 2 || out.Files[1].Path == "" || out.Result.Notes == nil {
		t.Errorf("%+v", out)
	}
}

// A process that uses too much memory ends, and its task fails.
func TestTooMuchMemory(t *testing.T) {
	t.Parallel()
	e := newEngine("null", 1<<20)
	f := e.Run(t.Context(), folded(t, e, map[string]any{"samplingSteps": 60_000.0}), &enginetest.Sink{}).Failure
	if f == nil || f.Kind != pleat.FailOOM || f.Retry || !strings.Contains(f.Message, "the 1 MiB of the worker") {
		t.Errorf("%v", f)
	}
}

// A task that is to end does so at once, with the process, for the reason that the worker knows.
func TestCancelled(t *testing.T) {
	t.Parallel()
	e := newEngine("null", 0)
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, engine.ErrShutdown} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sink := &enginetest.Sink{OnProgress: func(string) { cancel(cause) }}
		f := e.Run(ctx, folded(t, e, map[string]any{"samplingSteps": 600_000.0}), sink).Failure
		if d := cmp.Diff(engine.Interrupted(ctx), f); d != "" {
			t.Errorf("%v: %s", cause, d)
		}
	}
}

// A simulation that a shutdown interrupts stores its last checkpoint, as it does inside the worker, however little time
// a cancelled one has.
func TestLastCheckpoint(t *testing.T) {
	t.Parallel()
	e := newEngine("calvados", 0)
	apart.WithoutGrace(e)
	p, err := flow.Parse("md", []byte(`{"sequence":"GSGSGSGS","step_size_ns":0.0005,"sim_length_ns":50}`))
	if err != nil {
		t.Fatal(err)
	}
	w := pleat.Work{Kind: pleat.TaskMD, Task: "task", Tries: 1, Model: e.Models()[0], Dir: t.TempDir(), MD: p.MD}
	ctx, shutDown := context.WithCancelCause(t.Context())
	sink := &enginetest.Sink{}
	sink.OnProgress = func(string) {
		if sink.Stages["simulate"] > 0 {
			shutDown(engine.ErrShutdown)
		}
	}
	stored := int64(0)
	sink.OnCheckpoint = func(path string, step int64) error {
		stored = step
		_, err := os.Stat(path)
		return err
	}
	out := e.Run(ctx, w, sink)
	if d := cmp.Diff(engine.Interrupted(ctx), out.Failure); d != "" || stored == 0 || len(sink.Lines) != 1 {
		t.Errorf("stored at step %d, log %q: %s", stored, sink.Lines, d)
	}
}

// What a process wrote before it died is in the worker's log.
func TestPanicIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := apart.New("null", builtin.Options{}, 0, slog.New(slog.NewTextHandler(&log, nil)))
	w := folded(t, e, nil)
	w.Fold = nil // for want of which the engine panics
	f := e.Run(t.Context(), w, &enginetest.Sink{}).Failure
	if f == nil || f.Kind != pleat.FailCrashed || !strings.Contains(log.String(), "invalid memory address") {
		t.Errorf("%v\n%s", f, &log)
	}
}
