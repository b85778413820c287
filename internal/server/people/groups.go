package people

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
)

// maxGroupName bounds the name of a group, in bytes, as package identity does.
const maxGroupName = 200

// listGroups is GET /v1/projects/{id}/groups, for those who have a role in it, and operators: the issuer's groups that
// have one.
func (h *Handlers) listGroups(ctx context.Context, c *route.Call) (api.List[api.GroupRole], error) {
	out := api.List[api.GroupRole]{Data: []api.GroupRole{}}
	if _, err := h.member(ctx, c, pleat.Viewer); err != nil {
		return out, err
	}
	list, err := h.People.Groups(ctx, c.In)
	for i := range list {
		out.Data = append(out.Data, wire.GroupRole(&list[i]))
	}
	return out, err
}

// setGroup is PUT /v1/projects/{id}/groups/{name}, for its managers: everybody in the group has the role, or a larger
// one that the person has otherwise. 409: the project is a user's own, or too many groups have a role.
func (h *Handlers) setGroup(ctx context.Context, c *route.Call, in *api.SetGroup) (api.GroupRole, error) {
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.GroupRole{}, err
	}
	return h.changeGroup(ctx, c, role)
}

// removeGroup is DELETE /v1/projects/{id}/groups/{name}, for its managers. 404: the group has no role in it.
func (h *Handlers) removeGroup(ctx context.Context, c *route.Call) (api.RemovedGroup, error) {
	_, err := h.changeGroup(ctx, c, pleat.NoRole)
	return api.RemovedGroup{Name: c.R.PathValue("name"), Removed: true}, err
}

// changeGroup gives the group in the path a role in the project in the path.
func (h *Handlers) changeGroup(ctx context.Context, c *route.Call, role pleat.Role) (api.GroupRole, error) {
	if err := c.EnterPath(); err != nil {
		return api.GroupRole{}, err
	}
	name := c.R.PathValue("name")
	if name == "" || len(name) > maxGroupName {
		return api.GroupRole{}, pleat.InvalidField("name", " has %d bytes; the name of a group has 1 to %d", len(name),
			maxGroupName)
	}
	if err := pleat.CheckPrintable("name", name); err != nil {
		return api.GroupRole{}, err
	}
	g, err := h.People.SetGroup(ctx, c.Actor().In(c.In.Project), name, role)
	if err != nil {
		return api.GroupRole{}, err
	}
	return wire.GroupRole(&g), nil
}
