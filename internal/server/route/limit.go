package route

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/fair"
	"pleat/internal/store/people"
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
func (k *Core) admit(ctx context.Context, c *Call, rt Route) error {
	user, err := k.knownUser(ctx, c)
	if err != nil {
		return err
	}
	c.user = user
	now := k.clock()
	if user == "" {
		c.CountedFor = peer(c.from)
		if rt.Cost == CostGuess {
			return nil
		}
		return c.allow(k.limits.peers, c.CountedFor, now)
	}
	c.CountedFor = "user " + string(user)
	if rt.Cost == CostPoll && k.limits.polls.Take(c.CountedFor, now) == 0 {
		return nil
	}
	return c.allow(k.limits.users, c.CountedFor, now)
}

// knownUser returns the user of the call's credential; empty if it has none, or none that is valid. A credential that
// was valid within knownFor still counts for its user; whether it is valid now, authorize checks.
func (k *Core) knownUser(ctx context.Context, c *Call) (pleat.UserID, error) {
	if c.Cred.Hash == "" {
		return "", nil
	}
	recent, known := k.callers.known.Get(c.Cred.Hash)
	if known && k.clock().Sub(recent.at) < knownFor {
		return recent.who.User, nil
	}
	var who people.Principal
	var err error
	if known { // it is not invented, and need not wait behind those that are
		who, err = k.identify(ctx, c.Cred)
	} else {
		who, err = k.lookUp(ctx, c, c.Cred, k.limits.unknown)
	}
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		c.Cred.Hash, c.refused = "", err // it is not looked up again; the route decides whether it needs one
		return "", nil
	}
	c.Who = who
	return who.User, err
}

// lookUp identifies a credential that may be invented. One that does not exist counts against the budget of its
// address. 401: it does not exist; 429: nor did too many before it.
func (k *Core) lookUp(ctx context.Context, c *Call, cred Credential, budget *fair.Limiter) (people.Principal, error) {
	from := peer(c.from)
	if budget.Spent(from, k.clock()) {
		select {
		case k.limits.oneLookup <- struct{}{}:
			defer func() { <-k.limits.oneLookup }()
		case <-ctx.Done():
			return people.Principal{}, &pleat.Error{Code: pleat.CodeUnavailable,
				Message: "too many credentials are being checked; try again", Err: ctx.Err()}
		}
	}
	who, err := k.identify(ctx, cred)
	if pleat.CodeOf(err) == pleat.CodeUnauthorized {
		if wait := budget.Take(from, k.clock()); wait > 0 {
			retryAfter(c.W.Header(), wait)
			return who, pleat.Errorf(pleat.CodeLimited,
				"Too many invalid credentials come from this address; check the key, and try again later")
		}
	}
	return who, err
}

// allow counts a request of a caller. If the caller must wait, it returns an error with CodeLimited and sets
// Retry-After.
func (c *Call) allow(l *fair.Limiter, who string, now time.Time) error {
	wait := l.Take(who, now)
	if wait == 0 {
		return nil
	}
	retryAfter(c.W.Header(), wait)
	return pleat.Errorf(pleat.CodeLimited, "Too many requests; at most %g per second are allowed", l.PerSecond())
}

// SignIn identifies the user of a key that may open a session now. It counts against the limits of the user, and only
// keys that do not exist against that of the address, so that strangers there cannot keep the user out. 429: the user
// or, for such a key, the address must wait.
func (c *Call) SignIn(ctx context.Context, key string) (people.Principal, error) {
	k := c.core
	who, err := k.lookUp(ctx, c, KeyCredential(key), k.limits.wrongKeys)
	if err != nil {
		return who, err
	}
	c.CountedFor = "user " + string(who.User)
	if err := c.allow(k.limits.users, c.CountedFor, k.clock()); err != nil {
		return who, err
	}
	return who, c.allow(k.limits.sessions, c.CountedFor, k.clock())
}

// CountLogin counts a step of a sign-in at the issuer. 429: the address must wait.
func (c *Call) CountLogin() error { return c.allow(c.core.limits.logins, peer(c.from), c.core.clock()) }
