package server

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
)

// validate is POST /v1/jobs/validate, for any user: it makes all checks of createJob and creates nothing. An invalid
// job is a success here: the response lists its faults, at most 100, and an exhausted quota is one of them. A valid
// job gets its chains, its parameters with defaults, and an estimate of memory and time. Of a body of the wrong form,
// which faults are about, nothing else is checked. Only a body that is not JSON is answered with 400.
func (s *Server) validate(
	ctx context.Context, c *call, in *api.CreateJob, faults []api.FieldError,
) (api.Validation, error) {
	out := api.Validation{Errors: []api.FieldError{}, Params: map[string]any{}, Chains: []api.ValidatedItem{}}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return out, err
	}
	usages, err := s.store.People.Usage(ctx, c.in)
	usage := usages.Jobs
	if err != nil {
		return out, err
	}
	out.Remaining = max(0, usage.Limit-usage.Used)
	var f submit.NewFold
	if len(faults) == 0 {
		var q submit.FoldRequest
		q.Job, q.DecodeErr = wire.ToJob(in)
		f, err = s.resolver.Fold(ctx, s.submitter(ctx, c), q)
		switch {
		case err == nil:
			describe(&out, &f)
			if out.Cached, err = s.earlierRun(ctx, c, &f); err != nil {
				return out, err
			}
		case pleat.CodeOf(err) != pleat.CodeInvalid:
			return out, err
		}
		faults = fieldErrors(err)
	}
	out.Errors = append(out.Errors, faults...)
	if len(out.Errors) == 0 {
		err := s.store.Runs.CheckBudget(ctx, c.in, f.Run)
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
		out.Errors = append(out.Errors, fieldErrors(err)...)
	}
	if usage.Used >= usage.Limit {
		out.Errors = append(out.Errors, fieldErrors(pleat.ErrQuota(usage.Limit, usage.Used))...)
	}
	out.Valid = len(out.Errors) == 0
	out.ModelName, out.MaxTokens = f.Model.Name, f.Model.MaxTokens
	out.Confidence, out.Notice = f.Model.Confidence, f.Model.Notice
	out.Paused, out.PausedReason, err = s.pausedModel(ctx, f.Model.Name)
	return out, err
}

// describe fills in what a valid job would become and cost. The memory is that of its largest structure, the time the
// sum of all its structures: a model without FeatureComplex folds each item on its own, once however many copies it
// has.
func describe(out *api.Validation, f *submit.NewFold) {
	out.IsComplex, out.Tokens = f.Job.Complex, f.Job.Tokens()
	out.Memory = f.Model.Memory.Bytes(f.Job.Largest(f.Model))
	out.Seconds = f.Job.Seconds(f.Model)
	out.Params = f.Job.Params.Effective(f.Model)
	for i := range f.Job.Sequences {
		q := &f.Job.Sequences[i]
		item := api.ValidatedItem{Type: string(q.Kind), Chains: q.Chains, Tokens: f.Job.TokensOf(q)}
		if q.Polymer() {
			item.Residues = len(q.Text)
		}
		out.Chains = append(out.Chains, item)
	}
}

// earlierRun returns an earlier run that answered the same request; nil if there is none.
func (s *Server) earlierRun(ctx context.Context, c *call, f *submit.NewFold) (*api.CachedRun, error) {
	e, err := s.resolver.EarlierRun(ctx, c.in, f)
	if e == nil || err != nil {
		return nil, err
	}
	return &api.CachedRun{JobID: string(e.Job), JobRunID: string(e.Run), CreatedAt: api.At(e.Finished)}, nil
}
