package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/workers"
)

// listModels is GET /v1/models, for everyone: the models that workers can execute, with their limits, parameters and
// expected cost, and how many live workers each has. A model whose workers are all away is listed, since jobs for it
// are accepted, and so is one that operators have paused; one that no worker ran within the last week is not, even if
// its engine is installed.
func (s *Server) listModels(ctx context.Context, _ *call) (api.List[api.Model], error) {
	out := api.List[api.Model]{Data: []api.Model{}}
	list, err := s.resolver.Models(ctx)
	if err != nil {
		return out, err
	}
	paused, err := s.store.Workers.PausedModels(ctx)
	for i := range list {
		if list[i].Kind == pleat.TaskAlign {
			continue // what a search is, the models say that take alignments
		}
		m := wire.Model(&list[i])
		m.Paused, m.PausedReason = pauseOf(paused, m.Name)
		out.Data = append(out.Data, m)
	}
	return out, err
}

// listClasses is GET /v1/classes, for any user: the classes of workers in the order in which they are asked to run a
// job, with how many workers each has and needs.
func (s *Server) listClasses(ctx context.Context, _ *call) (api.List[api.Class], error) {
	out := api.List[api.Class]{Data: []api.Class{}}
	list, err := s.demand.get(ctx, s.store)
	now := s.store.DB.Now()
	for i := range list {
		out.Data = append(out.Data, wire.Class(&list[i], now))
	}
	return out, err
}

// classDemand is GET /fleet/v1/classes/{class}, for who sends a token of pleat fleet token --demand as a bearer token:
// how many workers of a class there should be, for programs that scale them, such as KEDA. 401: the token is missing or
// wrong; 404: there is no such class; 429: too many wrong tokens came from the address.
func (s *Server) classDemand(ctx context.Context, c *call) (api.ClassDemand, error) {
	err := s.checkGuess(c, func() (bool, error) {
		cred := keyCredential(c.bearer())
		if cred.Hash == "" {
			return false, nil
		}
		return s.store.Workers.HasFleetToken(ctx, workers.TokenDemand, cred.Hash)
	})
	if err != nil {
		return api.ClassDemand{}, err
	}
	list, err := s.demand.get(ctx, s.store)
	if err != nil {
		return api.ClassDemand{}, err
	}
	for i := range list {
		if list[i].Class.Name == c.r.PathValue("class") {
			return wire.ClassDemand(&list[i], s.store.DB.Now()), nil
		}
	}
	return api.ClassDemand{}, workers.ErrClassNotFound
}

// demandCache holds the demand for the classes: it counts the tasks that wait, and any user may ask for it.
type demandCache struct {
	mu   sync.Mutex
	at   time.Time // when list was read
	list []workers.Demand
}

// demandMaxAge is the age up to which a demand may be used.
const demandMaxAge = time.Second

func (d *demandCache) get(ctx context.Context, s *store.Store) ([]workers.Demand, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.list != nil && time.Since(d.at) < demandMaxAge {
		return d.list, nil
	}
	// Others wait for the answer, even if this caller leaves.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer done()
	list, err := s.Workers.Demand(ctx)
	if err == nil {
		d.list, d.at = list, time.Now()
	}
	return list, err
}

// listKeys is GET /v1/keys, for any user: the caller's keys without their secrets, newest first, with the revoked ones;
// for a key that is bound to a project, those that are, too.
// It writes the collected times of use first, so that the list shows the present request too.
func (s *Server) listKeys(ctx context.Context, c *call) (api.List[api.Key], error) {
	out := api.List[api.Key]{Data: []api.Key{}}
	s.flushKeyUsage(ctx)
	list, err := s.store.People.Keys(ctx, c.reach())
	for i := range list {
		out.Data = append(out.Data, wire.Key(&list[i], c.who.Key))
	}
	return out, err
}

// createKey is POST /v1/keys, for any user, with the key itself. The response is the only one that shows the new key;
// the store keeps a hash of it. The new key has at most the scopes and the lifetime of the caller's. 400: it would have
// more; 409: the caller has as many valid keys as a user may have; 429: the caller made too many today.
func (s *Server) createKey(ctx context.Context, c *call, in *api.CreateKey) (api.NewKey, error) {
	secret, n, err := newKey(in)
	if err != nil {
		return api.NewKey{}, err
	}
	k, err := s.store.People.CreateKey(ctx, c.actor(), n)
	return api.NewKey{Key: wire.Key(&k, c.who.Key), Secret: secret}, err
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
		if n.Project, err = parseProjectID("projectId", in.ProjectID); err != nil {
			return "", n, err
		}
	}
	return secret, n, nil
}

// revokeKey is DELETE /v1/keys/{id}, for the owner of the key, with a key itself. It takes effect at once, also for
// sessions that were opened with the key; its streams on this node end at once, and on others at their next heartbeat.
// Revoking a key twice is no error.
func (s *Server) revokeKey(ctx context.Context, c *call) (api.RevokedKey, error) {
	id, err := c.uuid("id", pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	if err != nil {
		return api.RevokedKey{}, err
	}
	return api.RevokedKey{ID: id, Revoked: true}, s.store.People.RevokeKey(ctx, c.actor(), pleat.KeyID(id))
}

// audit is GET /v1/audit, for any user: who changed the caller's keys and webhook settings and opened sessions, newest
// first. Changes that an operator made on the database are there too.
func (s *Server) audit(ctx context.Context, c *call) (api.List[api.AuditEntry], error) {
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return api.List[api.AuditEntry]{}, err
	}
	list, err := s.store.People.Audit(ctx, c.reach(), pleat.AuditID(p.before), p.limit+1)
	return listOf(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry), err
}

// sessionLifetime is how long a browser's session lives: a working day, after which the page asks for the key again.
const sessionLifetime = 12 * time.Hour

// openSession is POST /v1/session: a browser's event stream cannot send a header, so the page exchanges its key for a
// cookie that scripts cannot read. The cookie's id is random, stored as a hash, and invalid once its key has ended.
// 400: the request used a host name that is not the service's, under which the cookie would not be accepted later; 401:
// the key is not valid, or the page of another site sent the request; 429: see signIn.
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
	c.who = who
	now := s.clock()
	until, err := s.store.People.CreateSession(ctx, c.actor(), seal.HashKey(id), now.Add(sessionLifetime))
	if err != nil {
		return api.Session{}, err
	}
	http.SetCookie(c.w, s.cookie(id, int(until.Sub(now)/time.Second)))
	return api.Session{User: who.Name, ExpiresAt: api.At(until)}, nil
}

// signIn identifies the user of a key that may open a session now. It counts against the limits of the user, and only
// keys that do not exist against that of the address, so that strangers there cannot keep the user out. 429: the user
// or, for such a key, the address must wait.
func (s *Server) signIn(ctx context.Context, c *call, key string) (people.Principal, error) {
	who, err := s.lookUp(ctx, c, keyCredential(key), s.limits.wrongKeys)
	if err != nil {
		return who, err
	}
	c.caller = "user " + string(who.User)
	if err := c.allow(s.limits.users, c.caller, s.clock()); err != nil {
		return who, err
	}
	return who, c.allow(s.limits.sessions, c.caller, s.clock())
}

// cookie returns the session cookie with a value and an age in seconds; a negative age deletes it.
func (s *Server) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     s.cookieName,
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
	out := api.SessionUser{FetchPDB: s.resolver.FetchPDB}
	if !c.cred.isCookie() {
		return out, nil
	}
	who, err := s.identify(ctx, c.cred)
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		return out, nil
	}
	out.User, out.ByIssuer = wire.OptionalString(who.Name), c.cred.Login && err == nil
	return out, err
}

// closeSession is DELETE /v1/session: it ends the session of the cookie on the server and deletes the cookie. That
// there is no session is no error. 401: the page of another site sent the request.
func (s *Server) closeSession(ctx context.Context, c *call) (api.ClosedSession, error) {
	cookies := c.r.CookiesNamed(s.cookieName)
	if len(cookies) == 0 || cookies[0].Value == "" {
		return api.ClosedSession{Closed: true}, nil
	}
	if len(cookies) > 1 || !s.mayUseCookie(c.r) {
		return api.ClosedSession{}, pleat.ErrUnauthorized
	}
	cred := cookieCredential(cookies[0].Value)
	end := s.store.People.DeleteSession
	if cred.Login {
		end = s.store.People.EndLogin
	}
	if err := end(ctx, cred.Hash); err != nil {
		return api.ClosedSession{}, err
	}
	http.SetCookie(c.w, s.cookie("", -1))
	return api.ClosedSession{Closed: true}, nil
}
