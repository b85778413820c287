// Package signin keeps what the issuer of a sign-in says of people true: it asks the issuer again about each login and
// each person whose keys count, one node at a time, and ends those that the issuer no longer knows.
//
// It must not know HTTP routes or cookies; packages route and people of the server do.
package signin

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/identity"
	"pleat/internal/seal"
	"pleat/internal/store/people"
)

const (
	// claimsValidFor is how long what the issuer says of a person counts at most.
	claimsValidFor = 5 * time.Minute
	// checkGrace is how long a request need not wait for another one that asks the issuer. With identity.Fresh and
	// the time for which the server remembers a credential, it stays within claimsValidFor.
	checkGrace = 40 * time.Second
	// checkTimeout bounds a question to the issuer, and checkLease the time in which one caller alone asks it about a
	// login and stores the answer.
	checkTimeout = 20 * time.Second
	checkLease   = 30 * time.Second
	// checkAgain is when to ask the issuer again after an answer that was not clear, or none.
	checkAgain = 30 * time.Second
	// checkPoll is how often a request that must wait looks whether another has got the answer.
	checkPoll = 100 * time.Millisecond
	// checkTurns is how many grants a node checks at a time, and checkEvery how often it looks for some.
	checkTurns = 8
	checkEvery = 10 * time.Second
	// checkBatch is how many grants are read at a time.
	checkBatch = 100
)

// Refusal returns the refusal of a failure of package identity.
func Refusal(err error) error {
	codes := map[identity.Kind]pleat.Code{
		identity.Unreachable: pleat.CodeUnavailable, identity.Misconfigured: pleat.CodeUnavailable,
		identity.Refused: pleat.CodeUnauthorized, identity.Ended: pleat.CodeUnauthorized,
		identity.Forbidden: pleat.CodeForbidden,
	}
	code, ok := codes[identity.KindOf(err)]
	if !ok {
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the sign-in service cannot be asked now; try again",
			Err: err}
	}
	return &pleat.Error{Code: code, Message: identity.MessageOf(err), Err: err}
}

// Config is how people sign in by the issuer.
type Config struct {
	// Title names the issuer on the page; empty: its host.
	Title string
	// DeviceClient and Scopes are for programs on terminals, which sign in by themselves.
	DeviceClient string
	Scopes       []string
	// For is how long a session lives; 0: 12 h.
	For time.Duration
	// OperatorsByGroup says that a group decides which of the people who sign in are operators.
	OperatorsByGroup bool
}

// Logins are what a node knows of the people who have signed in. It is safe for many goroutines.
type Logins struct {
	// Issuer signs people in; nil: they use API keys alone.
	Issuer *identity.Issuer
	People *people.Store
	Ring   *seal.Ring // seals the issuer's tokens
	Clock  func() time.Time
	Log    *slog.Logger
	Config Config

	counts *Recent[time.Time] // until when logins count before the issuer is asked again
}

// New returns what a node knows of the people who sign in by l.Issuer: nothing yet.
func New(l Logins) *Logins {
	l.counts = NewRecent[time.Time](maxKnown)
	return &l
}

// Claims returns what the issuer said of a person at a time.
func (l *Logins) Claims(p identity.Person, at time.Time) people.Claims {
	c := people.Claims{Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Email: p.Email, Groups: p.Groups, At: at}
	if l.Config.OperatorsByGroup {
		c.Operator = &p.Operator
	}
	return c
}

// Forget makes the next request with a login ask the database about it.
func (l *Logins) Forget(hash string) { l.counts.Remove(hash) }

// Confirm sees to it that what the issuer says of a login is not too old: it asks the issuer again whenever that is
// due. token is the issuer's token that the login is; empty: the login is a session or a grant. 401: the login has
// ended; 403: the issuer knows the person, who may not use this service; 503: the issuer does not answer, and the login
// cannot count without.
func (l *Logins) Confirm(ctx context.Context, hash, token string) error {
	if l.Issuer == nil {
		return pleat.ErrUnauthorized
	}
	if until, ok := l.counts.Get(hash); ok && l.Clock().Before(until) {
		return nil
	}
	if token != "" {
		return l.confirmBearer(ctx, hash, token)
	}
	return l.confirmLogin(ctx, hash)
}

// confirmBearer checks a token of the issuer, and stores that it counts.
func (l *Logins) confirmBearer(ctx context.Context, hash, token string) error {
	b, err := l.Issuer.VerifyBearer(ctx, token)
	if err != nil {
		return Refusal(err)
	}
	login := people.Login{Hash: hash, Kind: people.LoginBearer, CheckAt: b.AsOf.Add(identity.Fresh),
		ExpiresAt: b.AsOf.Add(claimsValidFor)}
	if b.Expires.Before(login.ExpiresAt) {
		login.ExpiresAt = b.Expires
	}
	if login.User, err = l.People.AccountForClaims(ctx, l.Claims(b.Person, b.AsOf)); err != nil {
		return err
	}
	if err := l.People.PutLogin(ctx, login, ""); err != nil {
		return err
	}
	l.counts.Put(login.Hash, login.CheckAt)
	return nil
}

// confirmLogin is Confirm for a session or a grant. One caller at a time asks the issuer. The others go on for
// checkGrace, and then wait.
func (l *Logins) confirmLogin(ctx context.Context, hash string) error {
	for {
		login, err := l.People.Login(ctx, hash)
		if err != nil {
			return err
		}
		now := l.Clock()
		switch {
		case login.Issuer != l.Issuer.Name(): // that of an earlier configuration
			return pleat.ErrUnauthorized
		case now.Before(login.CheckAt):
			l.counts.Put(hash, login.CheckAt)
			return nil
		}
		leased, err := l.People.LeaseLogin(ctx, &login, now.Add(checkLease))
		if err != nil {
			return err
		}
		if leased {
			return l.check(ctx, login)
		}
		if now.Before(login.CheckAt.Add(checkGrace)) {
			return nil
		}
		select {
		case <-time.After(checkPoll):
		case <-ctx.Done():
			return Refusal(ctx.Err())
		}
	}
}

// check asks the issuer about a login that the caller has leased, and stores the answer. The answer serves other
// requests too, so that the end of this one does not matter.
func (l *Logins) check(ctx context.Context, login people.Login) error {
	ctx = context.WithoutCancel(ctx)
	tokens, err := l.Open(login)
	if err != nil {
		return l.endLogin(ctx, login, identity.Ended, err)
	}
	if login.Kind == people.LoginSession && tokens.Refresh == "" && tokens.Access == "" {
		return l.checkByGrant(ctx, login)
	}
	at := l.Clock()
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now, err := l.Issuer.Refresh(asking, login.Subject, tokens)
	if now.Tokens != tokens {
		login.Tokens = l.Seal(login.User, now.Tokens)
	}
	kind := identity.KindOf(err)
	switch {
	case err == nil:
		login.CheckAt = at.Add(identity.Fresh)
		if login.Kind == people.LoginGrant { // so that those of many people spread
			login.CheckAt = login.CheckAt.Add(-rand.N(checkAgain))
		}
		claims := l.Claims(now.Person, at)
		if err := l.People.KeepLogin(ctx, login, &claims); err != nil {
			return err
		}
		l.counts.Put(login.Hash, login.CheckAt)
		return nil
	case kind == identity.Ended, kind == identity.Forbidden, kind == identity.Refused && login.Refusals > 0:
		return l.endLogin(ctx, login, kind, err)
	case kind == identity.Refused:
		login.Refusals++
	}
	l.Log.LogAttrs(ctx, slog.LevelWarn, "the sign-in service did not confirm a login", slog.String("user",
		string(login.User)), slog.Any("error", err))
	login.CheckAt = at.Add(checkAgain)
	return l.People.KeepLogin(ctx, login, nil)
}

// checkByGrant is check for a session whose user has a grant, by which the issuer is asked.
func (l *Logins) checkByGrant(ctx context.Context, login people.Login) error {
	err := l.confirmLogin(ctx, people.GrantOf(login.User))
	if pleat.CodeOf(err) == pleat.CodeUnauthorized && err != nil {
		return l.endLogin(ctx, login, identity.Ended, err)
	}
	if err != nil {
		return err
	}
	grant, err := l.People.Login(ctx, people.GrantOf(login.User))
	if err != nil {
		return err
	}
	login.CheckAt = grant.CheckAt
	return l.People.KeepLogin(ctx, login, nil)
}

// endLogin ends a login that counts no more. Where it was the grant, or the person may not use this service any more,
// all of the user's logins end and the keys are refused until the next sign-in.
func (l *Logins) endLogin(ctx context.Context, login people.Login, kind identity.Kind, cause error) error {
	l.counts.Remove(login.Hash)
	l.Log.LogAttrs(ctx, slog.LevelInfo, "a sign-in has ended", slog.String("user", string(login.User)),
		slog.Any("error", cause))
	message := identity.MessageOf(cause)
	if message == "" {
		message = "Your sign-in has ended; sign in again"
	}
	suspend := login.Kind == people.LoginGrant || kind == identity.Forbidden
	if err := l.People.RefuseLogin(ctx, login, suspend, message); err != nil {
		return err
	}
	return pleat.Errorf(pleat.CodeUnauthorized, "%s", message)
}

// Keep asks the issuer about the people whose keys count, until ctx ends. Every node does it; each person is
// asked about once.
func (l *Logins) Keep(ctx context.Context) {
	if l.Issuer == nil {
		return
	}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		if err := l.Check(ctx); err != nil && ctx.Err() == nil {
			l.Log.LogAttrs(ctx, slog.LevelWarn, "people who signed in cannot be checked", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Check asks the issuer about the people whose keys count and about whom that is due.
func (l *Logins) Check(ctx context.Context) error {
	for {
		due, err := l.People.GrantsToCheck(ctx, l.Issuer.Name(), checkBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		var group errgroup.Group
		group.SetLimit(checkTurns)
		for _, login := range due {
			group.Go(func() error {
				err := l.confirmLogin(ctx, login.Hash)
				if pleat.CodeOf(err) == pleat.CodeUnauthorized { // that the sign-in has ended is an answer too
					return nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Seal encrypts the issuer's tokens of a user for the database.
func (l *Logins) Seal(user pleat.UserID, t identity.Tokens) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // of texts and a time
	}
	return l.Ring.Seal(string(user), people.LoginColumn, text)
}

// Open decrypts the issuer's tokens of a login.
func (l *Logins) Open(login people.Login) (t identity.Tokens, err error) {
	text, err := l.Ring.Open(string(login.User), people.LoginColumn, login.Tokens)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

// Revoke takes the tokens of a login back that has ended. A failure is logged: the login has ended here in any case.
func (l *Logins) Revoke(ctx context.Context, login people.Login) {
	if login.Tokens == "" {
		return
	}
	tokens, err := l.Open(login)
	if err == nil {
		err = l.Issuer.Revoke(ctx, tokens)
	}
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "the sign-in service did not take tokens back",
			slog.String("user", string(login.User)), slog.Any("error", err))
	}
}
