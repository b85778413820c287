package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// completeDesign returns a design that has completed with the given files, by the ids of its designs. Each has a chain
// A, which is designed.
func (f *fixture) completeDesign(files map[string][]byte) pleat.WorkflowID {
	f.t.Helper()
	ctx := context.Background()
	w, err := f.s.Runs.CreateWorkflow(ctx, runs.NewWorkflow{
		Workflow: pleat.Workflow{
			Owner: f.owner.Project,
			Kind:  pleat.TaskDesign,
			Alias: pleat.AliasDesign,
			Type:  pleat.WorkflowType(pleat.AliasDesign),
			Name:  "design",
			Input: json.RawMessage("{}"),
		},
		Run:    runs.RunSpec{Queue: "design/test", Model: "test"},
		Design: &runs.NewDesign{},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	row, err := json.Marshal(flow.DesignResult{Chains: []pleat.DesignChain{{Name: "A", Designed: true}}})
	if err != nil {
		f.t.Fatal(err)
	}
	end := runs.RunFinished{State: pleat.StateCompleted, Result: &pleat.Result{Row: row}}
	task := storetest.Claim(f.t, f.s, "designer", "design/test").Task
	for id, content := range files {
		name := pleat.DesignFileName(1, id)
		key := runs.ArtifactKey(&task, name)
		if _, err := f.blobs.Put(ctx, key, bytes.NewReader(content)); err != nil {
			f.t.Fatal(err)
		}
		end.Artifacts = append(end.Artifacts, pleat.Artifact{Name: name, Kind: pleat.ArtifactDesign, Key: key})
	}
	if err := f.s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), end); err != nil {
		f.t.Fatal(err)
	}
	return w.ID
}

// The end of a fold of a design has the RMSD of the binder. Where it cannot be measured, the fold completes without it.
func TestFoldsOfDesignsAreMeasured(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		cif, _ := enginetest.PredictedTrpCage(t)
		w := f.completeDesign(map[string][]byte{"good": cif, "broken": []byte("data_x\n")})
		n := runs.DesignFolds{Owner: f.owner.Project, Workflow: w}
		for _, id := range []string{"good", "broken", "gone"} {
			n.Jobs = append(n.Jobs, runs.DesignJob{Design: id, Rank: 1, Job: storetest.NewFold(f.owner, id)})
		}
		folds, _, err := f.s.Runs.FoldDesigns(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		other := f.create()
		f.start("w", trpCage(t))
		for _, fold := range folds {
			f.await(fold.Job, pleat.StateCompleted)
			d, ok, err := f.s.Runs.FoldedDesign(context.Background(), fold.Job)
			if err != nil || !ok {
				t.Fatalf("%v %v", ok, err)
			}
			if d.Design != "good" {
				if d.BinderRMSD != nil {
					t.Errorf("%s: %g Å; want none", d.Design, *d.BinderRMSD)
				}
			} else if d.BinderRMSD == nil || *d.BinderRMSD != 0 {
				t.Errorf("the fold that is the design: %v; want 0 Å", d.BinderRMSD)
			}
		}
		f.await(other.Job, pleat.StateCompleted)
	})
}
