package jobs

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// linkedTo lists the workflows that work on a job, newest first, at most 200: all for its owner, the public ones for
// others. Workflows of other users about a public job are not among them.
func (h *Handlers) linkedTo(ctx context.Context, j *pleat.Job, to wire.Audience) ([]api.LinkedItem, error) {
	out := []api.LinkedItem{}
	list, err := h.Runs.Workflows(ctx, people.InProject(j.Owner),
		runs.WorkflowFilter{Limit: 200, Source: pleat.FoldRef{Job: j.ID}})
	for i := range list {
		if w := &list[i].Workflow; to == wire.ForOwner || w.Public {
			out = append(out, api.LinkedItem{ID: string(w.ID), Type: w.Type, Status: string(w.State), Name: w.Name})
		}
	}
	if err != nil {
		return out, err
	}
	fold, ok, err := h.Runs.FoldedDesign(ctx, j.ID)
	if err != nil || !ok {
		return out, err
	}
	v, err := h.Runs.WorkflowView(ctx, fold.Workflow)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return out, nil // it was deleted
	}
	if w := &v.Workflow; err == nil && (to == wire.ForOwner && w.Owner == j.Owner || w.Public) {
		out = append(out, api.LinkedItem{
			ID: string(w.ID), Type: w.Type, Status: string(w.State), Name: w.Name, DesignID: fold.Design,
		})
	}
	return out, err
}
