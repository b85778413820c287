package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// newKey stores a key of a user.
func newKey(t *testing.T, s *store.Store, u people.Reach, hash string) people.Actor {
	t.Helper()
	k, err := s.People.CreateKey(context.Background(), people.Actor{Reach: u}, people.NewKey{Prefix: hash, Hash: hash})
	if err != nil {
		t.Fatal(err)
	}
	return people.Actor{Reach: u, Key: k.ID, Address: "192.0.2.1"}
}

// key and session are credentials with a hash.
func key(hash string) people.Credential     { return people.Credential{Hash: hash} }
func session(hash string) people.Credential { return people.Credential{Hash: hash, Session: true} }

// A key has a bounded number of sessions: the oldest end, and expired ones go.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		by := newKey(t, s, storetest.User(t, s, "ada"), "k")
		open := func(from, n int) {
			t.Helper()
			for i := from; i < from+n; i++ {
				if _, err := s.People.CreateSession(ctx, by, fmt.Sprint(i), s.DB.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
		live := func() int {
			n := 0
			for i := range 200 {
				if _, err := s.People.Identify(ctx, session(fmt.Sprint(i))); err == nil {
					n++
				}
			}
			return n
		}
		open(0, 60)
		if _, err := s.People.Identify(ctx, session("9")); live() != 50 || !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("%d sessions live, and the tenth of sixty: %v", live(), err)
		}
		clock.Advance(2 * time.Hour)
		open(100, 1)
		r, err := s.Runs.Reap(ctx, s.DB.Now())
		if err != nil || live() != 1 || r.Expired != 0 {
			t.Errorf("%d sessions live; %d expired ones were left: %v", live(), r.Expired, err)
		}
	})
}

// A session ends with its key, and a key at its time.
func TestKeyExpires(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		end := s.DB.Now().Add(time.Hour).Truncate(time.Microsecond)
		k, err := s.People.CreateKey(ctx, people.Actor{Reach: u}, people.NewKey{Hash: "k", ExpiresAt: end})
		if err != nil {
			t.Fatal(err)
		}
		by := people.Actor{Reach: u, Key: k.ID}
		if until, err := s.People.CreateSession(ctx, by, "s", s.DB.Now().Add(12*time.Hour)); err != nil ||
			!until.Equal(end) {
			t.Errorf("a session until %v, want %v: %v", until, end, err)
		}
		c := create(t, s, u, "one")
		if h, err := s.Runs.Head(ctx, c.Job, key("k")); err != nil || h.Caller != u.User || len(h.Scopes) != 3 {
			t.Errorf("%+v %v", h, err)
		}
		clock.Advance(time.Hour)
		if _, err := s.People.Identify(ctx, key("k")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("an expired key: %v", err)
		}
		if _, err := s.People.Identify(ctx, session("s")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("its session: %v", err)
		}
		for _, by := range []people.Credential{key("k"), session("s")} {
			if h, err := s.Runs.Head(ctx, c.Job, by); err != nil || h.Caller != "" || len(h.Scopes) != 0 {
				t.Errorf("%+v %v", h, err)
			}
		}
		if _, err := s.People.CreateSession(ctx, by, "t", s.DB.Now().Add(time.Hour)); !errors.Is(
			err,
			pleat.ErrUnauthorized,
		) {
			t.Errorf("a session of an expired key: %v", err)
		}
		if _, err := s.People.CreateKey(ctx, by, people.NewKey{Hash: "n"}); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("a key made by an expired key: %v", err)
		}
	})
}

// A user makes a bounded number of keys within a day, also one who lets them end; a bounded number of those stays in
// the list.
func TestNewKeysAreBounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := newKey(t, s, u, "first")
		created := 0
		more := func() error {
			created++
			_, err := s.People.CreateKey(
				ctx,
				by,
				people.NewKey{Hash: fmt.Sprint(created), ExpiresAt: s.DB.Now().Add(time.Minute)},
			)
			return err
		}
		for range 49 { // and the first
			if err := more(); err != nil {
				t.Fatal(err)
			}
		}
		if err := more(); pleat.CodeOf(err) != pleat.CodeLimited {
			t.Errorf("key 51 within a day: %v", err)
		}
		for range 3 {
			clock.Advance(25 * time.Hour)
			for range 50 {
				if err := more(); err != nil {
					t.Fatal(err)
				}
			}
		}
		keys, err := s.People.Keys(ctx, people.Reach{User: u.User})
		if want := 1 + 100 + 50; err != nil || len(keys) != want { // those of today are valid
			t.Errorf("%d keys in the list, want %d: %v", len(keys), want, err)
		}
	})
}

// Neither a flood of entries nor time lets the audit log grow, and a flood of one action displaces no other.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	storetest.EachWith(
		t,
		store.Options{People: people.Options{AuditEntries: 20}},
		func(t *testing.T, s *store.Store, clock *storetest.Clock) {
			ctx := context.Background()
			u := storetest.User(t, s, "ada")
			by := newKey(t, s, u, "k")
			defaultEndpoint(t, s, u, true)
			for range 25 {
				if _, err := s.Webhooks.SwitchEndpoint(ctx, by, webhooks.Default, webhooks.EndpointPause); err != nil {
					t.Fatal(err)
				}
			}
			count := func() map[people.AuditAction]int {
				t.Helper()
				list, err := s.People.Audit(ctx, people.Reach{User: u.User}, "", 10_000)
				if err != nil {
					t.Fatal(err)
				}
				out := map[people.AuditAction]int{}
				for _, e := range list {
					out[e.Action]++
				}
				return out
			}
			if got := count(); got[people.AuditWebhookPaused] != 20 || got[people.AuditKeyCreated] != 1 {
				t.Errorf("%v", got)
			}
			for _, days := range []int{399, 2} {
				clock.Advance(time.Duration(days) * 24 * time.Hour)
				if err := s.People.ExpireAudit(ctx); err != nil {
					t.Fatal(err)
				}
				if got := len(count()); (got == 0) != (days == 2) {
					t.Errorf("%d days later there are entries of %d actions", days, got)
				}
			}
		},
	)
}

// The token of an endpoint goes to the origin for which it was given, and to no other.
func TestTokenStaysWithItsOrigin(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		by := people.Actor{Reach: storetest.User(t, s, "ada")}
		put := func(url, token string) error {
			_, err := s.Webhooks.PutEndpoint(
				ctx,
				by,
				webhooks.EndpointSettings{
					Address: new(storetest.Receiver(url)), Token: new(token), Secret: "s1.secret",
				},
			)
			return err
		}
		if err := put("https://mine.example.org/x", ""); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("the first without a token: %v", err)
		}
		if err := put("https://mine.example.org/x", "s1.old"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: by.Reach}, webhooks.Default); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{
			"https://other.example.org/x", "http://mine.example.org/x", "https://mine.example.org:8443/x",
			"https://mine.example.org.evil.example/x", "https://[2001:db8::1]/x",
		} {
			if err := put(url, ""); pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Errorf("%s keeps the token: %v", url, err)
			}
		}
		if _, err := s.Webhooks.SwitchEndpoint(ctx, by, webhooks.Default, webhooks.EndpointDeactivate); err != nil {
			t.Fatal(err)
		}
		if err := put("https://other.example.org/x", ""); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("after it was deactivated: %v", err)
		}
		for _, url := range []string{"https://mine.example.org:443/y", "https://MINE.example.org"} {
			if err := put(url, ""); err != nil {
				t.Errorf("%s has the same origin: %v", url, err)
			}
		}
		if err := put("https://other.example.org/x", "s1.new"); err != nil {
			t.Fatal(err)
		}
		got := claimDeliveries(t, s, "w", 10)
		if len(got) != 1 || got[0].Endpoint.Address != storetest.Receiver("https://other.example.org/x") ||
			got[0].Endpoint.Token != "s1.new" {
			t.Errorf("the delivery that waited: %+v", got)
		}
	})
}
