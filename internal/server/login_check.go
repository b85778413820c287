package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/identity"
	"pleat/internal/store/people"
)

const (
	// vouchedFor is how long what the issuer says of a person counts at most.
	vouchedFor = 5 * time.Minute
	// checkGrace is how long a request need not wait for another one that asks the issuer. With identity.Fresh and
	// knownFor it stays within vouchedFor.
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

// refusalOf returns the refusal of a failure of package identity.
func refusalOf(err error) error {
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

// claimsOf returns what the issuer said of a person at a time.
func (s *Server) claimsOf(p identity.Person, at time.Time) people.Claims {
	c := people.Claims{Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Email: p.Email, Groups: p.Groups, At: at}
	if s.cfg.Login.OperatorsByGroup {
		c.Operator = &p.Operator
	}
	return c
}

// confirm sees to it that what the issuer says of a login is not too old: it asks the issuer again whenever that is
// due. Credentials that are no logins need no look. 401: the login has ended; 403: the issuer knows the person, who may
// not use this service; 503: the issuer does not answer, and the login cannot count without.
func (s *Server) confirm(ctx context.Context, cred credential) error {
	if !cred.Login {
		return nil
	}
	if s.issuer == nil {
		return pleat.ErrUnauthorized
	}
	if until, ok := s.logins.get(cred.Hash); ok && s.clock().Before(until) {
		return nil
	}
	if cred.token != "" {
		return s.confirmBearer(ctx, cred)
	}
	return s.confirmLogin(ctx, cred.Hash)
}

// confirmBearer checks a token of the issuer, and stores that it counts.
func (s *Server) confirmBearer(ctx context.Context, cred credential) error {
	b, err := s.issuer.VerifyBearer(ctx, cred.token)
	if err != nil {
		return refusalOf(err)
	}
	l := people.Login{Hash: cred.Hash, Kind: people.LoginBearer, CheckAt: b.AsOf.Add(identity.Fresh),
		ExpiresAt: b.AsOf.Add(vouchedFor)}
	if b.Expires.Before(l.ExpiresAt) {
		l.ExpiresAt = b.Expires
	}
	if l.User, err = s.store.People.AccountForClaims(ctx, s.claimsOf(b.Person, b.AsOf)); err != nil {
		return err
	}
	if err := s.store.People.PutLogin(ctx, l, ""); err != nil {
		return err
	}
	s.logins.put(l.Hash, l.CheckAt)
	return nil
}

// confirmLogin is confirm for a session or a grant. One caller at a time asks the issuer. The others go on for
// checkGrace, and then wait.
func (s *Server) confirmLogin(ctx context.Context, hash string) error {
	for {
		l, err := s.store.People.Login(ctx, hash)
		if err != nil {
			return err
		}
		now := s.clock()
		switch {
		case l.Issuer != s.issuer.Name(): // that of an earlier configuration
			return pleat.ErrUnauthorized
		case now.Before(l.CheckAt):
			s.logins.put(hash, l.CheckAt)
			return nil
		}
		mine, err := s.store.People.LeaseLogin(ctx, &l, now.Add(checkLease))
		if err != nil {
			return err
		}
		if mine {
			return s.check(ctx, l)
		}
		if now.Before(l.CheckAt.Add(checkGrace)) {
			return nil
		}
		select {
		case <-time.After(checkPoll):
		case <-ctx.Done():
			return refusalOf(ctx.Err())
		}
	}
}

// check asks the issuer about a login that the caller has leased, and stores the answer. The answer serves other
// requests too, so that the end of this one does not matter.
func (s *Server) check(ctx context.Context, l people.Login) error {
	ctx = context.WithoutCancel(ctx)
	tokens, err := s.openTokens(l)
	if err != nil {
		return s.endLogin(ctx, l, identity.Ended, err)
	}
	if l.Kind == people.LoginSession && tokens.Refresh == "" && tokens.Access == "" {
		return s.checkByGrant(ctx, l)
	}
	at := s.clock()
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now, err := s.issuer.Refresh(asking, l.Subject, tokens)
	if now.Tokens != tokens {
		l.Tokens = s.sealTokens(l.User, now.Tokens)
	}
	kind := identity.KindOf(err)
	switch {
	case err == nil:
		l.CheckAt = at.Add(identity.Fresh)
		if l.Kind == people.LoginGrant { // so that those of many people spread
			l.CheckAt = l.CheckAt.Add(-rand.N(checkAgain))
		}
		claims := s.claimsOf(now.Person, at)
		if err := s.store.People.KeepLogin(ctx, l, &claims); err != nil {
			return err
		}
		s.logins.put(l.Hash, l.CheckAt)
		return nil
	case kind == identity.Ended, kind == identity.Forbidden, kind == identity.Refused && l.Refusals > 0:
		return s.endLogin(ctx, l, kind, err)
	case kind == identity.Refused:
		l.Refusals++
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "the sign-in service did not confirm a login", slog.String("user",
		string(l.User)), slog.Any("error", err))
	l.CheckAt = at.Add(checkAgain)
	return s.store.People.KeepLogin(ctx, l, nil)
}

// checkByGrant is check for a session whose user has a grant, by which the issuer is asked.
func (s *Server) checkByGrant(ctx context.Context, l people.Login) error {
	err := s.confirmLogin(ctx, people.GrantOf(l.User))
	if pleat.CodeOf(err) == pleat.CodeUnauthorized && err != nil {
		return s.endLogin(ctx, l, identity.Ended, err)
	}
	if err != nil {
		return err
	}
	grant, err := s.store.People.Login(ctx, people.GrantOf(l.User))
	if err != nil {
		return err
	}
	l.CheckAt = grant.CheckAt
	return s.store.People.KeepLogin(ctx, l, nil)
}

// endLogin ends a login that counts no more. Where it was the grant, or the person may not use this service any more,
// all of the user's logins end and the keys are refused until the next sign-in.
func (s *Server) endLogin(ctx context.Context, l people.Login, kind identity.Kind, cause error) error {
	s.logins.remove(l.Hash)
	s.log.LogAttrs(ctx, slog.LevelInfo, "a sign-in has ended", slog.String("user", string(l.User)),
		slog.Any("error", cause))
	message := identity.MessageOf(cause)
	if message == "" {
		message = "Your sign-in has ended; sign in again"
	}
	suspend := l.Kind == people.LoginGrant || kind == identity.Forbidden
	if err := s.store.People.RefuseLogin(ctx, l, suspend, message); err != nil {
		return err
	}
	return pleat.Errorf(pleat.CodeUnauthorized, "%s", message)
}

// KeepGrants asks the issuer about the people whose keys count, until ctx ends. Every node does it; each person is
// asked about once.
func (s *Server) KeepGrants(ctx context.Context) {
	if s.issuer == nil {
		return
	}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		if err := s.CheckGrants(ctx); err != nil && ctx.Err() == nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "people who signed in cannot be checked", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// CheckGrants asks the issuer about the people whose keys count and about whom that is due.
func (s *Server) CheckGrants(ctx context.Context) error {
	for {
		due, err := s.store.People.GrantsToCheck(ctx, s.issuer.Name(), checkBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		var group errgroup.Group
		group.SetLimit(checkTurns)
		for _, l := range due {
			group.Go(func() error {
				err := s.confirmLogin(ctx, l.Hash)
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

// sealTokens and openTokens encrypt the issuer's tokens for the database.
func (s *Server) sealTokens(user pleat.UserID, t identity.Tokens) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // of texts and a time
	}
	return s.ring.Seal(string(user), people.LoginColumn, text)
}

func (s *Server) openTokens(l people.Login) (t identity.Tokens, err error) {
	text, err := s.ring.Open(string(l.User), people.LoginColumn, l.Tokens)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}
