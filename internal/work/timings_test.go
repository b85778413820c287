package work_test

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/msa/msatest"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// wantTimings compares the stages and parts of a run that has ended. Stages do not overlap, so they fit between the
// creation of the run and its end, whose times are rounded to microseconds.
func (f *fixture) wantTimings(r *pleat.Run, want ...string) {
	t := f.t
	t.Helper()
	if r.Result == nil {
		t.Fatalf("a run that ended %s has no timings", r.State)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(r.Result.Timings))
	// A task that a worker gave back before it began, see attempts, counts as an earlier attempt.
	if f.called && !slices.Contains(want, pleat.StageEarlier) {
		got = slices.DeleteFunc(got, func(stage string) bool { return stage == pleat.StageEarlier })
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("timings of a %s that ended %s (-want +got):\n%s", r.Model, r.State, d)
	}
	sum := 0.0
	for stage, s := range r.Result.Timings {
		if s < 0 {
			t.Errorf("the stage %s took %v s", stage, s)
		}
		if slices.Contains(pleat.Stages, stage) {
			sum += s
		}
	}
	if took := r.FinishedAt.Sub(r.CreatedAt); sum > (took + 10*time.Microsecond).Seconds() {
		t.Errorf("the stages take %v s of %v: %v", sum, took, r.Result.Timings)
	}
}

// mini makes a fold one of the engine mini.
func mini(n *runs.NewJob) {
	n.Run.Model, n.Run.Params.Model, n.Run.Queue = "mini", "mini", pleat.Queue(pleat.TaskFold, "mini")
	n.Job.Sequences[0].Text = "GSGSGSGS"
}

func TestTimings(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		server := msatest.New(t)
		server.Known = true
		var failed atomic.Bool // not w.Attempt: a remote worker may have returned an attempt before it began
		broken := scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			switch w.Fold.Name {
			case "refused":
				return pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "no")}
			case "again":
				if failed.CompareAndSwap(false, true) {
					return pleat.Output{Failure: &pleat.Failure{Kind: pleat.FailInternal, Message: "no", Retry: true}}
				}
			case "partly":
				sink.Progress("load", 0, 1)
				timings := map[string]float64{pleat.StageLoad: 1e-6, "part": 2}
				return pleat.Output{
					Failure: pleat.Failed(pleat.FailInternal, "no"),
					Result:  &pleat.Result{Timings: timings, Notes: []string{"dropped"}},
				}
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}}
		f.startWith("w", func(c *work.Config) { c.Aligner = finder(server) },
			broken, builtin.Mini{Steps: 500}, builtin.Analyst{}, builtin.Calvados{Workers: 1})

		fold := f.await(f.create(mini).Job, pleat.StateCompleted)
		f.wantTimings(&fold.Run, "queue", "infer", "write")
		if s := fold.Run.Result.Timings; s["infer"] <= 0 || s["write"] <= 0 {
			t.Errorf("mini took no time: %v", s)
		}
		v := f.await(f.create(toSearch).Job, pleat.StateCompleted)
		f.wantTimings(&v.Run, "queue", "msa", "infer", "write")
		if v.Run.Result.Timings["msa"] <= 0 {
			t.Errorf("the search took no time: %v", v.Run.Result.Timings)
		}
		question, _ := f.ask(f.owner, pleat.StateCompleted,
			`{"question":"How many residues does the protein have?","source_job_id":%q}`, fold.Job.ID)
		f.wantTimings(question.Run, "queue", "fetch", "infer", "digest", "answer", "write")
		md, _ := f.awaitWorkflow(f.createWorkflow(f.owner, pleat.TaskMD,
			`{"sequence":"GSGSGS","step_size_ns":0.0005,"sim_length_ns":0.005}`), pleat.StateCompleted)
		f.wantTimings(md.Run, "queue", "fetch", "infer", "simulate", "analyse", "write")

		none := params(withoutMSA)
		v = f.await(f.create(named("refused"), none).Job, pleat.StateFailed)
		f.wantTimings(&v.Run, "queue", "infer")
		v = f.await(f.create(named("partly"), none).Job, pleat.StateFailed)
		f.wantTimings(&v.Run, "queue", "load", "part")
		if len(v.Run.Result.Notes) > 0 {
			t.Errorf("a failed run has the notes %q", v.Run.Result.Notes)
		}
		question, _ = f.ask(f.owner, pleat.StateFailed, `{"question":"What is it?","source_job_id":%q}`, v.Job.ID)
		f.wantTimings(question.Run, "queue", "fetch")
		c := f.create(named("again"), none)
		storetest.AwaitLine(t, f.s, c.Run, "trying again: ")
		f.clock.Advance(2 * time.Second) // the pause before the second try
		v = f.await(c.Job, pleat.StateCompleted)
		f.wantTimings(&v.Run, "queue", "earlier", "infer", "write")
		if s := v.Run.Result.Timings; s["queue"] < 1 || s["earlier"] > 1 {
			t.Errorf("a second's pause between two attempts counts as %v", s)
		}
	})
}
