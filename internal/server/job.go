package server

import (
	"context"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/garbage"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
)

// listJobs is GET /v1/jobs, for any user: the caller's own jobs, newest first, in pages. Public jobs of others are not
// listed anywhere.
func (s *Server) listJobs(ctx context.Context, c *call) (api.List[api.JobRow], error) {
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return api.List[api.JobRow]{}, err
	}
	f := runs.Filter{Limit: p.limit + 1, Before: p.before, Query: c.r.URL.Query().Get("q")}
	if f.State, err = statusQuery(c.r, pleat.JobStates()); err != nil {
		return api.List[api.JobRow]{}, err
	}
	if f.Creator, err = creatorQuery(c); err != nil {
		return api.List[api.JobRow]{}, err
	}
	if !utf8.ValidString(f.Query) || len(f.Query) > 4*pleat.MaxName {
		return api.List[api.JobRow]{}, pleat.InvalidField("q", " must be text of at most %d characters", pleat.MaxName)
	}
	rows, err := s.store.Runs.ListJobs(ctx, c.in, f)
	if err != nil {
		return api.List[api.JobRow]{}, err
	}
	for i := range rows {
		if rows[i].Creator == c.who.User {
			rows[i].CreatorName = c.who.Name
		}
	}
	return listOf(p, rows, func(r *runs.JobRow) string { return string(r.ID) }, wire.JobRow), nil
}

// viewJob is GET /v1/jobs/{id}, for readers of the job: everything about it except its files. Only the owner sees its
// deliveries, chat, library item, webhook settings and private workflows. The reason why a run waits and its
// position in the queue are given while it waits.
func (s *Server) viewJob(ctx context.Context, c *call) (api.JobView, error) {
	head, err := s.readableRun(ctx, c)
	if err != nil {
		return api.JobView{}, err
	}
	v, err := s.viewFor(ctx, head)
	if err != nil {
		return api.JobView{}, err
	}
	runs, err := s.store.Runs.Runs(ctx, head.Source.Job)
	if err != nil {
		return api.JobView{}, err
	}
	out := wire.JobView(&v, runs, head.to)
	base := s.cfg.PublicURL + "/v1/jobs/" + string(head.Source.Job)
	out.Job.ExpiresAt = wire.OptionalTime(v.Expires)
	out.Links = api.JobLinks{Results: base + "/results", Events: base + "/events", Archive: base + "/archive.zip"}
	if head.to == wire.ForOwner {
		list, err := s.store.Webhooks.Deliveries(ctx, people.InProject(v.Job.Owner),
			webhooks.DeliveryFilter{SourceID: string(v.Job.ID), Limit: maxPage})
		if err != nil {
			return out, err
		}
		for i := range list {
			out.Deliveries = append(out.Deliveries, wire.LinkedDelivery(&list[i]))
		}
	}
	if out.Workflows, err = s.linkedTo(ctx, &v.Job, head.to); err != nil {
		return out, err
	}
	out.Waiting, out.Progress.QueuePosition, err = s.waiting(ctx, &v.Run, head.to)
	return out, err
}

// viewFor reads a job and the run of the request for a caller who may read it. It checks the visibility again: the job
// could have become private between the two reads.
func (s *Server) viewFor(ctx context.Context, head visibleJob) (runs.View, error) {
	if head.earlier != "" {
		return s.store.Runs.RunView(ctx, head.Source.Job, head.earlier)
	}
	read := s.store.Runs.View
	if head.ended() {
		read = s.store.Runs.EndedView
	}
	v, err := read(ctx, head.Source.Job)
	if err != nil {
		return v, err
	}
	if head.Public && head.to == wire.ForOthers && !v.Job.Public {
		if head.Caller == "" {
			return v, pleat.ErrUnauthorized
		}
		return v, pleat.ErrJobNotFound
	}
	return v, nil
}

// setPublic is PATCH /v1/jobs/{id}/public, for the owner. When a job becomes private, the links that were given out and
// the streams of other readers end at once. 409: the job belongs to a batch.
func (s *Server) setPublic(ctx context.Context, c *call, in *api.SetPublic) (api.Visibility, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.Visibility{}, err
	}
	if in.IsPublic == nil {
		return api.Visibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	if err := s.store.Runs.SetPublic(ctx, c.reach(), id, *in.IsPublic); err != nil {
		return api.Visibility{}, err
	}
	return api.Visibility{JobID: string(id), IsPublic: *in.IsPublic}, nil
}

// cancelJob is POST /v1/jobs/{id}/cancel, for the owner. A job that waits is STOPPED at once; a running one stays
// RUNNING until its engine has stopped, at most two seconds. 409: the job has ended.
func (s *Server) cancelJob(ctx context.Context, c *call) (api.CancelledJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.CancelledJob{}, err
	}
	state, err := s.store.Runs.Cancel(ctx, c.reach(), id)
	return api.CancelledJob{JobID: string(id), JobStatus: string(state)}, err
}

// deleteJob is DELETE /v1/jobs/{id}, for the owner, in any state of the job; a run in progress is stopped. No reader
// sees the job and the workflows that it started from then on, and their links end at once. Everything that was stored
// for them is deleted as soon as nothing is under way.
func (s *Server) deleteJob(ctx context.Context, c *call) (api.DeletedJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.DeletedJob{}, err
	}
	if err := s.store.Ops.DeleteJob(ctx, c.reach(), id); err != nil {
		return api.DeletedJob{}, err
	}
	s.removeDeleted(ctx)
	return api.DeletedJob{JobID: string(id), Deleted: true}, nil
}

// removeDeleted deletes what deleted jobs and workflows have left. It takes at most 2 s: workers do the rest.
func (s *Server) removeDeleted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := garbage.RemoveDeleted(ctx, s.store.Ops, s.store.Runs, s.blobs); err != nil && ctx.Err() == nil {
		s.log.Warn("a deleted job was not removed completely; a worker will", "error", err)
	}
}
