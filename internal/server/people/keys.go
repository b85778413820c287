package people

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// listKeys is GET /v1/keys, for any user: the caller's keys without their secrets, newest first, with the revoked ones;
// for a key that is bound to a project, those that are, too.
// It writes the collected times of use first, so that the list shows the present request too.
func (h *Handlers) listKeys(ctx context.Context, c *route.Call) (api.List[api.Key], error) {
	out := api.List[api.Key]{Data: []api.Key{}}
	c.FlushKeyUsage(ctx)
	list, err := h.People.Keys(ctx, c.Reach())
	for i := range list {
		out.Data = append(out.Data, wire.Key(&list[i], c.Who.Key))
	}
	return out, err
}

// createKey is POST /v1/keys, for any user, with the key itself. The response is the only one that shows the new key;
// the store keeps a hash of it. The new key has at most the scopes and the lifetime of the caller's. 400: it would have
// more; 409: the caller has as many valid keys as a user may have; 429: the caller made too many today.
func (h *Handlers) createKey(ctx context.Context, c *route.Call, in *api.CreateKey) (api.NewKey, error) {
	secret, n, err := newKey(in)
	if err != nil {
		return api.NewKey{}, err
	}
	k, err := h.People.CreateKey(ctx, c.Actor(), n)
	return api.NewKey{Key: wire.Key(&k, c.Who.Key), Secret: secret}, err
}

// newKey makes the key that a request describes.
func newKey(in *api.CreateKey) (secret string, n people.NewKey, err error) {
	secret = seal.NewKey()
	n = people.NewKey{Prefix: seal.Prefix(secret), Hash: seal.HashKey(secret), Label: in.Label}
	if err := pleat.CheckOptionalName("label", in.Label); err != nil {
		return "", n, err
	}
	if in.Scopes != nil {
		if n.Scopes, err = pleat.ParseScopes("scopes", in.Scopes); err != nil {
			return "", n, err
		}
	}
	if in.ExpiresAt != nil { // an empty text is no time: a key without an end must not come from a mistake
		if n.ExpiresAt, err = pleat.ParseEnd("expiresAt", *in.ExpiresAt); err != nil {
			return "", n, err
		}
	}
	if in.ProjectID != "" {
		if n.Project, err = route.ParseProjectID("projectId", in.ProjectID); err != nil {
			return "", n, err
		}
	}
	return secret, n, nil
}

// revokeKey is DELETE /v1/keys/{id}, for the owner of the key, with a key itself. It takes effect at once, also for
// sessions that were opened with the key; its streams on this node end at once, and on others at their next heartbeat.
// Revoking a key twice is no error.
func (h *Handlers) revokeKey(ctx context.Context, c *route.Call) (api.RevokedKey, error) {
	id, err := c.UUID("id", pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	if err != nil {
		return api.RevokedKey{}, err
	}
	return api.RevokedKey{ID: id, Revoked: true}, h.People.RevokeKey(ctx, c.Actor(), pleat.KeyID(id))
}
