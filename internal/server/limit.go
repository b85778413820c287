package server

import (
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/internal/fair"
	"pleat/internal/store/people"
)

// counting is the limit against which the requests of a route count. The zero value is the user of the credential, or
// the address of a request that has none that is valid.
type counting int

const (
	// byCredential is the zero value for routes that are open: they read the credential only to count the request.
	byCredential counting = iota + 1
	// asPoll is for reads of a run's status, log or results, which have a rate of their own.
	asPoll
	// byHandler is for routes whose handler checks a secret of its own, and counts those that are wrong.
	byHandler
)

// limits are the limits of callers on this node: two nodes allow twice as much.
//
// A request with a valid credential counts for its user alone, whichever key or session it has, so that neither more
// keys nor more sessions allow more, and strangers at the same address take nothing away. Only a credential that was
// not used here recently needs the database. Each address may send some that do not exist; beyond, they are looked up
// one at a time, so that a flood of them neither loads the database nor refuses a valid one.
type limits struct {
	users    *fair.Limiter // requests, by user
	peers    *fair.Limiter // requests without a valid credential, by address
	polls    *fair.Limiter // reads of runs, by user; what is above counts in users
	sessions *fair.Limiter // sessions opened, by user

	unknown   *fair.Limiter // credentials that do not exist, by address
	wrongKeys *fair.Limiter // sign-ins with a key that does not exist, by address
	secrets   *fair.Limiter // wrong secrets of the operator, by address and route
	logins    *fair.Limiter // steps of a sign-in at the issuer, by address

	oneLookup chan struct{} // semaphore of lookups for addresses whose budget is spent
}

// maxPeers bounds the addresses that a limiter remembers, a megabyte or two.
const maxPeers = 10_000

// newLimits returns the limits where a caller may send perSecond requests, burst of them at once; 0: any number.
// Credentials are limited in either case.
func newLimits(perSecond float64, burst int) limits {
	l := limits{
		sessions:  fair.NewLimiter(1, 30, 0),
		unknown:   fair.NewLimiter(20, 200, maxPeers),
		wrongKeys: fair.NewLimiter(1, 10, maxPeers),
		secrets:   fair.NewLimiter(1, 10, maxPeers),
		logins:    fair.NewLimiter(5, 100, maxPeers),
		oneLookup: make(chan struct{}, 1),
	}
	if perSecond > 0 {
		l.users, l.peers = fair.NewLimiter(perSecond, burst, 0), fair.NewLimiter(perSecond, burst, maxPeers)
		l.polls = fair.NewLimiter(pollRate, 2*pollRate, 0)
	}
	return l
}

// pollRate is how many reads of runs a user may make per second, whatever the rate is: each of as many runs as a user
// may have streams can be polled once a second.
const pollRate = 32

// admit counts a request against the limit of its caller, and sets the caller. 429: the caller must wait.
func (s *Server) admit(ctx context.Context, c *call, rt route) error {
	user, err := s.knownUser(ctx, c)
	if err != nil {
		return err
	}
	c.user = user
	now := s.clock()
	if user == "" {
		c.caller = peer(c.from)
		if rt.counted == byHandler {
			return nil
		}
		return c.allow(s.limits.peers, c.caller, now)
	}
	c.caller = "user " + string(user)
	if rt.counted == asPoll && s.limits.polls.Take(c.caller, now) == 0 {
		return nil
	}
	return c.allow(s.limits.users, c.caller, now)
}

// knownUser returns the user of the call's credential; empty if it has none, or none that is valid. A credential that
// was valid within knownFor still counts for its user; whether it is valid now, authorize checks.
func (s *Server) knownUser(ctx context.Context, c *call) (pleat.UserID, error) {
	if c.cred.Hash == "" {
		return "", nil
	}
	k, known := s.known.get(c.cred.Hash)
	if known && s.clock().Sub(k.at) < knownFor {
		return k.who.User, nil
	}
	var who people.Principal
	var err error
	if known { // it is not invented, and need not wait behind those that are
		who, err = s.identify(ctx, c.cred)
	} else {
		who, err = s.lookUp(ctx, c, c.cred, s.limits.unknown)
	}
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		c.cred.Hash, c.refused = "", err // it is not looked up again; the route decides whether it needs one
		return "", nil
	}
	c.who = who
	return who.User, err
}

// lookUp identifies a credential that may be invented. One that does not exist counts against the budget of its
// address. 401: it does not exist; 429: nor did too many before it.
func (s *Server) lookUp(ctx context.Context, c *call, cred credential, budget *fair.Limiter) (people.Principal, error) {
	from := peer(c.from)
	if budget.Spent(from, s.clock()) {
		select {
		case s.limits.oneLookup <- struct{}{}:
			defer func() { <-s.limits.oneLookup }()
		case <-ctx.Done():
			return people.Principal{}, &pleat.Error{Code: pleat.CodeUnavailable,
				Message: "too many credentials are being checked; try again", Err: ctx.Err()}
		}
	}
	who, err := s.identify(ctx, cred)
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		if wait := budget.Take(from, s.clock()); wait > 0 {
			retryAfter(c.w.Header(), wait)
			return who, pleat.Errorf(pleat.CodeLimited,
				"Too many invalid credentials come from this address; check the key, and try again later")
		}
	}
	return who, err
}

// allow counts a request of a caller. If the caller must wait, it returns an error with CodeLimited and sets
// Retry-After.
func (c *call) allow(l *fair.Limiter, who string, now time.Time) error {
	wait := l.Take(who, now)
	if wait == 0 {
		return nil
	}
	retryAfter(c.w.Header(), wait)
	return pleat.Errorf(pleat.CodeLimited, "Too many requests; at most %g per second are allowed", l.PerSecond())
}

// knownKey is what a credential that was valid recently stood for. It grants no access: it says whom a request counts
// for, whose use is recorded, and as whom to call a verb of the store that checks the credential itself.
type knownKey struct {
	who people.Principal
	at  time.Time // when it was valid
}

// knownFor is how long a credential counts for its user without another look at the database: not every route looks
// there, and one that was revoked must not use up what its user may send.
const knownFor = 10 * time.Second

// maxKnownKeys is how many credentials a server remembers for certain.
const maxKnownKeys = 10_000

// recent remembers something of credentials by their hash: of at least the most that were used last, and of at most
// twice as many.
type recent[V any] struct {
	mu       sync.Mutex
	most     int
	now, old map[string]V
}

// newRecent returns a memory of at least most credentials.
func newRecent[V any](most int) *recent[V] { return &recent[V]{most: most, now: map[string]V{}} }

// put remembers a credential.
func (r *recent[V]) put(hash string, k V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putLocked(hash, k)
}

// putLocked is put for a caller that holds mu.
func (r *recent[V]) putLocked(hash string, k V) {
	if _, there := r.now[hash]; !there && len(r.now) >= r.most {
		r.now, r.old = map[string]V{}, r.now
	}
	r.now[hash] = k
}

// get returns a credential and counts it as used; false if it is not remembered.
func (r *recent[V]) get(hash string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.now[hash]
	if !ok {
		if k, ok = r.old[hash]; ok {
			r.putLocked(hash, k)
		}
	}
	return k, ok
}

// remove forgets a credential.
func (r *recent[V]) remove(hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, hash)
	delete(r.old, hash)
}
