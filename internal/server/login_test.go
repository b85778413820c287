package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/server/signin"
	"pleat/internal/store/people"
)

// signInFixture is a service whose people sign in by an issuer of this process.
type signInFixture struct {
	*fixture
	issuer  *identitytest.Issuer
	browser *http.Client
}

func newSignInFixture(t *testing.T, scopes ...string) *signInFixture {
	t.Helper()
	return newSignInFixtureWith(t, func(*server.Deps) {}, scopes...)
}

// newSignInFixtureWith is newSignInFixture with other parts.
func newSignInFixtureWith(t *testing.T, change func(*server.Deps), scopes ...string) *signInFixture {
	t.Helper()
	f := &signInFixture{issuer: identitytest.New(t)}
	f.fixture = newFixtureWith(t, func(cfg *server.Config, d *server.Deps) {
		client := identity.New(identity.Config{Issuer: f.issuer.URL, ClientID: identitytest.Client,
			Secret: identitytest.Secret, Scopes: scopes, Audience: identitytest.Audience,
			DeviceClientID: identitytest.DeviceClient, OperatorGroup: "operators", Now: d.Clock})
		t.Cleanup(client.Close)
		d.Issuer = client
		cfg.Login = signin.Config{Title: "the lab", DeviceClient: identitytest.DeviceClient, Scopes: scopes,
			OperatorsByGroup: true}
		change(d)
	})
	f.issuer.SetClock(f.clock.Now)
	f.setAda("lab-a")
	f.issuer.SetUser(identitytest.User{Subject: "s-eve", Name: "ann", Email: "ada@example.org"})
	f.issuer.Browser("ada")
	f.browser = f.newBrowser()
	return f
}

// setAda changes what the issuer says of ada.
func (f *signInFixture) setAda(groups ...string) {
	f.issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Email: "ada@example.org", Verified: true,
		Groups: groups})
}

func (f *signInFixture) newBrowser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/ui/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// get opens an address in a browser and returns the answer and where the browser is sent.
func (f *signInFixture) get(b *http.Client, path string, target any) (status int, location string) {
	f.t.Helper()
	return f.send(b, "GET", path, target)
}

func (f *signInFixture) send(b *http.Client, method, path string, target any) (status int, location string) {
	f.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = f.http.URL + path
	}
	req, err := http.NewRequestWithContext(f.t.Context(), method, path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Origin", f.http.URL)
	resp, err := b.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if target != nil {
		if err := json.NewDecoder(resp.Body).Decode(target); err != nil {
			f.t.Fatalf("%s %s: %d, %v", method, path, resp.StatusCode, err)
		}
	}
	return resp.StatusCode, resp.Header.Get("Location")
}

// signIn signs in and fails the test unless that leads to the page.
func (f *signInFixture) signIn() {
	f.t.Helper()
	if status, to := f.get(f.browser, "/v1/login/start?next=/ui/jobs", nil); status != 303 || to != "/ui/jobs" {
		f.t.Fatalf("the sign-in ended with %d, %q, %q", status, to, f.failure(f.browser))
	}
}

// failure is the sentence of the browser's last sign-in.
func (f *signInFixture) failure(b *http.Client) string {
	f.t.Helper()
	var l api.Login
	f.get(b, "/v1/login", &l)
	return l.Failure
}

// status asks for the caller's jobs and returns the status and the message.
func (f *signInFixture) status(b *http.Client) (int, string) {
	f.t.Helper()
	var m struct{ Message string }
	status, _ := f.get(b, "/v1/jobs", &m)
	return status, m.Message
}

func (f *signInFixture) wantStatus(b *http.Client, want int, sentence string) {
	f.t.Helper()
	if status, message := f.status(b); status != want || !strings.Contains(message, sentence) {
		f.t.Fatalf("the answer is %d %q; want %d %q", status, message, want, sentence)
	}
}

// project makes a project with a group that has a role, and returns its id.
func (f *signInFixture) project(group, role string) string {
	f.t.Helper()
	by := people.Actor{Database: true}
	p, err := f.store.People.CreateProject(f.t.Context(), by, "cage", "ann")
	if err != nil {
		f.t.Fatal(err)
	}
	r := f.as(f.key, "PUT", "/v1/projects/"+string(p.ID)+"/groups/"+url.PathEscape(group), `{"role":"`+role+`"}`)
	if r.status != 200 {
		f.t.Fatalf("%d %s", r.status, r.body)
	}
	return string(p.ID)
}

// keyOf makes an API key in the browser's session.
func (f *signInFixture) keyOf(b *http.Client) string {
	f.t.Helper()
	var k api.NewKey
	if status, _ := f.send(b, "POST", "/v1/keys", &k); status != 200 {
		f.t.Fatalf("a key was answered with %d", status)
	}
	return k.Secret
}

// A person who signs in gets an account of the own, what the groups may do, and loses it within five minutes.
func TestSignIn(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t, "profile")
	project := f.project("/lab a", "viewer")
	f.wantStatus(f.browser, 401, "Unauthorized")
	f.setAda("/lab a")
	f.signIn()
	var me api.Me
	f.get(f.browser, "/v1/me", &me)
	if me.Name != "ada" || me.IsOperator || len(me.Scopes) != 3 || len(me.Projects) != 2 ||
		me.Projects[1].ID != project || *me.Projects[1].Role != "viewer" {
		t.Fatalf("she is %+v", me)
	}
	read := func() int {
		t.Helper()
		status, _ := f.get(f.browser, "/v1/jobs?projectId="+project, nil)
		return status
	}
	if status := read(); status != 200 {
		t.Errorf("her group's project was answered with %d", status)
	}
	f.setAda("operators")
	f.clock.Advance(3*time.Minute + 50*time.Second)
	if status := read(); status != 200 || f.issuer.Requests(identitytest.PathToken) != 1 {
		t.Errorf("a check before it is due: %d", status)
	}
	f.clock.Advance(time.Minute)
	if status := read(); status != 404 {
		t.Errorf("after she left the group its project was answered with %d", status)
	}
	f.get(f.browser, "/v1/me", &me)
	if !me.IsOperator || len(me.Projects) != 1 {
		t.Errorf("the groups are not those of the check: %+v", me)
	}
	f.setAda()
	f.clock.Advance(5 * time.Minute)
	if f.get(f.browser, "/v1/me", &me); me.IsOperator {
		t.Error("she left the operators and is one")
	}
	f.issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	f.clock.Advance(5 * time.Minute)
	f.wantStatus(f.browser, 401, "Your session at the sign-in service has ended; sign in again")
	f.wantStatus(f.browser, 401, "Unauthorized")
}

// A name and an address identify nobody: eve's name is that of a user and her address is ada's, which is not verified.
func TestSignInTakesNoAccountOver(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	f.issuer.Browser("ann")
	eve := f.newBrowser()
	f.get(eve, "/v1/login/start", nil)
	var me api.Me
	if f.get(eve, "/v1/me", &me); me.Name != "ann-2" || me.UserID == string(f.user) {
		t.Errorf("eve is %+v", me)
	}
	again := f.newBrowser()
	f.get(again, "/v1/login/start", nil)
	var second api.Me
	if f.get(again, "/v1/me", &second); second.UserID != me.UserID {
		t.Errorf("eve's second sign-in is as %+v", second)
	}
	if _, err := f.store.People.SetDisabled(t.Context(), people.Actor{Database: true}, "ann-2", true); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(eve, 401, "Unauthorized")
	f.get(eve, "/v1/login/start", nil)
	if got := f.failure(eve); got != "Your account on this service is disabled; ask its operator" {
		t.Errorf("the sentence is %q", got)
	}
}

// An answer of the issuer counts once, for the browser that asked, and leads to this service alone.
func TestSignInOnce(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	stop := f.newBrowser()
	stop.CheckRedirect = func(r *http.Request, _ []*http.Request) error { return http.ErrUseLastResponse }
	step := func(path string) string {
		t.Helper()
		_, to := f.get(stop, path, nil)
		return to
	}
	back := step(step("/v1/login/start"))
	other := f.newBrowser()
	f.get(other, back, nil)
	if got := f.failure(other); !strings.Contains(got, "does not belong to this browser; sign in again") {
		t.Errorf("another browser gets %q", got)
	}
	if got := f.failure(other); got != "" {
		t.Errorf("the sentence is told twice: %q", got)
	}
	u, err := url.Parse(f.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	attempt := stop.Jar.Cookies(u)
	if to := step(back); to != "/ui/" {
		t.Fatalf("the sign-in ended at %q", to)
	}
	f.wantStatus(stop, 200, "")
	session := stop.Jar.Cookies(u)
	stop.Jar.SetCookies(u, attempt) // as who has copied the cookie
	if step(back); f.failure(stop) != "This attempt to sign in was used already; sign in again" {
		t.Error("an answer counts twice")
	}
	step(step(step("/v1/login/start")))
	if now := stop.Jar.Cookies(u); len(now) != 1 || now[0].Value == session[0].Value {
		t.Error("a second sign-in keeps the session of the first")
	}
	for _, next := range []string{"https://x.example/", "//x.example", "/\\x.example", "ui", "/%0a//x", "/ui/\tx"} {
		if status, _ := f.get(stop, "/v1/login/start?next="+url.QueryEscape(next), nil); status != 400 &&
			next != "/%0a//x" {
			t.Errorf("next=%s was answered with %d", next, status)
		}
	}
	f.clock.Advance(11 * time.Minute)
	late := step(step("/v1/login/start"))
	f.clock.Advance(11 * time.Minute)
	if step(late); f.failure(stop) != "This attempt to sign in has taken too long; sign in again" {
		t.Error("an attempt counts for ever")
	}
}

// While the issuer is gone, sessions live to their end and nobody new gets in.
func TestSignInIssuerGone(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	old := f.issuer.AccessToken("ada", nil)
	f.issuer.SetGone(true)
	for range 12 * 6 {
		f.wantStatus(f.browser, 200, "")
		f.clock.Advance(9*time.Minute + 50*time.Second)
	}
	f.clock.Advance(13 * time.Minute)
	f.wantStatus(f.browser, 401, "")
	other := f.newBrowser()
	if _, to := f.get(other, "/v1/login/start", nil); to != "/ui/" {
		t.Errorf("the browser was sent to %q", to)
	}
	if got := f.failure(other); !strings.Contains(got, "does not answer; nobody new can sign in until it does") {
		t.Errorf("the sentence is %q", got)
	}
	if r := f.as(old, "GET", "/v1/jobs", nil); r.status != 401 || !strings.Contains(r.body, "expired") {
		t.Errorf("an expired token was answered with %d %s", r.status, r.body)
	}
	f.issuer.SetGone(false)
	f.clock.Advance(10 * time.Second)
	f.signIn()
	f.wantStatus(f.browser, 200, "")
}

// An answer that is not clear ends a session only if the next is not clear either.
func TestSignInUnclear(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	f.issuer.Change(func(kind string, claims map[string]any) {
		if kind == "id" {
			claims["aud"] = "somebody else"
		}
	})
	f.clock.Advance(5 * time.Minute)
	f.wantStatus(f.browser, 200, "")
	f.issuer.Change(func(string, map[string]any) {})
	f.clock.Advance(time.Minute)
	f.wantStatus(f.browser, 200, "")
	f.issuer.Change(func(kind string, claims map[string]any) {
		if kind == "id" {
			claims["aud"] = "somebody else"
		}
	})
	f.clock.Advance(5 * time.Minute)
	f.wantStatus(f.browser, 200, "")
	f.clock.Advance(time.Minute)
	f.wantStatus(f.browser, 401, "The token")
	f.wantStatus(f.browser, 401, "Unauthorized")
}

// A token of the issuer is a credential as long as the issuer vouches for it. No other token is.
func TestBearer(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.setAda("lab-a")
	project := f.project("lab-a", "member")
	want := func(token string, status int, sentence string) {
		t.Helper()
		r := f.as(token, "GET", "/v1/jobs?projectId="+project, nil)
		if r.status != status || !strings.Contains(r.body, sentence) {
			t.Errorf("the answer is %d %s; want %d %q", r.status, r.body, status, sentence)
		}
	}
	now := f.clock.Now().Unix()
	token := f.issuer.AccessToken("ada", map[string]any{"exp": now + 3600})
	want(token, 200, "")
	if r := f.as(token, "POST", "/v1/jobs", trp); r.status != 200 {
		t.Errorf("a job was answered with %d %s", r.status, r.body)
	}
	want(f.issuer.AccessToken("ada", map[string]any{"aud": "another service"}), 401, "aud")
	want(f.issuer.AccessToken("ada", map[string]any{"iss": "https://other.example"}), 401, "")
	want(f.issuer.AccessToken("ada", map[string]any{"exp": now - 1}), 401, "expired")
	want(f.issuer.AccessToken("ada", map[string]any{"typ": "ID", "nonce": "n"}), 401, "not an access token")
	want(identitytest.Unsigned(f.issuer.Claims("ada", identitytest.Audience)), 401, "")
	want(f.issuer.SignedBySecret(f.issuer.Claims("ada", identitytest.Audience)), 401, "")
	want("a.b.c", 401, "")
	want(strings.Repeat("a", 17<<10)+".b.c", 401, "")
	f.setAda()
	f.clock.Advance(5 * time.Minute)
	want(token, 404, "")
	f.issuer.SetGone(true)
	want(token, 404, "") // confirmed just before
	f.clock.Advance(5 * time.Minute)
	want(token, 503, "The sign-in service")
	f.issuer.SetGone(false)
	f.issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	f.clock.Advance(5 * time.Minute)
	want(token, 401, "")
	plain := newFixture(t)
	if r := plain.as(token, "GET", "/v1/jobs", nil); r.status != 401 {
		t.Errorf("a service without an issuer answers %d", r.status)
	}
}

// The keys of who leaves end within five minutes, without a request of theirs. Runs and other users' keys go on.
func TestLeaversKeys(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t, "offline_access")
	f.signIn()
	key := f.keyOf(f.browser)
	want := func(status int, sentence string) {
		t.Helper()
		if err := f.srv.CheckGrants(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := f.as(key, "GET", "/v1/jobs", nil)
		if r.status != status || !strings.Contains(r.body, sentence) {
			t.Fatalf("the answer is %d %s; want %d %q", r.status, r.body, status, sentence)
		}
	}
	r := f.as(key, "POST", "/v1/jobs", trp)
	if r.status != 200 {
		t.Fatal(r.body)
	}
	for range 5 {
		f.clock.Advance(5 * time.Minute)
		want(200, "")
	}
	f.wantStatus(f.browser, 200, "") // by the same grant
	f.issuer.SetGone(true)
	f.clock.Advance(5 * time.Minute)
	want(200, "")
	f.issuer.SetGone(false)
	f.issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	f.clock.Advance(5 * time.Minute)
	want(401, "The sign-in of this key's user has ended; the key counts again once the user has signed in")
	f.wantStatus(f.browser, 401, "")
	f.finish(f.claim()) // her run goes on
	if r := f.as(f.key, "GET", "/v1/jobs", nil); r.status != 200 {
		t.Errorf("a key of who never signed in was answered with %d", r.status)
	}
	f.setAda()
	f.signIn()
	want(200, "")
	// A logout leaves the key, and takes the grant back with the last one.
	if f.send(f.browser, "POST", "/v1/logout", nil); f.issuer.Revoked() != 0 {
		t.Error("the logout took the grant of a key")
	}
	f.clock.Advance(5 * time.Minute)
	want(200, "")
	f.signIn()
	var keys api.List[api.Key]
	f.get(f.browser, "/v1/keys", &keys)
	f.send(f.browser, "DELETE", "/v1/keys/"+keys.Data[0].ID, nil)
	if f.send(f.browser, "POST", "/v1/logout", nil); f.issuer.Revoked() != 1 {
		t.Error("the logout left a grant that nothing needs")
	}
}

// Where the issuer gives nothing that lasts, a person's keys count as long as a session is confirmed.
func TestKeysWithoutGrant(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	key := f.keyOf(f.browser)
	want := func(status int) {
		t.Helper()
		if r := f.as(key, "GET", "/v1/jobs", nil); r.status != status {
			t.Fatalf("the answer is %d %s; want %d", r.status, r.body, status)
		}
	}
	want(200)
	f.clock.Advance(4*time.Minute + 30*time.Second)
	f.wantStatus(f.browser, 200, "")
	f.clock.Advance(4*time.Minute + 30*time.Second)
	want(200)
	f.clock.Advance(time.Minute)
	want(401)
	f.wantStatus(f.browser, 200, "")
	want(200)
}

// A logout ends the session here and takes the issuer's tokens back. The page of another site cannot do it.
func TestLogout(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	u, err := url.Parse(f.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookie := f.browser.Jar.Cookies(u)[0]
	r := f.ask("POST", "/v1/logout", nil, "Cookie", cookie.String(), "Origin", "https://x.example")
	if r.status != 401 {
		t.Errorf("another site's logout was answered with %d", r.status)
	}
	var out api.Logout
	f.send(f.browser, "POST", "/v1/logout", &out)
	at, err := url.Parse(out.URL)
	if err != nil || !strings.HasPrefix(out.URL, f.issuer.URL) || at.Query().Get("id_token_hint") == "" ||
		at.Query().Get("post_logout_redirect_uri") != f.http.URL+"/ui/" {
		t.Errorf("the browser goes to %s", out.URL)
	}
	if f.issuer.Revoked() != 1 {
		t.Error("the refresh token still counts")
	}
	f.browser.Jar.SetCookies(u, []*http.Cookie{cookie})
	f.wantStatus(f.browser, 401, "Unauthorized")
	f.issuer.SetGone(true) // a logout does not depend on the issuer
	f.issuer.SetGone(false)
	f.issuer.Browser("ada")
	f.signIn()
	f.issuer.SetGone(true)
	if status, _ := f.send(f.browser, "POST", "/v1/logout", &out); status != 200 {
		t.Errorf("without the issuer the logout was answered with %d", status)
	}
	f.wantStatus(f.browser, 401, "")
}

// An event stream ends when the sign-in does, without another request.
func TestStreamOfLogin(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	f.signIn()
	u, err := url.Parse(f.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", f.http.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.browser.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, resp)
	}
	defer resp.Body.Close()
	if err := f.store.People.EndLogin(ctx, seal.HashKey(f.browser.Jar.Cookies(u)[0].Value)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1000); err == nil; {
		_, err = resp.Body.Read(b)
	}
	if ctx.Err() != nil {
		t.Error("the stream goes on")
	}
}

// Nothing that a person or the issuer keeps secret is in the database as it is.
func TestSignInSecrets(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t, "offline_access")
	f.signIn()
	u, err := url.Parse(f.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	id := f.browser.Jar.Cookies(u)[0].Value
	l, err := f.store.People.Login(t.Context(), seal.HashKey(id))
	if err != nil {
		t.Fatal(err)
	}
	grant, err := f.store.People.Login(t.Context(), people.GrantOf(l.User))
	if err != nil || !strings.HasPrefix(l.Tokens, "s1.") || !strings.HasPrefix(grant.Tokens, "s1.") {
		t.Errorf("the tokens are %q and %q, %v", l.Tokens, grant.Tokens, err)
	}
	if strings.Contains(f.log.String(), id) {
		t.Error("the log has the session")
	}
}

// Where people sign in by an issuer, an invitation makes no user.
func TestInvitationsWithAnIssuer(t *testing.T) {
	t.Parallel()
	f := newSignInFixture(t)
	project := f.newProject("Lab")
	created := f.as(f.key, "POST", "/v1/projects/"+project+"/invitations", `{"role":"viewer"}`)
	token := `{"token":"` + read[api.NewInvitation](t, created).Token + `"`
	if r := f.ask("POST", "/v1/invitations/accept", token+`,"name":"grace"}`); r.status != 401 {
		t.Errorf("a user was made: %d %s", r.status, r.body)
	}
	_, grace := f.newUser("grace")
	if r := f.as(grace, "POST", "/v1/invitations/accept", token+"}"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
