package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
	"pleat/internal/server"
	"pleat/internal/store/people"
)

// keycloakHost is where Keycloak sends browsers of its realm back.
const keycloakHost = "http://127.0.0.1:8080"

// keycloakFixture is a service whose people sign in by the Keycloak that scripts/test-identity has started.
type keycloakFixture struct {
	*fixture
	url   string // of Keycloak
	admin string // token of its administrator
}

func newKeycloakFixture(t *testing.T) *keycloakFixture {
	k := &keycloakFixture{url: os.Getenv("PLEAT_TEST_KEYCLOAK")}
	if k.url == "" {
		t.Skip("PLEAT_TEST_KEYCLOAK names no Keycloak; make test-identity starts one")
	}
	scopes := []string{"openid", "profile", "email", "offline_access"}
	k.fixture = newFixtureWith(t, func(cfg *server.Config, d *server.Deps) {
		ahead := time.Until(d.Clock()) // the clock of a fixture may be, and that of Keycloak is not
		d.Issuer = identity.New(identity.Config{Issuer: k.url + "/realms/pleat", ClientID: "pleat",
			Secret: "secret-of-the-page", Scopes: scopes, Audience: "https://fold.example.org",
			Now: func() time.Time { return d.Clock().Add(-ahead) }})
		t.Cleanup(d.Issuer.Close)
		cfg.PublicURL, cfg.Login.Scopes = keycloakHost, scopes
	})
	answer := struct {
		Token string `json:"access_token"`
	}{}
	k.call("POST", "/realms/master/protocol/openid-connect/token", "application/x-www-form-urlencoded",
		url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {"admin"},
			"password": {os.Getenv("PLEAT_TEST_KEYCLOAK_ADMIN")}}.Encode(), &answer)
	k.admin = answer.Token
	return k
}

// call calls Keycloak.
func (k *keycloakFixture) call(method, path, kind, body string, out any) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), method, k.url+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+k.admin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		k.t.Fatalf("%s %s: %s %s, %v", method, path, resp.Status, text, err)
	}
	if out != nil {
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(out); err != nil {
			k.t.Fatal(err)
		}
	}
}

// id returns the identifier of what a search in the realm finds.
func (k *keycloakFixture) id(path string) string {
	k.t.Helper()
	var found []struct{ ID string }
	if k.call("GET", "/admin/realms/pleat"+path, "application/json", "", &found); len(found) != 1 {
		k.t.Fatalf("%s found %d", path, len(found))
	}
	return found[0].ID
}

// signIn signs a person in at the service.
func (k *keycloakFixture) signIn(b *identitytest.Browser, name string) {
	k.t.Helper()
	back, _ := b.Visit(k.t, k.http.URL+"/v1/login/start", map[string]string{
		"username": name, "password": name + "-password"})
	resp, err := b.Get(k.http.URL + "/v1/login/callback?" + back.Encode())
	if err != nil {
		k.t.Fatal(err)
	}
	resp.Body.Close()
}

// read reads a document of the service in a browser.
func (k *keycloakFixture) read(b *identitytest.Browser, path string, out any) int {
	k.t.Helper()
	resp, err := b.Get(k.http.URL + path)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		k.t.Fatal(err)
	}
	return resp.StatusCode
}

// TestKeycloakService goes through a sign-in at the whole service: a group that is removed, a key, and a person who
// leaves, whose sign-in and key end.
func TestKeycloakService(t *testing.T) {
	t.Parallel()
	k := newKeycloakFixture(t)
	p, err := k.store.People.CreateProject(t.Context(), people.Actor{Database: true}, "cage", "ann")
	if err != nil {
		t.Fatal(err)
	}
	by := people.Actor{Database: true}.In(p.ID)
	if _, err := k.store.People.SetGroup(t.Context(), by, "lab-a", pleat.Member); err != nil {
		t.Fatal(err)
	}
	b := identitytest.NewBrowser(keycloakHost)
	k.signIn(b, "ada")
	var me api.Me
	status := k.read(b, "/v1/me", &me)
	member := func() bool {
		return slices.ContainsFunc(me.Projects, func(r api.ProjectRole) bool { return r.ID == string(p.ID) })
	}
	if status != 200 || me.Name != "ada" || !member() {
		var l api.Login
		k.read(b, "/v1/login", &l)
		t.Fatalf("%d: she is %+v; %s", status, me, l.Failure)
	}
	key := k.keyIn(b)
	user, group := k.id("/users?exact=true&username=ada"), k.id("/groups?search=lab-a")
	of := "/admin/realms/pleat/users/" + user
	k.call("DELETE", of+"/groups/"+group, "application/json", "", nil)
	defer k.call("PUT", of+"/groups/"+group, "application/json", "", nil)
	k.clock.Advance(4*time.Minute + time.Second)
	if status := k.read(b, "/v1/me", &me); status != 200 || member() {
		t.Errorf("%d: after the group was removed she is %+v", status, me)
	}
	k.call("PUT", of, "application/json", `{"enabled":false}`, nil)
	defer k.call("PUT", of, "application/json", `{"enabled":true}`, nil)
	k.clock.Advance(4*time.Minute + time.Second)
	if err := k.srv.CheckGrants(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := k.as(key, "GET", "/v1/jobs", nil); r.status != 401 || !strings.Contains(r.body, "the user has signed in") {
		t.Errorf("her key was answered with %d %s", r.status, r.body)
	}
	var refused api.Error
	if status := k.read(b, "/v1/me", &refused); status != 401 {
		t.Errorf("her session was answered with %d %+v", status, refused)
	}
}

// keyIn makes an API key in a browser's session.
func (k *keycloakFixture) keyIn(b *identitytest.Browser) string {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), "POST", k.http.URL+"/v1/keys", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Origin", keycloakHost)
	resp, err := b.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	var created api.NewKey
	if err := json.NewDecoder(resp.Body).Decode(&created); err != nil || created.Secret == "" {
		k.t.Fatalf("%s: %+v, %v", resp.Status, created, err)
	}
	return created.Secret
}
