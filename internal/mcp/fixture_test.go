package mcp_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/store"
)

// service is the whole program: a server with a worker and the embedded engines.
type service struct {
	t   testing.TB
	app *app.App
	url string
	key string // of ann
}

// start starts a service, which ends with the test.
func start(t testing.TB, change ...func(*config.Config)) *service {
	t.Helper()
	c := config.Default()
	c.Data, c.Addr = t.TempDir(), "127.0.0.1:0"
	for _, fn := range change {
		fn(&c)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan *service, 1), make(chan error, 1)
	go func() {
		ended <- app.Serve(ctx, c, slog.New(slog.DiscardHandler), app.Options{Ready: func(a *app.App, url string) {
			ready <- &service{t: t, app: a, url: url}
		}})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case s := <-ready:
		s.key = s.newKey("ann")
		return s
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return nil
	}
}

// newKey creates a key.
func (s *service) newKey(user string) string {
	s.t.Helper()
	key, err := app.CreateKey(s.t.Context(), s.app.Store, user, store.NewKey{})
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// client returns a client of the HTTP interface.
func (s *service) client() *api.Client { return &api.Client{Base: s.url, Key: s.key} }

// withKey adds a key to requests.
type withKey struct{ key string }

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.key)
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects a client of the protocol to /mcp with a key.
func (s *service) connect(key string) *sdk.ClientSession {
	s.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(s.t.Context(), &sdk.StreamableClientTransport{
		Endpoint:             s.url + "/mcp",
		HTTPClient:           &http.Client{Transport: withKey{key}},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}
