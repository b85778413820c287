package people

import (
	"context"
	"net/http"
	"time"

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
	if in.Label != "" {
		if err := pleat.CheckName("label", in.Label); err != nil {
			return "", n, err
		}
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

// audit is GET /v1/audit, for any user: who changed the caller's keys and webhook settings and opened sessions, newest
// first. Changes that an operator made on the database are there too.
func (h *Handlers) audit(ctx context.Context, c *route.Call) (api.List[api.AuditEntry], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.AuditEntry]{}, err
	}
	list, err := h.People.Audit(ctx, c.Reach(), pleat.AuditID(p.Before), p.Limit+1)
	return route.List(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry), err
}

// sessionLifetime is how long a browser's session lives: a working day, after which the page asks for the key again.
const sessionLifetime = 12 * time.Hour

// openSession is POST /v1/session: a browser's event stream cannot send a header, so the page exchanges its key for a
// cookie that scripts cannot read. The cookie's id is random, stored as a hash, and invalid once its key has ended.
// 400: the request used a host name that is not the service's, under which the cookie would not be accepted later; 401:
// the key is not valid, or the page of another site sent the request; 429: see signIn.
func (h *Handlers) openSession(ctx context.Context, c *route.Call, in *api.OpenSession) (api.Session, error) {
	if !c.Site().KnownHost(c.R.Host) {
		return api.Session{},
			pleat.Invalidf("the Host %q is not a name of this service; its operator can add it to the setting hosts",
				pleat.Clip(c.R.Host))
	}
	if c.R.Header.Get("Origin") != "" && !c.Site().OwnOrigin(c.R) {
		return api.Session{}, pleat.ErrUnauthorized
	}
	if in.Key == "" {
		return api.Session{}, pleat.InvalidField("key", " is required; it must be an API key")
	}
	who, err := c.SignIn(ctx, in.Key)
	if err != nil {
		return api.Session{}, err
	}
	id := seal.NewKey()
	c.ActAs(who)
	now := c.Now()
	until, err := h.People.CreateSession(ctx, c.Actor(), seal.HashKey(id), now.Add(sessionLifetime))
	if err != nil {
		return api.Session{}, err
	}
	http.SetCookie(c.W, c.Site().SessionCookie(id, int(until.Sub(now)/time.Second)))
	return api.Session{User: who.Name, ExpiresAt: api.At(until)}, nil
}

// readSession is GET /v1/session. The page cannot read its cookie, so it asks here first; a request without a cookie
// is no error.
func (h *Handlers) readSession(ctx context.Context, c *route.Call) (api.SessionUser, error) {
	out := api.SessionUser{FetchPDB: h.FetchPDB}
	if !c.Cred.IsCookie() {
		return out, nil
	}
	who, err := c.Identify(ctx)
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		return out, nil
	}
	out.User, out.ByIssuer = wire.OptionalString(who.Name), c.Cred.Login && err == nil
	return out, err
}

// closeSession is DELETE /v1/session: it ends the session of the cookie on the server and deletes the cookie. That
// there is no session is no error. 401: the page of another site sent the request.
func (h *Handlers) closeSession(ctx context.Context, c *route.Call) (api.ClosedSession, error) {
	cookies := c.Site().SessionCookies(c.R)
	if len(cookies) == 0 || cookies[0].Value == "" {
		return api.ClosedSession{Closed: true}, nil
	}
	if len(cookies) > 1 || !c.Site().MayUseCookie(c.R) {
		return api.ClosedSession{}, pleat.ErrUnauthorized
	}
	cred := route.CookieCredential(cookies[0].Value)
	end := h.People.DeleteSession
	if cred.Login {
		end = h.People.EndLogin
	}
	if err := end(ctx, cred.Hash); err != nil {
		return api.ClosedSession{}, err
	}
	http.SetCookie(c.W, c.Site().SessionCookie("", -1))
	return api.ClosedSession{Closed: true}, nil
}
