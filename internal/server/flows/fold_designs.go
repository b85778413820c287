package flows

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// foldDesigns is POST /v1/workflows/design/{id}/fold, for the owner of a design: it creates a fold job for each of some
// designs of the final set, or none. 400: the model folds no complexes, or a field is wrong; 409: the design is not
// COMPLETED; 429: the quota is used up.
func (h *Handlers) foldDesigns(ctx context.Context, c *route.Call, in *api.FoldDesigns) (api.FoldedDesigns, error) {
	out := api.FoldedDesigns{Data: []api.FoldedDesign{}}
	q, err := h.readFoldRequest(ctx, c, in)
	if err != nil {
		return out, err
	}
	created, err := h.foldedBefore(ctx, c, q.once)
	if err == nil && created == nil {
		created, err = h.foldChosen(ctx, c, in.Name, q)
	}
	if err != nil {
		return out, err
	}
	for i, m := range created {
		out.Data = append(out.Data, api.FoldedDesign{
			DesignID:  q.chosen.Rows[i].Text("id"),
			FinalRank: q.chosen.Rows[i].Rank(),
			JobID:     string(m.Job),
			JobRunID:  string(m.Run),
			JobName:   m.Name,
		})
	}
	u, err := c.Usage(ctx)
	if err != nil {
		return out, err
	}
	c.ShowQuota(u.Jobs)
	out.Notes = q.chosen.Notes(q.params.ModelName)
	return out, nil
}

// foldRequest is a request to fold designs, read as far as it does not depend on the models that run.
type foldRequest struct {
	chosen *submit.ChosenDesigns
	params *api.Params
	once   submit.Once
}

// readFoldRequest reads a request to fold designs.
func (h *Handlers) readFoldRequest(ctx context.Context, c *route.Call, in *api.FoldDesigns) (*foldRequest, error) {
	q := &foldRequest{params: new(api.Params)}
	v, err := h.ownWorkflow(ctx, c, c.R.PathValue("id"))
	if err == nil && v.Workflow.Kind != pleat.TaskDesign {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return nil, err
	}
	if q.once, err = c.Once(in, string(v.Workflow.ID)); err != nil {
		return nil, err
	}
	if q.chosen, err = submit.ChooseDesigns(&v, in.Top, in.Designs); err != nil {
		return nil, err
	}
	if len(in.Params) == 0 {
		return nil, pleat.InvalidField("params", " is required; it must hold modelName")
	}
	return q, api.DecodeAs("params", in.Params, q.params)
}

// foldedBefore returns what an earlier call with an idempotency key has made; nil: there was none. It comes before what
// depends on the model, which may have stopped running since then.
func (h *Handlers) foldedBefore(ctx context.Context, c *route.Call, once submit.Once) ([]runs.Created, error) {
	if once.Key == "" {
		return nil, nil
	}
	return h.Runs.ReplayedFolds(ctx, c.In, once.Key, once.Digest)
}

// foldChosen creates the jobs.
func (h *Handlers) foldChosen(ctx context.Context, c *route.Call, name string, q *foldRequest) ([]runs.Created, error) {
	by := h.Computations.Caller(ctx, c)
	by.Once = q.once
	n, err := h.Submit.FoldDesigns(ctx, by, q.chosen, name, wire.ToParams(q.params))
	if err != nil {
		return nil, err
	}
	created, replayed, err := h.Runs.FoldDesigns(ctx, n)
	if err != nil {
		return nil, c.WithJobQuota(ctx, err)
	}
	if !replayed {
		for i := range n.Jobs {
			c.CountRun(n.Jobs[i].Job.Run.Model)
		}
	}
	return created, nil
}

// designFolds returns the folds of the designs of a workflow, for its owner.
func (h *Handlers) designFolds(ctx context.Context, id pleat.WorkflowID) ([]api.DesignFold, error) {
	list, err := h.Runs.DesignFolds(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []api.DesignFold
	for i := range list {
		f := &list[i]
		row := api.DesignFold{
			DesignID:  f.Design,
			JobID:     string(f.Job),
			JobRunID:  string(f.Run),
			ModelName: f.Model,
			Status:    string(f.State),
		}
		if f.Result != nil && len(f.Result.Predictions) == 1 {
			p := &f.Result.Predictions[0]
			row.MeanPLDDT, row.PredictedRMSD, row.PTM, row.IPTM = p.MeanPLDDT, p.PredictedRMSD, p.PTM, p.IPTM
			row.BinderRMSD = f.BinderRMSD
		}
		out = append(out, row)
	}
	return out, nil
}
