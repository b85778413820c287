package workers_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/workerapi"
	"pleat/internal/workerapi/workerapitest"
)

// A worker whose claim was answered to nobody gets the task again, as a new attempt, and no try is spent. The attempt
// that was lost can end nothing.
func TestClaimAnswerLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		p := workerapitest.NewProxy(t, f.url)
		lost := p.On("claim", 1, workerapitest.DropAnswer)
		job := f.create()
		c := f.worker(p.URL)
		got := f.take(c, storetest.FoldQueue)
		if got.Task.Attempt != 2 || got.Task.Run != job.Run {
			t.Fatalf("attempt %d at run %s, want the second at %s", got.Task.Attempt, got.Task.Run, job.Run)
		}
		<-lost.Reached()
		var first workerapi.Claimed
		if err := json.Unmarshal(lost.Answer(), &first); err != nil || len(first.Tasks) != 1 {
			t.Fatalf("the lost answer is %s: %v", lost.Answer(), err)
		}
		end := workerapi.Finish{State: pleat.StateCompleted, Result: &pleat.Result{}}
		if a := f.ask("POST", about(&first.Tasks[0], "finish"), first.Tasks[0].Token, end); a.code != "lost" {
			t.Errorf("the attempt whose claim was lost: %d %s", a.status, a.body)
		}
		file := put(t, c, &got.Task, "model.cif", "abc")
		if err := c.FinishRun(t.Context(), tasks.LeaseOf(&got.Task), completed(file)); err != nil {
			t.Fatal(err)
		}
		if v := f.view(job); v.Run.State != pleat.StateCompleted {
			t.Errorf("the run is %s (%s)", v.Run.State, v.Run.Failure)
		}
	})
}

// A claim that comes twice at once gives the worker its tasks once, and what came to nobody goes back.
func TestClaimRequestLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		p := workerapitest.NewProxy(t, f.url)
		p.On("claim", 1, workerapitest.DropRequest)
		f.create()
		if got := f.take(f.worker(p.URL), storetest.FoldQueue); got.Task.Attempt != 1 {
			t.Errorf("attempt %d, want the first", got.Task.Attempt)
		}
	})
}

// ending is a call about a task whose loss and repetition have no effect.
type ending struct {
	name  string // of the call, the last element of its path
	queue string
	call  func(f *fixture, c *workerapi.Client, k *pleat.Task, file pleat.Artifact) error
}

// endings are the calls that change what a task is.
var endings = []ending{
	{"finish", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, file pleat.Artifact) error {
			return c.FinishRun(f.t.Context(), tasks.LeaseOf(k), completed(file))
		}},
	{"searched", pleat.SearchQueue("null"),
		func(f *fixture, c *workerapi.Client, k *pleat.Task, _ pleat.Artifact) error {
			return c.FinishSearch(f.t.Context(), tasks.LeaseOf(k), runs.SearchCompleted{FoldQueue: "fold/null"})
		}},
	{"release", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, _ pleat.Artifact) error {
			return c.Release(f.t.Context(), tasks.LeaseOf(k), time.Second, nil)
		}},
	{"yield", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, _ pleat.Artifact) error {
			_, err := c.Yield(f.t.Context(), k, runs.Slots{Queues: []string{k.Queue}}, nil)
			return err
		}},
	{"publish", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, file pleat.Artifact) error {
			return c.AddArtifact(f.t.Context(), tasks.LeaseOf(k), file)
		}},
	{"checkpoint", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, file pleat.Artifact) error {
			return c.SaveCheckpoint(f.t.Context(), tasks.LeaseOf(k), pleat.Checkpoint{Key: file.Key, Step: 5})
		}},
	{"msa", storetest.FoldQueue,
		func(f *fixture, c *workerapi.Client, k *pleat.Task, _ pleat.Artifact) error {
			return c.SetMSA(f.t.Context(), tasks.LeaseOf(k), pleat.StateRunning)
		}},
}

// The attempts that have ended, and those that are counted for their projects.
const (
	ended   = "SELECT count(*) FROM attempt WHERE ended_at > 0 AND run_id IS NOT NULL"
	counted = "SELECT COALESCE(sum(attempts), 0) FROM usage_day"
)

// Each call about a task that is lost on its way, whose answer is lost, or that comes twice has the effect of one: as
// many rows in every table, so one event and one delivery of it too.
func TestLostAndRepeatedCalls(t *testing.T) {
	t.Parallel()
	subscribed := func(n *runs.NewJob) {
		n.Subs = []pleat.Subscription{{
			Destination: pleat.DestCustom,
			Alias:       "custom_http",
			TargetType:  "custom_http",
			Settings:    json.RawMessage(`{}`),
			Custom:      &pleat.CustomTarget{Address: storetest.Receiver("https://example.org/")},
		}}
	}
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fixture) {
				p := workerapitest.NewProxy(t, f.url)
				c := f.worker(p.URL)
				var want map[string]int
				for _, fault := range []workerapitest.Fault{
					workerapitest.None, workerapitest.DropRequest, workerapitest.DropAnswer, workerapitest.Twice,
				} {
					job := f.create(inQueue(e.queue), subscribed)
					k := f.take(c, e.queue).Task
					file := put(t, c, &k, "model.cif", "abc")
					before := f.counts()
					p.On(e.name, 1, fault)
					failed := again(t, func() error { return e.call(f, c, &k, file) })
					lost := fault == workerapitest.DropRequest || fault == workerapitest.DropAnswer
					if (failed == 1) != lost {
						t.Errorf("fault %d: the caller saw %d failures", fault, failed)
					}
					added := f.counts()
					for name, n := range before {
						added[name] -= n
					}
					delete(added, "speed")      // sums
					delete(added, "result_use") // sums, in parts that are drawn
					delete(added, "usage_day")  // the same
					if want == nil {
						want = added
					} else if d := cmp.Diff(want, added); d != "" {
						t.Errorf("fault %d: rows (-of one call +of this):\n%s", fault, d)
					}
					if d := cmp.Diff(storetest.Query(t, f.s, ended), storetest.Query(t, f.s, counted)); d != "" {
						t.Errorf("fault %d: attempts that have ended (-) and that are counted (+):\n%s", fault, d)
					}
					if e.name == "finish" && (added["event"] != 1 || added["delivery"] != 1) {
						t.Errorf("fault %d: %d events and %d deliveries", fault, added["event"], added["delivery"])
					}
					f.endJob(job)
				}
			})
		})
	}
}

// endJob cancels a job whose run has not ended, and ends its task, so that it is out of the way.
func (f *fixture) endJob(job runs.Created) {
	f.t.Helper()
	if f.view(job).Run.State.Terminal() {
		return
	}
	if _, err := f.s.Runs.Cancel(f.t.Context(), f.owner, job.Job); err != nil {
		f.t.Fatal(err)
	}
	f.reap(2 * lease)
	if state := f.view(job).Run.State; state != pleat.StateStopped {
		f.t.Fatalf("the job that a test is done with is %s", state)
	}
}

// verbs are all calls about a task, with a body that would be accepted.
var verbs = []struct {
	method, call string
	body         any
}{
	{"POST", "files", workerapi.Upload{Name: "a.cif", Bytes: 3, SHA256: sha("abc")}},
	{"PUT", "files/model.cif", "abc"},
	{"POST", "publish", storedFile},
	{"POST", "checkpoint", workerapi.SaveCheckpoint{Name: "model.cif", Step: 5}},
	{"POST", "msa", workerapi.MSA{State: pleat.StateRunning}},
	{"POST", "others-wait", workerapi.Slots{Queues: []string{pleat.SearchQueue("null")}}},
	{"POST", "cached-result", workerapi.HashOfInput{InputHash: "x"}},
	{"GET", "alignments", nil},
	{"GET", "templates", nil},
	{"GET", "components", nil},
	{"GET", "design", nil},
	{"GET", "source", nil},
	{"POST", "release", workerapi.Release{}},
	{"POST", "yield", workerapi.Yield{Slots: workerapi.Slots{Queues: []string{pleat.SearchQueue("null")}}}},
	{"POST", "searched", workerapi.Searched{FoldQueue: "fold/null"}},
	{"POST", "finish", workerapi.Finish{
		State: pleat.StateCompleted, Result: &pleat.Result{}, Artifacts: []workerapi.File{storedFile}}},
}

// storedFile is the file model.cif with the content «abc».
var storedFile = workerapi.File{Name: "model.cif", Kind: pleat.ArtifactCIF, Bytes: 3, SHA256: sha("abc")}

// store stores the file model.cif of a task.
func (f *fixture) store(t *workerapi.Task) answer {
	f.t.Helper()
	digest := workerapi.DigestOf(sha("abc"))
	return f.ask("PUT", about(t, "files/model.cif"), t.Token, "abc", workerapi.DigestHeader, digest)
}

// A worker that is silent loses its task when its lease ends. Whatever it says of it afterwards is refused, and the
// files that it has stored are garbage.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		queue := pleat.SearchQueue("null")
		job := f.create(inQueue(queue), withTries(2))
		silent := f.session("gpu", newID())
		old := f.claim(silent, queue)
		f.clock.Stop() // the lease must not end by itself
		if a := f.store(&old); a.status != 204 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		heartbeat := func() bool {
			var out workerapi.HeartbeatReply
			f.post(200, "heartbeat", silent, workerapi.Heartbeat{
				Tasks: []workerapi.TaskHeartbeat{{Lease: workerapi.Lease{Task: old.ID, Attempt: 1}}},
			}, &out)
			return out.Tasks[0].Lost
		}
		f.reap(lease - 5*time.Second)
		if heartbeat() {
			t.Fatal("lost before the lease has ended")
		}
		if r := f.reap(lease - 5*time.Second); r.Requeued != 0 {
			t.Fatal("the heartbeat did not renew the lease")
		}
		if r := f.reap(10 * time.Second); r.Requeued != 1 {
			t.Fatalf("reaped %+v, want a task queued again", r)
		}
		next := f.claim(f.session("gpu", newID()), queue)
		if next.ID != old.ID || next.Attempt != 2 {
			t.Fatalf("attempt %d at %s, want the second at %s", next.Attempt, next.ID, old.ID)
		}
		before := storetest.Tables(t, f.s)
		for _, v := range verbs {
			a := f.ask(v.method, about(&old, v.call), old.Token, v.body, workerapi.DigestHeader,
				workerapi.DigestOf(sha("abc")))
			if a.status != 409 || a.code != string(workerapi.CodeLost) {
				t.Errorf("%s %s: %d %s, want that the lease is lost", v.method, v.call, a.status, a.body)
			}
		}
		if d := cmp.Diff(before, storetest.Tables(t, f.s)); d != "" {
			t.Errorf("the silent worker has changed something:\n%s", d)
		}
		if !heartbeat() {
			t.Error("a late heartbeat is not answered with the loss")
		}
		key := runs.ArtifactKey(&pleat.Task{Run: job.Run, Attempt: 1}, "model.cif")
		if garbage, err := f.s.Runs.UnreferencedBlobs(t.Context(), []string{key}); err != nil || len(garbage) != 1 {
			t.Errorf("the file of the lost attempt is no garbage: %v %v", garbage, err)
		}
		f.post(204, about(&next, "searched"), next.Token, workerapi.Searched{FoldQueue: "fold/null"}, nil)
	})
}

// A server that restarts loses nothing: what was claimed before is ended after, and a claim that waited waits on.
func TestRestart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		p := workerapitest.NewProxy(t, f.url)
		c := f.worker(p.URL)
		first := f.create()
		k := f.take(c, storetest.FoldQueue).Task
		news := make(chan struct{}, 1)
		c.SubscribeTo(tasks.QueueTopic("fold/other"), news)
		defer c.Unsubscribe(tasks.QueueTopic("fold/other"), news)
		filter := tasks.ClaimFilter{Queues: []string{"fold/other"}, N: 1}
		held := p.Calls("claim")
		if got, err := c.Claim(t.Context(), "", filter); err != nil || len(got) != 0 {
			t.Fatalf("%d tasks: %v", len(got), err)
		}
		storetest.Eventually(t, "a claim at the server", func() bool { return p.Calls("claim") > held })
		f.stop()
		f.start()
		p.Target(f.url)
		f.create(inQueue("fold/other"))
		<-news
		if got, err := c.Claim(t.Context(), "", filter); err != nil || len(got) != 1 ||
			got[0].Task.Queue != "fold/other" {
			t.Errorf("after the restart: %d tasks, %v", len(got), err)
		}
		if err := c.FinishRun(t.Context(), tasks.LeaseOf(&k), completed()); err != nil {
			t.Fatal(err)
		}
		if s := f.view(first).Run.State; s != pleat.StateCompleted {
			t.Errorf("the run that was claimed before the restart is %s", s)
		}
	})
}

// A file other than the one that the worker announces is refused, and nothing is stored.
func TestWrongUploads(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	f.create()
	task := f.claim(f.session("gpu", newID()), storetest.FoldQueue)
	digest := func(text string) string { return workerapi.DigestOf(sha(text)) }
	for _, c := range []struct{ name, body, header, want string }{
		{"other bytes", "abd", digest("abc"), "the body does not have the SHA-256 of the header Content-Digest"},
		{"no bytes", "", digest("abc"), "the body does not have the SHA-256 of the header Content-Digest"},
		{"no digest", "abc", "", "Content-Digest must be sha-256=:BASE64:, the SHA-256 of the body"},
		{"half a digest", "abc", "sha-256=:YWJj:", "Content-Digest must be sha-256=:BASE64:, the SHA-256 of the body"},
	} {
		header := []string{}
		if c.header != "" {
			header = append(header, workerapi.DigestHeader, c.header)
		}
		a := f.ask("PUT", about(&task, "files/model.cif"), task.Token, c.body, header...)
		if a.status != 400 || a.message() != c.want {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	key := runs.ArtifactKey(&pleat.Task{Run: task.Run, Attempt: 1}, "model.cif")
	if _, err := f.blobs.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("something is stored: %v", err)
	}
	// A request without a length, which a proxy may make of any, is refused before its body is read.
	a := f.ask("PUT", about(&task, "files/model.cif"), task.Token, struct{ *strings.Reader }{strings.NewReader("abc")},
		workerapi.DigestHeader, digest("abc"))
	if a.status != 400 && a.status != 413 {
		t.Errorf("without a length: %d %s", a.status, a.body)
	}
	ok := f.ask("PUT", about(&task, "files/model.cif"), task.Token, "abc", workerapi.DigestHeader, digest("abc"))
	if ok.status != 204 {
		t.Errorf("%d %s", ok.status, ok.body)
	}
}

// A run whose files are not as its worker says is tried again, and fails if no try is left.
func TestFilesAtFinish(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		c := f.worker(f.url)
		for name, spoil := range map[string]func(a pleat.Artifact) error{
			"missing": func(a pleat.Artifact) error { return f.blobs.Delete(t.Context(), a.Key) },
			"changed": func(a pleat.Artifact) error {
				_, err := f.blobs.Put(t.Context(), a.Key, strings.NewReader("other"))
				return err
			},
		} {
			job := f.create(withTries(2))
			for attempt := 1; attempt <= 2; attempt++ {
				k := f.take(c, storetest.FoldQueue).Task
				if k.Attempt != attempt {
					t.Fatalf("%s: attempt %d, want %d", name, k.Attempt, attempt)
				}
				file := put(t, c, &k, "model.cif", "abc")
				if err := spoil(file); err != nil {
					t.Fatal(err)
				}
				if err := c.FinishRun(t.Context(), tasks.LeaseOf(&k), completed(file)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				f.reap(10 * time.Second)
			}
			v := f.view(job)
			if v.Run.State != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailOutputInvalid ||
				len(v.Artifacts) > 0 {
				t.Errorf("%s: the run is %s (%s) with %d files", name, v.Run.State, v.Run.Failure, len(v.Artifacts))
			}
		}
	})
}

// The clock of a worker may be wrong by hours: its progress has the server's time, and its lease lasts as long.
func TestClocksOfWorkers(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			f := onSQLite(t)
			f.clock.Stop()
			job := f.create()
			c := f.worker(f.url, func(o *workerapi.Options) {
				o.Clock = func() time.Time { return f.clock.Now().Add(wrong) }
			})
			k := f.take(c, storetest.FoldQueue).Task
			said := pleat.Progress{
				Kind: pleat.ProgressLog,
				Line: "half",
				At:   f.clock.Now().Add(wrong - 10*time.Second),
			}
			beats := []pleat.Heartbeat{{Task: k.ID, Attempt: 1, Progress: []pleat.Progress{said}}}
			if l, err := c.Heartbeat(t.Context(), "", beats); err != nil || l[0].Lost {
				t.Fatalf("%+v %v", l, err)
			}
			all, err := f.s.Runs.Progress(t.Context(), job.Run, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			last := all[len(all)-1]
			want := f.clock.Now().Add(-10 * time.Second)
			if last.Line != "half" || last.At.Sub(want).Abs() > time.Second {
				t.Errorf("%q at %v, want %v", last.Line, last.At, want)
			}
			if r := f.reap(lease - time.Second); r.Requeued+r.Failed > 0 {
				t.Errorf("the lease has ended too early: %+v", r)
			}
			if r := f.reap(2 * time.Second); r.Failed != 1 {
				t.Errorf("the lease has not ended: %+v", r)
			}
		})
	}
}

// A worker and a server of different versions speak the newest that both know, or the worker is told which is to be
// updated.
func TestProtocolVersions(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	for _, c := range []struct{ newest, oldest, status, spoken int }{
		{1, 1, 200, 1},
		{1, 0, 200, 1},
		{3, 1, 200, 1},
		{3, 2, 426, 0},
		{3, 0, 426, 0}, // without an oldest it speaks the newest alone
		{0, 0, 426, 0},
	} {
		in := workerapi.Registration{Protocol: c.newest, Oldest: c.oldest, Worker: newID(), Version: "9.9"}
		a := f.ask("POST", "register", f.tokens["gpu"], in)
		var out workerapi.Registered
		if err := json.Unmarshal(a.body, &out); err != nil {
			t.Fatal(err)
		}
		if a.status != c.status || out.Protocol != c.spoken {
			t.Errorf("%d to %d: %d %s", c.oldest, c.newest, a.status, a.body)
		}
		if c.status == 426 &&
			(a.code != string(workerapi.CodeVersion) || !strings.Contains(a.message(), "update the one")) {
			t.Errorf("%d to %d: %s %s", c.oldest, c.newest, a.code, a.body)
		}
	}
}

// grease adds fields that nobody knows to a document and to the objects of its lists.
func grease(body []byte) []byte {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	add := func(m map[string]any) { m["grease"], m["Grease2"] = map[string]any{"a": []any{1, "x", nil}}, 7 }
	for _, value := range v {
		list, _ := value.([]any)
		for _, element := range list {
			if m, ok := element.(map[string]any); ok {
				add(m)
			}
		}
	}
	add(v)
	out, _ := json.Marshal(v)
	return out
}

// Fields that the other side does not know are ignored, in both directions.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	p := workerapitest.NewProxy(t, f.url)
	p.Request, p.Answer = grease, grease
	c := f.worker(p.URL)
	if _, err := c.Class(t.Context()); err != nil {
		t.Error(err)
	}
	for _, e := range endings {
		job := f.create(inQueue(e.queue))
		k := f.take(c, e.queue).Task
		file := put(t, c, &k, "model.cif", "abc")
		if l, err := c.Heartbeat(t.Context(), "", []pleat.Heartbeat{{Task: k.ID, Attempt: k.Attempt}}); err != nil ||
			l[0].Lost {
			t.Errorf("%+v %v", l, err)
		}
		if _, err := c.CachedResult(t.Context(), &k, "hash"); err != nil {
			t.Error(err)
		}
		if err := e.call(f, c, &k, file); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		f.endJob(job)
	}
}

// A connection on which nothing comes holds up the call that uses it alone, and that until its time is over.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	p := workerapitest.NewProxy(t, f.url)
	f.create()
	dead := p.On("claim", 2, workerapitest.HalfOpen)
	c := f.worker(p.URL, func(o *workerapi.Options) { o.Timeout = 5 * time.Second })
	k := f.take(c, storetest.FoldQueue).Task
	news := make(chan struct{}, 1)
	c.SubscribeTo(tasks.QueueTopic("fold/other"), news)
	defer c.Unsubscribe(tasks.QueueTopic("fold/other"), news)
	if _, err := c.Claim(t.Context(), "", tasks.ClaimFilter{Queues: []string{"fold/other"}, N: 1}); err != nil {
		t.Fatal(err)
	}
	<-dead.Reached()
	beats := []pleat.Heartbeat{{Task: k.ID, Attempt: 1}}
	if l, err := c.Heartbeat(t.Context(), "", beats); err != nil || l[0].Lost {
		t.Errorf("beside the dead connection: %+v %v", l, err)
	}
	p.On("heartbeat", 1, workerapitest.HalfOpen)
	if _, err := c.Heartbeat(t.Context(), "", beats); pleat.CodeOf(err) != pleat.CodeUnavailable {
		t.Errorf("on the dead connection: %v", err)
	}
	if l, err := c.Heartbeat(t.Context(), "", beats); err != nil || l[0].Lost {
		t.Errorf("after the dead connection: %+v %v", l, err)
	}
}
