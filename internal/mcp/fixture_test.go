package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/store/people"
)

// service is the whole program: a server with a worker and the embedded engines.
type service struct {
	app  *app.App
	url  string
	key  string       // of ann
	stop func() error // ends it
}

// start starts a service.
func start(change ...func(*config.Config)) (*service, error) {
	dir, err := os.MkdirTemp("", "pleat-mcp-")
	if err != nil {
		return nil, err
	}
	c := config.Default()
	c.Data, c.Addr = dir, "127.0.0.1:0"
	c.Engines = []string{"null", "mini", "calvados", "analyst"}
	for _, fn := range change {
		fn(&c)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan *service, 1), make(chan error, 1)
	go func() {
		ended <- app.Serve(ctx, c, slog.New(slog.DiscardHandler), app.Options{Ready: func(a *app.App, url string) {
			ready <- &service{app: a, url: url}
		}})
	}()
	s := &service{}
	select {
	case s = <-ready:
		s.key, err = app.CreateKey(ctx, s.app.Store, "ann", people.NewKey{})
	case err = <-ended:
		ended <- err
	}
	s.stop = func() error {
		stop()
		err := <-ended
		_ = os.RemoveAll(dir)
		return err
	}
	if err != nil {
		_ = s.stop()
	}
	return s, err
}

// shared starts the service that the tests of this package share, and TestMain ends it. They run in parallel as one
// user: a test to which the user's other work matters takes a key of another user.
var shared = sync.OnceValues(func() (*service, error) {
	s, err := start()
	if err == nil {
		sharing = s
	}
	return s, err
})

var sharing *service // the shared service once it has started

func TestMain(m *testing.M) {
	code := m.Run()
	if sharing != nil {
		if err := sharing.stop(); err != nil {
			slog.Error("the service failed", "error", err)
			code = 1
		}
	}
	os.Exit(code)
}

// serve returns the shared service.
func serve(t testing.TB) *service {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alone starts a service with another configuration for a test.
func alone(t testing.TB, change func(*config.Config)) *service {
	t.Helper()
	s, err := start(change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newKey creates a key with scopes; none: all.
func (s *service) newKey(t testing.TB, user string, scopes ...pleat.Scope) string {
	t.Helper()
	key, err := app.CreateKey(t.Context(), s.app.Store, user, people.NewKey{Scopes: scopes})
	if err != nil {
		t.Fatal(err)
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

// agent is a client of the protocol that checks every result of a tool against the schema that the tool states.
type agent struct {
	*sdk.ClientSession
	t       *testing.T
	schemas map[string]*jsonschema.Resolved
}

// connect connects to /mcp with a key.
func (s *service) connect(t *testing.T, key string) *agent {
	t.Helper()
	return newAgent(t, &sdk.StreamableClientTransport{
		Endpoint:             s.url + "/mcp",
		HTTPClient:           &http.Client{Transport: withKey{key}},
		DisableStandaloneSSE: true,
	})
}

// newAgent connects over a transport.
func newAgent(t *testing.T, over sdk.Transport) *agent {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{session, t, map[string]*jsonschema.Resolved{}}
	for _, tool := range list.Tools {
		var schema jsonschema.Schema
		decode(t, encode(t, tool.OutputSchema), &schema)
		if a.schemas[tool.Name], err = schema.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// ask calls a tool.
func (a *agent) ask(name, arguments string) *sdk.CallToolResult {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	text := textOf(res)
	if res.IsError {
		if res.StructuredContent != nil {
			a.t.Errorf("%s: an error has structured content: %s", name, text)
		}
		return res
	}
	if got := string(encode(a.t, res.StructuredContent)); !sameJSON(a.t, got, text) {
		a.t.Errorf("%s: the text is %s; the structured content %s", name, text, got)
	}
	if err := a.schemas[name].Validate(res.StructuredContent); err != nil {
		a.t.Errorf("%s: the result does not have the schema of the tool: %v\n%s", name, err, text)
	}
	return res
}

// call calls a tool and decodes its result. It fails if the tool refuses.
func call[Out any](a *agent, name, arguments string) Out {
	a.t.Helper()
	res := a.ask(name, arguments)
	if res.IsError {
		a.t.Fatalf("%s refuses: %s", name, textOf(res))
	}
	var out Out
	decode(a.t, encode(a.t, res.StructuredContent), &out)
	return out
}

// refusal is why a tool refuses.
type refusal struct {
	Code, Field, Message string
	Status               int
	Faults               []api.FieldError
}

// refuses calls a tool that must refuse.
func (a *agent) refuses(name, arguments string) refusal {
	a.t.Helper()
	res := a.ask(name, arguments)
	if !res.IsError {
		a.t.Fatalf("%s %s does not refuse: %s", name, arguments, textOf(res))
	}
	var out struct{ Error refusal }
	decode(a.t, []byte(textOf(res)), &out)
	return out.Error
}

// textOf returns the text of a result.
func textOf(res *sdk.CallToolResult) string {
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

// sameJSON reports whether two documents have the same values.
func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	decode(t, []byte(a), &x)
	decode(t, []byte(b), &y)
	return string(encode(t, x)) == string(encode(t, y))
}

// job returns the arguments of fold: a short protein, named and folded by a model.
func job(name, model, more string) string {
	return `{"name": "` + name + `", "params": {"modelName": "` + model + `", "seed": "1"}, "sequences": ` +
		`[{"proteinChain": {"sequence": "` + sequence + `"}}]` + more + `}`
}

// sequence is so short that mini folds it in a second or two.
const sequence = "GYDPET"

// work is the result of tools that start or show work.
type work struct {
	Kind, ID, Name, Type, Status string
	Ended                        bool
	Answer                       *string
	Failure                      *string
	Scores                       *struct{ MeanPLDDT *float64 }
	Cost                         *struct {
		Tokens, QuotaRemaining, Rows int
		ExpectedSeconds              *float64
	}
	Result         json.RawMessage
	Files, Notes   []string
	Counts         map[string]int
	IdempotencyKey string
}

// handle returns the arguments that name work.
func (w work) handle(more string) string {
	return `{"kind": "` + w.Kind + `", "id": "` + w.ID + `"` + more + `}`
}

// folded returns a completed job of the model mini. Equal ones are computed once.
func (a *agent) folded(name string) work {
	a.t.Helper()
	w := call[work](a, "fold", job(name, "mini", ""))
	for !w.Ended {
		w = call[work](a, "get_job", w.handle(`, "waitSeconds": 20`))
	}
	if w.Status != api.Completed {
		a.t.Fatalf("the fold is %+v", w)
	}
	return w
}

// post sends a message to /mcp as it is.
func (s *service) post(t testing.TB, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+s.key)
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Del(header[i]); header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return do(t, req)
}

// slow returns the arguments of a fold that takes a minute, unless it is stopped.
func slow(more string) string {
	return strings.Replace(job("slow", "null", more), `"seed": "1"`, `"samplingSteps": 60000`, 1)
}
