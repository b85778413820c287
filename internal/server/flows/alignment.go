package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
)

// createAlignment is POST /v1/alignments, for any user: it queues a search for alignments of proteins, as a workflow of
// the type alignment_v1. 400: a sequence is wrong, or no alignments are made here; 429: the quota of workflows is used
// up.
func (h *Handlers) createAlignment(ctx context.Context, c *route.Call, in *api.CreateAlignment) (api.Alignment, error) {
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.Alignment{}, err
	}
	if err := pleat.CheckOptionalName("name", in.Name); err != nil {
		return api.Alignment{}, err
	}
	input := flow.AlignmentInput{Pairing: in.Pairing, Webhooks: in.Webhooks}
	var err error
	if input.Sequences, err = proteinTexts(in.Sequences); err != nil {
		return api.Alignment{}, err
	}
	raw, err := api.Encode(input)
	if err != nil {
		return api.Alignment{}, err
	}
	p, err := flow.ParseAlignment(raw)
	if err != nil {
		return api.Alignment{}, err
	}
	id, err := h.startWorkflow(ctx, c, submit.Once{}, submit.WorkflowRequest{
		Plan: &p, Name: in.Name, Input: raw,
	})
	if err != nil {
		return api.Alignment{}, err
	}
	v, err := h.Runs.WorkflowView(ctx, id)
	if err != nil {
		return api.Alignment{}, err
	}
	return h.alignmentOut(&visibleWorkflow{WorkflowView: v, to: wire.ForOwner})
}

// proteinTexts returns the letters of proteins, each a string or an item of a job. The error is
// pleat.Errors.
func proteinTexts(items []json.RawMessage) ([]string, error) {
	var faults pleat.Errors
	texts := make([]string, len(items))
	for i, raw := range items {
		if json.Unmarshal(raw, &texts[i]) == nil && string(raw) != "null" {
			continue
		}
		path := fmt.Sprintf("sequences[%d]", i)
		var item api.SequenceItem
		err := api.DecodeAs(path, raw, &item)
		var bad *api.DecodeError
		switch {
		case errors.As(err, &bad):
			faults = append(faults, pleat.Invalidf("%s", bad.Message).At(path))
		case item.ProteinChain == nil:
			faults = append(faults, pleat.InvalidField(path, " must be a string of letters, or an item with a "+
				"proteinChain: alignments are made of proteins"))
		default:
			texts[i] = item.ProteinChain.Sequence
		}
	}
	return texts, faults.Err()
}

// viewAlignment is GET /v1/alignments/{id}, for readers of the workflow: an alignment with links to its files. 404: it
// does not exist, or is another workflow.
func (h *Handlers) viewAlignment(ctx context.Context, c *route.Call) (api.Alignment, error) {
	v, err := h.readableWorkflow(ctx, c)
	if err == nil && v.Workflow.Kind != pleat.TaskAlign {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return api.Alignment{}, err
	}
	return h.alignmentOut(&v)
}

// alignmentOut returns an alignment for one audience.
func (h *Handlers) alignmentOut(v *visibleWorkflow) (api.Alignment, error) {
	w := &v.Workflow
	out := api.Alignment{
		ID:        string(w.ID),
		Status:    string(w.State),
		Name:      w.Name,
		CreatedAt: api.At(w.Created),
		UpdatedAt: api.At(w.Updated),
	}
	p, err := flow.ParseAlignment(w.Input)
	if err != nil {
		return out, err
	}
	out.Pairing, out.Notes = wire.OptionalString(p.Align.Pairing), p.Notes.Texts()
	for _, q := range p.Align.Sequences {
		out.Proteins = append(out.Proteins, api.AlignedProtein{Chain: q.Chains[0], Sequence: q.Text})
	}
	if v.Run == nil {
		return out, nil
	}
	out.Error = wire.FailureMessage(v.Run.Failure, v.to)
	if v.Run.State != pleat.StateCompleted || v.Run.Result == nil {
		return out, nil
	}
	files := h.Files.ByName(v.Artifacts, seal.WorkflowScope(w))
	link := func(name string) *string {
		if a := files[name]; a != nil {
			return &a.URL
		}
		return nil
	}
	for i := range v.Artifacts {
		if a := &v.Artifacts[i]; a.Kind == pleat.ArtifactCoverage && a.ContentType == "image/png" {
			out.Coverage = link(a.Name)
		}
	}
	found, err := flow.AlignedProteins(v.Run.Result.Row)
	for i := range found[:min(len(found), len(out.Proteins))] {
		one, f := &out.Proteins[i], &found[i]
		one.Depth, one.URL = &f.Depth, link(f.File)
		if f.PairFile != "" {
			one.PairedDepth, one.PairedURL = &f.Paired, link(f.PairFile)
		}
	}
	return out, err
}
