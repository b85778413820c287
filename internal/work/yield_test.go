package work_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// turns makes a worker with one slot, whose tasks may yield at any checkpoint.
func turns(c *work.Config) { c.Slots, c.Turn = 1, time.Nanosecond }

// saving is the embedded engine with many checkpoints.
var saving = builtin.Calvados{Workers: 1, CheckpointInterval: 50 * time.Millisecond}

// steps100M is the longest simulation that is accepted, of a short chain.
const steps100M = `{"sequence":"DSHAKRHHGY","step_size_ns":0.01,"sim_length_ns":1000}`

// Three of the longest simulations of one user do not keep another user's short one waiting: it starts at the next
// checkpoint.
func TestLongSimulationsYield(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		f.startWith("w", turns, saving)
		var long []pleat.WorkflowID
		for range 3 {
			long = append(long, f.createWorkflow(f.owner, pleat.TaskMD, steps100M))
		}
		f.awaitWorkflow(long[0], pleat.StateRunning)
		other := storetest.User(t, f.s, "other")
		short := f.createWorkflow(other, pleat.TaskMD, steps30000)
		f.awaitWorkflow(short, pleat.StateCompleted)
		for i, id := range long {
			want := []pleat.State{pleat.StateRunning, pleat.StateQueued, pleat.StateQueued}[i]
			if v, err := f.s.Runs.WorkflowView(ctx, id); err != nil || v.Workflow.State != want {
				t.Errorf("the long run %d is %s, %v", i+1, v.Workflow.State, err)
			}
		}
		for _, id := range slices.Backward(long) { // else the next one would start
			if _, err := f.s.Runs.CancelWorkflow(ctx, f.owner, id); err != nil {
				t.Fatal(err)
			}
		}
		f.awaitWorkflow(long[0], pleat.StateStopped)
	})
}

// A simulation that has yielded goes on from its checkpoint: after two pauses its files are the same, bit by bit, as
// those of one that nobody interrupted. Its log says what happened.
func TestYieldKeepsTheTrajectory(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		alone := f.createWorkflow(f.owner, pleat.TaskMD, steps30000)
		stop := f.start("alone", builtin.Calvados{Workers: 1})
		undisturbed, _ := f.awaitWorkflow(alone, pleat.StateCompleted)
		stop()

		paused, resumed := make(chan int64, 1), make(chan struct{})
		shared := f.createWorkflow(f.owner, pleat.TaskMD, steps30000)
		f.startWith("shared", turns, announcing{builtin.Calvados{Workers: 1, CheckpointInterval: -1}, paused, resumed})
		first := <-paused
		other := f.createWorkflow(storetest.User(t, f.s, "other"), pleat.TaskMD, `{"sequence":"GG"}`)
		close(resumed)
		v, row := f.awaitWorkflow(shared, pleat.StateCompleted)
		f.awaitWorkflow(other, pleat.StateCompleted)
		if from := row["metrics"].(map[string]any)["resumed_from_step"]; from != 2*float64(first) {
			t.Errorf("it yielded at step %d and %d, and went on from step %v", first, 2*first, from)
		}
		for _, name := range []string{"trajectory.dcd", "energies.csv", "topology.pdb"} {
			if !bytes.Equal(f.content(v.Artifacts, name), f.content(undisturbed.Artifacts, name)) {
				t.Errorf("%s differs from that of a run that did not yield", name)
			}
		}
		want := fmt.Sprintf("paused at step %d: it is another user's turn", first)
		if log := f.log(v); !strings.Contains(log, want) {
			t.Errorf("the log does not have %q:\n%s", want, log)
		}
	})
}

// announcing is an engine that announces its first checkpoint, and stores it once the test goes on.
type announcing struct {
	builtin.Calvados
	paused  chan<- int64
	resumed <-chan struct{}
}

func (e announcing) Run(ctx context.Context, w pleat.Work, s pleat.Sink) pleat.Output {
	return e.Calvados.Run(ctx, w, &announcingSink{s, e})
}

type announcingSink struct {
	pleat.Sink
	announcing
}

func (s *announcingSink) Checkpoint(path string, step int64) error {
	select {
	case s.paused <- step:
	default: // it was announced
	}
	<-s.resumed
	return s.Sink.Checkpoint(path, step)
}

// log returns the lines that a workflow's run has logged.
func (f *fixture) log(v runs.WorkflowView) string {
	f.t.Helper()
	lines, err := f.s.Runs.Progress(context.Background(), v.Run.ID, 0, 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	var out strings.Builder
	for _, p := range lines {
		fmt.Fprintln(&out, p.Line)
	}
	return out.String()
}
