package jobs

import (
	"context"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
)

// listJobs is GET /v1/jobs, for any user: the caller's own jobs, newest first, in pages. Public jobs of others are not
// listed anywhere.
func (h *Handlers) listJobs(ctx context.Context, c *route.Call) (api.List[api.JobRow], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.JobRow]{}, err
	}
	f := runs.Filter{Limit: p.Limit + 1, Before: p.Before, Query: c.R.URL.Query().Get("q")}
	if f.State, err = route.StatusQuery(c, pleat.JobStates()); err != nil {
		return api.List[api.JobRow]{}, err
	}
	if f.Creator, err = c.CreatorQuery(); err != nil {
		return api.List[api.JobRow]{}, err
	}
	if !utf8.ValidString(f.Query) || len(f.Query) > 4*pleat.MaxName {
		return api.List[api.JobRow]{}, pleat.InvalidField("q", " must be text of at most %d characters", pleat.MaxName)
	}
	rows, err := h.Runs.ListJobs(ctx, c.In, f)
	if err != nil {
		return api.List[api.JobRow]{}, err
	}
	for i := range rows {
		if rows[i].Creator == c.Who.User {
			rows[i].CreatorName = c.Who.Name
		}
	}
	return route.List(p, rows, func(r *runs.JobRow) string { return string(r.ID) }, wire.JobRow), nil
}

// viewJob is GET /v1/jobs/{id}, for readers of the job: everything about it except its files. Only the owner sees its
// deliveries, chat, library item, webhook settings and private workflows. The reason why a run waits and its
// position in the queue are given while it waits.
func (h *Handlers) viewJob(ctx context.Context, c *route.Call) (api.JobView, error) {
	head, err := c.ReadableRun(ctx)
	if err != nil {
		return api.JobView{}, err
	}
	v, err := h.viewFor(ctx, head)
	if err != nil {
		return api.JobView{}, err
	}
	all, err := h.Runs.Runs(ctx, head.Source.Job)
	if err != nil {
		return api.JobView{}, err
	}
	out := wire.JobView(&v, all, head.To)
	base := c.Site().Base + "/v1/jobs/" + string(head.Source.Job)
	out.Job.ExpiresAt = wire.OptionalTime(v.Expires)
	out.Links = api.JobLinks{Results: base + "/results", Events: base + "/events", Archive: base + "/archive.zip"}
	if head.To == wire.ForOwner {
		list, err := h.Webhooks.Deliveries(ctx, people.InProject(v.Job.Owner),
			webhooks.DeliveryFilter{SourceID: string(v.Job.ID), Limit: route.MaxPage})
		if err != nil {
			return out, err
		}
		for i := range list {
			out.Deliveries = append(out.Deliveries, wire.LinkedDelivery(&list[i]))
		}
	}
	if out.Workflows, err = h.linkedTo(ctx, &v.Job, head.To); err != nil {
		return out, err
	}
	out.Waiting, out.Progress.QueuePosition, err = h.Progress.Waiting(ctx, &v.Run, head.To)
	return out, err
}

// viewFor reads a job and the run of the request for a caller who may read it. It checks the visibility again: the job
// could have become private between the two reads.
func (h *Handlers) viewFor(ctx context.Context, head route.VisibleJob) (runs.View, error) {
	if head.Earlier != "" {
		return h.Runs.RunView(ctx, head.Source.Job, head.Earlier)
	}
	read := h.Runs.View
	if head.Ended() {
		read = h.Runs.EndedView
	}
	v, err := read(ctx, head.Source.Job)
	if err != nil {
		return v, err
	}
	if head.Public && head.To == wire.ForOthers && !v.Job.Public {
		if head.Caller == "" {
			return v, pleat.ErrUnauthorized
		}
		return v, pleat.ErrJobNotFound
	}
	return v, nil
}

// setPublic is PATCH /v1/jobs/{id}/public, for the owner. When a job becomes private, the links that were given out and
// the streams of other readers end at once. 409: the job belongs to a batch.
func (h *Handlers) setPublic(ctx context.Context, c *route.Call, in *api.SetPublic) (api.Visibility, error) {
	id, err := c.JobID()
	if err != nil {
		return api.Visibility{}, err
	}
	if in.IsPublic == nil {
		return api.Visibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	if err := h.Runs.SetPublic(ctx, c.Reach(), id, *in.IsPublic); err != nil {
		return api.Visibility{}, err
	}
	return api.Visibility{JobID: string(id), IsPublic: *in.IsPublic}, nil
}

// cancelJob is POST /v1/jobs/{id}/cancel, for the owner. A job that waits is STOPPED at once; a running one stays
// RUNNING until its engine has stopped, at most two seconds. 409: the job has ended.
func (h *Handlers) cancelJob(ctx context.Context, c *route.Call) (api.CancelledJob, error) {
	id, err := c.JobID()
	if err != nil {
		return api.CancelledJob{}, err
	}
	state, err := h.Runs.Cancel(ctx, c.Reach(), id)
	return api.CancelledJob{JobID: string(id), JobStatus: string(state)}, err
}

// deleteJob is DELETE /v1/jobs/{id}, for the owner, in any state of the job; a run in progress is stopped. No reader
// sees the job and the workflows that it started from then on, and their links end at once. Everything that was stored
// for them is deleted as soon as nothing is under way.
func (h *Handlers) deleteJob(ctx context.Context, c *route.Call) (api.DeletedJob, error) {
	id, err := c.JobID()
	if err != nil {
		return api.DeletedJob{}, err
	}
	if err := h.Ops.DeleteJob(ctx, c.Reach(), id); err != nil {
		return api.DeletedJob{}, err
	}
	h.Cleaner.Deleted(ctx)
	return api.DeletedJob{JobID: string(id), Deleted: true}, nil
}

// moveJob is POST /v1/jobs/{id}/move, for members of both projects: the job with the workflows that it has started
// belongs to another project. 409: something of it has not ended, or it belongs to a batch.
func (h *Handlers) moveJob(ctx context.Context, c *route.Call, in *api.Move) (api.MovedJob, error) {
	id, err := c.JobID()
	if err != nil {
		return api.MovedJob{}, err
	}
	to, err := route.ParseProjectID("projectId", in.ProjectID)
	if err == nil {
		err = h.Ops.MoveJob(ctx, c.ActorInReach(), id, to)
	}
	return api.MovedJob{JobID: string(id), ProjectID: string(to)}, err
}
