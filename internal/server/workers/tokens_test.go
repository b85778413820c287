package workers_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
	"pleat/internal/workerapi"
)

// renewToken makes another token of a class, and waits until it is known.
func (f *fixture) renewToken(class string) {
	f.t.Helper()
	f.tokens[class] = f.newToken(class)
	storetest.Eventually(f.t, "the new token is known", func() bool {
		return f.ask("GET", "class", f.tokens[class], nil).status == 200
	})
}

// A class that was made a moment ago is known when the first of its workers comes.
func TestNewClass(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	f.post(200, "register", f.tokens["gpu"], workerapi.Registration{Protocol: 1, Worker: newID()}, nil)
	if err := f.s.Workers.SetClasses(
		t.Context(), []pleat.Class{{Name: "gpu"}, {Name: "cpu"}, {Name: "new"}},
	); err != nil {
		t.Fatal(err)
	}
	f.renewToken("new")
	f.post(200, "register", f.tokens["new"], workerapi.Registration{Protocol: 1, Worker: newID()}, nil)
}

// calls are all calls with a session, and those with a class's token, with a body that would be accepted.
var (
	classCalls = [][2]string{{"GET", "class"}, {"POST", "register"}}
	calls      = [][2]string{
		{
			"POST",
			"claim",
		}, {"POST", "heartbeat"}, {"POST", "watch"}, {"POST", "fresh"}, {"POST", "drain"}, {"POST", "stop"},
		{
			"POST",
			"deregister",
		}, {"GET", "files"}, {"GET", "blobs/x"}, {"GET", "alignments/a/b"}, {"PUT", "alignments/a/b"},
	}
)

// taskCalls are all calls about a task.
func taskCalls(t *workerapi.Task) (out [][2]string) {
	for _, v := range verbs {
		out = append(out, [2]string{v.method, about(t, v.call)})
	}
	return out
}

// A token is good for the calls of its kind alone, and whoever has none for none.
func TestTokensAreForTheirCalls(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	f.create()
	f.create()
	session := f.session("gpu", newID())
	task, other := f.claim(session, storetest.FoldQueue), f.claim(session, storetest.FoldQueue)
	demand := seal.NewFleetToken()
	if err := f.s.Workers.CreateFleetToken(t.Context(), workers.FleetToken{
		Kind: workers.TokenDemand,
		Hash: seal.HashKey(demand),
	}); err != nil {
		t.Fatal(err)
	}
	foreign, err := seal.Parse(strings.Repeat("02", 32))
	if err != nil {
		t.Fatal(err)
	}
	begin, signature, _ := strings.Cut(session, ".")
	text := strings.TrimPrefix(begin, "pleatsession_")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	changed := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"c":"gpu"`, `"c":"cpu"`, 1)))
	foreignSignature := foreign.Sign("worker token", "pleatsession_", text)
	all := slices.Concat(classCalls, calls, taskCalls(&task))
	before := storetest.Tables(t, f.s)
	for _, c := range []struct {
		name, token string
		calls       [][2]string
	}{
		{"no token", "", all},
		{"nonsense", "nonsense", all},
		{"a token of the demand", demand, all},
		{"a class's token", f.tokens["gpu"], slices.Concat(calls, taskCalls(&task))},
		{"a session", session, slices.Concat(classCalls, taskCalls(&task))},
		{"a task's token", task.Token, slices.Concat(classCalls, calls, taskCalls(&other))},
		{"a session as a task", "pleattask_" + text + "." + signature, all},
		{"a task as a session", "pleatsession_" + strings.TrimPrefix(task.Token, "pleattask_"), all},
		{"another class in a session", "pleatsession_" + changed + "." + signature, all},
		{"a session of another key", begin + "." + foreignSignature, all},
		{"a session without a signature", begin + ".", all},
		{"a session without a dot", begin, all},
		{"a session with more at its end", session + "x", all},
	} {
		for _, call := range c.calls {
			a := f.ask(call[0], call[1], c.token, "{}")
			if a.status != 401 || a.code != "unauthorized" || a.message() != "Unauthorized" {
				t.Errorf("%s: %s %s: %d %s", c.name, call[0], call[1], a.status, a.body)
			}
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %s %s: no WWW-Authenticate", c.name, call[0], call[1])
			}
		}
	}
	if d := cmp.Diff(before, storetest.Tables(t, f.s)); d != "" {
		t.Errorf("a refused call has changed something:\n%s", d)
	}
	f.clock.Advance(25 * time.Hour)
	if a := f.ask("POST", "heartbeat", session, "{}"); a.status != 401 {
		t.Errorf("an expired session: %d %s", a.status, a.body)
	}
}

// A session that is half over gets a new token from a watch.
func TestSessionIsRenewed(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	session := f.session("gpu", newID())
	var out workerapi.Orders
	if f.post(200, "watch", session, workerapi.Watch{}, &out); out.Session != "" {
		t.Error("a new session is renewed")
	}
	f.clock.Advance(13 * time.Hour)
	if f.post(200, "watch", session, workerapi.Watch{}, &out); out.Session == "" {
		t.Fatal("a session that is half over is not renewed")
	}
	f.clock.Advance(13 * time.Hour)
	f.post(401, "heartbeat", session, "{}", nil)
	f.post(200, "heartbeat", out.Session, "{}", nil)
}

// When the token of a class is revoked, its workers are refused within a second, and what they held is queued again
// without a try spent.
func TestRevokedClass(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		job := f.create()
		session := f.session("gpu", newID())
		task := f.claim(session, storetest.FoldQueue)
		cpu := f.session("cpu", newID())
		f.revoke("gpu")
		began := time.Now()
		storetest.Eventually(t, "the session is refused", func() bool {
			return f.ask("POST", "heartbeat", session, "{}").status == 401
		})
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("refused after %v", took)
		}
		for _, c := range classCalls {
			if a := f.ask(c[0], c[1], f.tokens["gpu"], "{}"); a.status != 401 {
				t.Errorf("%s %s: %d", c[0], c[1], a.status)
			}
		}
		for _, c := range calls {
			if a := f.ask(c[0], c[1], session, "{}"); a.status != 401 {
				t.Errorf("%s %s: %d", c[0], c[1], a.status)
			}
		}
		for _, c := range taskCalls(&task) {
			if a := f.ask(c[0], c[1], task.Token, "{}"); a.status != 401 {
				t.Errorf("%s %s: %d", c[0], c[1], a.status)
			}
		}
		f.post(200, "heartbeat", cpu, "{}", nil)
		f.renewToken("gpu")
		next := f.claim(f.session("gpu", newID()), storetest.FoldQueue)
		if next.Run != job.Run || next.Attempt != 2 {
			t.Errorf("attempt %d at %s, want the second at %s", next.Attempt, next.Run, job.Run)
		}
		if v := f.view(job); v.Run.State != pleat.StateRunning {
			t.Errorf("the run is %s (%s)", v.Run.State, v.Run.Failure)
		}
	})
}

// A claim that waits when its class's token is revoked gets no task.
func TestRevokedWhileItWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		session := f.session("gpu", newID())
		answered := make(chan answer)
		go func() {
			answered <- f.ask("POST", "claim", session, `{"asks":[{"queues":["fold/null"],"n":1}],"wait_s":50}`)
		}()
		storetest.Eventually(t, "the claim waits", func() bool {
			return f.s.DB.Subscribed(tasks.QueueTopic(storetest.FoldQueue))
		})
		f.revoke("gpu")
		f.renewToken("gpu")
		storetest.Eventually(t, "the session is refused", func() bool {
			return f.ask("POST", "heartbeat", session, "{}").status == 401
		})
		job := f.create()
		if a := <-answered; a.status != 401 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if next := f.claim(f.session("gpu", newID()), storetest.FoldQueue); next.Run != job.Run {
			t.Errorf("claimed %s, want %s", next.Run, job.Run)
		}
	})
}

// A worker has what its class has, and nothing of another worker's.
func TestWorkersAreApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		job := f.create(inQueue(pleat.SearchQueue("null")))
		id := newID()
		mine, others := f.session("gpu", id), f.session("gpu", newID())
		search := f.claim(mine, pleat.SearchQueue("null"))
		if a := f.store(&search); a.status != 204 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		f.post(204, about(&search, "publish"), search.Token, storedFile, nil)
		f.post(204, about(&search, "searched"), search.Token, workerapi.Searched{FoldQueue: "fold/null"}, nil)
		task := f.claim(mine, storetest.FoldQueue)
		if len(task.Links) != 1 || task.Run != job.Run {
			t.Fatalf("run %s has %d links", task.Run, len(task.Links))
		}
		var link string
		for _, l := range task.Links {
			link = strings.TrimPrefix(l.URL, workerapi.Path)
		}
		if a := f.ask("GET", link, mine, nil); a.status != 200 || string(a.body) != "abc" {
			t.Errorf("the link: %d %s", a.status, a.body)
		}
		f.damage(task.Links)
		if a := f.ask("GET", link, mine, nil); a.status != 409 || a.code != string(workerapi.CodeDamaged) ||
			!strings.Contains(string(a.body), "is damaged: ") {
			t.Errorf("a damaged file: %d %s %s", a.status, a.code, a.body)
		}
		for _, c := range []struct{ name, path, token string }{
			{"another worker's link", link, others},
			{"another class's link", link, f.session("cpu", newID())},
			{"a link with another signature", link + "x", mine},
			{"a link that is not signed", "blobs/" + base64.RawURLEncoding.EncodeToString([]byte(
				`{"k":"runs/x/1/model.cif","w":"`+string(id)+`","e":99999999999}`)) + ".", mine},
		} {
			if a := f.ask("GET", c.path, c.token, nil); a.status != 403 {
				t.Errorf("%s: %d %s", c.name, a.status, a.body)
			}
		}
		// An identity is its class's.
		f.post(409, "register", f.tokens["cpu"], workerapi.Registration{Protocol: 1, Worker: id}, nil)
		direct := newID() // a worker that has the database's address
		if err := f.s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: direct, Class: "gpu"}); err != nil {
			t.Fatal(err)
		}
		f.post(409, "register", f.tokens["gpu"], workerapi.Registration{Protocol: 1, Worker: direct}, nil)
		// So are queues.
		cpu := f.session("cpu", newID())
		ask := workerapi.Ask{Queues: []string{storetest.FoldQueue}, N: 1}
		f.post(400, "claim", cpu, workerapi.Claim{Asks: []workerapi.Ask{ask}}, nil)
		f.post(400, "fresh", cpu, workerapi.Fresh{Own: ask, Fresh: ask}, nil)
		f.post(400, "register", f.tokens["cpu"], workerapi.Registration{
			Protocol: 1, Worker: newID(), Queues: []string{storetest.FoldQueue},
		}, nil)
		// Another worker's heartbeat renews nothing and reports nothing.
		before := storetest.Tables(t, f.s)
		delete(before, "worker") // when it was seen
		heartbeat := workerapi.TaskHeartbeat{Lease: workerapi.Lease{Task: task.ID, Attempt: task.Attempt}}
		heartbeat.Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "not mine"}}
		var reply workerapi.HeartbeatReply
		in := workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{heartbeat}}
		if f.post(200, "heartbeat", others, in, &reply); !reply.Tasks[0].Lost {
			t.Error("another worker's heartbeat is taken")
		}
		// A worker reports no states.
		heartbeat.Progress[0].Kind, heartbeat.Progress[0].State = pleat.ProgressState, pleat.StateCompleted
		f.post(400, "heartbeat", mine, in, nil)
		after := storetest.Tables(t, f.s)
		delete(after, "worker")
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("something has changed:\n%s", d)
		}
	})
}

// damage changes a byte of each file that links name, in the artifact store, and checks what the links say of them.
func (f *fixture) damage(links map[string]workerapi.Link) {
	f.t.Helper()
	for key, l := range links {
		path := filepath.Join(f.dir, filepath.FromSlash(key))
		content, err := os.ReadFile(path)
		if err != nil {
			f.t.Fatal(err)
		}
		if sum := sha256.Sum256(content); l.SHA256 != hex.EncodeToString(sum[:]) || l.Name == "" {
			f.t.Errorf("the link has the name %q and the SHA-256 %q", l.Name, l.SHA256)
		}
		content[0] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// An end is counted under an engine that the class has, whatever the worker says.
func TestInventedEngines(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	session := f.session("gpu", newID())
	for _, engine := range []string{"null", "invented", "analyst", "a\nb", strings.Repeat("x", 1000)} {
		f.create()
		task := f.claim(session, storetest.FoldQueue)
		f.post(204, about(&task, "finish"), task.Token, workerapi.Finish{
			State: pleat.StateCompleted, Result: &pleat.Result{}, Served: engine,
		}, nil)
	}
	want := map[string]float64{"completed null ": 1, "completed none ": 4}
	if d := cmp.Diff(want, storetest.RunsEnded(t, f.s)); d != "" {
		t.Errorf("engines (-want +got):\n%s", d)
	}
}

// Workers of the class default may have any engine, but claim no deliveries and follow-ups.
func TestDefaultClassClaimsWorkOfEngines(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	if err := f.s.Workers.SetDefaultClass(t.Context(), pleat.Class{Name: pleat.DefaultClass}); err != nil {
		t.Fatal(err)
	}
	f.tokens[pleat.DefaultClass] = f.newToken(pleat.DefaultClass)
	session := f.session(pleat.DefaultClass, "01234567-89ab-4def-8123-456789abcdea")
	for queue, want := range map[string]int{"fold/mine": 200, "search/mine": 200, "deliver/x": 400, "follow": 400} {
		f.post(want, "claim", session, workerapi.Claim{Asks: []workerapi.Ask{{Queues: []string{queue}, N: 1}}}, nil)
	}
}
