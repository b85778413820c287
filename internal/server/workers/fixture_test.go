package workers_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	storeworkers "pleat/internal/store/workers"
	"pleat/internal/workerapi"
	"pleat/internal/workerapi/workerapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// update: the golden files are written, not compared.
var update = os.Getenv("UPDATE_GOLDEN") != ""

// lease is how long a worker of a fixture holds a task without a heartbeat.
const lease = pleat.RemoteLeaseDuration

// fixture is a gateway on a store, with two classes: gpu folds with the model «null», cpu answers questions.
type fixture struct {
	t     testing.TB
	s     *store.Store
	clock *storetest.Clock
	blobs *blob.Monitor
	dir   string
	ring  *seal.Ring
	owner people.Reach
	log   *storetest.Log

	url     string
	serving *workers.Gateway // at url
	stop    func()           // the server
	tokens  map[string]string
}

// each runs fn with a fixture on each database at hand.
func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) { fn(t, newFixture(t, s, clock)) })
}

// onSQLite returns a fixture for a test to which the database does not matter.
func onSQLite(t testing.TB) *fixture {
	t.Helper()
	clock := &storetest.Clock{}
	return newFixture(t, storetest.OpenAt(t, "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"), clock), clock)
}

func newFixture(t testing.TB, s *store.Store, clock *storetest.Clock) *fixture {
	t.Helper()
	f := &fixture{
		t:      t,
		s:      s,
		clock:  clock,
		dir:    t.TempDir(),
		owner:  storetest.User(t, s, "ada"),
		log:    &storetest.Log{},
		tokens: map[string]string{},
	}
	b, err := blob.Open(context.Background(), "dir:"+f.dir)
	if err != nil {
		t.Fatal(err)
	}
	f.blobs = blob.NewMonitor(b, slog.New(slog.DiscardHandler))
	f.blobs.CompareWith(s.Runs.StoredFile)
	if f.ring, err = seal.Parse(strings.Repeat("01", 32)); err != nil {
		t.Fatal(err)
	}
	if err := s.Workers.SetClasses(context.Background(), []pleat.Class{
		{Name: "gpu", Models: []pleat.Model{
			{Name: "null", Kind: pleat.TaskFold, Engine: "null", Features: []pleat.Feature{pleat.FeatureMSA}},
			{Name: "other", Kind: pleat.TaskFold, Engine: "null"},
		}},
		{Name: "cpu", Models: []pleat.Model{{Name: "analyst", Kind: pleat.TaskQnA, Engine: "analyst"}}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"gpu", "cpu"} {
		f.tokens[class] = f.newToken(class)
	}
	t.Cleanup(f.checkLog)
	f.start()
	return f
}

// newToken makes a token of a class.
func (f *fixture) newToken(class string) string {
	f.t.Helper()
	token := seal.NewFleetToken()
	if err := f.s.Workers.CreateFleetToken(context.Background(), storeworkers.FleetToken{
		Kind:  storeworkers.TokenWorker,
		Class: class,
		Hash:  seal.HashKey(token),
	}); err != nil {
		f.t.Fatal(err)
	}
	return token
}

// checkLog fails the test if a secret is in the log.
func (f *fixture) checkLog() {
	for _, begin := range []string{"pleatfleet_", "pleatsession_", "pleattask_"} {
		if strings.Contains(f.log.String(), begin) {
			f.t.Errorf("a secret (%s…) is in the log:\n%s", begin, f.log)
		}
	}
}

// gateway makes a gateway, which the caller runs.
func (f *fixture) gateway() *workers.Gateway {
	return workers.New(workers.Config{
		Store: f.s,
		Blobs: f.blobs,
		Ring:  f.ring,
		Log:   slog.New(slog.NewTextHandler(f.log, nil)),
		Terms: pleat.WorkerTerms{Progress: 100 * time.Millisecond},
	})
}

// start starts a server, until the test or f.stop ends it.
func (f *fixture) start() {
	f.t.Helper()
	g := f.gateway()
	f.serving = g
	server := httptest.NewServer(g)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	f.url = server.URL
	f.stop = sync.OnceFunc(func() {
		g.EndWaits()
		server.Close()
		cancel()
		running.Wait()
	})
	f.t.Cleanup(f.stop)
}

// clientLog writes what a client logs to the test's own log, in which no secret may be.
func (f *fixture) clientLog() *slog.Logger { return slog.New(slog.NewTextHandler(f.log, nil)) }

// client makes a client of a class, which calls a server or a proxy at a URL.
func (f *fixture) client(url, class string, change ...func(o *workerapi.Options)) *workerapi.Client {
	f.t.Helper()
	o := workerapi.Options{Server: url, Token: f.tokens[class], Clock: f.clock.Now, Log: f.clientLog()}
	for _, fn := range change {
		fn(&o)
	}
	c := workerapi.NewClient(o)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// worker makes a client that has registered as a new worker of the class gpu.
func (f *fixture) worker(url string, change ...func(o *workerapi.Options)) *workerapi.Client {
	f.t.Helper()
	c := f.client(url, "gpu", change...)
	f.registerAs(c, newID())
	return c
}

// registerAs registers a worker.
func (f *fixture) registerAs(c *workerapi.Client, id pleat.WorkerID) {
	f.t.Helper()
	w := pleat.Worker{ID: id, Host: "node1", Queues: []string{storetest.FoldQueue}}
	if _, err := c.RegisterWorker(f.t.Context(), w); err != nil {
		f.t.Fatal(err)
	}
}

func newID() pleat.WorkerID { return pleat.WorkerID(uuid.NewString()) }

// create queues a fold that fails for good when a try is spent.
func (f *fixture) create(change ...func(n *runs.NewJob)) runs.Created {
	f.t.Helper()
	n := storetest.NewFold(f.owner, "j")
	n.Run.Tries = 1
	for _, fn := range change {
		fn(&n)
	}
	return storetest.CreateJob(f.t, f.s, n)
}

func inQueue(queue string) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Run.Queue = queue }
}

func withTries(tries int) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Run.Tries = tries }
}

// take waits until a client is given a task of a queue.
func (f *fixture) take(c *workerapi.Client, queue string) runs.ClaimedTask {
	f.t.Helper()
	news := make(chan struct{}, 1)
	c.SubscribeTo(tasks.QueueTopic(queue), news)
	defer c.Unsubscribe(tasks.QueueTopic(queue), news)
	patience := time.After(time.Minute)
	for {
		got, err := c.Claim(f.t.Context(), "", tasks.ClaimFilter{Queues: []string{queue}, N: 1})
		if err != nil {
			f.t.Fatal(err)
		}
		if len(got) > 0 {
			return got[0]
		}
		select {
		case <-news:
		case <-patience:
			f.t.Fatalf("no task of %s came; the log:\n%s", queue, f.log)
		}
	}
}

// put stores a file of a task, and returns the artifact that it is.
func put(t testing.TB, c *workerapi.Client, k *pleat.Task, name, content string) pleat.Artifact {
	t.Helper()
	info, err := c.Put(t.Context(), runs.ArtifactKey(k, name), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return pleat.Artifact{
		Name:        name,
		Kind:        pleat.ArtifactCIF,
		ContentType: "chemical/x-mmcif",
		Bytes:       info.Bytes,
		SHA256:      info.SHA256,
		Key:         info.Key,
	}
}

// completed is how a run ends with some files.
func completed(files ...pleat.Artifact) runs.RunFinished {
	f := storetest.Completed()
	f.Artifacts = files
	return f
}

// again repeats a call while it fails in a way that may pass, as a worker does.
func again(t testing.TB, fn func() error) (failed int) {
	t.Helper()
	for {
		err := fn()
		switch {
		case err == nil:
			return failed
		case pleat.CodeOf(err) != pleat.CodeUnavailable || failed == 10:
			t.Fatalf("after %d failures: %v", failed, err)
		}
		failed++
	}
}

// counts returns how many rows each table has.
func (f *fixture) counts() map[string]int {
	f.t.Helper()
	out := map[string]int{}
	for name, rows := range storetest.Tables(f.t, f.s) {
		out[name] = len(rows)
	}
	return out
}

// answer is that of a call by hand.
type answer struct {
	status int
	code   string // of the header
	header http.Header
	body   []byte
}

// message is the sentence of a refusal.
func (a answer) message() string {
	var e workerapi.Error
	_ = json.Unmarshal(a.body, &e)
	return e.Message
}

// ask makes a call by hand: in is a text, bytes, or what becomes JSON; nil: no body.
func (f *fixture) ask(method, path, token string, in any, header ...string) answer {
	f.t.Helper()
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case string:
		body = strings.NewReader(in)
	case []byte:
		body = bytes.NewReader(in)
	case io.Reader:
		body = in
	default:
		raw, err := json.Marshal(in)
		if err != nil {
			f.t.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+workerapitest.Path(path), body)
	if err != nil {
		f.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := byHand.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get(workerapi.CodeHeader), resp.Header, raw}
}

// byHand sends the calls of ask.
var byHand = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post is ask for a POST that must be answered as expected.
func (f *fixture) post(want int, path, token string, in, out any) answer {
	f.t.Helper()
	a := f.ask("POST", path, token, in)
	if a.status != want {
		f.t.Fatalf("POST %s: %d %s %s, want %d", path, a.status, a.code, a.body, want)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			f.t.Fatal(err)
		}
	}
	return a
}

// session registers a worker by hand, and returns the token of its session.
func (f *fixture) session(class string, id pleat.WorkerID) string {
	f.t.Helper()
	var out workerapi.Registered
	f.post(200, "register", f.tokens[class], workerapi.Registration{Protocol: 1, Worker: id, Host: "node1"}, &out)
	return out.Session
}

// claim claims a task by hand. There must be one.
func (f *fixture) claim(session, queue string) workerapi.Task {
	f.t.Helper()
	var out workerapi.Claimed
	f.post(200, "claim", session, workerapi.Claim{
		Asks: []workerapi.Ask{{Queues: []string{queue}, N: 1}},
		Wait: 30,
	}, &out)
	if len(out.Tasks) != 1 {
		f.t.Fatalf("claimed %d tasks", len(out.Tasks))
	}
	return out.Tasks[0]
}

// about is the path of a call about a task.
func about(t *workerapi.Task, call string) string { return "tasks/" + string(t.ID) + "/" + call }

// sha is the SHA-256 of a text in hexadecimal.
func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// reap moves the clock ahead, and ends leases and delays.
func (f *fixture) reap(ahead time.Duration) runs.Reaped {
	f.t.Helper()
	f.clock.Advance(ahead)
	r, err := f.s.Runs.Reap(context.Background(), f.s.DB.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// view reads a job and its run, with its files.
func (f *fixture) view(c runs.Created) runs.View {
	f.t.Helper()
	v, err := f.s.Runs.View(context.Background(), c.Job)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// golden compares a text with a file of testdata; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}
