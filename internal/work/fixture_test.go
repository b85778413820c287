package work_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/engine/enginetest"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	storeworkers "pleat/internal/store/workers"
	"pleat/internal/work"
	"pleat/internal/workerapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is an engine whose behaviour a test gives; it is a real engine to everything that calls it.
type scripted struct {
	run func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output
}

func (scripted) Models() []pleat.Model { return builtin.Null{}.Models() }

func (s scripted) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	return s.run(ctx, w, sink)
}

// simulator is a dynamics engine whose behaviour a test gives.
type simulator struct {
	run func(w pleat.Work) pleat.Output
}

func (simulator) Models() []pleat.Model { return builtin.Calvados{}.Models() }

func (s simulator) Run(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output { return s.run(w) }

// trpCage returns an engine that folds the Trp-cage: the result is the measured structure, with the confidence of a
// good prediction. A job with the name «bad» fails.
func trpCage(t *testing.T) engine.Engine {
	t.Helper()
	cif, pae := enginetest.PredictedTrpCage(t)
	return scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		if w.Fold.Name == "bad" {
			return pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "no")}
		}
		sequence := w.Fold.Sequences[0].ID
		return pleat.Output{
			Engine: "folder",
			Result: &pleat.Result{Predictions: []pleat.Prediction{{
				Sequence: sequence,
				Chains:   []string{"A"},
				Affinity: &pleat.Affinity{Value: -1.5, Probability: 0.75},
			}}},
			Files: []pleat.File{
				file(t, w, "model.cif", pleat.ArtifactCIF, cif),
				file(t, w, "pae.json", pleat.ArtifactPAE, pae),
			},
		}
	}}
}

// file writes a file of a result into the folder of an attempt.
func file(t *testing.T, w pleat.Work, name string, kind pleat.ArtifactKind, content []byte) pleat.File {
	t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Error(err)
	}
	return pleat.File{Kind: kind, Name: name, Path: path, Sequence: w.Fold.Sequences[0].ID}
}

// fixture is a store with the files of its runs, and the user whose jobs a test creates.
type fixture struct {
	t     *testing.T
	s     *store.Store
	blobs blob.Store
	dir   string
	owner people.Reach
	clock *storetest.Clock
	// called: workers call a server, which the first of them starts; else they reach the database.
	called    bool
	server    *httptest.Server
	token     string       // of a class, for the server
	serverLog *slog.Logger // of the server; nil: discards
}

// onEachStore runs fn with a fixture on each database at hand, whose workers reach the database.
func onEachStore(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) { fn(t, newFixture(t, s, clock)) })
}

// onEachService runs fn with a fixture on each database at hand, whose workers reach the database, and with one whose
// workers call a server.
func onEachService(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	onEachStore(t, fn)
	t.Run("server", func(t *testing.T) {
		storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
			f := newFixture(t, s, clock)
			f.called = true
			fn(t, f)
		})
	})
}

// serve starts a server for the workers of the fixture, which does the upkeep of the service too.
func (f *fixture) serve() {
	f.t.Helper()
	log := f.serverLog
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ring, err := seal.Parse(strings.Repeat("01", 32))
	if err != nil {
		f.t.Fatal(err)
	}
	f.token = seal.NewFleetToken()
	err = f.s.Workers.CreateFleetToken(context.Background(), storeworkers.FleetToken{
		Kind:  storeworkers.TokenWorker,
		Class: pleat.DefaultClass,
		Hash:  seal.HashKey(f.token),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	blobs := blob.NewMonitor(f.blobs, log)
	gateway := workers.New(workers.Config{
		Store: f.s,
		Blobs: blobs,
		Ring:  ring,
		Log:   log,
		Terms: pleat.WorkerTerms{Progress: 100 * time.Millisecond},
	})
	upkeep := work.Upkeep{Store: f.s, Blobs: blobs, Worker: "server", Clock: f.clock.Now, Log: log}
	f.server = httptest.NewServer(gateway)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { gateway.Run(ctx) })
	running.Go(func() { upkeep.Run(ctx) })
	poller := queue.NewPoller(f.s.DB, f.s.Runs, f.clock.Now, log, func() {})
	running.Go(func() { poller.Run(ctx) })
	f.t.Cleanup(func() {
		gateway.EndWaits()
		f.server.Close()
		cancel()
		running.Wait()
	})
}

// pool makes a worker, and what its process calls after Run.
func (f *fixture) pool(cfg work.Config, reg *engine.Registry) (p *work.Pool, end func()) {
	f.t.Helper()
	if !f.called {
		return work.New(cfg, f.s, f.blobs, reg), func() {}
	}
	if f.server == nil {
		f.serve()
	}
	c := workerapi.NewClient(workerapi.Options{
		Server: f.server.URL,
		Token:  f.token,
		Clock:  f.clock.Now,
		Log:    cfg.Log,
	})
	cfg.ID = pleat.WorkerID(uuid.NewSHA1(uuid.Nil, []byte(cfg.ID)).String())
	return work.NewRemote(cfg, c, c, reg), func() { c.Close(context.Background()) }
}

func newFixture(t *testing.T, s *store.Store, clock *storetest.Clock) *fixture {
	t.Helper()
	f := &fixture{t: t, s: s, dir: t.TempDir(), clock: clock, owner: storetest.User(t, s, "ada")}
	var err error
	if f.blobs, err = blob.Open(context.Background(), "dir:"+filepath.Join(f.dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	return f
}

// start runs a worker with two slots until the test, or the function returned, ends it.
func (f *fixture) start(id string, engines ...engine.Engine) (stop func()) {
	f.t.Helper()
	return f.startWith(id, func(*work.Config) {}, engines...)
}

// startWith is start with a changed configuration.
func (f *fixture) startWith(id string, change func(*work.Config), engines ...engine.Engine) (stop func()) {
	f.t.Helper()
	reg, err := engine.New(slog.New(slog.DiscardHandler), engines...)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := work.Config{
		ID:    pleat.WorkerID(id),
		Host:  "test",
		Clock: f.clock.Now,
		Dir:   filepath.Join(f.dir, "scratch-"+id),
		Slots: 2,
		Log:   slog.New(slog.DiscardHandler),
	}
	change(&cfg)
	p, end := f.pool(cfg, reg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer end()
		if err := p.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	f.t.Cleanup(stop)
	return stop
}

// create queues a fold, whose description each of the functions changes.
func (f *fixture) create(change ...func(n *runs.NewJob)) runs.Created {
	f.t.Helper()
	n := storetest.NewFold(f.owner, "j")
	for _, fn := range change {
		fn(&n)
	}
	return storetest.CreateJob(f.t, f.s, n)
}

// params sets the parameters of a fold.
func params(values map[string]any) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Run.Params.Values = values }
}

// memory sets how many bytes a fold expects to use.
func memory(bytes int64) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Run.Memory = bytes }
}

// named sets the name of a fold.
func named(name string) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Job.Name = name }
}

// sequences sets what is folded.
func sequences(s ...pleat.Sequence) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Job.Sequences, n.Job.Complex = s, len(s) > 1 }
}

// await waits until a job has a state.
func (f *fixture) await(job pleat.JobID, want pleat.State) runs.View {
	f.t.Helper()
	return storetest.AwaitJob(f.t, f.s, job, want)
}

// createWorkflow queues a question, a simulation or an alignment.
func (f *fixture) createWorkflow(owner people.Reach, kind pleat.TaskKind, input string) pleat.WorkflowID {
	f.t.Helper()
	alias, queue := "qna", "qna/analyst"
	switch kind {
	case pleat.TaskMD:
		alias, queue = "md", "md/calvados"
	case pleat.TaskCompare:
		alias, queue = pleat.AliasCompare, pleat.Queue(kind, "compare")
	case pleat.TaskAlign:
		alias, queue = pleat.AliasAlignment, pleat.Queue(kind, pleat.MSAMMseqs2)
	}
	w, err := f.s.Runs.CreateWorkflow(context.Background(), runs.NewWorkflow{
		Workflow: pleat.Workflow{
			Owner: owner.Project,
			Kind:  kind,
			Alias: alias,
			Type:  pleat.WorkflowType(alias),
			Name:  "w",
			Input: json.RawMessage(input),
		},
		Run: runs.RunSpec{Queue: queue, Model: "m", Seed: "11"},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return w.ID
}

// awaitWorkflow waits until a workflow has a state, and returns the row of its result too.
func (f *fixture) awaitWorkflow(id pleat.WorkflowID, want pleat.State) (v runs.WorkflowView, row map[string]any) {
	f.t.Helper()
	v = storetest.AwaitWorkflow(f.t, f.s, id, want)
	row = map[string]any{}
	if v.Run != nil && v.Run.State == pleat.StateCompleted {
		if err := json.Unmarshal(v.Run.Result.Row, &row); err != nil {
			f.t.Fatal(err)
		}
	}
	return v, row
}

// names returns the names of a run's files of a kind, sorted.
func names(v runs.View, kind pleat.ArtifactKind) []string {
	var out []string
	for _, a := range v.Artifacts {
		if a.Kind == kind {
			out = append(out, a.Name)
		}
	}
	slices.Sort(out)
	return out
}

// content reads a stored file.
func (f *fixture) content(all []pleat.Artifact, name string) []byte {
	f.t.Helper()
	i := slices.IndexFunc(all, func(a pleat.Artifact) bool { return a.Name == name })
	if i < 0 {
		f.t.Fatalf("there is no %s", name)
	}
	r, info, err := f.blobs.Open(context.Background(), all[i].Key)
	if err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil || info.Bytes != all[i].Bytes || int64(len(raw)) != all[i].Bytes {
		f.t.Fatalf("%s: %v, %d bytes", name, err, len(raw))
	}
	return raw
}
