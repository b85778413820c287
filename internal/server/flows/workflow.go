package flows

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// createWorkflow is POST /v1/workflows, for any user: it creates a question (qna), a simulation (md), a design
// (design), a comparison (compare) or an alignment. The input is checked and its source resolved; unless the workflow
// is a draft, it is queued for the best engine that runs here. The input is stored as it was given, except for
// addresses and tokens of webhooks, which are sealed. 400: the input is not valid, or no engine can execute it; 403:
// the source is a fold or a file, and the key may not read; 404: the caller may not read the source; 409: the source
// has not finished, or the Idempotency-Key came with another request; 429: the quota of workflows is used up.
func (h *Handlers) createWorkflow(ctx context.Context, c *route.Call, in *api.CreateWorkflow) (api.Workflow, error) {
	key, err := c.IdempotencyKey()
	if err != nil {
		return api.Workflow{}, err
	}
	alias, err := checkCreateWorkflow(in)
	if err != nil {
		return api.Workflow{}, err
	}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.Workflow{}, err
	}
	p, err := flow.ParseRequest(alias, in.CreateMode == "draft", in.Input)
	if err != nil {
		return api.Workflow{}, err
	}
	once := submit.Once{Key: key}
	if key != "" {
		if once.Digest, err = workflowDigest(in); err != nil {
			return api.Workflow{}, err
		}
	}
	id, err := h.startWorkflow(ctx, c, once, submit.WorkflowRequest{Plan: &p, Name: in.Name, Input: in.Input})
	if err != nil {
		return api.Workflow{}, err
	}
	out, err := h.readWorkflow(ctx, id)
	out.Notes = p.Notes.Texts()
	return out, err
}

// workflowDigest is route.Digest for a request whose input is kept as it came.
func workflowDigest(in *api.CreateWorkflow) (string, error) {
	d := json.NewDecoder(bytes.NewReader(in.Input))
	d.UseNumber()
	var input any
	if err := d.Decode(&input); err != nil {
		return "", err
	}
	return route.Digest([]any{in.WorkflowName, in.Name, in.CreateMode, input}, "")
}

// startWorkflow stores a workflow of the caller: as a draft, or queued.
func (h *Handlers) startWorkflow(
	ctx context.Context, c *route.Call, once submit.Once, q submit.WorkflowRequest,
) (pleat.WorkflowID, error) {
	by := h.Computations.Caller(ctx, c)
	by.Once = once
	n, err := h.Submit.Workflow(ctx, by, q)
	if err != nil {
		return "", err
	}
	w, replayed, err := h.Runs.CreateWorkflowOnce(ctx, n)
	if (err != nil || replayed) && n.Design != nil {
		h.Cleaner.Unused(ctx, n.Design.Fresh...)
	}
	if err != nil {
		return "", c.WithRetryAfter(ctx, err, workflowQuota)
	}
	c.Created.Workflow = w.ID
	if replayed { // it may have been moved since then
		_, err = h.ownWorkflow(ctx, c, string(w.ID))
	} else if !n.Draft {
		c.CountRun(n.Run.Model)
	}
	return w.ID, err
}

// checkCreateWorkflow checks everything about a request but its input, and returns the alias of the workflow.
func checkCreateWorkflow(in *api.CreateWorkflow) (alias string, err error) {
	if in.WorkflowName == "" {
		return "", pleat.InvalidField("workflow_name", " is required; it must be qna_v1, md, design_v1 or compare_v1")
	}
	alias, _, ok := pleat.WorkflowAlias(in.WorkflowName)
	if !ok {
		return "", unknownWorkflow(in.WorkflowName)
	}
	if err := pleat.CheckOptionalName("name", in.Name); err != nil {
		return "", err
	}
	if in.CreateMode != "" && in.CreateMode != "draft" {
		return "", pleat.InvalidField("create_mode", " is %q; it may be draft, or absent", pleat.Clip(in.CreateMode))
	}
	if len(in.Input) == 0 {
		return "", pleat.InvalidField("workflow_input", " is required; it must be an object")
	}
	return alias, nil
}

// unknownWorkflow returns the error for a workflow_name that does not exist; it suggests the nearest one.
func unknownWorkflow(name string) error {
	all := []string{"qna_v1", "md", "design_v1", "alignment_v1", "compare_v1", "evolla_v1", "calvados_openmm_v1",
		"boltzgen_v1"}
	if n := pleat.Nearest(name, all); n != "" {
		return pleat.InvalidField("workflow_name", " %q is not a known workflow; did you mean %q?", pleat.Clip(name), n)
	}
	return pleat.InvalidField("workflow_name", " %q is not a known workflow; it may be %s", pleat.Clip(name),
		strings.Join(all, ", "))
}

// ownWorkflow reads a workflow of a project in which the caller has a role; pleat.ErrWorkflowNotFound if it is of
// another, even if it is public: only members may change a workflow or read its log.
func (h *Handlers) ownWorkflow(ctx context.Context, c *route.Call, id string) (runs.WorkflowView, error) {
	if !pleat.IsUUID(id) {
		return runs.WorkflowView{}, pleat.ErrWorkflowNotFound
	}
	v, err := h.Runs.WorkflowView(ctx, pleat.WorkflowID(strings.ToLower(id)))
	if err == nil {
		err = c.EnterOwner(ctx, v.Workflow.Owner, pleat.ErrWorkflowNotFound)
	}
	return v, err
}

// executeWorkflow is POST /v1/workflows/execute, for the owner of a draft: it checks the draft like a new workflow and
// queues it. The errors are those of createWorkflow, and 409 if the workflow is not a draft.
func (h *Handlers) executeWorkflow(ctx context.Context, c *route.Call, in *api.ExecuteWorkflow) (api.Workflow, error) {
	if in.WorkflowID == "" {
		return api.Workflow{}, pleat.InvalidField("workflowId", " is required; it must be the UUID of a draft")
	}
	v, err := h.ownWorkflow(ctx, c, in.WorkflowID)
	if err != nil {
		return api.Workflow{}, err
	}
	w := &v.Workflow
	if w.State != pleat.StateDraft { // before the checks of its source, which may have gone since it was executed
		return api.Workflow{}, pleat.ErrNotDraft(w.State, "executed")
	}
	spec, err := h.Submit.ExecuteDraft(ctx, h.Computations.Caller(ctx, c), w)
	if err != nil {
		return api.Workflow{}, err
	}
	if _, err := h.Runs.ExecuteWorkflow(ctx, c.Reach(), w, spec); err != nil {
		return api.Workflow{}, c.WithRetryAfter(ctx, err, workflowQuota)
	}
	c.CountRun(spec.Model)
	return h.readWorkflow(ctx, w.ID)
}

// readWorkflow reads a workflow for its owner after a change, so that the response shows what was stored.
func (h *Handlers) readWorkflow(ctx context.Context, id pleat.WorkflowID) (api.Workflow, error) {
	v, err := h.Runs.WorkflowView(ctx, id)
	if err != nil {
		return api.Workflow{}, err
	}
	visible := visibleWorkflow{WorkflowView: v, to: wire.ForOwner}
	out, err := h.workflowOut(ctx, &visible)
	if err == nil {
		err = h.addDesign(ctx, &visible, &out)
	}
	return out, err
}

// cancelWorkflow is POST /v1/workflows/{id}/cancel, for the owner. A draft and a workflow that waits are STOPPED at
// once; a running one stays RUNNING until its engine has stopped, at most two seconds. 409: it has ended.
func (h *Handlers) cancelWorkflow(ctx context.Context, c *route.Call) (api.CancelledWorkflow, error) {
	id, err := c.UUID("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return api.CancelledWorkflow{}, err
	}
	state, err := h.Runs.CancelWorkflow(ctx, c.Reach(), pleat.WorkflowID(id))
	return api.CancelledWorkflow{WorkflowID: id, Status: string(state)}, err
}

// deleteWorkflow is DELETE /v1/workflows/{id}, for the owner, in any state of the workflow; as a job is deleted. The
// library items that its task made go with it.
func (h *Handlers) deleteWorkflow(ctx context.Context, c *route.Call) (api.DeletedWorkflow, error) {
	id, err := c.UUID("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return api.DeletedWorkflow{}, err
	}
	if err := h.Ops.DeleteWorkflow(ctx, c.Reach(), pleat.WorkflowID(id)); err != nil {
		return api.DeletedWorkflow{}, err
	}
	h.Cleaner.Deleted(ctx)
	return api.DeletedWorkflow{WorkflowID: id, Deleted: true}, nil
}

// setWorkflowPublic is PATCH /v1/workflows/{id}/public, for the owner. When a workflow becomes private, the links that
// were given out stop working at once.
func (h *Handlers) setWorkflowPublic(
	ctx context.Context, c *route.Call, in *api.SetPublic,
) (api.WorkflowVisibility, error) {
	id, err := c.UUID("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return api.WorkflowVisibility{}, err
	}
	if in.IsPublic == nil {
		return api.WorkflowVisibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	if err := h.Runs.SetWorkflowPublic(ctx, c.Reach(), pleat.WorkflowID(id), *in.IsPublic); err != nil {
		return api.WorkflowVisibility{}, err
	}
	return api.WorkflowVisibility{WorkflowID: id, IsPublic: *in.IsPublic}, nil
}

// draftQuestion is PATCH /v1/workflows/qna/{id}/draft-question, for the owner of a question: it replaces the question
// of a draft and answers with the workflow. 400: the question is empty or too long; 403: it is about a fold or a file,
// and the key may not read; 404: the caller has no such question; 409: it is not a draft.
func (h *Handlers) draftQuestion(ctx context.Context, c *route.Call, in *api.DraftQuestion) (api.Workflow, error) {
	v, err := h.ownWorkflow(ctx, c, c.R.PathValue("id"))
	if err == nil && v.Workflow.Kind != pleat.TaskQnA {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return api.Workflow{}, err
	}
	if in.Question == nil {
		return api.Workflow{}, pleat.InvalidField("question", " is required; it must be text")
	}
	if err := flow.CheckQuestion(*in.Question, "question"); err != nil {
		return api.Workflow{}, err
	}
	p, err := flow.ParseDraft(v.Workflow.Alias, v.Workflow.Input)
	if err != nil {
		return api.Workflow{}, err
	}
	if err := h.Computations.Caller(ctx, c).CheckReadsSources(&p); err != nil {
		return api.Workflow{}, err
	}
	quoted, err := api.Encode(*in.Question)
	if err != nil {
		return api.Workflow{}, err
	}
	_, err = h.Runs.EditDraft(
		ctx,
		c.Reach(),
		v.Workflow.ID,
		func(input json.RawMessage) (json.RawMessage, error) {
			return submit.SetField(input, "question", quoted)
		},
	)
	if err != nil {
		return api.Workflow{}, err
	}
	return h.readWorkflow(ctx, v.Workflow.ID)
}

// outputSchema is POST /v1/workflows/node/output-schema, for any user: the outputs that a task of a type has for an
// input, as paths into its result. Programs that chain tasks use it to offer the outputs before the task has run. 400:
// the task type is unknown or has no catalogue.
func (h *Handlers) outputSchema(
	_ context.Context, _ *route.Call, in *api.OutputSchemaRequest,
) (api.OutputSchema, error) {
	out := api.OutputSchema{Available: []api.OutputField{}}
	list, err := flow.Catalogue(in.TaskType, in.Input)
	for _, f := range list {
		out.Available = append(out.Available, api.OutputField{Name: f.Name, Type: f.Type})
	}
	return out, err
}

// moveWorkflow is POST /v1/workflows/{id}/move, for members of both projects. 409: it has not ended.
func (h *Handlers) moveWorkflow(ctx context.Context, c *route.Call, in *api.Move) (api.MovedWorkflow, error) {
	id, err := c.UUID("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return api.MovedWorkflow{}, err
	}
	to, err := route.ParseProjectID("projectId", in.ProjectID)
	if err == nil {
		err = h.Ops.MoveWorkflow(ctx, c.ActorInReach(), pleat.WorkflowID(id), to)
	}
	return api.MovedWorkflow{WorkflowID: id, ProjectID: string(to)}, err
}
