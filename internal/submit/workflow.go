package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/archive"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
)

// WorkflowRequest is a request for a workflow.
type WorkflowRequest struct {
	Plan  *flow.Plan
	Name  string          // empty: what the plan is about
	Input json.RawMessage // from which the plan was parsed
}

// Workflow decides on a workflow: it resolves the source of the plan, and chooses who is notified and, unless the plan
// is a draft, what the run needs. The blobs of Design.Fresh are stored; if the workflow
// is not, the caller removes them. An error has CodeInvalid, CodeNotFound, CodeForbidden or CodeConflict, unless it is
// the store's.
func (r *Resolver) Workflow(ctx context.Context, by Caller, q WorkflowRequest) (runs.NewWorkflow, error) {
	p := q.Plan
	spec, err := r.checkPlan(ctx, by, p)
	if err != nil {
		return runs.NewWorkflow{}, err
	}
	n := by.newWorkflow(p.Alias, p.Kind, cmp.Or(q.Name, p.Name()))
	n.Draft, n.Workflow.Public, n.Workflow.Source = p.Draft, p.Public, p.Source.Fold
	if !p.Draft {
		if n.Run, err = r.WorkflowRun(ctx, by.In.Project, p); err != nil {
			return runs.NewWorkflow{}, err
		}
		by.mark(&n.Run)
	}
	hooks, err := r.workflowWebhooks(ctx, by.In.Project, p)
	if err != nil {
		return runs.NewWorkflow{}, err
	}
	n.Subs = hooks.Subscriptions
	if n.Workflow.Input, err = SetField(q.Input, "webhooks", hooks.Settings); err != nil {
		return runs.NewWorkflow{}, err
	}
	if spec != nil {
		n.Design, n.Run.Files, err = r.newDesign(ctx, p, spec)
	}
	return n, err
}

// newWorkflow returns a workflow of the caller's without its input.
func (c Caller) newWorkflow(alias string, kind pleat.TaskKind, name string) runs.NewWorkflow {
	return runs.NewWorkflow{By: c.In, Key: c.Once.Key, Digest: c.Once.Digest, Workflow: pleat.Workflow{
		Owner:   c.In.Project,
		Creator: c.In.User,
		Kind:    kind,
		Alias:   alias,
		Type:    pleat.WorkflowType(alias),
		Name:    name,
	}}
}

// ExecuteDraft checks a draft like a new workflow, and returns its run. An error is like that of [Resolver.Workflow].
func (r *Resolver) ExecuteDraft(ctx context.Context, by Caller, w *pleat.Workflow) (runs.RunSpec, error) {
	p, err := r.draftPlan(ctx, w)
	if err != nil {
		return runs.RunSpec{}, err
	}
	design, err := r.checkPlan(ctx, by, p)
	if err != nil {
		return runs.RunSpec{}, err
	}
	spec, err := r.WorkflowRun(ctx, w.Owner, p)
	if err != nil {
		return runs.RunSpec{}, err
	}
	by.mark(&spec)
	if design != nil {
		spec.Files = design.Files
	}
	return spec, nil
}

// draftPlan returns the plan of a draft.
func (r *Resolver) draftPlan(ctx context.Context, w *pleat.Workflow) (*flow.Plan, error) {
	if w.Kind == pleat.TaskDesign {
		return r.draftDesignPlan(ctx, w)
	}
	p, err := flow.Parse(w.Alias, w.Input)
	if err == nil && p.Source.Kind == flow.SourceFold {
		p.Source.Fold = w.Source
	}
	return &p, err
}

// checkPlan checks that the caller may read what a plan is about, and that it exists. For a design it returns the spec,
// which is checked when it is the caller's turn to compute; nil for other kinds.
func (r *Resolver) checkPlan(ctx context.Context, by Caller, p *flow.Plan) (*designSpec, error) {
	if err := by.CheckReadsSources(p); err != nil {
		return nil, err
	}
	if err := r.checkSource(ctx, by.In.Project, p); err != nil {
		return nil, err
	}
	if p.Design == nil {
		return nil, r.checkPrediction(ctx, by, p)
	}
	release, err := by.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var fetched *archive.Entry
	if p.Source.Kind == flow.SourcePDB {
		if fetched, err = r.fetchTarget(ctx, p.Source.ID); err != nil {
			return nil, err
		}
	}
	return r.designSpec(ctx, by.In.Project, p, fetched)
}

// SetField returns a JSON object with one field set to a value; a nil value changes nothing. The other fields keep
// their values, known or not, because the interface returns the input of a workflow as it was sent.
func SetField(input json.RawMessage, field string, value json.RawMessage) (json.RawMessage, error) {
	if value == nil {
		return input, nil
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	all[field] = value
	b, err := api.Encode(all)
	return json.RawMessage(strings.TrimSpace(string(b))), err
}
