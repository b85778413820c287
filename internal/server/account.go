package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/store"
)

// usage is GET /v1/usage, for any user: how many jobs and runs the caller has created today (UTC) and how many
// workflows were started, the quotas, and when the next day starts.
func (s *Server) usage(ctx context.Context, c *call) (api.Usage, error) {
	jobs, workflows, err := s.store.Usage(ctx, c.who.User)
	q := wire.Quota(jobs)
	return api.Usage{
		Limit:     q.Limit,
		Used:      q.Used,
		Remaining: q.Remaining,
		ResetAt:   q.ResetAt,
		Workflows: wire.Quota(workflows),
	}, err
}

// listModels is GET /v1/models, for everyone: the models that the running workers can execute, with their limits,
// parameters and expected cost. A model without a running worker is not listed, even if its engine is installed.
func (s *Server) listModels(ctx context.Context, _ *call) (api.List[api.Model], error) {
	out := api.List[api.Model]{Data: []api.Model{}}
	list, err := s.resolver.Models(ctx)
	for i := range list {
		out.Data = append(out.Data, wire.Model(&list[i]))
	}
	return out, err
}

// maxKeys bounds the valid keys of a user. Revoked keys do not count; they are kept for the list.
const maxKeys = 100

// listKeys is GET /v1/keys, for any user: the caller's keys without their secrets, newest first, with the revoked ones.
// It writes the collected times of use first, so that the list shows the present request too.
func (s *Server) listKeys(ctx context.Context, c *call) (api.List[api.Key], error) {
	out := api.List[api.Key]{Data: []api.Key{}}
	s.flushKeyUsage(ctx)
	list, err := s.store.Keys(ctx, c.who.User)
	for i := range list {
		out.Data = append(out.Data, wire.Key(&list[i], c.who.Key))
	}
	return out, err
}

// createKey is POST /v1/keys, for any user. The response is the only one that shows the key; the store keeps a hash of
// it. 409: the caller has maxKeys valid keys.
func (s *Server) createKey(ctx context.Context, c *call, in *api.CreateKey) (api.NewKey, error) {
	if in.Label != "" {
		if err := pleat.CheckName("label", in.Label); err != nil {
			return api.NewKey{}, err
		}
	}
	list, err := s.store.Keys(ctx, c.who.User)
	if err != nil {
		return api.NewKey{}, err
	}
	valid := 0
	for _, k := range list {
		if k.RevokedAt.IsZero() {
			valid++
		}
	}
	if valid >= maxKeys {
		return api.NewKey{},
			pleat.Errorf(pleat.CodeConflict, "the user has %d valid keys, the maximum; revoke one first",
				valid)
	}
	secret := seal.NewKey()
	k, err := s.store.CreateKey(ctx, c.who.User, seal.Prefix(secret), seal.HashKey(secret), in.Label)
	return api.NewKey{Key: wire.Key(&k, c.who.Key), Secret: secret}, err
}

// revokeKey is DELETE /v1/keys/{id}, for the owner of the key. It takes effect at once, also for sessions that were
// opened with the key, and for streams at their next heartbeat. Revoking a key twice is no error.
func (s *Server) revokeKey(ctx context.Context, c *call) (api.RevokedKey, error) {
	id, err := c.uuid("id", pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	if err != nil {
		return api.RevokedKey{}, err
	}
	return api.RevokedKey{ID: id, Revoked: true}, s.store.RevokeKey(ctx, c.who.User, pleat.KeyID(id))
}

// sessionLifetime is how long a browser's session lives: a working day, after which the page asks for the key again.
const sessionLifetime = 12 * time.Hour

// openSession is POST /v1/session: a browser's event stream cannot send a header, so the page exchanges its key for a
// cookie that scripts cannot read. The cookie's id is random, stored as a hash, and invalid once its key is revoked.
// 400: the request used a host name that is not the service's, under which the cookie would not be accepted later; 401:
// the key is not valid, or the page of another site sent the request.
func (s *Server) openSession(ctx context.Context, c *call, in *api.OpenSession) (api.Session, error) {
	if !s.knownHost(c.r.Host) {
		return api.Session{},
			pleat.Invalidf("the Host %q is not a name of this service; its operator can add it to the setting hosts",
				pleat.Clip(c.r.Host))
	}
	if c.r.Header.Get("Origin") != "" && !s.ownOrigin(c.r) {
		return api.Session{}, pleat.ErrUnauthorized
	}
	if in.Key == "" {
		return api.Session{}, pleat.InvalidField("key", " is required; it must be an API key")
	}
	who, err := s.signIn(ctx, c, in.Key)
	if err != nil {
		return api.Session{}, err
	}
	id := seal.NewKey()
	until := s.clock().Add(sessionLifetime)
	if err := s.store.CreateSession(ctx, seal.HashKey(id), who.Key, until); err != nil {
		return api.Session{}, err
	}
	http.SetCookie(c.w, s.cookie(id, int(sessionLifetime/time.Second)))
	return api.Session{User: who.Name, ExpiresAt: api.At(until)}, nil
}

// signIn identifies the user of a key that may open a session now. It counts against the limits of the user, and only
// keys that do not exist against that of the address, so that strangers there cannot keep the user out. 429: the user
// or, for such a key, the address must wait.
func (s *Server) signIn(ctx context.Context, c *call, key string) (store.Principal, error) {
	who, err := s.lookUp(ctx, c, keyCredential(key), s.limits.wrongKeys)
	if err != nil {
		return who, err
	}
	c.caller = "user " + string(who.User)
	if err := s.limits.users.allow(c, c.caller, s.clock()); err != nil {
		return who, err
	}
	return who, s.limits.sessions.allow(c, c.caller, s.clock())
}

// cookie returns the session cookie with a value and an age in seconds; a negative age deletes it.
func (s *Server) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     cookieName,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   s.public.Scheme == "https",
		SameSite: http.SameSiteStrictMode,
	}
}

// readSession is GET /v1/session. The page cannot read its cookie, so it asks here first; a request without a cookie
// is no error.
func (s *Server) readSession(ctx context.Context, c *call) (api.SessionUser, error) {
	if !c.cred.session {
		return api.SessionUser{}, nil
	}
	who, err := s.identify(ctx, c.cred)
	if errors.Is(err, pleat.ErrUnauthorized) {
		return api.SessionUser{}, nil
	}
	return api.SessionUser{User: wire.OptionalString(who.Name)}, err
}

// closeSession is DELETE /v1/session: it ends the session of the cookie on the server and deletes the cookie. That
// there is no session is no error. 401: the page of another site sent the request.
func (s *Server) closeSession(ctx context.Context, c *call) (api.ClosedSession, error) {
	cookie, err := c.r.Cookie(cookieName)
	if errors.Is(err, http.ErrNoCookie) || cookie.Value == "" {
		return api.ClosedSession{Closed: true}, nil
	}
	if !s.mayUseCookie(c.r) {
		return api.ClosedSession{}, pleat.ErrUnauthorized
	}
	if err := s.store.DeleteSession(ctx, seal.HashKey(cookie.Value)); err != nil {
		return api.ClosedSession{}, err
	}
	http.SetCookie(c.w, s.cookie("", -1))
	return api.ClosedSession{Closed: true}, nil
}
