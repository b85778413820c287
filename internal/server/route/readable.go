package route

import (
	"context"
	"errors"

	"pleat"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Readable is what a project owns and a caller wants to read.
type Readable struct {
	Source   pleat.Source
	Owner    pleat.ProjectID
	Public   bool
	NotFound error // for who may not read it
}

// Audience decides as whom the caller reads something. A thing that the caller may not read is not found; a caller
// without a credential gets pleat.ErrUnauthorized instead.
func (c *Call) Audience(ctx context.Context, what Readable) (wire.Audience, error) {
	var caller people.Principal
	role := pleat.NoRole
	if c.Cred.Sent {
		var err error
		caller, err = c.Identify(ctx)
		if err == nil {
			role, err = c.core.stores.people.Role(ctx, caller.Reach(), what.Owner)
		}
		if err != nil && pleat.CodeOf(err) != pleat.CodeUnauthorized {
			return 0, err
		}
	}
	return c.audienceOf(reading{
		role:   role,
		scopes: caller.Scopes,
		caller: caller.User,
		public: what.Public,
		shared: func() (bool, error) { return c.shares(ctx, what.Source) },
	}, what.NotFound)
}

// reading is what decides as whom a caller reads something that a project owns.
type reading struct {
	role   pleat.Role   // of the caller in the project
	scopes pleat.Scopes // of the caller's key
	caller pleat.UserID // empty: the request has no valid credential
	public bool
	shared func() (bool, error) // whether the request brings a link to it
}

// audienceOf decides as whom a caller reads something. notFound: the caller may not know that it exists.
func (c *Call) audienceOf(r reading, notFound error) (wire.Audience, error) {
	switch {
	case r.role >= pleat.Viewer && r.scopes.Has(pleat.ScopeRead):
		return wire.ForOwner, nil
	case r.public:
		return wire.ForOthers, nil
	}
	shared, err := r.shared()
	switch {
	case err != nil:
		return 0, err
	case shared:
		return wire.ForOthers, nil
	case r.role >= pleat.Viewer:
		return 0, c.MissingScope()
	case r.caller == "":
		return 0, pleat.ErrUnauthorized
	}
	return 0, notFound
}

// VisibleJob is the head of a job that the caller may read.
type VisibleJob struct {
	runs.Head
	To wire.Audience
	// Earlier is the run that the request asks for, if it is not the latest.
	Earlier pleat.RunID
}

// Ended reports whether the run that the request asks for has ended. A job is run again only after its latest run.
func (j *VisibleJob) Ended() bool { return j.Earlier != "" || j.State.Terminal() }

// ReadableRun is ReadableJob with the run that the query jobRunId names; absent: the latest. To others, a public job
// shows its latest run alone.
func (c *Call) ReadableRun(ctx context.Context) (VisibleJob, error) {
	head, err := c.ReadableJob(ctx)
	if err != nil {
		return head, err
	}
	id, err := c.UUIDQuery("jobRunId")
	if run := pleat.RunID(id); err == nil && id != "" && run != head.Run {
		if head.To != wire.ForOwner {
			return head, pleat.ErrRunNotFound
		}
		head.Earlier = run
	}
	return head, err
}

// ReadableJob reads the head of the job in the path and checks that the caller may read it. A job that the caller may
// not read is not found; a caller without a credential gets pleat.ErrUnauthorized instead.
func (c *Call) ReadableJob(ctx context.Context) (VisibleJob, error) {
	id, err := c.UUID("id", pleat.ErrJobNotFound)
	if err != nil {
		return VisibleJob{}, c.PreferUnauthorized(ctx, err)
	}
	return c.ReadableJobByID(ctx, pleat.JobID(id))
}

// ReadableJobByID is ReadableJob for a job that the path does not name.
func (c *Call) ReadableJobByID(ctx context.Context, id pleat.JobID) (VisibleJob, error) {
	h, err := c.core.stores.runs.Head(ctx, id, c.Cred.Credential)
	switch {
	case errors.Is(err, pleat.ErrJobNotFound):
		return VisibleJob{}, c.PreferUnauthorized(ctx, err)
	case err != nil:
		return VisibleJob{}, err
	}
	to, err := c.audienceOf(reading{
		role:   h.Role,
		scopes: h.Scopes,
		caller: h.Caller,
		public: h.Public,
		shared: func() (bool, error) { return c.shares(ctx, h.Source) },
	}, pleat.ErrJobNotFound)
	switch {
	case err != nil:
		return VisibleJob{}, err
	case to == wire.ForOwner:
		err = c.core.recordUse(ctx, c.Cred)
	}
	return VisibleJob{Head: h, To: to}, err
}

// JobID returns the job id of a path on which only those may act who have a role in its project; the store checks
// it.
func (c *Call) JobID() (pleat.JobID, error) {
	id, err := c.UUID("id", pleat.ErrJobNotFound)
	return pleat.JobID(id), err
}
