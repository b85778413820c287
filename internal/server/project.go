package server

import (
	"context"
	"strings"

	"pleat"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// reach is what the caller may read and change: every project in which the caller has a role, or that of the key.
func (c *call) reach() people.Reach { return c.who.Reach() }

// enter sets the project in which the call creates or lists: the one that a field of the request names, else that of
// the key, else the caller's own. The caller needs the role that the scope of the route asks for. 404: the caller may
// not read the project; 403: the role is too small.
func (s *Server) enter(ctx context.Context, c *call, field, id string) error {
	c.in = people.Reach{User: c.who.User, Project: c.who.Project}
	if id != "" {
		project, err := parseProjectID(field, id)
		if err != nil {
			return err
		}
		c.in.Project = project
	}
	if c.in.Project == "" || c.in.Project == c.who.User.OwnProject() && c.who.Project == "" {
		c.in.Project = c.who.User.OwnProject()
		return nil
	}
	err := s.allow(ctx, c, c.in.Project, c.served.needs(), pleat.ErrNoProject)
	if id != "" && err != nil {
		return pleat.ErrorAt(err, field)
	}
	return err
}

// parseProjectID reads the id of a project from a field of a request.
func parseProjectID(field, text string) (pleat.ProjectID, error) {
	if !pleat.IsUUID(text) {
		return "", pleat.InvalidField(field, " is %q; it must be the UUID of a project", pleat.Clip(text))
	}
	return pleat.ProjectID(strings.ToLower(text)), nil
}

// enterNamed is enter for a project that the body of a request names; nothing changes if it names none.
func (s *Server) enterNamed(ctx context.Context, c *call, id string) error {
	if id == "" {
		return nil
	}
	return s.enter(ctx, c, "projectId", id)
}

// allow refuses a call that needs a role in a project, which owns what it concerns. What the caller may not read is not
// found.
func (s *Server) allow(
	ctx context.Context, c *call, owner pleat.ProjectID, needs pleat.Role, notFound error,
) error {
	role, err := s.store.People.Role(ctx, c.reach(), owner)
	if err != nil {
		return err
	}
	return role.Allow(needs, notFound)
}

// owned is what a project owns and a caller wants to read.
type owned struct {
	source   pleat.Source
	owner    pleat.ProjectID
	public   bool
	notFound error // for who may not read it
}

// audienceOf decides as whom the caller reads something. What the caller may not read is not found; a caller without a
// credential gets pleat.ErrUnauthorized instead.
func (s *Server) audienceOf(ctx context.Context, c *call, what owned) (wire.Audience, error) {
	var caller people.Principal
	role := pleat.NoRole
	if c.cred.given {
		var err error
		caller, err = s.identify(ctx, c.cred)
		if err == nil {
			role, err = s.store.People.Role(ctx, caller.Reach(), what.owner)
		}
		if err != nil && pleat.CodeOf(err) != pleat.CodeUnauthorized {
			return 0, err
		}
	}
	mayRead := role >= pleat.Viewer && caller.Scopes.Has(pleat.ScopeRead)
	shared := false
	if !mayRead && !what.public {
		var err error
		if shared, err = s.shares(ctx, c, what.source); err != nil {
			return 0, err
		}
	}
	switch {
	case mayRead:
		return wire.ForOwner, nil
	case what.public || shared:
		return wire.ForOthers, nil
	case role >= pleat.Viewer:
		return 0, missingScope(c.served)
	case caller.User == "":
		return 0, pleat.ErrUnauthorized
	}
	return 0, what.notFound
}

// enterOwner sets the project of the call to that of a thing on which the caller acts. What the caller may not read is
// not found.
func (s *Server) enterOwner(ctx context.Context, c *call, owner pleat.ProjectID, notFound error) error {
	c.in = people.Reach{User: c.who.User, Project: owner}
	return s.allow(ctx, c, owner, c.served.needs(), notFound)
}
