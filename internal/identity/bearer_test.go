package identity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
)

// An access token says who calls.
func TestBearer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := w.client.VerifyBearer(t.Context(), w.AccessToken("ada", nil))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ada(w), b.Person); d != "" {
		t.Error(d)
	}
	if b.Client != identitytest.Client || time.Until(b.Expires) > 5*time.Minute || time.Since(b.AsOf) > time.Minute {
		t.Errorf("the token is %+v", b)
	}
	if n := w.Requests(identitytest.PathUserInfo) + w.Requests(identitytest.PathIntrospect); n != 0 {
		t.Errorf("a fresh token led to %d requests", n)
	}
}

// Other tokens do not pass for access tokens, nor do access tokens for others.
func TestWrongBearers(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), identitytest.New(t)
	plain := func(audience string, more map[string]any) map[string]any {
		c := w.Claims("ada", audience)
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	typed := func(typ string) map[string]any { return map[string]any{"typ": typ} }
	for name, c := range map[string]struct{ token, want string }{
		"an ID token":       {w.signIn(t).Tokens.ID, "audience (aud)"},
		"another audience":  {w.AccessToken("ada", map[string]any{"aud": "account"}), "audience (aud)"},
		"no audience":       {w.AccessToken("ada", map[string]any{"aud": nil}), "audience (aud)"},
		"another issuer":    {w.AccessToken("ada", map[string]any{"iss": other.URL}), "issuer (iss)"},
		"another key":       {other.Sign(plain(identitytest.Audience, typed("Bearer")), nil), "not signed by"},
		"expired":           {w.AccessToken("ada", map[string]any{"exp": time.Now().Unix() - 1}), "has expired"},
		"without end":       {w.AccessToken("ada", map[string]any{"exp": nil}), "no time at which it expires"},
		"for ever":          {w.AccessToken("ada", map[string]any{"exp": 1e11}), "lives longer than 24 hours"},
		"bound to a key":    {w.AccessToken("ada", map[string]any{"cnf": map[string]any{"jkt": "x"}}), "bound to a key"},
		"a refresh token":   {w.AccessToken("ada", typed("Refresh")), "claim typ must be Bearer"},
		"an ID by typ":      {w.AccessToken("ada", typed("ID")), "claim typ must be Bearer"},
		"typ is no text":    {w.AccessToken("ada", map[string]any{"typ": 1}), "claim typ must be Bearer"},
		"an ID by nonce":    {w.AccessToken("ada", map[string]any{"typ": nil, "nonce": "x"}), "is an ID token"},
		"an ID by its hash": {w.AccessToken("ada", map[string]any{"typ": nil, "at_hash": "x"}), "is an ID token"},
		"a logout token":    {w.Sign(plain(identitytest.Audience, nil), typed("logout+jwt")), "another type (typ)"},
		"an event":          {w.AccessToken("ada", map[string]any{"typ": nil, "events": 1}), "told from an ID token"},
		"none":              {identitytest.Unsigned(plain(identitytest.Audience, typed("Bearer"))), "algorithm (alg)"},
		"secret":            {w.SignedBySecret(plain(identitytest.Audience, typed("Bearer"))), "algorithm (alg)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.client.VerifyBearer(t.Context(), c.token)
			wantKind(t, err, identity.Refused, c.want)
		})
	}
}

// Where access tokens have the audience of ID tokens, one must be marked as an access token.
func TestTokensOfOneAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *identity.Config) { c.Audience = "" })
	bare := w.Claims("ada", identitytest.Client)
	_, err := w.client.VerifyBearer(t.Context(), w.Sign(bare, nil))
	wantKind(t, err, identity.Refused, "cannot be told from an ID token")
	_, err = w.client.VerifyBearer(t.Context(), w.signIn(t).Tokens.ID)
	wantKind(t, err, identity.Refused, "claim typ must be Bearer")

	for name, token := range map[string]string{
		"the header": w.Sign(bare, map[string]any{"typ": "at+jwt"}),
		"Keycloak's": w.AccessToken("ada", map[string]any{"aud": identitytest.Client, "scope": nil}),
		"a scope":    w.AccessToken("ada", map[string]any{"aud": identitytest.Client, "typ": nil}),
		"a scope list": w.AccessToken("ada", map[string]any{"aud": []string{"x", identitytest.Client}, "typ": nil,
			"scope": nil, "scp": []string{"x"}}),
	} {
		if _, err := w.client.VerifyBearer(t.Context(), token); err != nil {
			t.Errorf("the mark is %s: %v", name, err)
		}
	}
}

// A token that is older than its claims may be is confirmed by the issuer, with what is true then, once in a while.
func TestOldBearer(t *testing.T) {
	t.Parallel()
	for name, machine := range map[string]bool{"user info": false, "introspection": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := identitytest.PathUserInfo
			if machine {
				path = identitytest.PathIntrospect
				w.Replace(identitytest.PathUserInfo, `{"error":"of machines nothing is known"}`)
			}
			token := w.AccessToken("ada", map[string]any{"exp": w.now().Add(time.Hour).Unix()})
			w.advance(identity.Fresh + time.Minute)
			w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Groups: []string{"lab-b"}})
			for range 3 {
				b, err := w.client.VerifyBearer(t.Context(), token)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]string{"lab-b"}, b.Person.Groups); d != "" {
					t.Error(d)
				}
				if age := w.now().Sub(b.AsOf); age > time.Minute {
					t.Errorf("the claims are %v old", age)
				}
			}
			if n := w.Requests(path); n != 1 {
				t.Errorf("%d requests were made, want 1", n)
			}
			w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
			w.advance(identity.Fresh)
			for range 3 {
				_, err := w.client.VerifyBearer(t.Context(), token)
				wantKind(t, err, identity.Refused, "counts no more")
			}
			if n := w.Requests(path); n != 2 {
				t.Errorf("%d requests were made about a token that counts no more, want 1", n-1)
			}
			w.SetGone(true)
			w.advance(time.Minute)
			_, err := w.client.VerifyBearer(t.Context(), token)
			wantKind(t, err, identity.Unreachable, "does not answer")
		})
	}
}

// A login that cannot be confirmed counts no longer than its claims, however long the issuer lets it live.
func TestOldBearerWithoutConfirmation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *identity.Config) { c.Secret = "" })
	token := w.Sign(w.Claims("ada", identitytest.Audience), map[string]any{"typ": "at+jwt"}) // unknown to user info
	if _, err := w.client.VerifyBearer(t.Context(), token); err != nil {
		t.Error(err)
	}
	w.advance(identity.Fresh + time.Second)
	_, err := w.client.VerifyBearer(t.Context(), token)
	wantKind(t, err, identity.Refused, "does not confirm this token any more")
}

// A token by a new key counts at once. Tokens that name unknown keys make few requests.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), identitytest.New(t)
	old := w.AccessToken("ada", nil)
	for range 2 {
		if _, err := w.client.VerifyBearer(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Requests(identitytest.PathKeys); n != 1 {
		t.Errorf("the keys were read %d times, want once", n)
	}
	w.RotateKeys()
	// A caller that asks for keys at the instant at which a reading ends gets those that it read, which may be the old
	// ones.
	fresh := w.AccessToken("ada", nil)
	_, err := w.client.VerifyBearer(t.Context(), fresh)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err = w.client.VerifyBearer(t.Context(), fresh)
	}
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // its key was withdrawn: a verification takes the new keys over right after it has returned
		_, err = w.client.VerifyBearer(t.Context(), old)
	}
	wantKind(t, err, identity.Refused, "not signed by")
	for n := range 50 {
		forged := other.Sign(w.Claims("ada", identitytest.Audience), map[string]any{"kid": fmt.Sprint("forged-", n)})
		_, err := w.client.VerifyBearer(t.Context(), forged)
		wantKind(t, err, identity.Refused, "not signed by")
	}
	if n := w.Requests(identitytest.PathKeys); n > 5 {
		t.Errorf("forged tokens made the client read the keys %d times", n)
	}
}
