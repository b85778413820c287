package workers_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/workerapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const class = "far"

// fixture is a service whose workers call a server, over a network that can fail.
type fixture struct {
	*testing.T
	s       *store.Store
	clock   *storetest.Clock
	owner   pleat.UserID
	blobs   *blob.Monitor
	ring    *seal.Ring
	log     *storetest.Log
	token   string
	network *network
	restart func() // replaces the server by a new one at the same address
}

// onEachStore runs fn with a fixture on each database at hand.
func onEachStore(t *testing.T, fn func(f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) { fn(newFixture(t, s, clock)) })
}

func newFixture(t *testing.T, s *store.Store, clock *storetest.Clock) *fixture {
	t.Helper()
	f := &fixture{T: t, s: s, clock: clock, owner: storetest.User(t, s, "ada"), log: &storetest.Log{}}
	var err error
	if f.ring, err = seal.Parse(strings.Repeat("01", 32)); err != nil {
		t.Fatal(err)
	}
	dir, err := blob.OpenDir(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	f.blobs = blob.NewMonitor(dir, slog.New(slog.DiscardHandler))
	err = s.SetClasses(t.Context(), []pleat.Class{
		{
			Name:       class,
			Models:     []pleat.Model{{Name: "null", Kind: pleat.TaskFold, Engine: "null"}},
			Alignments: pleat.AlignmentsNever,
		},
		{Name: "near", Models: []pleat.Model{{Name: "other", Kind: pleat.TaskFold, Engine: "other"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.token = f.newToken(class)
	f.serve()
	return f
}

// newToken makes a token of a class.
func (f *fixture) newToken(of string) string {
	f.Helper()
	token := seal.NewFleetToken()
	err := f.s.CreateFleetToken(f.Context(), store.FleetToken{
		Kind:  store.TokenWorker,
		Class: of,
		Hash:  seal.HashKey(token),
	})
	if err != nil {
		f.Fatal(err)
	}
	if f.network != nil {
		f.awaitToken(token)
	}
	return token
}

// awaitToken waits until the server knows a new token.
func (f *fixture) awaitToken(token string) {
	f.Helper()
	c, err := workerapi.NewClient(workerapi.Options{Server: f.network.url, Token: token, Log: slog.Default()})
	if err != nil {
		f.Fatal(err)
	}
	defer c.Close(f.Context())
	storetest.Eventually(f.T, "a token that is known", func() bool {
		_, err := c.Class(f.Context())
		return err == nil
	})
}

// serve starts a server behind the network.
func (f *fixture) serve() {
	f.network = &network{next: map[string][]fault{}, ended: make(chan struct{})}
	front := httptest.NewServer(f.network)
	stop := f.startGateway()
	f.restart = func() {
		stop()
		stop = f.startGateway()
	}
	f.Cleanup(func() {
		close(f.network.ended)
		front.CloseClientConnections()
		front.Close()
		stop()
	})
	f.network.url = front.URL
}

// startGateway starts a server, to which the network then sends requests.
func (f *fixture) startGateway() (stop func()) {
	g := workers.New(workers.Config{
		Store: f.s,
		Blobs: f.blobs,
		Ring:  f.ring,
		Log:   slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Wait:  time.Minute, // tests end it
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	f.network.mu.Lock()
	f.network.server = g
	f.network.mu.Unlock()
	return func() {
		g.EndWaits()
		cancel()
		running.Wait()
	}
}

// fault is what happens to one call.
type fault int

// The faults of the network.
const (
	dropRequest fault = iota // the server never sees the call
	dropAnswer               // the server answers to nobody
	twice                    // the server sees the call twice
	silent                   // nobody answers, and the connection stays open
)

// network stands between workers and the server.
type network struct {
	url   string
	ended chan struct{}

	mu     sync.Mutex
	server http.Handler
	next   map[string][]fault // by the last part of the path: what happens to the next calls
	calls  []string
}

// fail makes the next calls of a kind fail.
func (n *network) fail(call string, faults ...fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next[call] = append(n.next[call], faults...)
}

// count is how often a call has come.
func (n *network) count(call string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := 0
	for _, name := range n.calls {
		if name == call {
			c++
		}
	}
	return c
}

func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	n.mu.Lock()
	server, what := n.server, fault(-1)
	if list := n.next[name]; len(list) > 0 {
		what, n.next[name] = list[0], list[1:]
	}
	n.calls = append(n.calls, name)
	n.mu.Unlock()
	switch what {
	case dropRequest:
		panic(http.ErrAbortHandler)
	case silent:
		select {
		case <-r.Context().Done():
		case <-n.ended:
		}
		panic(http.ErrAbortHandler)
	case dropAnswer:
		server.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case twice:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		first := r.Clone(r.Context())
		first.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(httptest.NewRecorder(), first)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	server.ServeHTTP(w, r)
}

// worker registers a worker with a token.
func (f *fixture) worker() *worker {
	f.Helper()
	w := &worker{f: f, id: pleat.WorkerID(uuid.Must(uuid.NewV7()).String()), news: make(chan struct{}, 1)}
	var err error
	w.Client, err = workerapi.NewClient(workerapi.Options{
		Server: f.network.url,
		Token:  f.token,
		Clock:  f.clock.Now,
		Log:    slog.New(slog.NewTextHandler(f.log, nil)),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // the server may be gone
		w.Close(ctx)
	})
	w.SubscribeTo(store.QueueTopic(storetest.FoldQueue), w.news)
	if _, err := w.RegisterWorker(f.Context(), w.describe()); err != nil {
		f.Fatal(err)
	}
	return w
}

// worker is one that calls the server.
type worker struct {
	*workerapi.Client
	f    *fixture
	id   pleat.WorkerID
	news chan struct{}
}

// describe is what the worker registers.
func (w *worker) describe() pleat.Worker {
	return pleat.Worker{
		ID:     w.id,
		Host:   "test",
		Queues: []string{storetest.FoldQueue},
		Models: []pleat.Model{{Name: "null", Kind: pleat.TaskFold, Engine: "null"}},
	}
}

// one is room for one fold.
var one = store.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 1}

// claim waits for a task.
func (w *worker) claim() store.ClaimedTask {
	w.f.Helper()
	for {
		got, err := w.Claim(w.f.Context(), w.id, one)
		if err != nil || len(got) > 1 {
			w.f.Fatalf("%d tasks, %v", len(got), err)
		}
		if len(got) == 1 {
			return got[0]
		}
		select {
		case <-w.news:
		case <-time.After(2 * time.Minute):
			w.f.Fatal("no task comes")
		}
	}
}

// create queues a fold.
func (f *fixture) create() store.Created {
	f.Helper()
	return storetest.CreateJob(f.T, f.s, storetest.NewFold(f.owner, "j"))
}

// completed is an outcome without files.
func completed() store.RunFinished {
	end := storetest.Completed()
	end.Artifacts = nil
	return end
}

// outcomes lists how the attempts at all tasks have ended, in their order.
func (f *fixture) outcomes() string {
	f.Helper()
	var out []string
	for _, row := range storetest.Tables(f.T, f.s)["attempt"] {
		out = append(out, strings.Split(row, "|")[5])
	}
	return strings.Join(out, " ")
}
