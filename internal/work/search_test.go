package work_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/msa/msatest"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/work"
)

// gated returns a fixture whose worker has one slot, and memory for one fold. Its alignment server answers no search
// until open is called.
func gated(t *testing.T, f *fixture) (a *aligned, open, stop func()) {
	a = &aligned{fixture: f, server: msatest.New(t)}
	a.server.Gate = make(chan struct{})
	open = func() { close(a.server.Gate) }
	return a, open, a.worker("w")
}

func (a *aligned) worker(id string) (stop func()) {
	change := func(c *work.Config) { c.Slots, c.Memory, c.Aligner = 1, 100, finder(a.server) }
	return a.startWith(id, change, builtin.Null{})
}

// awaitSearch waits until a job's search is under way.
func (a *aligned) awaitSearch(job pleat.JobID) {
	a.t.Helper()
	storetest.Eventually(a.t, "the search begins", func() bool {
		v, err := a.s.Runs.View(context.Background(), job)
		if err != nil {
			a.t.Fatal(err)
		}
		return v.Run.MSA == pleat.StateRunning
	})
}

// withoutMSA is a fold that needs no search.
var withoutMSA = map[string]any{"msaAlgorithm": "none"}

// While a search goes on, another fold has the slot and the memory.
func TestSearchKeepsNoFoldWaiting(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a, open, _ := gated(t, f)
		slow := a.create(toSearch, memory(100))
		a.awaitSearch(slow.Job)
		a.await(a.create(memory(100), params(withoutMSA)).Job, pleat.StateCompleted)
		open()
		v := a.await(slow.Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || v.Run.Result.Timings["msa"] <= 0 || v.Run.Result.Timings["queue"] < 0 {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Result.Timings)
		}
		if len(names(v, pleat.ArtifactMSA)) != 1 || len(names(v, pleat.ArtifactCoverage)) != 2 {
			t.Errorf("%v", v.Artifacts)
		}
		if n := attempts(t, f); n != 3 {
			t.Errorf("%d attempts at a search and two folds", n)
		}
	})
}

// A worker that stops releases its searches, and another makes them.
func TestStoppedSearchIsReleased(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a, open, stop := gated(t, f)
		c := a.create(toSearch)
		a.awaitSearch(c.Job)
		stop()
		open()
		a.worker("w2")
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
	})
}

// A search waits for a worker that makes searches. One that makes none takes the folds only, and folds with what the
// search has found.
func TestSearchWaitsForAWorkerThatSearches(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		folder := scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			algorithm := w.Fold.Params.Effective(w.Model)["msaAlgorithm"]
			if searched := algorithm != pleat.MSANone; searched != (len(w.Fold.Alignments) == 1) {
				t.Errorf("a fold with msaAlgorithm %v has the alignments %v", algorithm, w.Fold.Alignments)
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}}
		f.start("bare", folder)
		usual := f.create(toSearch)
		named := f.create(toSearch, params(map[string]any{"msaAlgorithm": pleat.MSAMMseqs2}))
		f.await(f.create(params(withoutMSA)).Job, pleat.StateCompleted)
		if d := cmp.Diff([]pleat.State{pleat.StateInitialized, pleat.StateInitialized},
			f.states([]pleat.JobID{usual.Job, named.Job})); d != "" {
			t.Fatal("without a worker that searches: ", d)
		}
		a := &aligned{fixture: f, server: msatest.New(t)}
		f.startWith("w", func(c *work.Config) { c.Aligner = finder(a.server) }, folder)
		for _, c := range []runs.Created{usual, named} {
			v := f.await(c.Job, pleat.StateCompleted)
			if v.Run.MSA != pleat.StateCompleted || len(names(v, pleat.ArtifactMSA)) != 1 {
				t.Errorf("%s, %v", v.Run.MSA, v.Artifacts)
			}
		}
	})
}

// A fold that was accepted without a search gets none from a worker that searches: its sequence is sent nowhere.
func TestFoldWithoutSearchStaysWithout(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		a.see = func(w pleat.Work) {
			if how := w.Fold.Params.Effective(w.Model)["msaAlgorithm"]; how != pleat.MSANone {
				t.Errorf("the fold says msaAlgorithm %v", how)
			}
		}
		v := a.await(a.create().Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StatePending || len(v.Artifacts) != 0 || len(a.server.Tickets) != 0 {
			t.Errorf("%s, %v, %d searches", v.Run.MSA, v.Artifacts, len(a.server.Tickets))
		}
	})
}

// awaitSearched waits until no fold waits for its search.
func awaitSearched(t *testing.T, f *fixture) {
	t.Helper()
	storetest.Eventually(t, "the search ends", func() bool {
		counts, err := f.s.Tasks.QueueCounts(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(counts, func(n tasks.QueueCount) bool {
			return n.Queue == pleat.SearchQueue("null")
		})
	})
}

// The result of a search stays with its fold, though the worker that folds makes no alignments.
func TestWorkerWithoutAlignerUsesSearchResults(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a, open, stop := gated(t, f)
		busy := a.create(memory(100), params(map[string]any{"msaAlgorithm": "none", "samplingSteps": int64(3600000)}))
		a.await(busy.Job, pleat.StateRunning)
		open()
		c := a.create(toSearch, memory(100))
		awaitSearched(t, f)
		stop()
		if _, err := f.s.Runs.Cancel(context.Background(), f.owner, busy.Job); err != nil {
			t.Fatal(err)
		}
		a.start("bare", scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			if d := cmp.Diff([]pleat.Alignment{{File: "input/msa-0.a3m"}}, w.Fold.Alignments); d != "" {
				t.Error(d)
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}})
		v := a.await(c.Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || len(names(v, pleat.ArtifactMSA)) != 1 {
			t.Errorf("%s, %v", v.Run.MSA, v.Artifacts)
		}
	})
}
