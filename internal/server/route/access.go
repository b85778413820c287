package route

import (
	"context"
	"strings"

	"pleat"
	"pleat/internal/store/people"
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

// StillEntered refuses a call that goes on whose credential, or role in the project that it has entered, has ended.
func (c *Call) StillEntered(ctx context.Context) error {
	if _, err := c.Identify(ctx); err != nil || c.In.Project == c.Who.User.OwnProject() {
		return err
	}
	return c.needRole(ctx, c.In.Project, pleat.ErrNoProject)
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
// concerns. A thing that the caller may not read is not found.
func (c *Call) needRole(ctx context.Context, owner pleat.ProjectID, notFound error) error {
	role, err := c.core.stores.people.Role(ctx, c.Reach(), owner)
	if err != nil {
		return err
	}
	return role.Allow(c.served.Who.Needs(), notFound)
}

// EnterOwner sets the project of the call to that of a thing on which the caller acts. A thing that the caller may not
// read is not found.
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

// ActorInReach is Actor for a verb that finds the project itself, within the reach of the caller.
func (c *Call) ActorInReach() people.Actor {
	by := c.Actor()
	by.Reach = c.Reach()
	return by
}
