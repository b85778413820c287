package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

// fixture is a whole service but its workers: a real database, real files, real HTTP.
type fixture struct {
	t     testing.TB
	store *store.Store
	blobs blob.Store
	files string // folder of blobs
	db    string // address of the database
	srv   *server.Server
	http  *httptest.Server
	clock *storetest.Clock
	log   *storetest.Log
	key   string // of ann
	user  pleat.UserID
}

func f(v float64) *float64 { return &v }

// testModel folds proteins one by one; big folds everything together.
var (
	testModel = pleat.Model{
		Name:      "mini",
		Kind:      pleat.TaskFold,
		Title:     "Mini",
		Engine:    "mini",
		Version:   "1",
		WeightSet: "none",
		Method:    "fragments",
		Licence:   "Apache-2.0",
		Device:    "cpu",
		Entities:  []pleat.EntityKind{pleat.Protein},
		MinTokens: 5,
		MaxTokens: 200,
		Params: []pleat.ParamSpec{{Name: "seed", Type: pleat.ParamString, Doc: "Seed."},
			{Name: "samplingSteps", Type: pleat.ParamInt, Default: 400, Min: f(1), Max: f(5000), Doc: "Steps."}},
		Memory:     pleat.MemoryModel{Base: 1e6, Linear: 10},
		Speed:      pleat.SpeedModel{Base: 1, Linear: .5},
		Confidence: "estimated",
		Notice:     "Short chains only.",
		Citations:  []pleat.Citation{{Key: "x", BibTeX: "@misc{x}"}},
	}
	bigModel = pleat.Model{
		Name:      "big",
		Kind:      pleat.TaskFold,
		Entities:  []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		MaxTokens: 3000,
		Features: []pleat.Feature{pleat.FeatureComplex, pleat.FeatureConstraints, pleat.FeatureAffinity,
			pleat.FeatureModifications, pleat.FeatureCyclic},
	}
)

func newFixture(t testing.TB, change ...func(*server.Config)) *fixture {
	t.Helper()
	return newLimitedFixture(t, people.Limits{Jobs: 1000}, change...)
}

// newLimitedFixture is newFixture with limits of what a user may have.
func newLimitedFixture(t testing.TB, limits people.Limits, change ...func(*server.Config)) *fixture {
	t.Helper()
	return newFixtureOver(t, limits, func(c *server.Config, _ *server.Deps) {
		for _, fn := range change {
			fn(c)
		}
	})
}

// newFixtureWith is newFixture with what the server works with changed too.
func newFixtureWith(t testing.TB, change func(*server.Config, *server.Deps)) *fixture {
	t.Helper()
	return newFixtureOver(t, people.Limits{Jobs: 1000}, change)
}

func newFixtureOver(t testing.TB, limits people.Limits, change func(*server.Config, *server.Deps)) *fixture {
	t.Helper()
	return newFixtureIn(t, storetest.Databases()["sqlite"], limits, change)
}

// newFixtureIn is newFixtureOver with a database of a kind.
func newFixtureIn(
	t testing.TB, database func(testing.TB) string, limits people.Limits, change func(*server.Config, *server.Deps),
) *fixture {
	t.Helper()
	h := &fixture{t: t, clock: &storetest.Clock{}, log: &storetest.Log{}}
	// Links are made anew with every hour and quotas with every day: no test begins right before.
	now := h.clock.Now()
	if end := now.Truncate(time.Hour).Add(time.Hour); end.Sub(now) < 10*time.Minute {
		h.clock.Advance(end.Sub(now))
	}
	h.db = database(t)
	h.store = storetest.OpenLimited(t, h.db, h.clock, limits)
	var err error
	h.files = t.TempDir()
	if h.blobs, err = blob.OpenDir(h.files); err != nil {
		t.Fatal(err)
	}
	h.user, h.key = h.newUser("ann")
	h.register(testModel, bigModel)

	h.http = httptest.NewUnstartedServer(nil)
	cfg := server.Config{
		Config:      route.Config{PublicURL: "http://" + h.http.Listener.Addr().String()},
		OpenMetrics: true,
	}
	deps := server.Deps{
		Store:       h.store,
		Blobs:       h.blobs,
		Ring:        newRing(t),
		Clock:       h.clock.Now,
		Log:         slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Installable: map[string]string{"boltz-2": "boltz"},
	}
	change(&cfg, &deps)
	if h.srv, err = server.New(cfg, deps); err != nil {
		t.Fatal(err)
	}
	h.http.Config.Handler = h.srv.Handler()
	h.http.Start()
	t.Cleanup(func() {
		h.srv.EndStreams()
		h.http.Close()
	})
	return h
}

func (h *fixture) register(models ...pleat.Model) {
	h.t.Helper()
	w := pleat.Worker{ID: "w1", Host: "test", Models: models}
	for _, m := range models {
		w.Queues = append(w.Queues, pleat.Queue(m.Kind, m.Name))
	}
	if err := h.store.Workers.RegisterWorker(context.Background(), w); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) newUser(name string) (pleat.UserID, string) {
	h.t.Helper()
	u, err := h.store.People.EnsureUser(context.Background(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	key := seal.NewKey()
	if _, err := h.store.People.CreateKey(context.Background(), people.Actor{Reach: people.Own(u.ID)}, people.NewKey{
		Prefix: seal.Prefix(key), Hash: seal.HashKey(key), Label: "test",
	}); err != nil {
		h.t.Fatal(err)
	}
	return u.ID, key
}

func (h *fixture) client(key string) *api.Client {
	return &api.Client{Base: h.http.URL, Key: key, Patience: 5 * time.Second}
}

// reply is an answer, read.
type reply struct {
	status int
	header http.Header
	body   string
}

// message is the sentence of an error; it fails the test where the body is anything but {"message": …}.
func (r reply) message(t *testing.T) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.body), &m); err != nil || len(m) != 1 {
		t.Fatalf("status %d: the body is not {\"message\": …}: %q", r.status, r.body)
	}
	s, ok := m["message"].(string)
	if !ok || s == "" {
		t.Fatalf("status %d: no message in %q", r.status, r.body)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("status %d: Content-Type %q", r.status, got)
	}
	return s
}

// ask sends one request. A body of type string is sent as JSON; headers come in pairs.
func (h *fixture) ask(method, path string, body any, headers ...string) reply {
	h.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case string:
		r = strings.NewReader(b)
	case io.Reader:
		r = b
	}
	if !strings.HasPrefix(path, "http") {
		path = h.http.URL + path
	}
	req, err := http.NewRequest(method, path, r)
	if err != nil {
		h.t.Fatal(err)
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

// as is ask with a key.
func (h *fixture) as(key, method, path string, body any, headers ...string) reply {
	h.t.Helper()
	return h.ask(method, path, body, append([]string{"Authorization", "Bearer " + key}, headers...)...)
}

const trp = `{"name":"Trp-cage","sequences":[{"proteinChain":{"sequence":"DAYAQWLKDGGPSSGRPPPS","label":"cage"}}],` +
	`"params":{"modelName":"mini","seed":"7"}}`

// create makes a job of ann's.
func (h *fixture) create(body string) api.CreatedJob {
	h.t.Helper()
	r := h.as(h.key, "POST", "/v1/jobs", body)
	var out api.CreatedJob
	if r.status != 200 || json.Unmarshal([]byte(r.body), &out) != nil {
		h.t.Fatalf("create: %d %s", r.status, r.body)
	}
	return out
}

// fleetToken returns a token that reads the demand for workers.
func (h *fixture) fleetToken() string {
	h.t.Helper()
	token := seal.NewFleetToken()
	t := workers.FleetToken{Kind: workers.TokenDemand, Hash: seal.HashKey(token)}
	if err := h.store.Workers.CreateFleetToken(context.Background(), t); err != nil {
		h.t.Fatal(err)
	}
	return token
}

// claim claims the oldest fold as the worker would.
func (h *fixture) claim() runs.ClaimedTask {
	h.t.Helper()
	got, err := h.store.Runs.Claim(
		context.Background(),
		"w1",
		tasks.ClaimFilter{Queues: []string{"fold/mini", "fold/big"}, N: 1},
	)
	if err != nil || len(got) != 1 {
		h.t.Fatalf("claim: %v, %d tasks", err, len(got))
	}
	return got[0]
}

// put stores the content of a run's file and returns a, completed with its length, hash and key.
func (h *fixture) put(run pleat.RunID, a pleat.Artifact, content string) pleat.Artifact {
	h.t.Helper()
	a.Key = "runs/" + string(run) + "/1/" + a.Name
	info, err := h.blobs.Put(context.Background(), a.Key, strings.NewReader(content))
	if err != nil {
		h.t.Fatal(err)
	}
	a.Bytes, a.SHA256 = info.Bytes, info.SHA256
	return a
}

const cif = "data_fold\n# a structure\n"

// finish completes a claimed run with scores and files, as a worker would. The files given come first.
func (h *fixture) finish(c runs.ClaimedTask, files ...pleat.Artifact) {
	h.t.Helper()
	seq := c.Fold.Sequences[0].ID
	for _, f := range []struct {
		kind                       pleat.ArtifactKind
		name, contentType, content string
		sequence                   pleat.SequenceID
	}{
		{pleat.ArtifactCIF, "structure.cif", "chemical/x-mmcif", cif, seq},
		{pleat.ArtifactPAEPlot, "pae.svg", "image/svg+xml", "<svg/>", seq},
		{pleat.ArtifactPAEPlot, "pae.png", "image/png", "png", seq},
		{pleat.ArtifactCitations, "citations.bib", "text/plain", "@misc{x}", ""},
		{pleat.ArtifactArchive, "archive.zip", "application/zip", "PK-zip", ""},
	} {
		files = append(files, h.put(c.Fold.Run, pleat.Artifact{
			Kind: f.kind, Name: f.name, ContentType: f.contentType, Sequence: f.sequence,
		}, f.content))
	}
	err := h.store.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), runs.RunFinished{
		State: pleat.StateCompleted,
		Result: &pleat.Result{Predictions: []pleat.Prediction{
			{Sequence: seq, Chains: []string{"A"}, MeanPLDDT: f(81.5), PTM: f(.62), Confidence: "estimated"},
		},
			Timings: map[string]float64{"infer": 1.5}},
		Artifacts: files,
		Engine:    "mini 1",
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// completed makes a job and completes it, and what waited before it.
func (h *fixture) completed(body string) api.CreatedJob {
	h.t.Helper()
	j := h.create(body)
	for {
		c := h.claim()
		h.finish(c)
		if string(c.Fold.Job) == j.JobID {
			return j
		}
	}
}

func (h *fixture) results(key, job string) api.Results {
	h.t.Helper()
	out, err := h.client(key).Results(context.Background(), job)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func newRing(t testing.TB) *seal.Ring {
	t.Helper()
	r, err := seal.Parse(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// userKey returns another key of a user.
func (h *fixture) userKey(name string) string {
	h.t.Helper()
	_, key := h.newUser(name)
	return key
}
