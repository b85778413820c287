package work_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/msa/msatest"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// gated is a worker with one slot and memory for one fold, beside a server that answers no search until its gate is
// opened.
func gated(t *testing.T, s *store.Store, clock *storetest.Clock) (a *aligned, open, stop func()) {
	a = &aligned{bench: newBench(t, s, clock), server: msatest.New(t), lane: pleat.SearchQueue("null")}
	a.server.Gate = make(chan struct{})
	open = func() { close(a.server.Gate) }
	return a, open, a.worker("w")
}

func (a *aligned) worker(id string) (stop func()) {
	return a.pool(id, func(c *work.Config) { c.Slots, c.Memory, c.Aligner = 1, 100, finder(a.server) }, builtin.Null{})
}

// large is a fold that expects all the memory.
func (a *aligned) large(lane, text string, params map[string]any) store.Created {
	a.t.Helper()
	c, err := a.s.CreateJob(context.Background(), store.NewJob{Quota: 1000,
		Job: pleat.Job{Owner: a.owner, Name: "j", Sequences: []pleat.Sequence{protein(text, "A")}},
		Run: store.RunSpec{
			Model:  "null",
			Seed:   "1",
			Queue:  lane,
			Memory: 100,
			Params: pleat.Params{Model: "null", Values: params},
		}})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// searching waits until a job's search is under way.
func (a *aligned) searching(job pleat.JobID) {
	a.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		v, err := a.s.View(context.Background(), job)
		if err != nil {
			a.t.Fatal(err)
		}
		if v.Run.MSA == pleat.StateRunning {
			return
		}
		if time.Now().After(end) {
			a.t.Fatal("the search has not begun")
		}
	}
}

// While a search goes on, another fold has the slot and the memory.
func TestSearchKeepsNoFoldWaiting(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a, open, _ := gated(t, s, clock)
		slow := a.large(a.lane, seqA, nil)
		a.searching(slow.Job)
		a.await(a.large("fold/null", seqB, map[string]any{"msaAlgorithm": "none"}).Job, pleat.StateCompleted)
		open()
		v := a.await(slow.Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || v.Run.Result.Timings["msa"] <= 0 || v.Run.Result.Timings["queue"] < 0 {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Result.Timings)
		}
		if len(names(v, pleat.ArtifactMSA)) != 1 || len(names(v, pleat.ArtifactCoverage)) != 2 {
			t.Errorf("%v", v.Artifacts)
		}
		if n := storetest.Count(t, s, "attempt"); n != 3 {
			t.Errorf("%d attempts at a search and two folds", n)
		}
	})
}

// A worker that stops gives its searches back, and another makes them.
func TestStoppedSearchIsGivenBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a, open, stop := gated(t, s, clock)
		c := a.large(a.lane, seqA, nil)
		a.searching(c.Job)
		stop()
		open()
		a.worker("w2")
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
	})
}

// A fold that was queued without a search before it makes its own; one that was searched for keeps what was found,
// though the worker that folds it makes no alignments.
func TestFoldOfAnotherMaking(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		a.lane = "fold/null"
		if v := a.await(a.fold("", nil, protein(seqA, "A")).Job,
			pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted || len(names(v, pleat.ArtifactMSA)) != 1 {
			t.Errorf("%s, %v", v.Run.MSA, v.Artifacts)
		}
	})
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a, open, stop := gated(t, s, clock)
		busy := a.large("fold/null", seqB, map[string]any{"msaAlgorithm": "none", "samplingSteps": int64(3600000)})
		a.await(busy.Job, pleat.StateRunning)
		open()
		c := a.large(a.lane, seqA, nil)
		for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			counts, err := s.QueueCounts(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			waits := false
			for _, n := range counts {
				waits = waits || n.Queue == "fold/null" && n.State == pleat.TaskQueued
			}
			if waits {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the search has not ended")
			}
		}
		stop()
		if _, err := s.Cancel(context.Background(), a.owner, busy.Job); err != nil {
			t.Fatal(err)
		}
		a.pool("bare", nil, scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			if d := cmp.Diff([]pleat.Alignment{{File: "input/msa-0.a3m"}}, w.Fold.Alignments); d != "" {
				t.Error(d)
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}})
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted ||
			len(names(v, pleat.ArtifactMSA)) != 1 {
			t.Errorf("%s, %v", v.Run.MSA, v.Artifacts)
		}
	})
}
