package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/store"
)

// access is what a route demands of its caller.
type access int

const (
	anyone access = iota // a good credential, or none
	reader               // a job's visibility decides; the handler asks for it
	user                 // a good credential
	open                 // credentials are not looked at
)

// credential is what came with a request: the hash of a key or of a session's id. Given without a hash is a bad one.
type credential struct {
	given   bool
	session bool
	hash    string
}

const cookieName = "pleat_session"

// credentialOf reads a request's credential: the bearer token, the X-API-Key header, or the page's cookie.
func (s *Server) credentialOf(r *http.Request) credential {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, key, _ := strings.Cut(auth, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return credential{given: true}
		}
		return keyCredential(strings.TrimSpace(key))
	}
	if key := r.Header.Get("X-API-Key"); key != "" {
		return keyCredential(key)
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" || !s.mayUseCookie(r) {
		return credential{}
	}
	return credential{given: true, session: true, hash: seal.HashKey(cookie.Value)}
}

func keyCredential(key string) credential {
	if key == "" || len(key) > 256 {
		return credential{given: true}
	}
	return credential{given: true, hash: seal.HashKey(key)}
}

// mayUseCookie guards the cookie: it counts only under our own names, so that a name rebound to this address gets
// nothing, and for writes only from our own pages.
func (s *Server) mayUseCookie(r *http.Request) bool {
	if !s.knownHost(r.Host) {
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || s.ownOrigin(r)
}

func (s *Server) knownHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return s.hosts[strings.ToLower(host)]
}

// ownOrigin reports whether the request was made by a page of this service.
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

// identify finds who a credential stands for; ErrUnauthorized where that is nobody.
func (s *Server) identify(ctx context.Context, cred credential) (store.Principal, error) {
	if cred.hash == "" {
		return store.Principal{}, pleat.ErrUnauthorized
	}
	find := s.store.KeyByHash
	if cred.session {
		find = s.store.SessionByHash
	}
	p, err := find(ctx, cred.hash)
	if err == nil {
		s.good.note(cred.hash, p.Key)
		s.touched.note(p.Key, s.clock())
	}
	return p, err
}

// good remembers credentials that were good a while ago, to count their requests and note their use. It admits nobody.
type good struct {
	mu  sync.Mutex
	key map[string]pleat.KeyID // by hash
}

const goodMost = 10_000

func (g *good) note(hash string, key pleat.KeyID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.key == nil || len(g.key) >= goodMost {
		g.key = map[string]pleat.KeyID{}
	}
	g.key[hash] = key
}

func (g *good) find(hash string) (pleat.KeyID, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.key[hash]
	return k, ok
}

// caller names who a request is counted for: its credential where that is known to be good, else its address, since
// anybody can make up a new credential for each request.
func (s *Server) caller(c *call) string {
	if _, ok := s.good.find(c.cred.hash); ok {
		return c.cred.hash
	}
	return remote(c.r)
}

// authorize checks a route's demand and fills in who calls.
func (s *Server) authorize(ctx context.Context, c *call, need access) error {
	if need == open || need == reader {
		return nil
	}
	if need == anyone && !c.cred.given {
		return nil
	}
	who, err := s.identify(ctx, c.cred)
	c.who = who
	return err
}

// seen is a job that the caller may read.
type seen struct {
	store.Head
	Mine bool // it belongs to the caller
}

// see reads the head of the job that the path names and checks that the caller may read it. To whom it is not shown it
// does not exist; to the anonymous it answers that a credential is needed.
func (s *Server) see(ctx context.Context, c *call) (seen, error) {
	id, err := c.uuid("id", pleat.ErrJobNotFound)
	if err != nil {
		return seen{}, s.blame(ctx, c, err)
	}
	return s.seeJob(ctx, c, pleat.JobID(id))
}

func (s *Server) seeJob(ctx context.Context, c *call, id pleat.JobID) (seen, error) {
	head := s.store.Head
	if c.cred.session {
		head = s.store.HeadBySession
	}
	h, err := head(ctx, id, c.cred.hash)
	switch {
	case errors.Is(err, pleat.ErrJobNotFound):
		return seen{}, s.blame(ctx, c, err)
	case err != nil:
		return seen{}, err
	case h.Caller != "" && h.Caller == h.Owner:
		return seen{h, true}, s.used(ctx, c.cred)
	case h.Public:
		return seen{h, false}, nil
	case h.Caller == "":
		return seen{}, pleat.ErrUnauthorized
	}
	return seen{}, pleat.ErrJobNotFound
}

// used notes the use of a credential that a job's head has found good.
func (s *Server) used(ctx context.Context, cred credential) error {
	key, ok := s.good.find(cred.hash)
	if !ok {
		_, err := s.identify(ctx, cred)
		return err
	}
	s.touched.note(key, s.clock())
	return nil
}

// blame prefers to say that a credential is bad over saying that there is no such thing.
func (s *Server) blame(ctx context.Context, c *call, err error) error {
	if !c.cred.given {
		return err
	}
	if _, bad := s.identify(ctx, c.cred); bad != nil {
		return bad
	}
	return err
}

// owned reads the job id of a path on which only its owner may act; the store checks that it is theirs.
func owned(c *call) (pleat.JobID, error) {
	id, err := c.uuid("id", pleat.ErrJobNotFound)
	return pleat.JobID(id), err
}
