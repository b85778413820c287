package identity_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
)

const callback = "http://127.0.0.1:8080/v1/login/callback"

// clock is one that a test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// world is an issuer with two people, and its client.
type world struct {
	*identitytest.Issuer
	*clock
	client *identity.Issuer
}

func newWorld(t *testing.T, changes ...func(*identity.Config)) *world {
	t.Helper()
	w := &world{Issuer: identitytest.New(t), clock: &clock{}}
	w.SetClock(w.now)
	w.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Email: "ada@example.org", Verified: true,
		Groups: []string{"lab-b", "lab-a"}})
	w.SetUser(identitytest.User{Subject: "s-eve", Name: "eve", Email: "ada@example.org", Groups: []string{"lab-e"}})
	w.Browser("ada")
	w.client = w.newClient(t, changes...)
	return w
}

// newClient returns a further client of the issuer.
func (w *world) newClient(t *testing.T, changes ...func(*identity.Config)) *identity.Issuer {
	cfg := identity.Config{Issuer: w.URL, ClientID: identitytest.Client, Secret: identitytest.Secret,
		Scopes: []string{"profile"}, Audience: identitytest.Audience, DeviceClientID: identitytest.DeviceClient,
		Now: w.now}
	for _, change := range changes {
		change(&cfg)
	}
	client := identity.New(cfg)
	t.Cleanup(client.Close)
	return client
}

// begin starts a sign-in and lets the browser go to the issuer and back.
func (w *world) begin(t *testing.T) (identity.Attempt, url.Values) {
	t.Helper()
	address, attempt, err := w.client.Begin(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	return attempt, follow(t, address)
}

// follow opens an address of the issuer and returns the parameters with which it sends the browser back.
func follow(t *testing.T, address string) url.Values {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil || !strings.HasPrefix(back.String(), callback) {
		t.Fatalf("the browser was sent to %v, %v", back, err)
	}
	return back.Query()
}

// signIn signs the user in the browser in.
func (w *world) signIn(t *testing.T) identity.Login {
	t.Helper()
	attempt, answer := w.begin(t)
	login, err := w.client.Finish(t.Context(), attempt, answer)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

// wantKind fails unless an error has a kind and a text in it.
func wantKind(t *testing.T, err error, kind identity.Kind, text string) {
	t.Helper()
	if identity.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is of kind %d: %v; want kind %d with %q", identity.KindOf(err), err, kind, text)
	}
}

func ada(w *world) identity.Person {
	return identity.Person{Issuer: w.URL, Subject: "s-ada", Name: "ada", Email: "ada@example.org",
		Groups: []string{"lab-a", "lab-b"}}
}
