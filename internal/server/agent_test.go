package server_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/server"
)

// agents changes a fixture to one whose POST /mcp is answered by a handler, which gets that of all routes.
func agents(
	t *testing.T, change func(*server.Config),
	answer func(service http.Handler, w http.ResponseWriter, r *http.Request),
) *fixture {
	t.Helper()
	return newFixtureWith(t, func(c *server.Config, d *server.Deps) {
		change(c)
		d.Agents = agentsBy(answer)
	})
}

// agentsBy makes what answers POST /mcp of a function.
func agentsBy(
	answer func(service http.Handler, w http.ResponseWriter, r *http.Request),
) func(http.Handler, <-chan struct{}) http.Handler {
	return func(service http.Handler, _ <-chan struct{}) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(service, w, r) })
	}
}

// message sends a message as the owner of a key, and returns the response.
func (h *fixture) message(key string, headers ...string) reply {
	h.t.Helper()
	return h.ask("POST", "/mcp", `{"id":1}`, append(headers, "Authorization", "Bearer "+key)...)
}

func TestNoAgents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if r := h.message(h.key); r.status != 404 {
		t.Errorf("a server without agents answers %d %s", r.status, r.body)
	}
}

// A page of an origin that the operator names may call /mcp, ask whether it may, and read every answer, refusals
// included; a page of any other may not. No cookie ever counts.
func TestAgentOrigins(t *testing.T) {
	t.Parallel()
	const named, other = "https://claude.ai", "https://claude.ai.example.org"
	h := agents(t, func(c *server.Config) { c.AgentOrigins = []string{named} },
		func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	for _, test := range []struct {
		method, path, origin, key string
		status                    int
		allowed                   string
	}{
		{"OPTIONS", "/mcp", named, "", 204, named},
		{"OPTIONS", "/mcp/", named, "", 204, named},
		{"POST", "/mcp", named, h.key, 200, named},
		{"POST", "/mcp/", named, h.key, 200, named},
		{"POST", "/mcp", named, "", 401, named},
		{"GET", "/mcp", named, h.key, 405, named},
		{"GET", "/.well-known/oauth-protected-resource", named, "", 200, named},
		{"GET", "/.well-known/oauth-protected-resource/mcp", named, "", 200, named},
		{"GET", "/.well-known/oauth-protected-resource/mcp/", named, "", 200, named},
		{"OPTIONS", "/.well-known/oauth-protected-resource/mcp", named, "", 204, named},
		{"GET", "/v1/usage", named, h.key, 200, ""},
		{"OPTIONS", "/v1/usage", named, "", 405, ""},
		{"OPTIONS", "/mcp", other, "", 403, ""},
		{"POST", "/mcp", other, h.key, 403, ""},
		{"POST", "/mcp", "http://claude.ai", h.key, 403, ""},
		{"POST", "/mcp", named + ":8443", h.key, 403, ""},
		{"OPTIONS", "/mcp", "null", "", 403, ""},
		{"POST", "/mcp", "null", h.key, 403, ""},
	} {
		headers := []string{"Origin", test.origin, "Access-Control-Request-Method", "POST"}
		if test.key != "" {
			headers = append(headers, "Authorization", "Bearer "+test.key)
		}
		body := ""
		if test.method == "POST" {
			body = `{"id":1}`
		}
		r := h.ask(test.method, test.path, body, headers...)
		what := test.method + " " + test.path + " of " + test.origin
		if r.status != test.status || r.header.Get("Access-Control-Allow-Origin") != test.allowed {
			t.Errorf("%s: %d, allowed is %q: %s", what, r.status, r.header.Get("Access-Control-Allow-Origin"), r.body)
		}
		if r.status == 403 && !strings.Contains(r.body, "the setting mcp-origins") {
			t.Errorf("%s: the refusal does not name the setting: %s", what, r.body)
		}
		if r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies are allowed", what)
		}
	}
	r := h.ask("OPTIONS", "/mcp", "", "Origin", named)
	for header, want := range map[string][]string{
		"Access-Control-Allow-Methods":  {"POST"},
		"Access-Control-Allow-Headers":  {"Authorization", "Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version"},
		"Access-Control-Expose-Headers": {"Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate"},
		"Vary":                          {"Origin"},
	} {
		for _, name := range want {
			if !strings.Contains(r.header.Get(header), name) {
				t.Errorf("%s is %q; it lacks %s", header, r.header.Get(header), name)
			}
		}
	}
}

// callUsage answers a message by a call of the service with the credential of the message.
func callUsage(t *testing.T, service http.Handler, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	inner, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "/v1/usage", nil)
	if err != nil {
		t.Error(err)
		return
	}
	inner.Header.Set("Authorization", r.Header.Get("Authorization"))
	service.ServeHTTP(w, inner)
}

// The handler gets the whole message and a deadline, and may call every route in the process.
func TestAgentCall(t *testing.T) {
	t.Parallel()
	h := agents(t, func(*server.Config) {}, func(service http.Handler, w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		end, bounded := r.Context().Deadline()
		if err != nil || string(body) != `{"id":1}` || !bounded || time.Until(end) > time.Minute {
			t.Errorf("the handler gets %q, %v, until %v", body, err, end)
		}
		callUsage(t, service, w, r)
	})
	if r := h.message(h.key); r.status != 200 || !strings.Contains(r.body, `"remaining"`) {
		t.Errorf("the answer is %d %s", r.status, r.body)
	}
	if r := h.message("nobody"); r.status != 401 {
		t.Errorf("without a valid key the answer is %d %s", r.status, r.body)
	}
}

// A user has as many calls under way as event streams, and others have their own.
func TestAgentCallsAtOnce(t *testing.T) {
	t.Parallel()
	began, end := make(chan struct{}), make(chan struct{})
	h := agents(t, func(c *server.Config) { c.Streams = 1 },
		func(_ http.Handler, _ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Wait") != "" {
				began <- struct{}{}
				<-end
			}
		})
	ended := make(chan reply)
	go func() { ended <- h.message(h.key, "X-Wait", "1") }()
	<-began
	if r := h.message(h.key); r.status != 429 || r.header.Get("Retry-After") == "" {
		t.Errorf("the second call is answered by %d %s", r.status, r.body)
	}
	if r := h.message(h.newKey("bob")); r.status != 200 {
		t.Errorf("another user's call is answered by %d %s", r.status, r.body)
	}
	close(end)
	if r := <-ended; r.status != 200 {
		t.Errorf("the first call is answered by %d %s", r.status, r.body)
	}
	if r := h.message(h.key); r.status != 200 {
		t.Errorf("the next call is answered by %d %s", r.status, r.body)
	}
}

// A call counts against the rate of its user, and so does what it calls.
func TestAgentRate(t *testing.T) {
	t.Parallel()
	h := agents(t, func(c *server.Config) { c.Rate, c.Burst = .001, 3 },
		func(service http.Handler, w http.ResponseWriter, r *http.Request) { callUsage(t, service, w, r) })
	for i, want := range []int{200, 429, 429} { // 1 and 2; 3, and none for what it calls; none
		if r := h.message(h.key); r.status != want {
			t.Errorf("call %d is answered by %d %s", i+1, r.status, r.body)
		}
	}
}

// Where people sign in by an issuer, the metadata names it, and its access tokens are credentials of agents.
func TestAgentOfIssuer(t *testing.T) {
	t.Parallel()
	f := newSignInFixtureWith(t, func(d *server.Deps) {
		d.Agents = agentsBy(func(service http.Handler, w http.ResponseWriter, r *http.Request) {
			callUsage(t, service, w, r)
		})
	})
	for _, path := range []string{"", "/mcp"} {
		got := read[api.ResourceMetadata](t, f.ask("GET", "/.well-known/oauth-protected-resource"+path, nil))
		if !slices.Equal(got.Issuers, []string{f.issuer.URL}) {
			t.Errorf("the metadata%s name the issuers %q", path, got.Issuers)
		}
	}
	now := f.clock.Now().Unix()
	if r := f.message(f.issuer.AccessToken("ada", map[string]any{"exp": now + 60})); r.status != 200 ||
		!strings.Contains(r.body, `"remaining"`) {
		t.Errorf("a token of the issuer is answered by %d %s", r.status, r.body)
	}
	for what, change := range map[string]map[string]any{
		"has expired": {"exp": now - 1}, "is for another service": {"aud": "https://other.example"},
	} {
		r := f.message(f.issuer.AccessToken("ada", change))
		if r.status != 401 || !strings.Contains(r.header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("a token that %s is answered by %d %s", what, r.status, r.header.Get("WWW-Authenticate"))
		}
	}
}
