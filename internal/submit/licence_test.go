package submit

import (
	"context"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/flow"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// newLicensedWorld is a world with models for every use of weights, and ann as a caller.
func newLicensedWorld(t *testing.T, s *store.Store) (*world, Caller) {
	t.Helper()
	w, by := newFoldWorld(t, s, pleat.AllScopes...)
	academic, free := mini, mini
	academic.Name, academic.WeightUse, academic.Licence = "academic", pleat.NonCommercialUse, "research alone"
	free.Name, free.WeightUse = "free", pleat.CommercialUse
	err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: "licensed", Models: []pleat.Model{
		academic, free,
		{Name: "evolla", Kind: pleat.TaskQnA, WeightUse: pleat.AskUse},
		{Name: "analyst", Kind: pleat.TaskQnA, WeightUse: pleat.CommercialUse},
		{Name: "boltzgen", Kind: pleat.TaskDesign, WeightUse: pleat.AskUse},
		{Name: "freegen", Kind: pleat.TaskDesign, WeightUse: pleat.CommercialUse},
		{Name: "openmm", Kind: pleat.TaskMD, WeightUse: pleat.AskUse},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w, by
}

// markCommercial marks the project of ann, or takes the mark away.
func (w *world) markCommercial(t *testing.T, mark bool) {
	t.Helper()
	by := people.Actor{Reach: w.ann, Database: true}
	if err := w.People.ChangeProject(t.Context(), by, people.ProjectChange{Commercial: &mark}); err != nil {
		t.Fatal(err)
	}
}

// A commercial project is refused models whose weights are not for commercial use on every road that names a model of
// folds, and no other project is.
func TestCommercialFolds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, by := newLicensedWorld(t, s)
		ctx := t.Context()
		n, err := w.Batch(ctx, by, batchOf("academic"))
		if err != nil {
			t.Fatal(err)
		}
		created, err := s.Batches.CreateBatch(ctx, n.NewBatch)
		if err != nil {
			t.Fatal(err)
		}
		b := n.NewBatch.Batch
		b.ID = created.Batch
		roads := map[string]func(model string) error{
			"a job": func(model string) error {
				job := newJob()
				job.Params.Model = model
				_, err := w.Fold(ctx, by, FoldRequest{Job: job})
				return err
			},
			"a run of a job": func(model string) error {
				v, err := w.Runs.View(ctx, w.job.Job)
				if err != nil {
					t.Fatal(err)
				}
				job := v.Job.Clone()
				job.Params.Model = model
				_, err = w.Fold(ctx, by, FoldRequest{Job: job, Rerun: &v.Job})
				return err
			},
			"a batch": func(model string) error {
				_, err := w.Batch(ctx, by, batchOf(model))
				return err
			},
			"a batch again": func(model string) error {
				_, err := w.RerunBatch(ctx, by, BatchRerun{Batch: &b, Params: pleat.Params{
					Model: model, Values: map[string]any{},
				}})
				return err
			},
			"a file": func(model string) error {
				_, err := w.ImportJobs(ctx, by, Content{Text: ">a\nACDEF\n"}, "a", model)
				return err
			},
		}
		for name, road := range roads {
			for _, commercial := range []bool{true, false} {
				w.markCommercial(t, commercial)
				if err := road("free"); err != nil {
					t.Errorf("%s with a free model, commercial %t: %v", name, commercial, err)
				}
				for model, why := range map[string]string{
					"academic": `the model "academic" cannot be used in it because its weights are for non-commercial`,
					"mini":     `the model "mini" cannot be used in it because whether its weights may be`,
				} {
					err := road(model)
					refused := err != nil && strings.Contains(err.Error(), "modelName: ") &&
						strings.Contains(err.Error(), why)
					if refused != commercial || err != nil && !commercial {
						t.Errorf("%s with %s, commercial %t: %v", name, model, commercial, err)
					}
				}
			}
		}
	})
}

// batchOf is a request for a batch of one row.
func batchOf(model string) BatchRequest {
	return BatchRequest{Spec: batch.Spec{
		Kind:   pleat.BatchList,
		Name:   "batch",
		Params: pleat.Params{Model: model, Values: map[string]any{}},
		Jobs:   []batch.Entry{{Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: "ACDEF"}}}},
	}}
}

// A job of a file gets a model that the project may use.
func TestCommercialImport(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, by := newLicensedWorld(t, s)
		w.markCommercial(t, true)
		got, err := w.ImportJobs(t.Context(), by, Content{Text: ">a\nACDEF\n"}, "", "")
		if err != nil || got.Jobs[0].Params.Model != "free" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// For a workflow of a commercial project the engine is chosen among those that it may use; one that is named, or the
// only one, is refused. Fallbacks are built in, and permitted.
func TestCommercialWorkflows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w, _ := newLicensedWorld(t, s)
		qna := &flow.Plan{Kind: pleat.TaskQnA, QnA: &pleat.QnAInput{}}
		md := &flow.Plan{Kind: pleat.TaskMD, MD: &pleat.MDInput{Preset: flow.PresetAllAtom}}
		idr := &flow.Plan{Kind: pleat.TaskMD, MD: &pleat.MDInput{Preset: flow.PresetIDR}}
		either, named := &flow.DesignPlan{}, &flow.DesignPlan{}
		named.Params.Model = "boltzgen"
		for _, c := range []struct {
			plan     *flow.Plan
			fallback []pleat.Model
			open     string // the engine of a project that is not commercial
			want     string // the engine of a commercial one, or the start of its refusal
		}{
			{qna, nil, "evolla", "analyst"},
			{&flow.Plan{Kind: pleat.TaskDesign, Design: either}, nil, "boltzgen", "freegen"},
			{&flow.Plan{Kind: pleat.TaskDesign, Design: named}, nil, "boltzgen",
				`workflow_input.modelName: the project is marked commercial, and the model "boltzgen" cannot`},
			{md, nil, "openmm", `workflow_name: the project is marked commercial, and the model "openmm" cannot`},
			{idr, flow.Builtin(), "calvados", "calvados"},
		} {
			for mark, want := range map[bool]string{false: c.open, true: c.want} {
				w.markCommercial(t, mark)
				got, err := w.WorkflowRun(context.Background(), w.ann.Project, c.plan, c.fallback...)
				text := got.Model
				if err != nil {
					text = err.Error()
				}
				if !strings.HasPrefix(text, want) {
					t.Errorf("%s, commercial %t: %q; want %q", c.plan.Kind, mark, text, want)
				}
			}
		}
	})
}
