package identity_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
)

// A sign-in gives the person of (issuer, subject) with the mapped claims, and the tokens of the session.
func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	if d := cmp.Diff(ada(w), login.Person); d != "" {
		t.Error(d)
	}
	if got := login.Tokens; got.Access == "" || got.Refresh == "" || got.ID == "" || got.Expires.IsZero() {
		t.Errorf("the sign-in lacks tokens: %+v", got)
	}
}

// The request of the browser has PKCE, a state and a nonce, which no two attempts share.
func TestBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	for range 2 {
		address, attempt, err := w.client.Begin(t.Context(), callback)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Get("code_challenge_method") != "S256" || q.Get("scope") != "openid profile" ||
			q.Get("redirect_uri") != callback || q.Get("state") != attempt.State || q.Get("nonce") != attempt.Nonce {
			t.Errorf("the browser is sent to %s", address)
		}
		for _, secret := range []string{attempt.Verifier, url.QueryEscape(identitytest.Secret)} {
			if strings.Contains(address, secret) {
				t.Errorf("the address %s has the secret %s", address, secret)
			}
		}
		for _, secret := range []string{attempt.State, attempt.Nonce, attempt.Verifier, q.Get("code_challenge")} {
			if len(secret) < 43 || seen[secret] {
				t.Errorf("%q is short or was used before", secret)
			}
			seen[secret] = true
		}
	}
}

// An answer of the browser that is not the attempt's own is refused before the code is presented.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(*identity.Attempt, url.Values)
		kind   identity.Kind
		want   string
	}{
		"another state": {func(_ *identity.Attempt, q url.Values) { q.Set("state", "x") }, identity.Refused,
			"does not belong to this browser"},
		"no state": {func(a *identity.Attempt, q url.Values) { a.State = ""; q.Del("state") }, identity.Refused,
			"does not belong to this browser"},
		"another issuer": {func(_ *identity.Attempt, q url.Values) { q.Set("iss", "https://evil.example") },
			identity.Refused, "does not come from the sign-in service"},
		"no issuer": {func(_ *identity.Attempt, q url.Values) { q.Del("iss") }, identity.Refused,
			"does not come from the sign-in service"},
		"cancelled": {func(_ *identity.Attempt, q url.Values) { q.Set("error", "access_denied") }, identity.Refused,
			"you have cancelled"},
		"a wrong request": {func(_ *identity.Attempt, q url.Values) { q.Set("error", "invalid_scope\x1b[1m") },
			identity.Misconfigured, "(invalid_scope[1m)"},
		"no code": {func(_ *identity.Attempt, q url.Values) { q.Del("code") }, identity.Refused, "has no code"},
		"a long code": {func(_ *identity.Attempt, q url.Values) { q.Set("code", strings.Repeat("x", 5000)) },
			identity.Refused, "has no code"},
		"too late": {func(a *identity.Attempt, _ url.Values) { a.Began = a.Began.Add(-11 * time.Minute) },
			identity.Refused, "has taken too long"},
	} {
		t.Run(name, func(t *testing.T) {
			attempt, answer := w.begin(t)
			before := w.Requests(identitytest.PathToken)
			c.change(&attempt, answer)
			_, err := w.client.Finish(t.Context(), attempt, answer)
			wantKind(t, err, c.kind, c.want)
			if w.Requests(identitytest.PathToken) != before {
				t.Error("the code was presented")
			}
		})
	}
}

// A code counts once and with the secret of its attempt; an ID token counts with its nonce.
func TestReplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attempt, answer := w.begin(t)
	if _, err := w.client.Finish(t.Context(), attempt, answer); err != nil {
		t.Fatal(err)
	}
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Refused, "was used already")

	// The code of another browser, put into one's own answer.
	stolen, _ := w.begin(t)
	_, answer = w.begin(t)
	answer.Set("state", stolen.State)
	_, err = w.client.Finish(t.Context(), stolen, answer)
	wantKind(t, err, identity.Refused, "was used already")

	attempt, answer = w.begin(t)
	attempt.Nonce = "that of another attempt"
	_, err = w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Refused, "does not belong to this attempt")
}

// An ID token that is wrong in any way signs nobody in.
func TestWrongIDTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		claim string
		value any
		want  string
	}{
		"another audience":    {"aud", "another client", "audience (aud)"},
		"another party":       {"azp", "another client", "another client (azp)"},
		"several audiences":   {"aud", []string{identitytest.Client, "x"}, "another client (azp)"},
		"another issuer":      {"iss", "https://evil.example", "issuer (iss)"},
		"expired":             {"exp", time.Now().Add(-time.Second).Unix(), "has expired"},
		"without end":         {"exp", nil, "no time at which it expires"},
		"with a text as end":  {"exp", "tomorrow", "claims cannot be read"},
		"for ever":            {"exp", time.Now().Add(48 * time.Hour).Unix(), "lives longer than 24 hours"},
		"without beginning":   {"iat", nil, "no time at which it was issued"},
		"of tomorrow":         {"iat", time.Now().Add(time.Hour).Unix(), "in the future"},
		"not yet":             {"nbf", time.Now().Add(time.Hour).Unix(), "does not count yet"},
		"an access token":     {"typ", "Bearer", "another kind of token"},
		"of another token":    {"at_hash", "AAAAAAAAAAAAAAAAAAAAAA", "another access token"},
		"without nonce":       {"nonce", nil, "does not belong to this attempt"},
		"without subject":     {"sub", nil, "subject (sub)"},
		"with a long subject": {"sub", strings.Repeat("x", 256), "subject (sub)"},
		"with a number as it": {"sub", 7, "subject (sub)"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Change(func(kind string, claims map[string]any) {
				if kind != "id" {
					return
				}
				if claims[c.claim] = c.value; c.value == nil {
					delete(claims, c.claim)
				}
				if name == "several audiences" {
					delete(claims, "azp")
				}
			})
			attempt, answer := w.begin(t)
			_, err := w.client.Finish(t.Context(), attempt, answer)
			wantKind(t, err, identity.Refused, c.want)
		})
	}
}

// Tokens without a signature, with one by another key, and with one by the public key as a secret, sign nobody in.
func TestForgedIDTokens(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), identitytest.New(t)
	claims := w.Claims("ada", identitytest.Client)
	for name, c := range map[string]struct{ token, want string }{
		"none":        {identitytest.Unsigned(claims), "algorithm (alg)"},
		"secret":      {w.SignedBySecret(claims), "algorithm (alg)"},
		"another key": {other.Sign(claims, nil), "not signed by the sign-in service"},
		"extension":   {w.Sign(claims, map[string]any{"crit": []string{"exp"}}), "demands extensions"},
		"at+jwt":      {w.Sign(claims, map[string]any{"typ": "at+jwt"}), "another kind of token"},
		"no token":    {"x", "not a signed JWT"},
		"no base64":   {"?.?.?", "not a signed JWT"},
		"no JSON":     {"e30.bnVsbA.e30", "not a signed JWT"},
		"long":        {strings.Repeat("x", 17<<10), "more than 16 KiB, most often because the sign-in service lists many groups"},
	} {
		t.Run(name, func(t *testing.T) {
			attempt, answer := w.begin(t)
			attempt.Nonce = ""
			w.Replace(identitytest.PathToken, `{"access_token":"x","token_type":"Bearer","id_token":"`+c.token+`"}`)
			defer w.Replace(identitytest.PathToken, "")
			_, err := w.client.Finish(t.Context(), attempt, answer)
			wantKind(t, err, identity.Refused, c.want)
		})
	}
	w.Replace(identitytest.PathToken, `{"access_token":"x","token_type":"Bearer"}`)
	attempt, answer := w.begin(t)
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Misconfigured, "gave no ID token")
}

// An e-mail address is shown if the issuer has verified it, and identifies nobody.
func TestUnverifiedEmail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.signIn(t).Person
	w.Browser("eve")
	second := w.signIn(t).Person
	if first.Email == "" || second.Email != "" || second.Subject == first.Subject {
		t.Errorf("ada is %+v, and eve, whose address is not verified, %+v", first, second)
	}
}

// The issuer is asked for the claims that the ID token lacks; an answer about somebody else is refused.
func TestUserInfo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lean := func(kind string, claims map[string]any) {
		if kind == "id" {
			delete(claims, "groups")
			delete(claims, "preferred_username")
		}
	}
	w.Change(lean)
	if d := cmp.Diff(ada(w), w.signIn(t).Person); d != "" {
		t.Error(d)
	}
	w.Change(func(kind string, claims map[string]any) {
		if lean(kind, claims); kind == "userinfo" {
			claims["sub"] = "s-eve"
		}
	})
	attempt, answer := w.begin(t)
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Refused, "about somebody else")
}

// Groups decide who may sign in, and who operates the service.
func TestAllowedGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *identity.Config) { c.AllowedGroups, c.OperatorGroup = []string{"lab-a"}, "ops" })
	if p := w.signIn(t).Person; p.Operator {
		t.Error("ada is an operator")
	}
	w.Browser("eve")
	attempt, answer := w.begin(t)
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Forbidden, "none of the groups")

	w.SetUser(identitytest.User{Subject: "s-eve", Name: "eve", Groups: []string{"ops"}})
	if p := w.signIn(t).Person; !p.Operator {
		t.Error("a member of the group of operators is none")
	}
}

// The client of a wrong secret, and an issuer that is no such issuer, are the operator's matter.
func TestMisconfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *identity.Config) { c.Secret = "wrong" })
	attempt, answer := w.begin(t)
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Misconfigured, "does not accept this server as its client")

	for name, c := range map[string]struct{ document, want string }{
		"another issuer": {`{"issuer":"https://evil.example"}`, "did not match"},
		"no endpoints":   {`{"issuer":"` + w.URL + `"}`, "authorization_endpoint is missing"},
		"http": {`{"issuer":"` + w.URL + `","authorization_endpoint":"` + w.URL +
			`","token_endpoint":"http://evil.example"}`,
			"token_endpoint is missing or not an https address"},
		"no PKCE": {`{"issuer":"` + w.URL + `","authorization_endpoint":"` + w.URL + `","token_endpoint":"` + w.URL +
			`","jwks_uri":"` + w.URL + `","code_challenge_methods_supported":["plain"]}`, "does not support PKCE"},
		"no JSON": {`<html>`, "does not fit"},
		"too long": {`{"issuer":"` + w.URL + `","x":"` + strings.Repeat("x", 1<<20) + `"}`,
			"more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Replace(identitytest.PathDiscovery, c.document)
			wantKind(t, w.newClient(t).Check(t.Context()), identity.Misconfigured, c.want)
		})
	}
}
