package identity_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
)

// keycloak is a running Keycloak with the realm of testdata/keycloak/realm.json.
type keycloak struct {
	*clock
	url    string // of Keycloak
	admin  string // token of its administrator
	client *identity.Issuer
}

// openKeycloak returns the Keycloak that scripts/test-identity has started.
func openKeycloak(t *testing.T) *keycloak {
	k := &keycloak{clock: &clock{}, url: os.Getenv("PLEAT_TEST_KEYCLOAK")}
	if k.url == "" {
		t.Skip("PLEAT_TEST_KEYCLOAK names no Keycloak; make test-identity starts one")
	}
	k.client = k.newClient(t, nil)
	k.admin = k.token(t, "master", url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"},
		"username": {"admin"}, "password": {os.Getenv("PLEAT_TEST_KEYCLOAK_ADMIN")}})
	return k
}

func (k *keycloak) newClient(t *testing.T, change func(*identity.Config)) *identity.Issuer {
	cfg := identity.Config{Issuer: k.url + "/realms/pleat", ClientID: "pleat", Secret: "secret-of-the-page",
		Scopes: []string{"openid", "profile", "email"}, Audience: "https://fold.example.org",
		DeviceClientID: "pleat-terminal", Now: k.now}
	if change != nil {
		change(&cfg)
	}
	client := identity.New(cfg)
	t.Cleanup(client.Close)
	return client
}

// token returns the access token of a grant.
func (k *keycloak) token(t *testing.T, realm string, form url.Values) string {
	t.Helper()
	resp, err := http.PostForm(k.url+"/realms/"+realm+"/protocol/openid-connect/token", form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("Keycloak gave no token: %s %s, %v", resp.Status, answer.Error, err)
	}
	return answer.Token
}

// manage calls Keycloak's administration of the realm. It reads the answer into out, if that is not nil.
func (k *keycloak) manage(t *testing.T, method, path string, body, out any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, k.url+"/admin/realms/pleat"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.admin)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s, %v", method, path, resp.Status, answer, err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Fatal(err)
		}
	}
}

// id returns the identifier of the user or group of a name.
func (k *keycloak) id(t *testing.T, path string) string {
	t.Helper()
	var found []struct{ ID string }
	if k.manage(t, http.MethodGet, path, nil, &found); len(found) != 1 {
		t.Fatalf("%s found %d", path, len(found))
	}
	return found[0].ID
}

// signIn signs a user in by a browser.
func (k *keycloak) signIn(t *testing.T, b *identitytest.Browser, name string) identity.Login {
	t.Helper()
	address, attempt, err := k.client.Begin(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := b.Visit(t, address, map[string]string{"username": name, "password": name + "-password"})
	login, err := k.client.Finish(t.Context(), attempt, back)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

// TestKeycloak goes through sign-in, groups, leaving and logout with a real issuer.
func TestKeycloak(t *testing.T) {
	t.Parallel()
	k := openKeycloak(t)
	t.Run("sign-in", k.testSignIn)
	t.Run("replay", k.testReplay)
	t.Run("tokens", k.testTokens)
	t.Run("group removed", k.testGroupRemoved)
	t.Run("logout", k.testLogout)
	t.Run("device", k.testDevice)
	t.Run("machine", k.testMachine)
	t.Run("left", k.testLeft)
}

func (k *keycloak) testSignIn(t *testing.T) {
	p := k.signIn(t, identitytest.NewBrowser(callback), "ada").Person
	want := identity.Person{Issuer: k.url + "/realms/pleat", Subject: k.id(t, "/users?exact=true&username=ada"),
		Name: "ada", Email: "ada@example.org", Groups: []string{"lab-a", "lab-b"}}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if p := k.signIn(t, identitytest.NewBrowser(callback), "bob").Person; p.Email != "" || p.Name != "bob" {
		t.Errorf("bob, whose address is not verified, is %+v", p)
	}
}

// A code that is presented again gives nothing, and ends the session that it gave before.
func (k *keycloak) testReplay(t *testing.T) {
	address, attempt, err := k.client.Begin(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := identitytest.NewBrowser(callback).Visit(t, address, map[string]string{"username": "bob", "password": "bob-password"})
	login, err := k.client.Finish(t.Context(), attempt, back)
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.client.Finish(t.Context(), attempt, back)
	wantKind(t, err, identity.Refused, "was used already")
	_, err = k.client.Refresh(t.Context(), login.Person.Subject, login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
}

// Its tokens are taken for what they are.
func (k *keycloak) testTokens(t *testing.T) {
	tokens := k.signIn(t, identitytest.NewBrowser(callback), "bob").Tokens
	b, err := k.client.VerifyBearer(t.Context(), tokens.Access)
	if err != nil || b.Client != "pleat" || b.Person.Name != "bob" {
		t.Errorf("the access token is that of %+v, %v", b, err)
	}
	for name, audience := range map[string]string{"page": "", "programs": "https://fold.example.org"} {
		client := k.newClient(t, func(c *identity.Config) { c.Audience = audience })
		for what, token := range map[string]string{"ID": tokens.ID, "refresh": tokens.Refresh} {
			if _, err := client.VerifyBearer(t.Context(), token); identity.KindOf(err) != identity.Refused {
				t.Errorf("the %s token as a bearer of the %s: %v", what, name, err)
			}
		}
	}
	other := k.newClient(t, func(c *identity.Config) { c.Audience = "https://other.example.org" })
	_, err = other.VerifyBearer(t.Context(), tokens.Access)
	wantKind(t, err, identity.Refused, "audience (aud)")
}

// A group that is removed is gone after the next refresh, and from a bearer once its claims are too old.
func (k *keycloak) testGroupRemoved(t *testing.T) {
	login := k.signIn(t, identitytest.NewBrowser(callback), "ada")
	user, group := k.id(t, "/users?exact=true&username=ada"), k.id(t, "/groups?search=lab-a")
	k.manage(t, http.MethodDelete, "/users/"+user+"/groups/"+group, nil, nil)
	defer k.manage(t, http.MethodPut, "/users/"+user+"/groups/"+group, nil, nil)

	next, err := k.client.Refresh(t.Context(), user, login.Tokens)
	if err != nil || !slices.Equal(next.Person.Groups, []string{"lab-b"}) {
		t.Errorf("the session has the groups %q, %v", next.Person.Groups, err)
	}
	k.advance(identity.Fresh + 10*time.Second)
	defer k.advance(-identity.Fresh - 10*time.Second)
	b, err := k.client.VerifyBearer(t.Context(), login.Tokens.Access)
	if err != nil || !slices.Equal(b.Person.Groups, []string{"lab-b"}) {
		t.Errorf("the bearer has the groups %q, %v", b.Person.Groups, err)
	}
}

// Logging out ends the session at Keycloak: its tokens count no more, and the browser is asked for a password again.
func (k *keycloak) testLogout(t *testing.T) {
	b := identitytest.NewBrowser(callback)
	login := k.signIn(t, b, "bob")
	begin := func() (url.Values, int) {
		address, _, err := k.client.Begin(t.Context(), callback)
		if err != nil {
			t.Fatal(err)
		}
		return b.Visit(t, address, map[string]string{"username": "bob", "password": "bob-password"})
	}
	if back, forms := begin(); forms != 0 || !back.Has("code") {
		t.Errorf("with a session at Keycloak %d forms were shown: %v", forms, back)
	}
	address, err := k.client.LogoutURL(t.Context(), login.Tokens, callback)
	if err != nil {
		t.Fatal(err)
	}
	if back, forms := b.Visit(t, address, nil); back == nil || forms != 0 {
		t.Errorf("the logout showed %d forms, and led back with %v", forms, back)
	}
	_, err = k.client.Refresh(t.Context(), login.Person.Subject, login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
	if _, forms := begin(); forms != 1 {
		t.Errorf("after the logout %d forms were shown, want that of the password", forms)
	}

	login = k.signIn(t, identitytest.NewBrowser(callback), "bob")
	if err := k.client.Revoke(t.Context(), login.Tokens); err != nil {
		t.Error(err)
	}
	_, err = k.client.Refresh(t.Context(), login.Person.Subject, login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
}

func (k *keycloak) testDevice(t *testing.T) {
	d, err := k.client.StartDevice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	identitytest.NewBrowser(callback).Visit(t, d.Complete, map[string]string{"username": "bob", "password": "bob-password"})
	login, err := k.client.AwaitDevice(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if login.Person.Name != "bob" || !slices.Equal(login.Person.Groups, []string{"lab-b"}) {
		t.Errorf("the device is signed in as %+v", login.Person)
	}
	b, err := k.client.VerifyBearer(t.Context(), login.Tokens.Access)
	if err != nil || b.Client != "pleat-terminal" || b.Person.Subject != login.Person.Subject {
		t.Errorf("its access token is that of %+v, %v", b, err)
	}
	next, err := k.client.RefreshDevice(t.Context(), login.Person.Subject, login.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.client.RevokeDevice(t.Context(), next.Tokens); err != nil {
		t.Error(err)
	}
	_, err = k.client.RefreshDevice(t.Context(), login.Person.Subject, next.Tokens)
	wantKind(t, err, identity.Ended, "has ended")
}

// A machine signs in by the secret of its own client.
func (k *keycloak) testMachine(t *testing.T) {
	token := k.token(t, "pleat", url.Values{"grant_type": {"client_credentials"}, "client_id": {"machine"},
		"client_secret": {"secret-of-the-machine"}})
	b, err := k.client.VerifyBearer(t.Context(), token)
	if err != nil || b.Client != "machine" || b.Person.Name != "service-account-machine" {
		t.Errorf("the token is that of %+v, %v", b, err)
	}
	k.advance(identity.Fresh + 10*time.Second)
	defer k.advance(-identity.Fresh - 10*time.Second)
	if _, err := k.client.VerifyBearer(t.Context(), token); err != nil {
		t.Error(err)
	}
}

// A locked user has no session any more and gets no new one.
func (k *keycloak) testLeft(t *testing.T) {
	b := identitytest.NewBrowser(callback)
	login := k.signIn(t, b, "ada")
	user := login.Person.Subject
	k.manage(t, http.MethodPut, "/users/"+user, map[string]any{"enabled": false}, nil)
	defer k.manage(t, http.MethodPut, "/users/"+user, map[string]any{"enabled": true}, nil)
	_, err := k.client.Refresh(t.Context(), user, login.Tokens)
	wantKind(t, err, identity.Ended, "has ended")

	k.advance(identity.Fresh + 10*time.Second)
	_, err = k.client.VerifyBearer(t.Context(), login.Tokens.Access)
	wantKind(t, err, identity.Refused, "counts no more")
	k.advance(-identity.Fresh - 10*time.Second)

	address, _, err := k.client.Begin(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	if back, _ := b.Visit(t, address, map[string]string{"username": "ada", "password": "ada-password"}); back.Has("code") {
		t.Error("a user who is locked has signed in")
	}
}
