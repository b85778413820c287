package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// access is the credential that a route requires.
type access int

const (
	// anyone may call the route without a credential, but one that is given must be valid.
	anyone access = iota
	// reader is for routes of a job, workflow or batch: who has a role in its project, and if it is public, everyone.
	// The handler checks, because that depends on the row that it reads.
	reader
	// user demands a valid credential.
	user
	// open routes do not read credentials: they have none, or check a signature or secret of their own.
	open
)

// credential is what a request sent to identify its caller.
type credential struct {
	given             bool   // the request had one, valid or not
	token             string // of the issuer, by which it is a login; empty: it is none
	people.Credential        // a session is a browser's cookie; an empty hash: it is malformed
}

// isCookie reports whether a browser's cookie is the credential.
func (c credential) isCookie() bool { return c.Session || c.Login && c.token == "" }

// cookieNameOf returns the name of the cookie that holds a browser's session. Over https it has the prefix with which
// browsers accept it from this host alone, so that no other service under the same domain can set it (RFC 6265bis,
// section 4.1.3.2).
func cookieNameOf(publicURL string) string {
	if strings.HasPrefix(publicURL, "https:") {
		return "__Host-pleat_session"
	}
	return "pleat_session"
}

// credentialOf returns the credential of a request: the bearer token, the X-API-Key header, or the page's cookie, in
// this order. Only the first that is present counts: a request with an invalid key is refused even if its cookie is
// valid.
func (s *Server) credentialOf(r *http.Request) credential {
	if cred := bearerOf(r); cred.given {
		return cred
	}
	if key := r.Header.Get("X-API-Key"); key != "" {
		return keyCredential(key)
	}
	cookies := r.CookiesNamed(s.cookieName)
	switch {
	case len(cookies) == 0 || cookies[0].Value == "" || !s.mayUseCookie(r):
		return credential{}
	case len(cookies) > 1: // somebody else has set one of them
		return credential{given: true}
	}
	return cookieCredential(cookies[0].Value)
}

// cookieCredential returns the credential of a session's id.
func cookieCredential(id string) credential {
	login := strings.HasPrefix(id, seal.SessionPrefix)
	return credential{given: true, Credential: people.Credential{Hash: seal.HashKey(id), Session: !login, Login: login}}
}

// keyCredential returns the credential of an API key. A text that is too long to be one has no hash, so that no request
// makes the server hash a large header.
func keyCredential(key string) credential {
	if key == "" || len(key) > 256 {
		return credential{given: true}
	}
	return credential{given: true, Credential: people.Credential{Hash: seal.HashKey(key)}}
}

// maxToken bounds a token of the issuer, in bytes.
const maxToken = 16 << 10

// tokenCredential returns the credential of a bearer token: a token of the issuer has two dots, an API key none.
func tokenCredential(token string) credential {
	if strings.Count(token, ".") != 2 || len(token) > maxToken {
		return keyCredential(token)
	}
	return credential{given: true, token: token,
		Credential: people.Credential{Hash: seal.HashKey(token), Login: true}}
}

// mayUseCookie reports whether the cookie of a request counts. It does so only under the service's own host names,
// against DNS rebinding, and for writes only if the service's own pages sent the request, against cross-site request
// forgery.
func (s *Server) mayUseCookie(r *http.Request) bool {
	if !s.knownHost(r.Host) {
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || s.ownOrigin(r)
}

// knownHost reports whether a host, with or without port, is a name of this service.
func (s *Server) knownHost(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.Trim(port, "0123456789") != "" { // such as localhost:80.example.org
		return false
	}
	return s.hosts[strings.ToLower(host)]
}

// ownOrigin reports whether a page of this service sent the request.
func (s *Server) ownOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || u.Host == "" {
		return false
	}
	if strings.EqualFold(u.Host, s.public.Host) {
		return u.Scheme == s.public.Scheme
	}
	return strings.EqualFold(u.Host, r.Host) && s.knownHost(r.Host)
}

// identify returns the user of a credential; an error with CodeUnauthorized if it is not valid. It asks the database
// every time, so that a revoked key stops working at once on every node, and the issuer about a login whenever that is
// due.
func (s *Server) identify(ctx context.Context, cred credential) (people.Principal, error) {
	if cred.Hash == "" {
		return people.Principal{}, pleat.ErrUnauthorized
	}
	err := s.confirm(ctx, cred)
	var p people.Principal
	if err == nil {
		p, err = s.store.People.Identify(ctx, cred.Credential)
	}
	if cred.token != "" && errors.Is(err, pleat.ErrUnauthorized) { // it has expired, or others have displaced it
		s.logins.remove(cred.Hash)
		if err = s.confirm(ctx, cred); err == nil {
			p, err = s.store.People.Identify(ctx, cred.Credential)
		}
	}
	switch {
	case err == nil:
		s.known.put(cred.Hash, knownKey{p, s.clock()})
		s.keyUsage.record(p.Key, s.clock())
	case pleat.CodeOf(err) == pleat.CodeUnauthorized:
		s.known.remove(cred.Hash) // its requests no longer count against the user
	}
	return p, err
}

// authorize checks the credential that a route demands and sets the caller of the call. Where the route's verb of the
// store checks it again, one that was valid within knownFor gets that far.
func (s *Server) authorize(ctx context.Context, c *call, rt route) error {
	if rt.access == open || rt.access == reader || rt.access == anyone && !c.cred.given {
		return nil
	}
	if c.refused != nil {
		return c.refused
	}
	if c.who.User == "" { // else admit has just looked it up
		k, known := s.known.get(c.cred.Hash)
		if c.assumed = known && rt.verified; c.assumed {
			c.who = k.who
		} else if who, err := s.identify(ctx, c.cred); err != nil {
			return err
		} else {
			c.who = who
		}
	}
	if rt.keyOnly && c.cred.Session {
		return pleat.Errorf(pleat.CodeForbidden, "A session may not %s; send the API key itself in Authorization",
			rt.action())
	}
	if rt.access == user && !c.who.Scopes.Has(rt.scope) {
		return missingScope(rt)
	}
	return nil
}

// missingScope refuses a call of a key that lacks the scope of the route.
func missingScope(rt route) error {
	return pleat.Errorf(pleat.CodeForbidden, "This key may not %s; it needs the scope %s", rt.action(), rt.scope)
}

// actor returns who makes the changes of a call, for the audit log.
func (c *call) actor() people.Actor {
	return people.Actor{Reach: people.Reach{User: c.who.User}, Key: c.who.Key, Address: c.address()}
}

// visibleJob is the head of a job that the caller may read.
type visibleJob struct {
	runs.Head
	to wire.Audience
	// earlier is the run that the request asks for, if it is not the latest.
	earlier pleat.RunID
}

// ended reports whether the run that the request asks for has ended. A job is run again only after its latest run.
func (j *visibleJob) ended() bool { return j.earlier != "" || j.State.Terminal() }

// readableRun is readableJob with the run that the query jobRunId names; absent: the latest. To others, a public job
// shows its latest run alone.
func (s *Server) readableRun(ctx context.Context, c *call) (visibleJob, error) {
	head, err := s.readableJob(ctx, c)
	if err != nil {
		return head, err
	}
	id, err := uuidQuery(c.r, "jobRunId")
	if run := pleat.RunID(id); err == nil && id != "" && run != head.Run {
		if head.to != wire.ForOwner {
			return head, pleat.ErrRunNotFound
		}
		head.earlier = run
	}
	return head, err
}

// readableJob reads the head of the job in the path and checks that the caller may read it. A job that the caller may
// not read is not found; a caller without a credential gets pleat.ErrUnauthorized instead.
func (s *Server) readableJob(ctx context.Context, c *call) (visibleJob, error) {
	id, err := c.uuid("id", pleat.ErrJobNotFound)
	if err != nil {
		return visibleJob{}, s.preferUnauthorized(ctx, c, err)
	}
	return s.readableJobByID(ctx, c, pleat.JobID(id))
}

// readableJobByID is readableJob for a job that the path does not name.
func (s *Server) readableJobByID(ctx context.Context, c *call, id pleat.JobID) (visibleJob, error) {
	h, err := s.store.Runs.Head(ctx, id, c.cred.Credential)
	switch {
	case errors.Is(err, pleat.ErrJobNotFound):
		return visibleJob{}, s.preferUnauthorized(ctx, c, err)
	case err != nil:
		return visibleJob{}, err
	case h.Role >= pleat.Viewer && h.Scopes.Has(pleat.ScopeRead):
		return visibleJob{Head: h, to: wire.ForOwner}, s.recordUse(ctx, c.cred)
	case h.Public:
		return visibleJob{Head: h, to: wire.ForOthers}, nil
	}
	shared, err := s.shares(ctx, c, h.Source)
	switch {
	case err != nil:
		return visibleJob{}, err
	case shared:
		return visibleJob{Head: h, to: wire.ForOthers}, nil
	case h.Role >= pleat.Viewer:
		return visibleJob{}, missingScope(c.served)
	case h.Caller == "":
		return visibleJob{}, pleat.ErrUnauthorized
	}
	return visibleJob{}, pleat.ErrJobNotFound
}

// recordUse records the use of a credential that the head of a job has shown to be valid. It asks the issuer about a
// login if that is due.
func (s *Server) recordUse(ctx context.Context, cred credential) error {
	if err := s.confirm(ctx, cred); err != nil {
		return err
	}
	k, ok := s.known.get(cred.Hash)
	if !ok {
		_, err := s.identify(ctx, cred)
		return err
	}
	s.keyUsage.record(k.who.Key, s.clock())
	return nil
}

// preferUnauthorized returns pleat.ErrUnauthorized instead of err if the request's credential is invalid.
func (s *Server) preferUnauthorized(ctx context.Context, c *call, err error) error {
	if !c.cred.given {
		return err
	}
	if _, invalid := s.identify(ctx, c.cred); invalid != nil {
		return invalid
	}
	return err
}

// ownedJob returns the job id of a path on which only those may act who have a role in its project; the store checks
// it.
func ownedJob(c *call) (pleat.JobID, error) {
	id, err := c.uuid("id", pleat.ErrJobNotFound)
	return pleat.JobID(id), err
}
