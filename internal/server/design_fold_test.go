package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// A design shows the RMSD that the end of a fold has recorded, null for a fold that was not measured, and reading it
// changes no row.
func TestReadingFoldsOfADesign(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx := context.Background()
	w, err := h.store.Runs.CreateWorkflow(ctx, runs.NewWorkflow{
		Workflow: pleat.Workflow{
			Owner: pleat.ProjectID(h.user),
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
		t.Fatal(err)
	}
	h.finishWorkflow(h.claimWorkflow("design/test"), json.RawMessage(`{"chains":[{"name":"A","designed":true}]}`))
	n := runs.DesignFolds{Owner: w.Owner, Workflow: w.ID}
	for rank, id := range []string{"x_1", "x_2"} {
		by := people.Reach{User: h.user, Project: w.Owner}
		n.Jobs = append(n.Jobs, runs.DesignJob{Design: id, Rank: rank + 1, Job: storetest.NewFold(by, id)})
	}
	if _, _, err := h.store.Runs.FoldDesigns(ctx, n); err != nil {
		t.Fatal(err)
	}
	rmsd, end := 1.5, storetest.Completed()
	end.BinderRMSD = &rmsd
	for range n.Jobs {
		k := storetest.Claim(t, h.store, "w", storetest.FoldQueue).Task
		if err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&k), end); err != nil {
			t.Fatal(err)
		}
		end.BinderRMSD = nil
	}
	before := storetest.Tables(t, h.store)
	r := h.as(h.key, "GET", "/v1/workflows/"+string(w.ID), nil)
	var got api.Workflow
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || len(got.Folds) != 2 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if d := cmp.Diff([]*float64{&rmsd, nil}, []*float64{got.Folds[0].BinderRMSD, got.Folds[1].BinderRMSD}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, storetest.Tables(t, h.store)); d != "" {
		t.Errorf("a GET changes rows: %s", d)
	}
}
