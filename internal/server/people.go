package server

import (
	"context"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
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
func (s *Server) me(ctx context.Context, c *call) (api.Me, error) {
	u, err := s.store.People.User(ctx, c.who.User)
	if err != nil {
		return api.Me{}, err
	}
	list, err := s.store.People.Memberships(ctx, c.reach())
	out := api.Me{
		UserID:     string(u.ID),
		Name:       u.Name,
		IsService:  u.Service,
		IsOperator: c.who.Operator,
		Scopes:     strings.Fields(c.who.Scopes.String()),
		ProjectID:  string(c.in.Project),
		Projects:   []api.ProjectRole{},
	}
	for i := range list {
		out.Projects = append(out.Projects, wire.ProjectRole(&list[i]))
	}
	return out, err
}

// listProjects is GET /v1/projects, for any user: the projects in which the caller has a role, the own one first; with
// all=true, for operators, all that are not users' own.
func (s *Server) listProjects(ctx context.Context, c *call) (api.List[api.ProjectRole], error) {
	out := api.List[api.ProjectRole]{Data: []api.ProjectRole{}}
	list, err := s.store.People.Memberships(ctx, c.reach())
	switch all := c.r.URL.Query().Get("all"); all {
	case "", "false":
	case "true":
		if !c.who.Operator {
			return out, errNoOperator("list all projects")
		}
		list, err = s.allProjects(ctx, list)
	default:
		return out, pleat.InvalidField("all", " is %q; it must be true or false", pleat.Clip(all))
	}
	for i := range list {
		out.Data = append(out.Data, wire.ProjectRole(&list[i]))
	}
	return out, err
}

// allProjects returns all projects that are not users' own, with the roles that an operator has in some of them.
func (s *Server) allProjects(ctx context.Context, own []people.Membership) ([]people.Membership, error) {
	roles := map[pleat.ProjectID]pleat.Role{}
	for i := range own {
		roles[own[i].Project.ID] = own[i].Role
	}
	list, err := s.store.People.Projects(ctx)
	out := make([]people.Membership, 0, len(list))
	for i := range list {
		out = append(out, people.Membership{Project: list[i], Role: roles[list[i].ID]})
	}
	return out, err
}

// errNoOperator refuses what only operators may do.
func errNoOperator(what string) error {
	return pleat.Errorf(pleat.CodeForbidden, "Only an operator of this service may %s", what)
}

// createProject is POST /v1/projects, for operators. 404: there is no such manager; 409: there is a project of that
// name.
func (s *Server) createProject(ctx context.Context, c *call, in *api.CreateProject) (api.ProjectRole, error) {
	if err := pleat.CheckName("name", in.Name); err != nil {
		return api.ProjectRole{}, err
	}
	manager := in.Manager
	if manager == "" {
		manager = string(c.who.User)
	}
	p, err := s.store.People.CreateProject(ctx, c.actor(), in.Name, manager)
	if err != nil {
		return api.ProjectRole{}, err
	}
	m, err := s.store.People.Project(ctx, people.Reach{User: c.who.User, Project: p.ID}, true)
	return wire.ProjectRole(&m), err
}

// enterPath sets the project of the call to that of the path. A key that reaches another one alone does not find it.
func (c *call) enterPath() error {
	id, err := c.uuid("id", pleat.ErrNoProject)
	if err != nil {
		return err
	}
	c.in = people.Reach{User: c.who.User, Project: pleat.ProjectID(id)}
	if c.who.Project != "" && c.who.Project != c.in.Project {
		return pleat.ErrNoProject
	}
	return nil
}

// member reads the project of the path with the caller's role, and refuses who has a smaller one. An operator needs
// none.
func (s *Server) member(ctx context.Context, c *call, needs pleat.Role) (people.Membership, error) {
	if err := c.enterPath(); err != nil {
		return people.Membership{}, err
	}
	m, err := s.store.People.Project(ctx, c.in, c.who.Operator)
	switch {
	case err != nil || m.Role >= needs:
	case c.who.Operator:
		c.in = people.InProject(c.in.Project)
	default:
		err = pleat.ErrRole(m.Role, needs)
	}
	return m, err
}

// viewProject is GET /v1/projects/{id}, for those who have a role in it, and operators.
func (s *Server) viewProject(ctx context.Context, c *call) (api.ProjectRole, error) {
	m, err := s.member(ctx, c, pleat.Viewer)
	return wire.ProjectRole(&m), err
}

// changeProject is PATCH /v1/projects/{id}, for its managers; only operators change its quota and its budget. 409:
// there is a project of that name.
func (s *Server) changeProject(ctx context.Context, c *call, in *api.ChangeProject) (api.ProjectRole, error) {
	if _, err := s.member(ctx, c, pleat.Manager); err != nil {
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
		err = s.store.People.ChangeProject(ctx, c.actor().In(c.in.Project), change)
	}
	if err != nil {
		return api.ProjectRole{}, err
	}
	return s.viewProject(ctx, c)
}

// deleteProject is DELETE /v1/projects/{id}, for its managers. 409: it still owns something.
func (s *Server) deleteProject(ctx context.Context, c *call) (api.DeletedProject, error) {
	if err := c.enterPath(); err != nil {
		return api.DeletedProject{}, err
	}
	err := s.store.Ops.DeleteProject(ctx, c.actor().In(c.in.Project))
	return api.DeletedProject{ID: string(c.in.Project), Deleted: true}, err
}

// listMembers is GET /v1/projects/{id}/members, for those who have a role in it, and operators.
func (s *Server) listMembers(ctx context.Context, c *call) (api.List[api.Member], error) {
	out := api.List[api.Member]{Data: []api.Member{}}
	if _, err := s.member(ctx, c, pleat.Viewer); err != nil {
		return out, err
	}
	list, err := s.store.People.Members(ctx, c.in)
	for i := range list {
		out.Data = append(out.Data, wire.Member(&list[i]))
	}
	return out, err
}

// setMember is PUT /v1/projects/{id}/members/{user}, for its managers: it gives a user, by id or name, a role. 404:
// there is no such user; 409: the project would have no manager, or is a user's own.
func (s *Server) setMember(ctx context.Context, c *call, in *api.SetMember) (api.Member, error) {
	if err := c.enterPath(); err != nil {
		return api.Member{}, err
	}
	role, err := pleat.ParseRole("role", in.Role)
	if err != nil {
		return api.Member{}, err
	}
	m, err := s.store.People.SetMember(ctx, c.actor().In(c.in.Project), c.r.PathValue("user"), role)
	return wire.Member(&m), err
}

// removeMember is DELETE /v1/projects/{id}/members/{user}, for its managers, and for who leaves. A service user is
// disabled. 409: the project would have no manager.
func (s *Server) removeMember(ctx context.Context, c *call) (api.RemovedMember, error) {
	if err := c.enterPath(); err != nil {
		return api.RemovedMember{}, err
	}
	m, err := s.store.People.SetMember(ctx, c.actor().In(c.in.Project), c.r.PathValue("user"), pleat.NoRole)
	return api.RemovedMember{UserID: string(m.User), Removed: true}, err
}

// projectAudit is GET /v1/projects/{id}/audit, for its managers: the changes that concern the project, newest first.
func (s *Server) projectAudit(ctx context.Context, c *call) (api.List[api.AuditEntry], error) {
	p, err := pageQuery(c.r, 50)
	if err == nil {
		_, err = s.member(ctx, c, pleat.Manager)
	}
	if err != nil {
		return api.List[api.AuditEntry]{}, err
	}
	list, err := s.store.People.ProjectAudit(ctx, c.in, pleat.AuditID(p.before), p.limit+1)
	return listOf(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry), err
}

// listInvitations is GET /v1/projects/{id}/invitations, for its managers: those that can be used.
func (s *Server) listInvitations(ctx context.Context, c *call) (api.List[api.Invitation], error) {
	out := api.List[api.Invitation]{Data: []api.Invitation{}}
	if _, err := s.member(ctx, c, pleat.Manager); err != nil {
		return out, err
	}
	list, err := s.store.People.Invitations(ctx, c.in)
	for i := range list {
		out.Data = append(out.Data, wire.Invitation(&list[i]))
	}
	return out, err
}

// createInvitation is POST /v1/projects/{id}/invitations, for its managers. The response is the only one that shows the
// link. 409: the project is a user's own, or has too many.
func (s *Server) createInvitation(ctx context.Context, c *call, in *api.CreateInvitation) (api.NewInvitation, error) {
	if err := c.enterPath(); err != nil {
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
	until, err := s.endOf(in.ExpiresAt, invitationFor, mostInvitationFor)
	if err != nil {
		return api.NewInvitation{}, err
	}
	token := seal.NewLinkToken()
	i, err := s.store.People.Invite(ctx, c.actor().In(c.in.Project),
		people.Invitation{Role: role, Label: in.Label, ExpiresAt: until}, seal.HashKey(token))
	return api.NewInvitation{
		Invitation: wire.Invitation(&i),
		Token:      token,
		URL:        s.cfg.PublicURL + "/ui/join#" + token,
	}, err
}

// endOf reads the end of an invitation or a link: until it if it is given, else after usual; at most after most.
func (s *Server) endOf(given *string, usual, most time.Duration) (time.Time, error) {
	now := s.clock()
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
func (s *Server) revokeInvitation(ctx context.Context, c *call) (api.RevokedInvitation, error) {
	id, err := c.uuid("invitationId", pleat.Errorf(pleat.CodeNotFound, "Invitation not found"))
	if err == nil {
		err = c.enterPath()
	}
	if err == nil {
		err = s.store.People.RevokeInvitation(ctx, c.actor().In(c.in.Project), pleat.InvitationID(id))
	}
	return api.RevokedInvitation{ID: id, Revoked: true}, err
}

// readInvitation is POST /v1/invitations/read, for everyone who has the token: to what it invites. 404: to nothing, or
// not any more.
func (s *Server) readInvitation(ctx context.Context, _ *call, in *api.ReadInvitation) (api.InvitedTo, error) {
	m, until, err := s.store.People.Invited(ctx, tokenHash(in.Token))
	return api.InvitedTo{
		ProjectID:   string(m.Project.ID),
		ProjectName: m.Project.Name,
		Role:        m.Role.String(),
		ExpiresAt:   api.At(until),
	}, err
}

// tokenHash returns the hash of a token of a link; empty, which is that of none, if it is too long to be one.
func tokenHash(token string) string {
	if token == "" || len(token) > 256 {
		return ""
	}
	return seal.HashKey(token)
}

// acceptInvitation is POST /v1/invitations/accept, for everyone who has the token: the user of the credential gets the
// role or, without a credential and where there is no issuer, a user is created with a key, which only this response
// shows. 403: the key lacks the scope manage or reaches one project alone; 404: the token invites to nothing, or not
// any more; 409: there is a user of that name.
func (s *Server) acceptInvitation(ctx context.Context, c *call, in *api.AcceptInvitation) (api.Joined, error) {
	hash := tokenHash(in.Token)
	if c.who.User != "" {
		if in.Name != "" {
			return api.Joined{}, pleat.InvalidField("name", " is for who has no user yet; this request "+
				"has a credential")
		}
		if c.who.Project != "" || !c.who.Scopes.Has(pleat.ScopeManage) {
			return api.Joined{}, pleat.Errorf(pleat.CodeForbidden, "This key may not accept an invitation; that needs "+
				"the scope %s and a key that reaches all projects", pleat.ScopeManage)
		}
		m, err := s.store.People.AcceptInvitation(ctx, c.actor(), hash)
		return joined(&m, c.who.User, c.who.Name, nil), err
	}
	if s.issuer != nil {
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
	m, u, err := s.store.People.JoinByInvitation(ctx, in.Name, c.address(), hash, people.NewKey{
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
func (s *Server) createServiceUser(
	ctx context.Context, c *call, in *api.CreateServiceUser,
) (api.NewServiceUser, error) {
	if err := c.enterPath(); err != nil {
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
	u, k, err := s.store.People.CreateServiceUser(ctx, c.actor().In(c.in.Project), in.Name, role, n)
	return api.NewServiceUser{
		Member: api.Member{
			UserID: string(u.ID), Name: u.Name, Role: role.String(), IsService: true, AddedAt: api.At(u.CreatedAt),
		},
		Key: api.NewKey{Key: wire.Key(&k, ""), Secret: secret},
	}, err
}

// serviceUser returns the service user of the path, after enterPath.
func (c *call) serviceUser() (pleat.UserID, error) {
	if err := c.enterPath(); err != nil {
		return "", err
	}
	id, err := c.uuid("user", pleat.Errorf(pleat.CodeNotFound, "Service user not found"))
	return pleat.UserID(id), err
}

// listServiceKeys is GET /v1/projects/{id}/service-users/{user}/keys, for managers of the project.
func (s *Server) listServiceKeys(ctx context.Context, c *call) (api.List[api.Key], error) {
	out := api.List[api.Key]{Data: []api.Key{}}
	user, err := c.serviceUser()
	if err == nil {
		_, err = s.member(ctx, c, pleat.Manager)
	}
	if err != nil {
		return out, err
	}
	list, err := s.store.People.ServiceKeys(ctx, c.in, user)
	for i := range list {
		out.Data = append(out.Data, wire.Key(&list[i], c.who.Key))
	}
	return out, err
}

// createServiceKey is POST /v1/projects/{id}/service-users/{user}/keys, for managers of the project: a further key,
// which only this response shows. 409: it has as many as a user may have.
func (s *Server) createServiceKey(ctx context.Context, c *call, in *api.CreateKey) (api.NewKey, error) {
	user, err := c.serviceUser()
	if err != nil {
		return api.NewKey{}, err
	}
	secret, n, err := newKey(in)
	if err != nil {
		return api.NewKey{}, err
	}
	k, err := s.store.People.CreateServiceKey(ctx, c.actor().In(c.in.Project), user, n)
	return api.NewKey{Key: wire.Key(&k, c.who.Key), Secret: secret}, err
}

// revokeServiceKey is DELETE /v1/projects/{id}/service-users/{user}/keys/{keyId}, for managers of the project.
func (s *Server) revokeServiceKey(ctx context.Context, c *call) (api.RevokedKey, error) {
	user, err := c.serviceUser()
	if err != nil {
		return api.RevokedKey{}, err
	}
	id, err := c.uuid("keyId", pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	if err == nil {
		err = s.store.People.RevokeServiceKey(ctx, c.actor().In(c.in.Project), user, pleat.KeyID(id))
	}
	return api.RevokedKey{ID: id, Revoked: true}, err
}
