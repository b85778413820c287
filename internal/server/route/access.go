package route

import (
	"context"
	"errors"
	"strings"

	"pleat"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Reach is what the caller may read and change: every project in which the caller has a role, or that of the key.
func (c *Call) Reach() people.Reach { return c.Who.Reach() }

// enter sets the project in which the call creates or lists: the one that a field of the request names, else that of
// the key, else the caller's own. The caller needs the role that the scope of the route asks for. 404: the caller may
// not read the project; 403: the role is too small.
func (c *Call) enter(ctx context.Context, field, id string) error {
	c.In = people.Reach{User: c.Who.User, Project: c.Who.Project}
	if id != "" {
		project, err := ParseProjectID(field, id)
		if err != nil {
			return err
		}
		c.In.Project = project
	}
	if c.In.Project == "" || c.In.Project == c.Who.User.OwnProject() && c.Who.Project == "" {
		c.In.Project = c.Who.User.OwnProject()
		return nil
	}
	err := c.needRole(ctx, c.In.Project, pleat.ErrNoProject)
	if id != "" && err != nil {
		return pleat.ErrorAt(err, field)
	}
	return err
}

// ParseProjectID reads the id of a project from a field of a request.
func ParseProjectID(field, text string) (pleat.ProjectID, error) {
	if !pleat.IsUUID(text) {
		return "", pleat.InvalidField(field, " is %q; it must be the UUID of a project", pleat.Clip(text))
	}
	return pleat.ProjectID(strings.ToLower(text)), nil
}

// EnterNamed is enter for a project that the body of a request names; nothing changes if it names none.
func (c *Call) EnterNamed(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	return c.enter(ctx, "projectId", id)
}

// needRole refuses a call unless the caller has the role that the route needs in a project, which owns what it
// concerns. An object that the caller may not read is not found.
func (c *Call) needRole(ctx context.Context, owner pleat.ProjectID, notFound error) error {
	role, err := c.core.stores.people.Role(ctx, c.Reach(), owner)
	if err != nil {
		return err
	}
	return role.Allow(c.served.Who.Needs(), notFound)
}

// Readable is what a project owns and a caller wants to read.
type Readable struct {
	Source   pleat.Source
	Owner    pleat.ProjectID
	Public   bool
	NotFound error // for callers who may not read it
}

// Audience decides as whom the caller reads something. An object that the caller may not read is not found; a caller
// without a credential gets [pleat.ErrUnauthorized] instead.
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
	mayRead := role >= pleat.Viewer && caller.Scopes.Has(pleat.ScopeRead)
	shared := false
	if !mayRead && !what.Public {
		var err error
		if shared, err = c.shares(ctx, what.Source); err != nil {
			return 0, err
		}
	}
	switch {
	case mayRead:
		return wire.ForOwner, nil
	case what.Public || shared:
		return wire.ForOthers, nil
	case role >= pleat.Viewer:
		return 0, c.MissingScope()
	case caller.User == "":
		return 0, pleat.ErrUnauthorized
	}
	return 0, what.NotFound
}

// EnterOwner sets the project of the call to that of a thing on which the caller acts. An object that the caller may
// not read is not found.
func (c *Call) EnterOwner(ctx context.Context, owner pleat.ProjectID, notFound error) error {
	c.In = people.Reach{User: c.Who.User, Project: owner}
	return c.needRole(ctx, owner, notFound)
}

// EnterPath sets the project of the call to that of the path. A key that reaches another one alone does not find it.
func (c *Call) EnterPath() error {
	id, err := c.UUID("id", pleat.ErrNoProject)
	if err != nil {
		return err
	}
	c.In = people.Reach{User: c.Who.User, Project: pleat.ProjectID(id)}
	if c.Who.Project != "" && c.Who.Project != c.In.Project {
		return pleat.ErrNoProject
	}
	return nil
}

// Actor returns who makes the changes of a call, for the audit log.
func (c *Call) Actor() people.Actor {
	return people.Actor{Reach: people.Reach{User: c.Who.User}, Key: c.Who.Key, Address: c.Address()}
}

// ActorInReach is [Call.Actor] for a verb that finds the project itself, within the reach of the caller.
func (c *Call) ActorInReach() people.Actor {
	by := c.Actor()
	by.Reach = c.Reach()
	return by
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

// ReadableRun is [Call.ReadableJob] with the run that the query jobRunId names; absent: the latest. To others, a public
// job shows its latest run alone.
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
// not read is not found; a caller without a credential gets [pleat.ErrUnauthorized] instead.
func (c *Call) ReadableJob(ctx context.Context) (VisibleJob, error) {
	id, err := c.UUID("id", pleat.ErrJobNotFound)
	if err != nil {
		return VisibleJob{}, c.PreferUnauthorized(ctx, err)
	}
	return c.ReadableJobByID(ctx, pleat.JobID(id))
}

// ReadableJobByID is [Call.ReadableJob] for a job that the path does not name.
func (c *Call) ReadableJobByID(ctx context.Context, id pleat.JobID) (VisibleJob, error) {
	h, err := c.core.stores.runs.Head(ctx, id, c.Cred.Credential)
	switch {
	case errors.Is(err, pleat.ErrJobNotFound):
		return VisibleJob{}, c.PreferUnauthorized(ctx, err)
	case err != nil:
		return VisibleJob{}, err
	case h.Role >= pleat.Viewer && h.Scopes.Has(pleat.ScopeRead):
		return VisibleJob{Head: h, To: wire.ForOwner}, c.core.recordUse(ctx, c.Cred)
	case h.Public:
		return VisibleJob{Head: h, To: wire.ForOthers}, nil
	}
	shared, err := c.shares(ctx, h.Source)
	switch {
	case err != nil:
		return VisibleJob{}, err
	case shared:
		return VisibleJob{Head: h, To: wire.ForOthers}, nil
	case h.Role >= pleat.Viewer:
		return VisibleJob{}, c.MissingScope()
	case h.Caller == "":
		return VisibleJob{}, pleat.ErrUnauthorized
	}
	return VisibleJob{}, pleat.ErrJobNotFound
}

// JobID returns the job id of a path on which only those may act who have a role in its project; the store checks
// it.
func (c *Call) JobID() (pleat.JobID, error) {
	id, err := c.UUID("id", pleat.ErrJobNotFound)
	return pleat.JobID(id), err
}
