package jobs

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// createJob is POST /v1/jobs, for any user: it validates a job and queues its first run. Only a request that passes
// every check counts against the quota. With an Idempotency-Key, a repeated request gets the first response for 24
// hours and counts nothing. 400: a field is wrong; 403: the query has from, and the key may not read; 404: the caller
// has no library item of the query from; 409: the key came with another body; 429: the quota of the day is used up.
func (h *Handlers) createJob(ctx context.Context, c *route.Call, in *api.CreateJob) (api.CreatedJob, error) {
	from, err := c.UUIDQuery("from")
	if err != nil {
		return api.CreatedJob{}, err
	}
	once, err := c.Once(in, from) // before the request is normalised
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.CreatedJob{}, err
	}
	q := submit.FoldRequest{Fresh: c.BypassesCache()}
	q.Job, q.DecodeErr = wire.ToJob(in)
	q.Job.LibraryItem = pleat.ItemID(from)
	f, err := h.Submit.Fold(ctx, h.Computations.Caller(ctx, c), q)
	if err != nil {
		return api.CreatedJob{}, err
	}
	created, err := h.Runs.CreateJob(ctx, runs.NewJob{
		By:     c.Cred.Credential,
		Job:    f.Job,
		Run:    f.Run,
		Key:    once.Key,
		Digest: once.Digest,
		Subs:   f.Subs,
	})
	if err != nil {
		return api.CreatedJob{}, c.WithJobQuota(ctx, err)
	}
	c.Created = route.Subject{Job: created.Job, Run: created.Run}
	if created.Replayed {
		u, err := c.Usage(ctx)
		if err != nil {
			return api.CreatedJob{}, err
		}
		created.Usage = u.Jobs
	} else {
		c.CountRun(f.Model.Name)
	}
	c.ShowQuota(created.Usage)
	return wire.CreatedJob(created, f.Job.Notes), nil
}

// rerun is POST /v1/jobs/{id}/runs, for the owner: a new run of the same input, with the parameters of the request or
// else those of the job. It counts against the quota like a new job. 400: the parameters are wrong, or the model folds
// the chains together where the job's model folds each on its own, or the reverse, since a job's results have one
// form; 409: the latest run has not ended, or the job is a row of a batch that has another model or was cancelled; 429:
// the quota of the day is used up.
func (h *Handlers) rerun(ctx context.Context, c *route.Call, in *api.Rerun) (api.CreatedJob, error) {
	id, err := c.JobID()
	if err != nil {
		return api.CreatedJob{}, err
	}
	v, err := h.Runs.View(ctx, id)
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := c.EnterOwner(ctx, v.Job.Owner, pleat.ErrJobNotFound); err != nil {
		return api.CreatedJob{}, err
	}
	job := v.Job
	if in.Params != nil {
		job.Params = wire.ToParams(in.Params)
	}
	f, err := h.Submit.Fold(ctx, h.Computations.Caller(ctx, c), submit.FoldRequest{
		Job: job, Rerun: &v.Job, Fresh: c.BypassesCache(),
	})
	if err != nil {
		return api.CreatedJob{}, err
	}
	created, err := h.Runs.Rerun(ctx, c.Reach(), id, f.Run)
	if err != nil {
		return api.CreatedJob{}, c.WithJobQuota(ctx, err)
	}
	c.Created.Run = created.Run
	c.CountRun(f.Model.Name)
	c.ShowQuota(created.Usage)
	return wire.CreatedJob(created, f.Job.Notes), nil
}
