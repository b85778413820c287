package server

import (
	"context"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
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
	var p prepared
	if len(faults) == 0 {
		if p, err = s.prepare(ctx, c.in, in); err == nil {
			err = s.checkReferenced(ctx, c, &p.job, p.model)
		}
		switch {
		case err == nil:
			describe(&out, &p)
			if out.Cached, err = s.earlierRun(ctx, c.in, &p); err != nil {
				return out, err
			}
		case pleat.CodeOf(err) != pleat.CodeInvalid:
			return out, err
		}
		faults = fieldErrors(err)
	}
	out.Errors = append(out.Errors, faults...)
	if len(out.Errors) == 0 {
		err := s.store.Runs.CheckBudget(ctx, c.in, submit.JobRun(&p.job, p.model))
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
		out.Errors = append(out.Errors, fieldErrors(err)...)
	}
	if usage.Used >= usage.Limit {
		out.Errors = append(out.Errors, fieldErrors(pleat.ErrQuota(usage.Limit, usage.Used))...)
	}
	out.Valid = len(out.Errors) == 0
	out.ModelName, out.MaxTokens = p.model.Name, p.model.MaxTokens
	out.Confidence, out.Notice = p.model.Confidence, p.model.Notice
	out.Paused, out.PausedReason, err = s.pausedModel(ctx, p.model.Name)
	return out, err
}

// describe fills in what a valid job would become and cost. The memory is that of its largest structure, the time the
// sum of all its structures: a model without FeatureComplex folds each item on its own, once however many copies it
// has.
func describe(out *api.Validation, p *prepared) {
	out.IsComplex, out.Tokens = p.job.Complex, p.job.Tokens()
	out.Memory = p.model.Memory.Bytes(p.job.Largest(p.model))
	out.Seconds = p.job.Seconds(p.model)
	out.Params = p.job.Params.Effective(p.model)
	for i := range p.job.Sequences {
		q := &p.job.Sequences[i]
		item := api.ValidatedItem{Type: string(q.Kind), Chains: q.Chains, Tokens: p.job.TokensOf(q)}
		if q.Polymer() {
			item.Residues = len(q.Text)
		}
		out.Chains = append(out.Chains, item)
	}
}

// earlierRun returns an earlier run of the owner's that answered the same request; nil if there is none, or if the
// request leaves the seed to the service, or names the result of a job as a template: that job may have run again.
func (s *Server) earlierRun(ctx context.Context, by people.Reach, p *prepared) (*api.CachedRun, error) {
	seed, given := p.job.Params.Seed()
	ofJob := func(t pleat.Template) bool { return t.Job != "" }
	if !given || slices.ContainsFunc(p.job.Constraints.Templates, ofJob) {
		return nil, nil
	}
	request, err := (&pleat.FoldInput{
		Sequences:   p.job.Sequences,
		Params:      p.job.Params,
		Seed:        seed,
		Constraints: p.job.Constraints,
		Complex:     p.job.Complex,
	}).RequestHash(&p.model)
	if err != nil {
		return nil, err
	}
	e, err := s.store.Runs.EarlierRun(ctx, by, request)
	if e == nil || err != nil {
		return nil, err
	}
	return &api.CachedRun{JobID: string(e.Job), JobRunID: string(e.Run), CreatedAt: api.At(e.Finished)}, nil
}
