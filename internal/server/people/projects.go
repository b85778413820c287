package people

import (
	"context"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

const (
	// invitationFor is how long an invitation lasts that names no end, and mostInvitationFor how long any does.
	invitationFor, mostInvitationFor = 7 * 24 * time.Hour, 90 * 24 * time.Hour
	// linkFor and mostLinkFor are the same of a link to a job, batch or workflow.
	linkFor, mostLinkFor = 30 * 24 * time.Hour, 366 * 24 * time.Hour
)

// me is GET /v1/me, for any user: who the credential stands for, and what it may do.
func (h *Handlers) me(ctx context.Context, c *route.Call) (api.Me, error) {
	u, err := h.People.User(ctx, c.Who.User)
	if err != nil {
		return api.Me{}, err
	}
	list, err := h.People.Memberships(ctx, c.Reach())
	out := api.Me{
		UserID:     string(u.ID),
		Name:       u.Name,
		IsService:  u.Service,
		IsOperator: c.Who.Operator,
		Scopes:     strings.Fields(c.Who.Scopes.String()),
		ProjectID:  string(c.In.Project),
		Projects:   []api.ProjectRole{},
	}
	for i := range list {
		out.Projects = append(out.Projects, wire.ProjectRole(&list[i]))
	}
	return out, err
}

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
func (h *Handlers) allProjects(ctx context.Context, own []people.Membership) ([]people.Membership, error) {
	roles := map[pleat.ProjectID]pleat.Role{}
	for i := range own {
		roles[own[i].Project.ID] = own[i].Role
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

// listInvitations is GET /v1/projects/{id}/invitations, for its managers: those that can be used.
func (h *Handlers) listInvitations(ctx context.Context, c *route.Call) (api.List[api.Invitation], error) {
	out := api.List[api.Invitation]{Data: []api.Invitation{}}
	if _, err := h.member(ctx, c, pleat.Manager); err != nil {
		return out, err
	}
	list, err := h.People.Invitations(ctx, c.In)
	for i := range list {
		out.Data = append(out.Data, wire.Invitation(&list[i]))
	}
	return out, err
}

// createInvitation is POST /v1/projects/{id}/invitations, for its managers. The response is the only one that shows the
// link. 409: the project is a user's own, or has too many.
func (h *Handlers) createInvitation(
	ctx context.Context, c *route.Call, in *api.CreateInvitation,
) (api.NewInvitation, error) {
	if err := c.EnterPath(); err != nil {
		return api.NewInvitation{}, err
	}
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.NewInvitation{}, err
	}
	if in.Label != "" {
		if err := pleat.CheckName("label", in.Label); err != nil {
			return api.NewInvitation{}, err
		}
	}
	until, err := endOf(c, in.ExpiresAt, invitationFor, mostInvitationFor)
	if err != nil {
		return api.NewInvitation{}, err
	}
	token := seal.NewLinkToken()
	i, err := h.People.Invite(ctx, c.Actor().In(c.In.Project),
		people.Invitation{Role: role, Label: in.Label, ExpiresAt: until}, seal.HashKey(token))
	return api.NewInvitation{
		Invitation: wire.Invitation(&i),
		Token:      token,
		URL:        c.Site().Base + "/ui/join#" + token,
	}, err
}

// endOf reads the end of an invitation or a link: until it if it is given, else after usual; at most after most.
func endOf(c *route.Call, given *string, usual, most time.Duration) (time.Time, error) {
	now := c.Now()
	if given == nil {
		return now.Add(usual), nil
	}
	at, err := pleat.ParseEnd("expiresAt", *given)
	if err == nil && at.After(now.Add(most)) {
		err = pleat.InvalidField("expiresAt", " is later than %d days from now, the latest", int(most/(24*time.Hour)))
	}
	return at, err
}

// revokeInvitation is DELETE /v1/projects/{id}/invitations/{invitationId}, for its managers.
func (h *Handlers) revokeInvitation(ctx context.Context, c *route.Call) (api.RevokedInvitation, error) {
	id, err := c.UUID("invitationId", pleat.Errorf(pleat.CodeNotFound, "Invitation not found"))
	if err == nil {
		err = c.EnterPath()
	}
	if err == nil {
		err = h.People.RevokeInvitation(ctx, c.Actor().In(c.In.Project), pleat.InvitationID(id))
	}
	return api.RevokedInvitation{ID: id, Revoked: true}, err
}

// readInvitation is POST /v1/invitations/read, for everyone who has the token: to what it invites. 404: to nothing, or
// not any more.
func (h *Handlers) readInvitation(ctx context.Context, _ *route.Call, in *api.ReadInvitation) (api.InvitedTo, error) {
	m, until, err := h.People.Invited(ctx, route.TokenHash(in.Token))
	return api.InvitedTo{
		ProjectID:   string(m.Project.ID),
		ProjectName: m.Project.Name,
		Role:        m.Role.String(),
		ExpiresAt:   api.At(until),
	}, err
}

// acceptInvitation is POST /v1/invitations/accept, for everyone who has the token: the user of the credential gets the
// role or, without a credential and where there is no issuer, a user is created with a key, which only this response
// shows. 403: the key lacks the scope manage or reaches one project alone; 404: the token invites to nothing, or not
// any more; 409: there is a user of that name.
func (h *Handlers) acceptInvitation(ctx context.Context, c *route.Call, in *api.AcceptInvitation) (api.Joined, error) {
	hash := route.TokenHash(in.Token)
	if c.Who.User != "" {
		if in.Name != "" {
			return api.Joined{}, pleat.InvalidField("name", " is for who has no user yet; this request "+
				"has a credential")
		}
		if c.Who.Project != "" || !c.Who.Scopes.Has(pleat.ScopeManage) {
			return api.Joined{}, pleat.Errorf(pleat.CodeForbidden, "This key may not accept an invitation; that needs "+
				"the scope %s and a key that reaches all projects", pleat.ScopeManage)
		}
		m, err := h.People.AcceptInvitation(ctx, c.Actor(), hash)
		return joined(&m, c.Who.User, c.Who.Name, nil), err
	}
	if h.Logins.Issuer != nil {
		return api.Joined{}, pleat.Errorf(pleat.CodeUnauthorized,
			"Sign in first, at /v1/login/start: where there is a sign-in service, an invitation makes no user")
	}
	if in.Name == "" {
		return api.Joined{}, pleat.InvalidField("name", " is required without a credential; it is that of a new user")
	}
	if err := pleat.CheckName("name", in.Name); err != nil {
		return api.Joined{}, err
	}
	secret := seal.NewKey()
	m, u, err := h.People.JoinByInvitation(ctx, in.Name, c.Address(), hash, people.NewKey{
		Prefix: seal.Prefix(secret), Hash: seal.HashKey(secret), Label: "invitation",
	})
	return joined(&m, u.ID, u.Name, &secret), err
}

// joined says who has which role now.
func joined(m *people.Membership, user pleat.UserID, name string, key *string) api.Joined {
	return api.Joined{
		UserID:      string(user),
		Name:        name,
		ProjectID:   string(m.Project.ID),
		ProjectName: m.Project.Name,
		Role:        m.Role.String(),
		Key:         key,
	}
}

// createServiceUser is POST /v1/projects/{id}/service-users, for its managers: a user for a program, with a key that
// reaches the project alone and that only this response shows. 409: there is a user of that name.
func (h *Handlers) createServiceUser(
	ctx context.Context, c *route.Call, in *api.CreateServiceUser,
) (api.NewServiceUser, error) {
	if err := c.EnterPath(); err != nil {
		return api.NewServiceUser{}, err
	}
	if err := pleat.CheckName("name", in.Name); err != nil {
		return api.NewServiceUser{}, err
	}
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.NewServiceUser{}, err
	}
	secret, n, err := newKey(&api.CreateKey{Label: in.Label, Scopes: in.Scopes, ExpiresAt: in.ExpiresAt})
	if err != nil {
		return api.NewServiceUser{}, err
	}
	u, k, err := h.People.CreateServiceUser(ctx, c.Actor().In(c.In.Project), in.Name, role, n)
	return api.NewServiceUser{
		Member: api.Member{
			UserID: string(u.ID), Name: u.Name, Role: role.String(), IsService: true, AddedAt: api.At(u.CreatedAt),
		},
		Key: api.NewKey{Key: wire.Key(&k, ""), Secret: secret},
	}, err
}

// serviceUser returns the service user of the path, after EnterPath.
func serviceUser(c *route.Call) (pleat.UserID, error) {
	if err := c.EnterPath(); err != nil {
		return "", err
	}
	id, err := c.UUID("user", pleat.Errorf(pleat.CodeNotFound, "Service user not found"))
	return pleat.UserID(id), err
}

// listServiceKeys is GET /v1/projects/{id}/service-users/{user}/keys, for managers of the project.
func (h *Handlers) listServiceKeys(ctx context.Context, c *route.Call) (api.List[api.Key], error) {
	out := api.List[api.Key]{Data: []api.Key{}}
	user, err := serviceUser(c)
	if err == nil {
		_, err = h.member(ctx, c, pleat.Manager)
	}
	if err != nil {
		return out, err
	}
	list, err := h.People.ServiceKeys(ctx, c.In, user)
	for i := range list {
		out.Data = append(out.Data, wire.Key(&list[i], c.Who.Key))
	}
	return out, err
}

// createServiceKey is POST /v1/projects/{id}/service-users/{user}/keys, for managers of the project: a further key,
// which only this response shows. 409: it has as many as a user may have.
func (h *Handlers) createServiceKey(ctx context.Context, c *route.Call, in *api.CreateKey) (api.NewKey, error) {
	user, err := serviceUser(c)
	if err != nil {
		return api.NewKey{}, err
	}
	secret, n, err := newKey(in)
	if err != nil {
		return api.NewKey{}, err
	}
	k, err := h.People.CreateServiceKey(ctx, c.Actor().In(c.In.Project), user, n)
	return api.NewKey{Key: wire.Key(&k, c.Who.Key), Secret: secret}, err
}

// revokeServiceKey is DELETE /v1/projects/{id}/service-users/{user}/keys/{keyId}, for managers of the project.
func (h *Handlers) revokeServiceKey(ctx context.Context, c *route.Call) (api.RevokedKey, error) {
	user, err := serviceUser(c)
	if err != nil {
		return api.RevokedKey{}, err
	}
	id, err := c.UUID("keyId", pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	if err == nil {
		err = h.People.RevokeServiceKey(ctx, c.Actor().In(c.In.Project), user, pleat.KeyID(id))
	}
	return api.RevokedKey{ID: id, Revoked: true}, err
}
