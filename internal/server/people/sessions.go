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
)

// sessionLifetime is how long a browser's session lives: a working day, after which the page asks for the key again.
const sessionLifetime = 12 * time.Hour

// unknownHost refuses a call under a host name at which no cookie of the service counts.
func unknownHost(c *route.Call) error {
	return pleat.Invalidf("the Host %q is not a name of this service; its operator can add it to the setting hosts",
		pleat.Clip(c.R.Host))
}

// openSession is POST /v1/session: a browser's event stream cannot send a header, so the page exchanges its key for a
// cookie that scripts cannot read. The cookie's id is random, stored as a hash, and invalid once its key has ended.
// 400: the request used a host name that is not the service's, under which the cookie would not be accepted later, or
// the page of another site sent it, as the service's own seems to be behind a proxy that hides its address; 401: the
// key is not valid; 429: see route.Call.SignIn.
func (h *Handlers) openSession(ctx context.Context, c *route.Call, in *api.OpenSession) (api.Session, error) {
	if !c.Site().KnownHost(c.R.Host) {
		return api.Session{}, unknownHost(c)
	}
	if from := c.R.Header.Get("Origin"); from != "" && !c.Site().OwnOrigin(c.R) {
		return api.Session{}, pleat.Invalidf("a page of %s sent this to the host %s, which the service does not know "+
			"as one; where that is its own page, its operator sets public-url to the address of the page, or the "+
			"proxy passes the Host header on", pleat.Clip(from), pleat.Clip(c.R.Host))
	}
	key := route.Pasted(in.Key)
	if key == "" {
		return api.Session{}, pleat.InvalidField("key", " is required; it must be an API key")
	}
	if err := route.CheckPasted("key", key); err != nil {
		return api.Session{}, err
	}
	who, err := c.SignIn(ctx, key)
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
