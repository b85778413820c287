package jobs

import (
	"context"

	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/progress"
	"pleat/internal/server/route"
)

// jobEvents is GET /v1/jobs/{id}/events, for readers of the job: the progress of its latest run, from the event after
// Last-Event-ID to the end of the run. Only the owner gets log lines. The stream also ends when the job is run again,
// deleted or made private, or the credential is revoked. 204: the run has ended and the client has all its events.
func (h *Handlers) jobEvents(ctx context.Context, c *route.Call) error {
	head, err := c.ReadableJob(ctx)
	if err != nil {
		return err
	}
	return h.Progress.Follow(ctx, c, h.streamedJob(c, head))
}

// streamedJob returns the latest run of a job for a stream.
func (h *Handlers) streamedJob(c *route.Call, head route.VisibleJob) progress.Run {
	return progress.Run{
		ID:       head.Run,
		State:    head.State,
		To:       head.To,
		Template: api.Event{JobID: string(head.Source.Job), JobRunID: string(head.Run)},
		Recheck: func(ctx context.Context) (progress.Run, error) {
			now, err := c.ReadableJobByID(ctx, head.Source.Job)
			return progress.Run{ID: now.Run, To: now.To}, err
		},
		Files: func(ctx context.Context) (map[string]*api.Artifact, error) {
			v, err := h.viewFor(ctx, head)
			return h.Files.ByName(v.Artifacts, seal.JobScope(&v.Job)), err
		},
	}
}

// allEvents is GET /v1/events, for any user: the changes of all of the caller's jobs and workflows from now on, or from
// the cursor in Last-Event-ID on. An event has the present state, not the steps between; the stream ends when the
// credential is revoked.
func (h *Handlers) allEvents(ctx context.Context, c *route.Call) error {
	return h.Progress.FollowAll(ctx, c)
}
