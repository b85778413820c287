package people

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// listProjects is GET /v1/projects, for any user: the projects in which the caller has a role, the own one first; with
// all=true, for operators, all that are not users' own.
func (h *Handlers) listProjects(ctx context.Context, c *route.Call) (api.List[api.ProjectRole], error) {
	out := api.List[api.ProjectRole]{Data: []api.ProjectRole{}}
	list, err := h.People.Memberships(ctx, c.Reach())
	switch all := c.R.URL.Query().Get("all"); all {
	case "", "false":
	case "true":
		if !c.Who.Operator {
			return out, route.ErrNoOperator("list all projects")
		}
		list, err = h.allProjects(ctx, list)
	default:
		return out, pleat.InvalidField("all", " is %q; it must be true or false", pleat.Clip(all))
	}
	for i := range list {
		out.Data = append(out.Data, wire.ProjectRole(&list[i]))
	}
	return out, err
}

// allProjects returns all projects that are not users' own, with the roles that an operator has in some of them.
func (h *Handlers) allProjects(ctx context.Context, memberships []people.Membership) ([]people.Membership, error) {
	roles := map[pleat.ProjectID]pleat.Role{}
	for i := range memberships {
		roles[memberships[i].Project.ID] = memberships[i].Role
	}
	list, err := h.People.Projects(ctx)
	out := make([]people.Membership, 0, len(list))
	for i := range list {
		out = append(out, people.Membership{Project: list[i], Role: roles[list[i].ID]})
	}
	return out, err
}

// createProject is POST /v1/projects, for operators. 404: there is no such manager; 409: there is a project of that
// name.
func (h *Handlers) createProject(ctx context.Context, c *route.Call, in *api.CreateProject) (api.ProjectRole, error) {
	if err := pleat.CheckName("name", in.Name); err != nil {
		return api.ProjectRole{}, err
	}
	manager := in.Manager
	if manager == "" {
		manager = string(c.Who.User)
	}
	p, err := h.People.CreateProject(ctx, c.Actor(), in.Name, manager)
	if err != nil {
		return api.ProjectRole{}, err
	}
	m, err := h.People.Project(ctx, people.Reach{User: c.Who.User, Project: p.ID}, true)
	return wire.ProjectRole(&m), err
}

// member reads the project of the path with the caller's role, and refuses who has a smaller one. An operator needs
// none.
func (h *Handlers) member(ctx context.Context, c *route.Call, needs pleat.Role) (people.Membership, error) {
	if err := c.EnterPath(); err != nil {
		return people.Membership{}, err
	}
	m, err := h.People.Project(ctx, c.In, c.Who.Operator)
	switch {
	case err != nil || m.Role >= needs:
	case c.Who.Operator:
		c.In = people.InProject(c.In.Project)
	default:
		err = pleat.ErrRole(m.Role, needs)
	}
	return m, err
}

// viewProject is GET /v1/projects/{id}, for those who have a role in it, and operators.
func (h *Handlers) viewProject(ctx context.Context, c *route.Call) (api.ProjectRole, error) {
	m, err := h.member(ctx, c, pleat.Viewer)
	return wire.ProjectRole(&m), err
}

// changeProject is PATCH /v1/projects/{id}, for its managers; only operators change its quota and its budget. 409:
// there is a project of that name.
func (h *Handlers) changeProject(ctx context.Context, c *route.Call, in *api.ChangeProject) (api.ProjectRole, error) {
	if _, err := h.member(ctx, c, pleat.Manager); err != nil {
		return api.ProjectRole{}, err
	}
	if in.Name != nil {
		if err := pleat.CheckName("name", *in.Name); err != nil {
			return api.ProjectRole{}, err
		}
	}
	if in.Quota != nil && (*in.Quota < -1 || *in.Quota > 1_000_000_000) {
		return api.ProjectRole{}, pleat.InvalidField("quota", " is %d; it must be 0 to 1000000000, or -1 for the "+
			"default", *in.Quota)
	}
	if in.KeepDays != nil && (*in.KeepDays < -1 || *in.KeepDays > 36500) {
		return api.ProjectRole{}, pleat.InvalidField("keepResultsDays", " is %d; it must be 1 to 36500, 0 for ever, "+
			"or -1 for as long as the service keeps results", *in.KeepDays)
	}
	change, err := wire.ToProjectChange(in)
	if err == nil {
		err = h.People.ChangeProject(ctx, c.Actor().In(c.In.Project), change)
	}
	if err != nil {
		return api.ProjectRole{}, err
	}
	return h.viewProject(ctx, c)
}

// deleteProject is DELETE /v1/projects/{id}, for its managers. 409: it still owns something.
func (h *Handlers) deleteProject(ctx context.Context, c *route.Call) (api.DeletedProject, error) {
	if err := c.EnterPath(); err != nil {
		return api.DeletedProject{}, err
	}
	err := h.Ops.DeleteProject(ctx, c.Actor().In(c.In.Project))
	return api.DeletedProject{ID: string(c.In.Project), Deleted: true}, err
}

// listMembers is GET /v1/projects/{id}/members, for those who have a role in it, and operators.
func (h *Handlers) listMembers(ctx context.Context, c *route.Call) (api.List[api.Member], error) {
	out := api.List[api.Member]{Data: []api.Member{}}
	if _, err := h.member(ctx, c, pleat.Viewer); err != nil {
		return out, err
	}
	list, err := h.People.Members(ctx, c.In)
	for i := range list {
		out.Data = append(out.Data, wire.Member(&list[i]))
	}
	return out, err
}

// setMember is PUT /v1/projects/{id}/members/{user}, for its managers: it gives a user, by id or name, a role. 404:
// there is no such user; 409: the project would have no manager, or is a user's own.
func (h *Handlers) setMember(ctx context.Context, c *route.Call, in *api.SetMember) (api.Member, error) {
	if err := c.EnterPath(); err != nil {
		return api.Member{}, err
	}
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.Member{}, err
	}
	m, err := h.People.SetMember(ctx, c.Actor().In(c.In.Project), c.R.PathValue("user"), role)
	return wire.Member(&m), err
}

// removeMember is DELETE /v1/projects/{id}/members/{user}, for its managers, and for a member who leaves. A service
// user is disabled. 409: the project would have no manager.
func (h *Handlers) removeMember(ctx context.Context, c *route.Call) (api.RemovedMember, error) {
	if err := c.EnterPath(); err != nil {
		return api.RemovedMember{}, err
	}
	m, err := h.People.SetMember(ctx, c.Actor().In(c.In.Project), c.R.PathValue("user"), pleat.NoRole)
	return api.RemovedMember{UserID: string(m.User), Removed: true}, err
}

// projectAudit is GET /v1/projects/{id}/audit, for its managers: the changes that concern the project, newest first.
func (h *Handlers) projectAudit(ctx context.Context, c *route.Call) (api.List[api.AuditEntry], error) {
	p, err := c.PageQuery(50)
	if err == nil {
		_, err = h.member(ctx, c, pleat.Manager)
	}
	if err != nil {
		return api.List[api.AuditEntry]{}, err
	}
	list, err := h.People.ProjectAudit(ctx, c.In, pleat.AuditID(p.Before), p.Limit+1)
	return route.List(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry), err
}
