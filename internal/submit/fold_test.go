package submit

import (
	"context"
	"encoding/json"
	"testing"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

// newFoldWorld is a world with a worker that folds, and ann as a caller with some scopes.
func newFoldWorld(t *testing.T, s *store.Store, scopes ...pleat.Scope) (*world, Caller) {
	t.Helper()
	w := newWorld(t, s)
	w.Batches = s.Batches
	worker := pleat.Worker{ID: "w", Queues: []string{storetest.FoldQueue}, Models: []pleat.Model{mini}}
	if err := s.Workers.RegisterWorker(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	return w, Caller{
		In:      w.ann,
		Reach:   w.ann,
		Scopes:  scopes,
		Request: "r1",
		Trace:   "t1",
		Turn:    func(context.Context) (func(), error) { return func() {}, nil },
	}
}

// newJob is a job as it is decoded.
func newJob() pleat.Job {
	return pleat.Job{
		Name:      "fold",
		Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: "acdef"}},
		Params:    pleat.Params{Model: "mini", Values: map[string]any{"seed": "7"}},
	}
}

// A fold has the owner, the request and the seed of who asks for it. A row of a batch leaves the request to the batch.
func TestFold(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, by := newFoldWorld(t, s, pleat.ScopeSubmit)
		f, err := w.Fold(t.Context(), by, FoldRequest{Job: newJob(), Fresh: true})
		if err != nil {
			t.Fatal(err)
		}
		if f.Job.Owner != w.ann.Project || f.Job.Creator != w.ann.User || f.Job.Sequences[0].Text != "ACDEF" {
			t.Errorf("%+v", f.Job)
		}
		if r := f.Run; r.Model != "mini" || r.Seed != "7" || !r.Fresh || r.Request != "r1" || r.Trace != "t1" {
			t.Errorf("%+v", r)
		}
		job := newJob()
		b, err := w.Batch(t.Context(), by, BatchRequest{Fresh: true, Spec: batch.Spec{
			Kind:   pleat.BatchList,
			Name:   "batch",
			Params: job.Params,
			Jobs:   []batch.Entry{{Sequences: job.Sequences}, {Sequences: job.Sequences}},
		}})
		if err != nil || b.Sum.Rows != 2 || b.Sum.Jobs != 1 || b.Request != "r1" || b.Trace != "t1" {
			t.Fatalf("%+v %v", b, err)
		}
		for row, err := range b.Rows {
			if r := row.Input.Run; err != nil || r.Seed != "7" || !r.Fresh || r.Request != "" {
				t.Errorf("%+v %v", r, err)
			}
		}
	})
}

// All faults of a job are found at once, and what is known of it is returned with them.
func TestFaultsOfAFold(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, by := newFoldWorld(t, s, pleat.ScopeSubmit)
		job := newJob()
		job.Sequences[0].Text, job.Constraints.Webhooks = "AC1", json.RawMessage("[]")
		decodeErr := pleat.InvalidField("sequences[1].count", " is 0")
		f, err := w.Fold(t.Context(), by, FoldRequest{Job: job, DecodeErr: decodeErr})
		faults := pleat.ErrorsOf(err)
		if len(faults) != 3 || faults[0].Field != "sequences[1].count" || faults[1].Field != "constraints.webhooks" ||
			f.Model.Name != "mini" {
			t.Errorf("the model %q, %v", f.Model.Name, err)
		}
		for field, params := range map[string]pleat.Params{
			"params":           {},
			"params.modelName": {Values: map[string]any{}},
		} {
			job := newJob()
			job.Params = params
			_, err := w.Fold(t.Context(), by, FoldRequest{Job: job})
			if faults := pleat.ErrorsOf(err); len(faults) == 0 || faults[0].Field != field {
				t.Errorf("%v; want a fault of %s", err, field)
			}
		}
	})
}

// A key that may only submit names no files, in whatever way it asks for a fold.
func TestFoldsThatRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, by := newFoldWorld(t, s, pleat.ScopeSubmit)
		job := newJob()
		job.LibraryItem = pleat.ItemID(runs.NewItemID())
		q := FoldRequest{Job: job}
		if _, err := w.Fold(t.Context(), by, q); pleat.CodeOf(err) != pleat.CodeForbidden {
			t.Errorf("without the scope read: %v", err)
		}
		by.Scopes = append(by.Scopes, pleat.ScopeRead)
		if _, err := w.Fold(t.Context(), by, q); pleat.CodeOf(err) != pleat.CodeNotFound {
			t.Errorf("an item that does not exist: %v", err)
		}
		q.Complex, q.Job = true, newJob()
		q.Job.Sequences = append(q.Job.Sequences, q.Job.Sequences[0])
		if _, err := w.Fold(t.Context(), by, q); err != nil {
			t.Errorf("a complex: %v", err)
		}
	})
}
