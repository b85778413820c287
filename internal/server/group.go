package server

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/store"
)

// maxGroupName bounds the name of a group, in bytes, as package identity does.
const maxGroupName = 200

// listGroups is GET /v1/projects/{id}/groups, for who has a role in the project: the issuer's groups that have one.
func (s *Server) listGroups(ctx context.Context, c *call) (api.List[api.GroupRole], error) {
	out := api.List[api.GroupRole]{Data: []api.GroupRole{}}
	id, err := c.uuid("id", pleat.ErrNoProject)
	if err != nil {
		return out, err
	}
	list, err := s.store.Groups(ctx, store.Reach{User: c.who.User, Project: pleat.ProjectID(id)})
	for i := range list {
		out.Data = append(out.Data, wire.GroupRole(&list[i]))
	}
	return out, err
}

// setGroup is PUT /v1/projects/{id}/groups/{name}, for managers of the project and operators: everybody in the group has
// the role, or the larger one that the person has. 409: the project is a user's own, or too many groups have a role.
func (s *Server) setGroup(ctx context.Context, c *call, in *api.SetRole) (api.GroupRole, error) {
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.GroupRole{}, err
	}
	return s.changeGroup(ctx, c, role)
}

// removeGroup is DELETE /v1/projects/{id}/groups/{name}, for managers of the project and operators. 404: the group has no
// role in it.
func (s *Server) removeGroup(ctx context.Context, c *call) (api.Removed, error) {
	_, err := s.changeGroup(ctx, c, pleat.NoRole)
	return api.Removed{Removed: true}, err
}

// changeGroup gives the group in the path a role in the project in the path. A key of another project does not reach it.
func (s *Server) changeGroup(ctx context.Context, c *call, role pleat.Role) (api.GroupRole, error) {
	id, err := c.uuid("id", pleat.ErrNoProject)
	if err != nil {
		return api.GroupRole{}, err
	}
	project, name := pleat.ProjectID(id), c.r.PathValue("name")
	if c.who.Project != "" && c.who.Project != project {
		return api.GroupRole{}, pleat.ErrNoProject
	}
	if name == "" || len(name) > maxGroupName {
		return api.GroupRole{}, pleat.InvalidField("name", " must have 1 to %d bytes", maxGroupName)
	}
	if err := pleat.CheckPrintable("name", name); err != nil {
		return api.GroupRole{}, err
	}
	g, err := s.store.SetGroup(ctx, c.actor().In(project), name, role)
	return wire.GroupRole(&g), err
}
