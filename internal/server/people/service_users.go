package people

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
)

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
