package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

const testIssuer = "https://id.example.org"

// claimsOf are those of a person of the test's issuer at the present time.
func claimsOf(s *store.Store, subject, name string, groups ...string) people.Claims {
	return people.Claims{Issuer: testIssuer, Subject: subject, Name: name, Groups: groups, At: s.DB.Now()}
}

func accountFor(t *testing.T, s *store.Store, c people.Claims) pleat.UserID {
	t.Helper()
	user, err := s.People.AccountForClaims(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// putLogin stores a login of a user that is to be checked in four minutes and ends in twelve hours.
func putLogin(t *testing.T, s *store.Store, user pleat.UserID, kind people.LoginKind, hash string) people.Login {
	t.Helper()
	l := people.Login{Hash: hash, Kind: kind, User: user, Tokens: "sealed " + hash,
		CheckAt: s.DB.Now().Add(4 * time.Minute), ExpiresAt: s.DB.Now().Add(12 * time.Hour)}
	if err := s.People.PutLogin(context.Background(), l, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	l, err := s.People.Login(context.Background(), hash)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantCode(t *testing.T, what string, err error, want pleat.Code) {
	t.Helper()
	if err == nil || pleat.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// A person is the pair of issuer and subject. Two first sign-ins at once make one account, whose name is nobody else's.
func TestAccountForClaims(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		taken := storetest.User(t, s, "ada")
		var wg sync.WaitGroup
		users := make([]pleat.UserID, 8)
		for n := range users {
			wg.Go(func() { users[n], _ = s.People.AccountForClaims(context.Background(), claimsOf(s, "s", "ada")) })
		}
		wg.Wait()
		for _, u := range users {
			if u == "" || u != users[0] || u == taken.User {
				t.Fatalf("the users are %v", users)
			}
		}
		other := claimsOf(s, "s", "ada")
		other.Issuer = "https://other.example.org"
		third := accountFor(t, s, other)
		list, err := s.People.Users(context.Background())
		if err != nil || len(list) != 3 || third == users[0] {
			t.Fatalf("%+v, %v", list, err)
		}
		for n, want := range []string{"ada", "ada-2", "ada-3"} {
			if list[n].Name != want {
				t.Errorf("the name is %s, want %s", list[n].Name, want)
			}
		}
		nameless := accountFor(t, s, claimsOf(s, "t", "\x01"))
		if u, err := s.People.User(context.Background(), nameless); err != nil || u.Name != "user" {
			t.Errorf("%+v, %v", u, err)
		}
		clock.Advance(time.Second)
		if _, err := s.People.SetDisabled(
			context.Background(), people.Actor{Database: true}, "ada-2", true,
		); err != nil {
			t.Fatal(err)
		}
		_, err = s.People.AccountForClaims(context.Background(), claimsOf(s, "s", "ada"))
		wantCode(t, "a disabled user", err, pleat.CodeForbidden)
		putLogin(t, s, third, people.LoginSession, "session")
		for _, name := range []string{"ada-2", "ada-3", "user"} {
			if _, err := s.Ops.EraseUser(context.Background(), people.Actor{Database: true}, name); err != nil {
				t.Fatal(err)
			}
		}
		if n := storetest.Count(t, s, "account_identity") + storetest.Count(t, s, "login"); n != 0 {
			t.Errorf("%d rows of deleted users stay", n)
		}
	})
}

// The role in a project is the larger of the user's own and those of the groups, as the newest claims have them.
func TestGroupRoles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx, by := context.Background(), people.Actor{Database: true}
		storetest.User(t, s, "ann")
		p, err := s.People.CreateProject(ctx, by, "cage", "ann")
		if err != nil {
			t.Fatal(err)
		}
		by = by.In(p.ID)
		old := claimsOf(s, "s", "ada", "readers", "others")
		user := accountFor(t, s, old)
		at := people.Reach{User: user, Project: p.ID}
		want := func(want pleat.Role) {
			t.Helper()
			if role, err := s.People.Role(ctx, at, p.ID); err != nil || role != want {
				t.Errorf("the role is %v, %v; want %v", role, err, want)
			}
			list, err := s.People.Memberships(ctx, people.Reach{User: user})
			if err != nil || (len(list) == 2) != (want != pleat.NoRole) || len(list) == 2 && list[1].Role != want {
				t.Errorf("%+v, %v", list, err)
			}
		}
		set := func(group string, role pleat.Role) {
			t.Helper()
			if _, err := s.People.SetGroup(ctx, by, group, role); err != nil {
				t.Fatal(err)
			}
		}
		want(pleat.NoRole)
		set("readers", pleat.Viewer)
		want(pleat.Viewer)
		set("others", pleat.Manager)
		want(pleat.Manager)
		if _, err := s.People.SetMember(ctx, people.Actor{Reach: at}, "ada", pleat.Member); err != nil {
			t.Errorf("a manager by a group may not decide: %v", err)
		}
		_, err = s.People.SetMember(ctx, by, "ann", pleat.NoRole)
		wantCode(t, "the only manager who is not one by a group", err, pleat.CodeConflict)
		set("others", pleat.NoRole)
		want(pleat.Member)
		_, err = s.People.SetGroup(ctx, people.Actor{Reach: at}, "readers", pleat.Manager)
		wantCode(t, "a member decides", err, pleat.CodeForbidden)
		_, err = s.People.SetGroup(ctx, by, "others", pleat.NoRole)
		wantCode(t, "a group without a role", err, pleat.CodeNotFound)
		_, err = s.People.SetGroup(ctx, people.Actor{Database: true}.In(user.OwnProject()), "readers", pleat.Viewer)
		wantCode(t, "a user's own project", err, pleat.CodeConflict)
		if _, err := s.People.SetMember(ctx, by, "ada", pleat.NoRole); err != nil {
			t.Fatal(err)
		}
		want(pleat.Viewer)
		groups, err := s.People.Groups(ctx, at)
		if err != nil || len(groups) != 1 || groups[0].Name != "readers" || groups[0].Role != pleat.Viewer {
			t.Errorf("%+v, %v", groups, err)
		}
		clock.Advance(time.Minute)
		accountFor(t, s, claimsOf(s, "s", "ada"))
		want(pleat.NoRole)
		accountFor(t, s, old) // what is older than what is known does not count
		want(pleat.NoRole)
		_, err = s.People.Groups(ctx, at)
		wantCode(t, "groups for a stranger", err, pleat.CodeNotFound)
	})
}

// A group decides who operates the service where the claims say so, and an actor without a key is no operator for that.
func TestOperatorByClaims(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx, yes, no := context.Background(), true, false
		c := claimsOf(s, "s", "ada")
		by := people.Actor{Reach: people.Reach{User: accountFor(t, s, c)}}
		create := func(name string) error {
			_, err := s.People.CreateProject(ctx, by, name, "ada")
			return err
		}
		wantCode(t, "a person", create("a"), pleat.CodeForbidden)
		wantCode(
			t,
			"nobody",
			func() error { _, err := s.People.CreateProject(ctx, people.Actor{}, "a", "ada"); return err }(),
			pleat.CodeForbidden,
		)
		for n, operator := range []*bool{&yes, nil, &no} {
			clock.Advance(time.Second)
			c.At, c.Operator = s.DB.Now(), operator
			accountFor(t, s, c)
			if err := create(string(rune('a' + n))); (err == nil) != (operator != &no) {
				t.Errorf("claims %d: %v", n, err)
			}
		}
	})
}

// One caller asks the issuer about a login. The other credentials of its user end with what it stands for.
func TestLogins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		user := accountFor(t, s, claimsOf(s, "s", "ada", "lab"))
		l := putLogin(t, s, user, people.LoginSession, "session")
		grant := putLogin(t, s, user, people.LoginGrant, people.GrantOf(user))
		by := people.Actor{Reach: people.Reach{User: user}}
		key, err := s.People.CreateKey(ctx, by, people.NewKey{Prefix: "p", Hash: "key"})
		if err != nil || key.Scopes.String() != pleat.AllScopes.String() {
			t.Fatalf("%+v, %v", key, err)
		}
		identify := func(c people.Credential) (people.Principal, error) { return s.People.Identify(ctx, c) }
		p, err := identify(people.Credential{Hash: "session", Login: true})
		if err != nil || p.User != user || p.Key != "" || len(p.Scopes) != 3 || p.Operator {
			t.Errorf("%+v, %v", p, err)
		}
		for _, c := range []people.Credential{{Hash: "session"}, {Hash: "session", Session: true},
			{Hash: people.GrantOf(user), Login: true}, {Hash: "key", Login: true}} {
			_, err := identify(c)
			wantCode(t, c.Hash, err, pleat.CodeUnauthorized)
		}
		lease := func(l *people.Login) bool {
			t.Helper()
			ok, err := s.People.LeaseLogin(ctx, l, s.DB.Now().Add(25*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		due := func() int {
			t.Helper()
			list, err := s.People.GrantsToCheck(ctx, testIssuer, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		if due() != 0 {
			t.Error("a grant is due before its time")
		}
		clock.Advance(4 * time.Minute)
		if due() != 1 || !lease(&grant) || lease(&people.Login{Hash: grant.Hash, CheckAt: grant.CheckAt}) ||
			due() != 0 {
			t.Error("a grant is leased twice, or not at all")
		}
		clock.Advance(25 * time.Second)
		lost := grant
		if due() != 1 || !lease(&grant) {
			t.Error("a lease does not end")
		}
		lost.Tokens = "of who has lost the lease"
		if err := s.People.KeepLogin(ctx, lost, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.People.RefuseLogin(ctx, lost, true, "late"); err != nil {
			t.Fatal(err)
		}
		old := grant
		grant.CheckAt, grant.Tokens = s.DB.Now().Add(4*time.Minute), "sealed anew"
		claims := claimsOf(s, "s", "ada", "lab")
		if err := s.People.KeepLogin(ctx, grant, &claims); err != nil {
			t.Fatal(err)
		}
		if lease(&old) || due() != 0 {
			t.Error("a check that another has made is repeated")
		}
		if got, err := s.People.Login(ctx, grant.Hash); err != nil || got.Tokens != "sealed anew" ||
			got.Subject != "s" {
			t.Errorf("%+v, %v", got, err)
		}
		if c, err := s.People.ClaimsOf(ctx, user); err != nil || c.Subject != "s" || len(c.Groups) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		got, err := s.People.ValidCredentials(ctx, []string{"key"}, nil, []string{"session", people.GrantOf(user)})
		if err != nil || len(got) != 2 || !got["key"] || !got["session"] {
			t.Errorf("%v, %v", got, err)
		}
		n, err := s.Webhooks.Reseal(ctx, func(owner pleat.ProjectID, column, sealed string) (string, bool, error) {
			return sealed + " again", owner == user.OwnProject() && column == people.LoginColumn, nil
		})
		if err != nil || n != 2 {
			t.Errorf("%d logins were sealed again, %v", n, err)
		}
		if got, err := s.People.Login(ctx, l.Hash); err != nil || got.Tokens != "sealed session again" {
			t.Errorf("%+v, %v", got, err)
		}
		testSuspend(t, s, clock, grant)
	})
}

// testSuspend suspends the user of TestLogins, and lets the user come back.
func testSuspend(t *testing.T, s *store.Store, clock *storetest.Clock, grant people.Login) {
	t.Helper()
	ctx, user, before := context.Background(), grant.User, claimsOf(s, "s", "ada", "lab")
	clock.Advance(4 * time.Minute)
	if ok, err := s.People.LeaseLogin(ctx, &grant, s.DB.Now().Add(time.Minute)); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for range 2 {
		if err := s.People.RefuseLogin(ctx, grant, true, "left"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.People.Identify(ctx, people.Credential{Hash: "session", Login: true})
	wantCode(t, "a session", err, pleat.CodeUnauthorized)
	_, err = s.People.Identify(ctx, people.Credential{Hash: "key"})
	if wantCode(t, "a key", err, pleat.CodeUnauthorized); err.Error() !=
		"The sign-in of this key's user has ended; the key counts again once the user has signed in" {
		t.Error(err)
	}
	_, err = s.People.AccountForClaims(ctx, before)
	wantCode(t, "claims from before", err, pleat.CodeUnauthorized)
	entries, err := s.People.Audit(ctx, people.Reach{User: user}, "", 10)
	if err != nil || entries[0].Action != people.AuditUserSuspended || entries[0].Detail != "left" ||
		entries[0].Actor.Address != testIssuer || entries[1].Action == people.AuditUserSuspended {
		t.Errorf("%+v, %v", entries, err)
	}
	clock.Advance(time.Second)
	accountFor(t, s, claimsOf(s, "s", "ada"))
	counts := func(want bool) {
		t.Helper()
		if _, err := s.People.Identify(ctx, people.Credential{Hash: "key"}); (err == nil) != want {
			t.Errorf("the key counts: %v, want %v", err, want)
		}
	}
	counts(true)
	clock.Advance(5 * time.Minute) // without a grant
	counts(false)
	accountFor(t, s, claimsOf(s, "s", "ada"))
	counts(true)
	grant = putLogin(t, s, user, people.LoginGrant, people.GrantOf(user))
	clock.Advance(time.Hour)
	counts(true)
	if tokens, err := s.People.EndGrant(ctx, user); err != nil || tokens != "" {
		t.Errorf("a grant that a key needs ends: %q, %v", tokens, err)
	}
	list, err := s.People.Keys(ctx, people.Reach{User: user})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.People.RevokeKey(ctx, people.Actor{Reach: people.Reach{User: user}}, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if tokens, err := s.People.EndGrant(ctx, user); err != nil || tokens != grant.Tokens {
		t.Errorf("a grant that nothing needs stays: %q, %v", tokens, err)
	}
}

// A user has so many sessions, and an attempt to sign in counts once until it is too old anyway.
func TestLoginBounds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		user := accountFor(t, s, claimsOf(s, "s", "ada"))
		for n := range 52 {
			putLogin(t, s, user, people.LoginSession, "session "+string(rune('A'+n)))
			clock.Advance(time.Second)
		}
		if n := storetest.Count(t, s, "login"); n != 50 {
			t.Errorf("the user has %d sessions", n)
		}
		_, err := s.People.Login(ctx, "session A")
		wantCode(t, "the oldest session", err, pleat.CodeUnauthorized)
		use := func() bool {
			t.Helper()
			ok, err := s.People.UseAttempt(ctx, "attempt", s.DB.Now().Add(10*time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !use() || use() {
			t.Error("an attempt counts twice, or not at all")
		}
		clock.Advance(13 * time.Hour)
		if p, err := s.Runs.Poll(ctx); err != nil || !p.Reap {
			t.Errorf("%+v, %v", p, err)
		}
		if _, err := s.Runs.Reap(ctx, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if n := storetest.Count(t, s, "login") + storetest.Count(t, s, "login_attempt"); n != 0 {
			t.Errorf("%d rows stay", n)
		}
	})
}
