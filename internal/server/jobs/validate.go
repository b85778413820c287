package jobs

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
)

// validate is POST /v1/jobs/validate, for any user: it makes all checks of createJob and creates nothing. An invalid
// job is a success here: the response lists its faults, at most 100, and an exhausted quota is one of them. A valid
// job gets its chains, its parameters with defaults, and an estimate of memory and time. If the body has the wrong
// form, faults say so, and nothing else is checked. Only a body that is not JSON is answered with 400.
func (h *Handlers) validate(
	ctx context.Context, c *route.Call, in *api.CreateJob, faults []api.FieldError,
) (api.Validation, error) {
	out := api.Validation{Errors: []api.FieldError{}, Params: map[string]any{}, Chains: []api.ValidatedItem{},
		Notes: []string{}}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return out, err
	}
	usages, err := c.Usage(ctx)
	usage := usages.Jobs
	if err != nil {
		return out, err
	}
	out.Remaining = max(0, usage.Limit-usage.Used)
	var f submit.NewFold
	if len(faults) == 0 {
		var q submit.FoldRequest
		q.Job, q.DecodeErr = wire.ToJob(in)
		f, err = h.Submit.Fold(ctx, h.Computations.Caller(ctx, c), q)
		switch {
		case err == nil:
			describe(&out, &f)
			if out.Cached, err = h.earlierRun(ctx, c, &f); err != nil {
				return out, err
			}
		case pleat.CodeOf(err) != pleat.CodeInvalid:
			return out, err
		}
		faults = route.FieldErrors(err)
	}
	out.Errors = append(out.Errors, faults...)
	if len(out.Errors) == 0 {
		err := h.Runs.CheckBudget(ctx, c.In, f.Run)
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
		out.Errors = append(out.Errors, route.FieldErrors(err)...)
	}
	if usage.Used >= usage.Limit {
		out.Errors = append(out.Errors, route.FieldErrors(pleat.ErrQuota(usage.Limit, usage.Used))...)
	}
	out.Valid = len(out.Errors) == 0
	out.ModelName, out.MaxTokens = f.Model.Name, f.Model.MaxTokens
	out.Confidence, out.Notice = f.Model.Confidence, f.Model.Notice
	out.Paused, out.PausedReason, err = h.pausedModel(ctx, f.Model.Name)
	return out, err
}

// describe fills in what a valid job would become and cost. The memory is that of its largest structure, the time the
// sum of all its structures: a model without FeatureComplex folds each item on its own, once however many copies it
// has.
func describe(out *api.Validation, f *submit.NewFold) {
	out.IsComplex, out.Tokens = f.Job.Complex, f.Job.Tokens(f.Model.Limits)
	out.Memory = f.Model.Memory.Bytes(f.Job.Largest(f.Model))
	out.Seconds = f.Job.Seconds(f.Model)
	out.Params = f.Job.Params.Effective(f.Model)
	out.Notes = f.Job.Notes.Texts()
	for i := range f.Job.Sequences {
		q := &f.Job.Sequences[i]
		item := api.ValidatedItem{Type: string(q.Kind), Chains: q.Chains, Tokens: f.Job.TokensOf(q, f.Model.Limits)}
		if q.Polymer() {
			item.Residues = len(q.Text)
		}
		out.Chains = append(out.Chains, item)
	}
}

// earlierRun returns an earlier run that answered the same request; nil if there is none.
func (h *Handlers) earlierRun(ctx context.Context, c *route.Call, f *submit.NewFold) (*api.CachedRun, error) {
	e, err := h.Submit.EarlierRun(ctx, c.In, f)
	if e == nil || err != nil {
		return nil, err
	}
	return &api.CachedRun{JobID: string(e.Job), JobRunID: string(e.Run), CreatedAt: api.At(e.Finished)}, nil
}
