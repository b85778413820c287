package workers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/workerapi"
)

// again calls fn until the server answers.
func again(t *testing.T, fn func() error) {
	t.Helper()
	var err error
	storetest.Eventually(t, "an answer", func() bool {
		err = fn()
		return pleat.CodeOf(err) != pleat.CodeUnavailable
	})
	if err != nil {
		t.Error(err)
	}
}

// A task whose claim never reached the worker comes again, as a new attempt that spends no try.
func TestLostClaim(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.network.fail("claim", dropRequest, dropAnswer)
		c := f.create()
		w := f.worker()
		got := w.claim()
		if got.Task.Run != c.Run || got.Task.Attempt != 2 || got.Task.Tries != 0 {
			t.Errorf("%+v", got.Task)
		}
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed()) })
		storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		if o := f.outcomes(); o != "released done" {
			t.Errorf("the attempts ended as %s", o)
		}
	})
}

// The end of a run that is told twice, or whose answer is lost, is one end.
func TestLostFinish(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		for _, what := range []fault{dropAnswer, dropRequest, twice} {
			w := f.worker()
			c := f.create()
			got := w.claim()
			f.network.fail("finish", what)
			again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed()) })
			storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		}
		if o, n := f.outcomes(), storetest.Count(f.T, f.s, "event"); o != "done done done" || n != 3 {
			f.Errorf("the attempts ended as %s, with %d events", o, n)
		}
	})
}

// A release, a search and a failure that are told twice count once.
func TestCallsAreRepeated(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		c := f.create()
		got := w.claim()
		f.network.fail("release", dropAnswer)
		again(f.T, func() error { return w.Release(f.Context(), store.LeaseOf(&got.Task), 0, nil) })
		got = w.claim()
		failed := store.RunFinished{State: pleat.StateFailed, Failure: pleat.Failed(pleat.FailStorage, "no")}
		f.network.fail("finish", dropAnswer)
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), failed) })
		f.clock.Advance(time.Hour)
		if _, err := f.s.Reap(f.Context(), f.s.Now()); err != nil {
			f.Fatal(err)
		}
		got = w.claim()
		f.network.fail("msa", twice)
		f.network.fail("heartbeat", twice)
		line := pleat.Progress{Kind: pleat.ProgressLog, Line: "once or twice", At: f.clock.Now()}
		beats := []pleat.Heartbeat{{Task: got.Task.ID, Attempt: got.Task.Attempt, Progress: []pleat.Progress{line}}}
		replies, err := w.Heartbeat(f.Context(), w.id, beats)
		if err != nil || len(replies) != 1 || replies[0].Lost || replies[0].ProgressAfter != 10*time.Second {
			f.Errorf("%+v, %v", replies, err)
		}
		again(f.T, func() error {
			return w.SetMSA(f.Context(), store.LeaseOf(&got.Task), pleat.StateRunning)
		})
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed()) })
		storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		if o := f.outcomes(); o != "released failed done" {
			f.Errorf("the attempts ended as %s", o)
		}
	})
}

// A worker that is silent for too long loses its task. Nothing that it says of it afterwards counts.
func TestSilentWorkerIsFenced(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		c := f.create()
		old := w.claim()
		lease := store.LeaseOf(&old.Task)
		f.clock.Advance(pleat.RemoteLeaseDuration - time.Second)
		if r, err := f.s.Reap(f.Context(), f.s.Now()); err != nil || r.Requeued != 0 {
			f.Fatalf("%+v, %v: the lease lasts %v", r, err, pleat.RemoteLeaseDuration)
		}
		f.clock.Advance(2 * time.Second)
		if r, err := f.s.Reap(f.Context(), f.s.Now()); err != nil || r.Requeued != 1 {
			f.Fatalf("%+v, %v", r, err)
		}
		v := f.worker()
		now := v.claim()
		ctx := f.Context()
		for name, err := range map[string]error{
			"msa":        w.SetMSA(ctx, lease, pleat.StateRunning),
			"checkpoint": f.stored(w, &old, "checkpoint-1.tar"),
			"publish":    f.published(w, &old, "early.txt"),
			"release":    w.Release(ctx, lease, 0, nil),
			"finish":     w.FinishRun(ctx, lease, completed()),
		} {
			if !errors.Is(err, pleat.ErrLost) {
				f.Errorf("%s of a lost task: %v", name, err)
			}
		}
		replies, err := w.Heartbeat(ctx, w.id, []pleat.Heartbeat{{Task: lease.Task, Attempt: lease.Attempt}})
		if err != nil || !replies[0].Lost {
			f.Errorf("%+v, %v", replies, err)
		}
		again(f.T, func() error { return v.FinishRun(ctx, store.LeaseOf(&now.Task), completed()) })
		got := storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		if len(got.Artifacts) != 0 || f.outcomes() != "lost done" {
			f.Errorf("%d files, the attempts ended as %s", len(got.Artifacts), f.outcomes())
		}
	})
}

// stored stores a file of an attempt and names it as its checkpoint.
func (f *fixture) stored(w *worker, c *store.ClaimedTask, name string) error {
	key := store.ArtifactKey(&c.Task, name)
	if _, err := w.Put(f.Context(), key, strings.NewReader("state")); err != nil {
		return err
	}
	return w.SaveCheckpoint(f.Context(), store.LeaseOf(&c.Task), pleat.Checkpoint{Key: key, Step: 1})
}

// published stores a file of an attempt and publishes it.
func (f *fixture) published(w *worker, c *store.ClaimedTask, name string) error {
	info, err := w.Put(f.Context(), store.ArtifactKey(&c.Task, name), strings.NewReader("early"))
	if err != nil {
		return err
	}
	return w.AddArtifact(f.Context(), store.LeaseOf(&c.Task), artifact(info, name))
}

func artifact(info blob.Info, name string) pleat.Artifact {
	return pleat.Artifact{
		Name:        name,
		Kind:        pleat.ArtifactOther,
		ContentType: "text/plain",
		Bytes:       info.Bytes,
		SHA256:      info.SHA256,
		Key:         info.Key,
	}
}

// Files come through whatever the network does to single calls, and the next attempt reads the checkpoint.
func TestFiles(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		c := f.create()
		got := w.claim()
		f.network.fail("files", dropAnswer, dropRequest)
		f.network.fail("publish", dropAnswer)
		f.network.fail("checkpoint", dropAnswer)
		f.network.fail("checkpoint-1.tar", dropRequest)
		again(f.T, func() error { return f.published(w, &got, "early.txt") })
		again(f.T, func() error { return f.stored(w, &got, "checkpoint-1.tar") })
		again(f.T, func() error { return w.Release(f.Context(), store.LeaseOf(&got.Task), 0, nil) })
		got = w.claim()
		in, _, err := w.Open(f.Context(), got.Task.Checkpoint.Key)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || string(raw) != "state" || got.Task.Checkpoint.Step != 1 {
			f.Errorf("%q, step %d, %v", raw, got.Task.Checkpoint.Step, err)
		}
		if _, _, err := w.Open(f.Context(), "runs/x/1/secret"); !errors.Is(err, blob.ErrNotFound) {
			f.Errorf("a file without a link: %v", err)
		}
		info, err := w.Put(f.Context(), store.ArtifactKey(&got.Task, "out.txt"), strings.NewReader("result"))
		if err != nil {
			f.Fatal(err)
		}
		end := completed()
		end.Artifacts = []pleat.Artifact{artifact(info, "out.txt")}
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), end) })
		v := storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		if len(v.Artifacts) != 1 || v.Artifacts[0].Key != info.Key || v.Artifacts[0].SHA256 != info.SHA256 {
			f.Errorf("%+v", v.Artifacts)
		}
	})
}

// A run whose files are not there as the worker says is tried again.
func TestMissingFileFailsTheAttempt(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		f.create()
		got := w.claim()
		end := completed()
		key := store.ArtifactKey(&got.Task, "out.txt")
		said := blob.Info{Key: key, Bytes: 3, SHA256: strings.Repeat("0", 64)}
		end.Artifacts = []pleat.Artifact{artifact(said, "out.txt")}
		if err := w.FinishRun(f.Context(), store.LeaseOf(&got.Task), end); err != nil {
			f.Fatal(err)
		}
		if o := f.outcomes(); o != "failed" || !strings.Contains(f.log.String(), "the file out.txt was not stored") {
			f.Errorf("the attempt ended as %s; the log is\n%s", o, f.log)
		}
	})
}

// A server that ends and comes back costs no lease, nor do claims that it held.
func TestServerRestarts(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		first := f.create()
		got := w.claim()
		idle := f.worker()
		if list, err := idle.Claim(f.Context(), idle.id, one); err != nil || len(list) != 0 {
			f.Fatal(list, err)
		}
		storetest.Eventually(f.T, "a held claim", func() bool { return f.network.count("claim") >= 2 })
		f.restart()
		second := f.create()
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed()) })
		other := idle.claim()
		again(f.T, func() error { return idle.FinishRun(f.Context(), store.LeaseOf(&other.Task), completed()) })
		for _, c := range []store.Created{first, second} {
			storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		}
		if strings.Contains(f.outcomes(), "lost") {
			f.Errorf("the attempts ended as %s", f.outcomes())
		}
	})
}

// A cancel reaches the worker through a call that waits, once, and so does the wish that it drains.
func TestOrders(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		c := f.create()
		got := w.claim()
		orders := make(chan store.WorkerOrders)
		watch := func() {
			go func() {
				o, err := w.WatchWorker(f.Context(), w.id)
				if err != nil {
					f.Error(err)
				}
				orders <- o
			}()
		}
		watch()
		storetest.Eventually(f.T, "a held watch", func() bool { return f.network.count("watch") == 1 })
		if _, err := f.s.Cancel(f.Context(), f.owner, c.Job); err != nil {
			f.Fatal(err)
		}
		want := store.WorkerOrders{Cancel: []pleat.TaskID{got.Task.ID}}
		if d := cmp.Diff(want, <-orders); d != "" {
			f.Error(d)
		}
		watch()
		if _, err := f.s.DrainClass(f.Context(), class); err != nil {
			f.Fatal(err)
		}
		want.Drain = true
		if d := cmp.Diff(want, <-orders); d != "" {
			f.Error(d)
		}
	})
}

// With its class token, the sessions of a worker end. Its task waits for another and has spent no try.
func TestRevokedToken(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		f.create()
		got := w.claim()
		if n, err := f.s.RevokeFleetTokens(f.Context(), store.TokenWorker, class); n != 1 || err != nil {
			f.Fatal(n, err)
		}
		storetest.Eventually(f.T, "the end of the session", func() bool {
			_, err := w.Heartbeat(f.Context(), w.id, nil)
			return err == nil && w.Refused() != nil
		})
		if o, err := w.WatchWorker(f.Context(), w.id); err != nil || !o.Drain {
			f.Errorf("%+v, %v", o, err)
		}
		err := w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed())
		if pleat.CodeOf(err) != pleat.CodeUnauthorized {
			f.Errorf("a revoked worker ended a run: %v", err)
		}
		f.token = f.newToken(class)
		other := f.worker().claim()
		if other.Task.ID != got.Task.ID || other.Task.Tries != 0 || f.outcomes() != "released " {
			f.Errorf("%+v, the attempts ended as %q", other.Task, f.outcomes())
		}
	})
}

// caller sends calls of its own making.
type caller struct {
	*fixture
	session, task string // tokens
	held          store.ClaimedTask
}

// newCaller registers a worker by hand and claims a task for it.
func newCaller(f *fixture) *caller {
	f.Helper()
	c := &caller{fixture: f}
	var r workerapi.Registered
	c.must("POST", "register", f.token, workerapi.Registration{
		Protocol: 1,
		Worker:   "01890000-0000-7000-8000-000000000001",
		Queues:   []string{storetest.FoldQueue},
	}, &r)
	c.session = r.Session
	f.create()
	var claimed workerapi.Claimed
	c.must("POST", "claim", c.session, workerapi.Claim{
		Asks: []workerapi.Ask{{Queues: []string{storetest.FoldQueue}, N: 1}},
		Wait: 50,
	}, &claimed)
	t := claimed.Tasks[0]
	c.task = t.Token
	c.held.Task = pleat.Task{ID: t.ID, Attempt: t.Attempt, Run: t.Run}
	return c
}

// send sends a call and returns the status, the code of the error, and the body.
func (c *caller) send(method, path, token string, body []byte) (int, string, string) {
	c.Helper()
	path = strings.ReplaceAll(path, "TASK", string(c.held.Task.ID))
	req, err := http.NewRequestWithContext(c.Context(), method, c.network.url+workerapi.Path+path,
		bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get(workerapi.CodeHeader), string(raw)
}

// must sends a call that the server has to accept.
func (c *caller) must(method, path, token string, in, out any) {
	c.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		c.Fatal(err)
	}
	status, _, answer := c.send(method, path, token, body)
	if status != http.StatusOK || json.Unmarshal([]byte(answer), out) != nil {
		c.Fatalf("%s %s answers %d: %s", method, path, status, answer)
	}
}

// Each token serves for its own calls alone.
func TestTokens(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		c := newCaller(f)
		near := f.newToken("near")
		foreign, err := seal.Parse(strings.Repeat("02", 32))
		if err != nil {
			f.Fatal(err)
		}
		text, signature, _ := strings.Cut(c.session, ".")
		forged := text + "." + foreign.Sign("worker token", "pleatsession_", strings.TrimPrefix(text, "pleatsession_"))
		other := `{"protocol": 1, "worker": "01890000-0000-7000-8000-000000000001"}`
		for _, k := range []struct {
			name, method, path, token, body string
			status                          int
		}{
			{"class token reads its class", "GET", "class", f.token, "", 200},
			{"class token claims nothing", "POST", "claim", f.token, "{}", 401},
			{"class token has no task", "POST", "tasks/TASK/msa", f.token, `{"state": "RUNNING"}`, 401},
			{"session has no class", "GET", "class", c.session, "", 401},
			{"session has no task", "POST", "tasks/TASK/msa", c.session, `{"state": "RUNNING"}`, 401},
			{"session sends heartbeats", "POST", "heartbeat", c.session, `{}`, 200},
			{"task token is for its task", "POST", "tasks/TASK/msa", c.task, `{"state": "RUNNING"}`, 204},
			{"task token is not for another", "POST", "tasks/01890000-0000-7000-8000-00000000000a/msa", c.task,
				`{"state": "RUNNING"}`, 401},
			{"task token claims nothing", "POST", "claim", c.task, "{}", 401},
			{"no token", "GET", "class", "", "", 401},
			{"a word", "POST", "heartbeat", "pleatsession_x", "{}", 401},
			{"no signature", "POST", "heartbeat", text, "{}", 401},
			{"a changed signature", "POST", "heartbeat", text + ".A" + signature[1:], "{}", 401},
			{"another key's signature", "POST", "heartbeat", forged, "{}", 401},
			{"the identity of another class", "POST", "register", near, other, 409},
		} {
			status, _, body := c.send(k.method, k.path, k.token, []byte(k.body))
			if status != k.status {
				f.Errorf("%s: %d, not %d: %s", k.name, status, k.status, body)
			}
		}
		f.clock.Advance(48 * time.Hour)
		if status, _, body := c.send("POST", "heartbeat", c.session, []byte("{}")); status != 401 {
			f.Errorf("an expired session: %d: %s", status, body)
		}
		for _, secret := range []string{f.token, c.session, c.task, near} {
			if strings.Contains(f.log.String(), secret) {
				f.Errorf("the log shows a token")
			}
		}
	})
}

// What a worker may not say, and what the server answers, is in testdata/refusals.txt. Nothing is changed.
func TestRefusals(t *testing.T) {
	f := newFixture(t, storetest.OpenAt(t, storetest.Databases()["sqlite"](t), &storetest.Clock{}), &storetest.Clock{})
	c := newCaller(f)
	before := storetest.Tables(t, f.s)
	const id = "01890000-0000-7000-8000-000000000001"
	tokens := map[string]string{"class": f.token, "session": c.session, "task": c.task}
	var out strings.Builder
	for _, k := range []struct{ token, method, path, body string }{
		{"class", "POST", "nothing", "{}"},
		{"class", "PUT", "register", "{}"},
		{"class", "POST", "register", ""},
		{"class", "POST", "register", "["},
		{"class", "POST", "register", `{"protocol": "1"}`},
		{"class", "POST", "register", `{"protocol": 0, "worker": "` + id + `"}`},
		{"class", "POST", "register", `{"protocol": 9, "protocol_oldest": 2, "worker": "` + id + `"}`},
		{"class", "POST", "register", `{"protocol": 1, "worker": "w"}`},
		{"class", "POST", "register", `{"protocol": 1, "worker": "` + id + `", "queues": ["fold/null", "fold/other"]}`},
		{"class", "POST", "register", `{"protocol": 1, "worker": "` + id + `", "host": "a\nb"}`},
		{"class", "POST", "register", `{"protocol": 1, "worker": "` + id + `", "memory": -1}`},
		{"session", "POST", "claim", `{"asks": [{"queues": ["fold/other"], "n": 1}]}`},
		{"session", "POST", "claim", `{"asks": [{"queues": ["fold/null"], "n": 1000}]}`},
		{"session", "POST", "claim", `{"asks": [{"queues": ["fold/null"], "n": 1, "memory": -1}]}`},
		{"session", "POST", "claim", `{"asks": [{"queues": ["fold/null"], "n": 1, "left_s": -1}]}`},
		{"session", "POST", "claim", `{"asks": [` + strings.Repeat("{},", 40) + `{}]}`},
		{"session", "POST", "heartbeat", `{"tasks": [{"progress": [{"kind": "state", "state": "COMPLETED"}]}]}`},
		{"session", "POST", "heartbeat", `{"tasks": [{"progress": [{"kind": "log", "line": "` +
			strings.Repeat("x", 5000) + `"}]}]}`},
		{"session", "POST", "watch", strings.Repeat(" ", 70_000) + "{}"},
		{"session", "GET", "blobs/x.y", ""},
		{"session", "GET", "alignments/ab/..", ""},
		{"session", "PUT", "alignments/ab/x.a3m.gz", "x"},
		{"task", "POST", "tasks/TASK/files", `{"name": "../x", "bytes": 1}`},
		{"task", "POST", "tasks/TASK/files", `{"name": "x", "bytes": -1}`},
		{"task", "POST", "tasks/TASK/files", `{"name": "x", "bytes": 1, "sha256": "00"}`},
		{"task", "PUT", "tasks/TASK/files/x", "x"},
		{"task", "POST", "tasks/TASK/publish", `{"name": ".hidden"}`},
		{"task", "POST", "tasks/TASK/publish", `{"name": "x", "sequence": "s"}`},
		{"task", "POST", "tasks/TASK/publish", `{"name": "x"}`},
		{"task", "POST", "tasks/TASK/checkpoint", `{"name": "x"}`},
		{"task", "POST", "tasks/TASK/msa", `{"state": "DONE"}`},
		{"task", "POST", "tasks/TASK/finish", `{}`},
		{"task", "POST", "tasks/TASK/finish", `{"state": "COMPLETED"}`},
		{"task", "POST", "tasks/TASK/finish", `{"state": "FAILED"}`},
		{"task", "POST", "tasks/TASK/finish", `{"state": "COMPLETED", "result": {}, "artifacts": [{"name": "a/b"}]}`},
		{"task", "POST", "tasks/TASK/finish", `{"state": "COMPLETED", "result": {}, "source": "` + id + `"}`},
		{"task", "POST", "tasks/TASK/searched", `{"fold_queue": "fold/null"}`},
		{"task", "POST", "tasks/TASK/yield", `{"queues": ["fold/other"]}`},
		{"task", "POST", "tasks/TASK/others-wait", `{}`},
		{"task", "GET", "tasks/TASK/library", ""},
		{"task", "GET", "tasks/TASK/source", ""},
	} {
		status, code, body := c.send(k.method, k.path, tokens[k.token], []byte(k.body))
		if len(k.body) > 120 {
			k.body = k.body[:60] + "…"
		}
		body = strings.ReplaceAll(body, string(c.held.Task.ID), "TASK")
		fmt.Fprintf(&out, "%s %s %s\n%d %s %s\n\n", k.method, k.path, k.body, status, code, strings.TrimSpace(body))
		if status < 400 || status >= 500 {
			t.Errorf("%s %s %s answers %d", k.method, k.path, k.body, status)
		}
	}
	golden := filepath.Join("testdata", "refusals.txt")
	want, err := os.ReadFile(golden)
	if os.Getenv("PLEAT_UPDATE") != "" {
		err = os.WriteFile(golden, []byte(out.String()), 0o600)
		want = []byte(out.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("%s; write it with PLEAT_UPDATE=1\n%s", golden, d)
	}
	after := storetest.Tables(t, f.s)
	for _, table := range []string{"run", "job", "attempt", "artifact", "event", "run_event"} {
		if d := cmp.Diff(before[table], after[table]); d != "" {
			t.Errorf("%s has changed:\n%s", table, d)
		}
	}
}

// A body that does not have the SHA-256 that its header says is not stored, nor is one that ends early.
func TestUploadsAreChecked(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		c := newCaller(f)
		put := func(digest string, length int64, body string) int {
			req, err := http.NewRequestWithContext(f.Context(), http.MethodPut,
				f.network.url+workerapi.Path+"tasks/"+string(c.held.Task.ID)+"/files/x.txt", strings.NewReader(body))
			if err != nil {
				f.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+c.task)
			req.Header.Set(workerapi.DigestHeader, digest)
			req.ContentLength = length
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return 0
			}
			defer http.DefaultClient.CloseIdleConnections()
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		right := workerapi.DigestOf("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881") // of «x»
		key := store.ArtifactKey(&c.held.Task, "x.txt")
		if got := put(right, 1, "y"); got != 400 {
			f.Errorf("another content: %d", got)
		}
		if got := put(right, 5, "x"); got >= 200 && got < 300 {
			f.Errorf("a body that ends early: %d", got)
		}
		if _, err := f.blobs.Stat(f.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			f.Errorf("something is stored: %v", err)
		}
		if got := put(right, 1, "x"); got != 204 {
			f.Errorf("the right content: %d", got)
		}
		if info, err := f.blobs.Stat(f.Context(), key); err != nil || info.Bytes != 1 {
			f.Errorf("%+v, %v", info, err)
		}
	})
}

// Both sides ignore fields that they do not know, and agree on the older of their newest versions.
func TestVersions(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		c := &caller{fixture: f}
		var r struct{ Protocol int }
		c.must("POST", "register", f.token, map[string]any{
			"protocol":        workerapi.Version + 1,
			"protocol_oldest": workerapi.Version,
			"worker":          "01890000-0000-7000-8000-000000000001",
			"grease":          map[string]any{"unknown": []int{1}},
		}, &r)
		if r.Protocol != workerapi.Version {
			f.Errorf("they agree on %d", r.Protocol)
		}
	})
}

// Workers that wait for the same tasks get different ones; who was busy before comes first. When nobody waits, the
// server listens for nothing.
func TestManyWait(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		const n = 8
		var all []*worker
		for range n {
			w := f.worker()
			if got, err := w.Claim(f.Context(), w.id, one); err != nil || len(got) != 0 {
				f.Fatal(got, err)
			}
			all = append(all, w)
		}
		storetest.Eventually(f.T, "held claims", func() bool { return f.network.count("claim") >= n })
		for range n {
			f.create()
		}
		seen := map[pleat.TaskID]bool{}
		for _, w := range all {
			got := w.claim()
			if seen[got.Task.ID] || got.Task.Attempt != 1 {
				f.Errorf("%s: attempt %d, seen %v", got.Task.ID, got.Task.Attempt, seen[got.Task.ID])
			}
			seen[got.Task.ID] = true
			w.Unsubscribe(store.QueueTopic(storetest.FoldQueue), w.news)
		}
		storetest.Eventually(f.T, "the end of the subscription", func() bool {
			return !f.s.Subscribed(store.QueueTopic(storetest.FoldQueue))
		})
	})
}

// A task that a worker gets but has no room for any more returns to its queue.
func TestUnwantedTaskReturns(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		if _, err := w.Claim(f.Context(), w.id, one); err != nil {
			f.Fatal(err)
		}
		c := f.create()
		<-w.news // it was given, and the worker does not take it
		w.Unsubscribe(store.QueueTopic(storetest.FoldQueue), w.news)
		got := f.worker().claim()
		if got.Task.Run != c.Run || got.Task.Tries != 0 {
			f.Errorf("%+v", got.Task)
		}
		if o := f.outcomes(); o != "released " {
			f.Errorf("the attempts ended as %q", o)
		}
	})
}

// A connection on which nobody answers does not keep the others from working.
func TestSilentConnection(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		w := f.worker()
		c := f.create()
		got := w.claim()
		f.network.fail("heartbeat", silent)
		ctx, cancel := context.WithCancel(f.Context())
		ended := make(chan error)
		beats := []pleat.Heartbeat{{Task: got.Task.ID, Attempt: got.Task.Attempt}}
		go func() {
			_, err := w.Heartbeat(ctx, w.id, beats)
			ended <- err
		}()
		storetest.Eventually(f.T, "a silent call", func() bool { return f.network.count("heartbeat") == 1 })
		if r, err := w.Heartbeat(f.Context(), w.id, beats); err != nil || r[0].Lost {
			f.Errorf("%+v, %v", r, err)
		}
		again(f.T, func() error { return w.FinishRun(f.Context(), store.LeaseOf(&got.Task), completed()) })
		storetest.AwaitJob(f.T, f.s, c.Job, pleat.StateCompleted)
		cancel()
		if err := <-ended; err == nil {
			f.Error("the silent call succeeded")
		}
	})
}

// The clock of a worker may be wrong by hours: times are the server's.
func TestWrongClock(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		for _, off := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
			c := newCaller(f)
			now := f.clock.Now().Add(off)
			progress := []pleat.Progress{{Kind: pleat.ProgressLog, Line: "x", At: now.Add(-3 * time.Second)}}
			var reply workerapi.HeartbeatReply
			c.must("POST", "heartbeat", c.session, workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{{
				Lease:  workerapi.Lease{Task: c.held.Task.ID, Attempt: c.held.Task.Attempt},
				Report: workerapi.Report{Now: now, Progress: progress},
			}}}, &reply)
			all, err := f.s.Progress(f.Context(), c.held.Task.Run, 0, 100)
			i := slices.IndexFunc(all, func(p pleat.Progress) bool { return p.Line == "x" })
			if err != nil || i < 0 {
				f.Fatal(all, err)
			}
			if age := f.s.Now().Sub(all[i].At); age < 2*time.Second || age > time.Minute {
				f.Errorf("a line of 3 s ago is %v old", age)
			}
		}
	})
}

// Whatever comes, no call panics or blames the service.
func FuzzCalls(f *testing.F) {
	calls := []string{
		"register", "claim", "heartbeat", "watch", "fresh", "tasks/TASK/files", "tasks/TASK/publish",
		"tasks/TASK/checkpoint", "tasks/TASK/msa", "tasks/TASK/finish", "tasks/TASK/searched", "tasks/TASK/release",
		"tasks/TASK/yield", "tasks/TASK/others-wait", "tasks/TASK/cached-result",
	}
	for i := range calls {
		f.Add(i, `{"asks": [{"queues": ["fold/null"], "n": 1}], "tasks": [{"task": "x", "attempt": 1}]}`, "x")
		f.Add(i, `{"state": "FAILED", "failure": {}, "worker": "01890000-0000-7000-8000-000000000001", "protocol": 1}`,
			"pleatsession_e30.AAAA")
	}
	f.Fuzz(func(t *testing.T, call int, body, token string) {
		fix := newFixture(t, storetest.OpenAt(t, storetest.Databases()["sqlite"](t), &storetest.Clock{}),
			&storetest.Clock{})
		c := newCaller(fix)
		path := calls[((call%len(calls))+len(calls))%len(calls)]
		own := map[bool]string{true: c.task, false: c.session}[strings.HasPrefix(path, "tasks/")]
		if path == "register" {
			own = fix.token
		}
		for _, token := range []string{own, strings.Map(printable, token)} {
			if strings.Contains(body, "wait_s") {
				t.Skip() // it would wait
			}
			if status, _, answer := c.send("POST", path, token, []byte(body)); status >= 500 {
				t.Errorf("%s answers %d: %s", path, status, answer)
			}
		}
	})
}

// printable drops what a header cannot hold.
func printable(r rune) rune {
	if r < '!' || r > '~' {
		return -1
	}
	return r
}
