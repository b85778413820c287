package identity_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
)

// A refresh reads the groups as they are now, and replaces the refresh token.
func TestGroupRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *identity.Config) { c.AllowedGroups = []string{"lab-a", "lab-b"} })
	login := w.signIn(t)
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Groups: []string{"lab-b"}})
	next, err := w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lab-b"}, next.Person.Groups); d != "" {
		t.Error(d)
	}
	if next.Tokens.Refresh == login.Tokens.Refresh {
		t.Error("the refresh token is the old one")
	}
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada"})
	_, err = w.client.Refresh(t.Context(), "s-ada", next.Tokens)
	wantKind(t, err, identity.Forbidden, "none of the groups")
}

// A session ends when the person has left, when its token was used before, and when it names somebody else.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	_, err := w.client.Refresh(t.Context(), "s-eve", login.Tokens)
	wantKind(t, err, identity.Ended, "somebody else")
	_, err = w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")

	login = w.signIn(t)
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	_, err = w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
}

// Without a refresh token the access token says who the person is now, for as long as it counts.
func TestWithoutRefreshToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.WithoutRefresh()
	login := w.signIn(t)
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Groups: []string{"lab-c"}})
	next, err := w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lab-c"}, next.Person.Groups); d != "" {
		t.Error(d)
	}
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	_, err = w.client.Refresh(t.Context(), "s-ada", next.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
}

// An answer that makes no sense ends no session, and the new refresh token is not lost by it.
func TestBrokenUserInfo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	w.Change(func(kind string, claims map[string]any) {
		if kind == "id" {
			delete(claims, "groups")
		}
	})
	w.Replace(identitytest.PathUserInfo, "<html>")
	next, err := w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	wantKind(t, err, identity.Unreachable, "cannot be read")
	w.Replace(identitytest.PathUserInfo, "")
	last, err := w.client.Refresh(t.Context(), "s-ada", next.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ada(w), last.Person); d != "" {
		t.Error(d)
	}
}

// While the issuer is gone a session is not ended, and nobody gets in. Once it is back, both work.
func TestIssuerGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	attempt, answer := w.begin(t)
	w.SetGone(true)
	const sentence = "does not answer; nobody new can sign in until it does, and whoever is signed in stays so"
	_, err := w.client.Finish(t.Context(), attempt, answer)
	wantKind(t, err, identity.Unreachable, sentence)
	_, err = w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	wantKind(t, err, identity.Unreachable, sentence)

	late := w.newClient(t) // as of a server that starts meanwhile
	_, _, err = late.Begin(t.Context(), callback)
	wantKind(t, err, identity.Unreachable, sentence)
	_, err = late.VerifyBearer(t.Context(), w.AccessToken("ada", nil))
	wantKind(t, err, identity.Unreachable, sentence)

	w.SetGone(false)
	if _, err := w.client.Refresh(t.Context(), "s-ada", login.Tokens); err != nil {
		t.Error(err)
	}
	w.advance(6 * time.Second) // after a failure the issuer is left alone for a while
	if err := late.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// An issuer that is gone is not asked again by every request.
func TestIssuerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetGone(true)
	for range 20 {
		wantKind(t, w.client.Check(t.Context()), identity.Unreachable, "does not answer")
	}
	if n := w.Requests(identitytest.PathDiscovery); n > 2 { // net/http may try a second time
		t.Errorf("%d requests were made", n)
	}
}

// The document of an issuer is asked for again after a while, and stays in use while the issuer is gone.
func TestDiscoveredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.client.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.advance(11 * time.Minute)
	w.SetGone(true)
	if err := w.client.Check(t.Context()); err != nil {
		t.Error(err)
	}
	w.SetGone(false)
	w.advance(6 * time.Second)
	before := w.Requests(identitytest.PathDiscovery)
	if err := w.client.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := w.Requests(identitytest.PathDiscovery) - before; n != 1 {
		t.Errorf("%d requests were made, want 1", n)
	}
}

// The end of a caller is its own: it is not taken for a failure of the issuer.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.client.Refresh(ctx, "s-ada", login.Tokens); identity.KindOf(err) != 0 || err == nil {
		t.Errorf("the error is %v", err)
	}
}

// Logging out ends the refresh token, and leads the browser to the issuer and back.
func TestLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.signIn(t)
	if err := w.client.Revoke(t.Context(), login.Tokens); err != nil || w.Revoked() != 1 {
		t.Errorf("%d tokens were revoked, %v", w.Revoked(), err)
	}
	_, err := w.client.Refresh(t.Context(), "s-ada", login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")

	address, err := w.client.LogoutURL(t.Context(), login.Tokens, callback)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if q := u.Query(); q.Get("id_token_hint") != login.Tokens.ID || q.Get("client_id") != identitytest.Client {
		t.Errorf("the browser is sent to %s", address)
	}
	follow(t, address)
	if _, answer := w.begin(t); answer.Get("error") != "access_denied" {
		t.Errorf("the browser is still signed in at the issuer: %v", answer)
	}
}

// A program on a terminal signs in as the person who enters its code.
func TestDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, err := w.client.StartDevice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Code == "" || d.URL == "" || d.Complete == "" || d.Expires.IsZero() {
		t.Errorf("the device shows %+v", d)
	}
	w.ApproveDevice(d.Code, "ada")
	login, err := w.client.AwaitDevice(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ada(w), login.Person); d != "" {
		t.Error(d)
	}
	bearer, err := w.client.VerifyBearer(t.Context(), login.Tokens.Access)
	if err != nil || bearer.Client != identitytest.DeviceClient || bearer.Person.Subject != "s-ada" {
		t.Errorf("its access token is that of %+v, %v", bearer, err)
	}
	next, err := w.client.RefreshDevice(t.Context(), "s-ada", login.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	// The tokens of one client do not count for the other.
	_, err = w.client.Refresh(t.Context(), "s-ada", next.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
	if err := w.client.RevokeDevice(t.Context(), next.Tokens); err != nil {
		t.Error(err)
	}
}

func TestDeviceRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, err := w.client.StartDevice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.ApproveDevice(d.Code, "")
	_, err = w.client.AwaitDevice(t.Context(), d)
	wantKind(t, err, identity.Refused, "was refused or has taken too long")

	w.Replace(identitytest.PathDevice, `{"device_code":"x","user_code":"y","verification_uri":"javascript:alert(1)"}`)
	_, err = w.client.StartDevice(t.Context())
	wantKind(t, err, identity.Misconfigured, "lacks a code or an https address")
}
