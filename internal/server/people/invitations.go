package people

import (
	"context"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// mostInvitationFor is how long an invitation lasts at most, and mostSessionInvitationFor one that a session makes.
const mostInvitationFor, mostSessionInvitationFor = 90 * 24 * time.Hour, 7 * 24 * time.Hour

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
// link. A session of a key, which may make no key, invites no manager (403), and for a week at most: who has no user
// yet gets a key by the invitation. 409: the project is a user's own, or has too many.
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
	if err := pleat.CheckOptionalName("label", in.Label); err != nil {
		return api.NewInvitation{}, err
	}
	most := mostInvitationFor
	if c.Cred.Session {
		if role == pleat.Manager {
			return api.NewInvitation{}, pleat.Errorf(pleat.CodeForbidden, "A session may not invite a manager; send "+
				"the API key itself in Authorization, or invite a member and change the role afterwards")
		}
		most = mostSessionInvitationFor
	}
	until, err := endOf(c, in.ExpiresAt, most)
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

// endOf reads the end of an invitation or a link, which is at most after most; zero if expires is nil.
func endOf(c *route.Call, expires *string, most time.Duration) (time.Time, error) {
	if expires == nil {
		return time.Time{}, nil
	}
	at, err := pleat.ParseEnd("expiresAt", *expires)
	if err == nil && at.After(c.Now().Add(most)) {
		err = pleat.InvalidField("expiresAt", " is later than %s, %d days from now; it may be at most that",
			c.Now().Add(most).UTC().Format(time.RFC3339), int(most/(24*time.Hour)))
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
