package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/work"
)

// ask queues a question of a user and waits for its end.
func (f *fixture) ask(owner people.Reach, want pleat.State, format string, args ...any) (runs.WorkflowView,
	map[string]any) {
	f.t.Helper()
	return f.awaitWorkflow(f.createWorkflow(owner, pleat.TaskQnA, fmt.Sprintf(format, args...)), want)
}

// wantRefusal asks a question that must fail with a message that has a text.
func (f *fixture) wantRefusal(owner people.Reach, message, format string, args ...any) {
	f.t.Helper()
	v, _ := f.ask(owner, pleat.StateFailed, format, args...)
	if !strings.Contains(v.Run.Failure.Message, message) {
		f.t.Errorf("%s: %v", fmt.Sprintf(format, args...), v.Run.Failure)
	}
}

// target is what the answer to a question says about the structure that was asked about.
type target struct{ Source, Ref, File string }

// wantAnswer compares the row of an answered question.
func wantAnswer(t *testing.T, row map[string]any, text string, want target) {
	t.Helper()
	if got := fmt.Sprint(row["answer"]); !strings.Contains(got, text) {
		t.Errorf("the answer %q does not have %q", got, text)
	}
	got := target{fmt.Sprint(row["targetSource"]), fmt.Sprint(row["targetRef"]), fmt.Sprint(row["fileName"])}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// wantUnnamed compares the files of a workflow with the ids of the fold that it is about: the files are public with the
// workflow, though the fold may be private.
func (f *fixture) wantUnnamed(v runs.WorkflowView, fold runs.Created) {
	f.t.Helper()
	for _, a := range v.Artifacts {
		raw := f.content(v.Artifacts, a.Name)
		for _, id := range []string{string(fold.Job), string(fold.Run), string(fold.Sequences[0])} {
			if bytes.Contains(raw, []byte(id)) {
				f.t.Errorf("%s holds the id %s of the fold", a.Name, id)
			}
		}
	}
}

func TestWorkflowsOfAFold(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		f.start("w", trpCage(t), builtin.Analyst{}, builtin.Calvados{Workers: 1})
		private, public := f.create(), f.create(func(n *runs.NewJob) { n.Job.Public = true })
		f.await(private.Job, pleat.StateCompleted)
		f.await(public.Job, pleat.StateCompleted)

		v, row := f.ask(f.owner, pleat.StateCompleted,
			`{"question":"How many residues does the protein have?","source_job_id":%q}`, private.Job)
		wantAnswer(t, row, "20", target{
			Source: "fold_job",
			Ref:    fmt.Sprintf("fold_job/%s/%s/%s", private.Job, private.Run, private.Sequences[0]),
			File:   "model.cif",
		})
		f.wantUnnamed(v, private)
		if len(v.Artifacts) != 4 || v.Run.Engine != "analyst 3" {
			t.Errorf("%d files by the engine %q", len(v.Artifacts), v.Run.Engine)
		}
		if _, ok := v.Run.Result.Timings["queue"]; !ok {
			t.Error("no time in the queue")
		}
		facts := f.content(v.Artifacts, "facts.json")
		for _, want := range []string{
			`"predicted": true`, `"affinity_pred_value": -1.5`, `"mean_plddt": 95`,
			`"title": "No confidence given"`, `"pae":`,
		} {
			if !bytes.Contains(facts, []byte(want)) {
				t.Errorf("the facts lack %s", want)
			}
		}

		md := f.createWorkflow(f.owner, pleat.TaskMD, fmt.Sprintf(
			`{"sourceType":"fold_job","sourceJobId":%q,"sourceJobRunId":%q,"step_size_ns":0.0005,"sim_length_ns":0.005}`,
			private.Job,
			private.Run,
		))
		v, row = f.awaitWorkflow(md, pleat.StateCompleted)
		f.wantUnnamed(v, private)
		metrics := row["metrics"].(map[string]any)
		if metrics["residues"] != 20.0 || metrics["restraints"].(float64) == 0 {
			t.Errorf("metrics %v", metrics)
		}
		if listed := row["artifacts"].([]any); len(listed) != len(v.Artifacts) {
			t.Errorf("%d files, of which the row lists %d", len(v.Artifacts), len(listed))
		}
		eve := storetest.User(t, f.s, "eve")
		f.wantRefusal(eve, "is not the caller's", `{"question":"What is it?","source_job_id":%q}`, private.Job)
		f.ask(eve, pleat.StateCompleted, `{"question":"How many chains are there?","source_job_id":%q}`, public.Job)
		f.wantRefusal(f.owner, "which is not a run of the job",
			`{"question":"What?","source_job_id":%q,"source_job_run_id":%q}`, private.Job, public.Run)
	})
}

// structureServer serves the measured structure of crambin as that of the PDB id 1CRN.
func structureServer(t *testing.T, crambin []byte) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pdb/1CRN.pdb":
			_, _ = w.Write(crambin)
		case "/pdb/9BIG.pdb":
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		default:
			w.WriteHeader(404)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestWorkflowsOfFiles(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
		if err != nil {
			t.Fatal(err)
		}
		srv := structureServer(t, crambin)
		f.startWith("w", func(c *work.Config) { c.ArchiveURLs.PDB = srv.URL + "/pdb/{id}.pdb" }, builtin.Analyst{})
		item := f.libraryFile("my crambin.PDB", crambin)

		_, row := f.ask(f.owner, pleat.StateCompleted,
			`{"question":"How many disulfide bonds are there?","targetSource":"library","libraryItemId":%q}`, item)
		wantAnswer(t, row, "3", target{"library", "library/" + string(item), "structure.pdb"})
		_, row = f.ask(f.owner, pleat.StateCompleted,
			`{"question":"How many residues does the protein have?","targetSource":"pdb","pdbId":"1crn"}`)
		wantAnswer(t, row, "46", target{"pdb", "pdb/1CRN", "1crn.pdb"})
		for input, want := range map[string]string{
			`{"question":"q","targetSource":"pdb","pdbId":"9XYZ"}`:           "there is no structure of the PDB id 9XYZ",
			`{"question":"q","targetSource":"pdb","pdbId":"9BIG"}`:           "answered 302",
			`{"question":"q","targetSource":"uniprot","uniprotId":"P0CG47"}`: "does not allow this service to fetch structures by UniProt id",
			fmt.Sprintf(`{"question":"q","files":{"pdb":{"libraryItemId":%q,"fileName":"other.pdb"}}}`,
				item): `has no structure file named "other.pdb"`,
		} {
			f.wantRefusal(f.owner, want, "%s", input)
		}
		f.wantRefusal(storetest.User(t, f.s, "eve"), "is not the caller's", `{"question":"q","libraryItemId":%q}`, item)
	})
}

// interrupted is an engine for dynamics that stands still once it has stored a checkpoint, until it is interrupted.
type interrupted struct {
	builtin.Calvados
	paused chan int64 // gets the step of the checkpoint
}

func (e interrupted) Run(ctx context.Context, w pleat.Work, s pleat.Sink) pleat.Output {
	return e.Calvados.Run(ctx, w, &interruptedSink{s, ctx, e.paused})
}

type interruptedSink struct {
	pleat.Sink
	ctx    context.Context
	paused chan int64
}

func (s *interruptedSink) Checkpoint(path string, step int64) error {
	err := s.Sink.Checkpoint(path, step)
	if s.ctx.Err() == nil {
		s.paused <- step
		<-s.ctx.Done()
	}
	return err
}

const steps30000 = `{"sequence":"DSHAKRHHGYKRKFHEKHHSHRGY","step_size_ns":0.005,"sim_length_ns":0.3}`

// A simulation that a worker's shutdown interrupts continues at another worker, from the last checkpoint.
func TestDynamicsMovesToAnotherWorker(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		paused := make(chan int64, 1)
		stop := f.start("first", interrupted{builtin.Calvados{Workers: 1, CheckpointInterval: -1}, paused})
		id := f.createWorkflow(f.owner, pleat.TaskMD, steps30000)
		step := float64(<-paused)
		stop()
		if v, err := f.s.Runs.WorkflowView(context.Background(), id); err != nil ||
			v.Workflow.State != pleat.StateRunning {
			t.Fatalf("after the shutdown it is %s, %v", v.Workflow.State, err)
		}
		f.start("second", builtin.Calvados{Workers: 1})
		v, row := f.awaitWorkflow(id, pleat.StateCompleted)
		metrics := row["metrics"].(map[string]any)
		if from := metrics["resumed_from_step"].(float64); from < step || from >= 30_000 {
			t.Errorf("stopped at step %v, resumed from step %v", step, from)
		}
		if metrics["steps"] != 30_000.0 || metrics["frames"] != 60.0 {
			t.Errorf("metrics %v", metrics)
		}
		if size := len(f.content(v.Artifacts, "trajectory.dcd")); size < 60*24*12 {
			t.Errorf("a trajectory of %d bytes", size)
		}
	})
}

// The checkpoint of a worker that died is passed to the next worker, whichever that is.
func TestCheckpointOfADeadWorker(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		id := f.createWorkflow(f.owner, pleat.TaskMD, steps30000)
		task := storetest.Claim(t, f.s, "dead", "md/calvados").Task
		key := "runs/" + string(task.Run) + "/1/checkpoint-7.bin"
		if _, err := f.blobs.Put(ctx, key, strings.NewReader("so far")); err != nil {
			t.Fatal(err)
		}
		if err := f.s.Runs.SaveCheckpoint(ctx, tasks.LeaseOf(&task), pleat.Checkpoint{Key: key, Step: 7}); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(pleat.LeaseDuration + time.Second)
		type resumed struct {
			Attempt int
			Step    int64
			Content string
		}
		f.start("next", simulator{func(w pleat.Work) pleat.Output {
			raw, err := os.ReadFile(w.Resume)
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(resumed{2, 7, "so far"}, resumed{w.Attempt, w.Step, string(raw)}); d != "" {
				t.Error(d)
			}
			return pleat.Output{Result: &pleat.Result{}, Row: json.RawMessage(`{"artifacts":[]}`)}
		}})
		f.awaitWorkflow(id, pleat.StateCompleted)
	})
}

func TestFollowUpsStartOnce(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		for _, id := range []string{"a", "b"} {
			f.start(id, trpCage(t), builtin.Analyst{}, builtin.Calvados{Workers: 1})
		}
		const md = `{"enabled":true,"preset":"single_idr_fasta","temp":300,"step_size_ns":0.0005,"sim_length_ns":0.005}`
		const question = `{"enabled":true,"initial_question":"How many residues does the protein have?"}`
		good := f.create(proteins("NLYIQWLKDGGPSSGRPPPS"), followedBy(pleat.DestQnA, "evolla", question),
			followedBy(pleat.DestMD, "md", md))
		bad := f.create(named("bad"), followedBy(pleat.DestQnA, "qna", question), followedBy(pleat.DestMD, "md", md))
		draft := f.create(followedBy(pleat.DestQnA, "qna", `{"enabled":true}`),
			followedBy(pleat.DestMD, "openmm", `{"enabled":true,"preset":"all_atom"}`))
		f.await(good.Job, pleat.StateCompleted)
		f.await(draft.Job, pleat.StateCompleted)
		f.await(bad.Job, pleat.StateFailed)

		ended := f.endedFollowUps(4)
		v, row := f.awaitWorkflow(pleat.WorkflowID(ended[followUp{good.Job, pleat.DestQnA}].Triggered),
			pleat.StateCompleted)
		if d := cmp.Diff(pleat.FoldRef{Job: good.Job, Run: good.Run, Sequence: good.Sequences[0]},
			v.Workflow.Source); d != "" || v.Workflow.Type != "evolla_v1" {
			t.Errorf("the type %s, %s", v.Workflow.Type, d)
		}
		if got := fmt.Sprint(row["answer"]); !strings.Contains(got, "20") {
			t.Errorf("the answer is %q", got)
		}
		v, row = f.awaitWorkflow(pleat.WorkflowID(ended[followUp{good.Job, pleat.DestMD}].Triggered),
			pleat.StateCompleted)
		if metrics := row["metrics"].(map[string]any); metrics["frames"] != 10.0 || metrics["residues"] != 20.0 {
			t.Errorf("metrics %v", metrics)
		}
		if got := f.content(v.Artifacts, "config.json"); !bytes.Contains(got, []byte(`"temp": 300`)) {
			t.Errorf("the configuration is %s", got)
		}
		f.awaitWorkflow(pleat.WorkflowID(ended[followUp{draft.Job, pleat.DestQnA}].Triggered), pleat.StateDraft)
		d := ended[followUp{draft.Job, pleat.DestMD}]
		if d.Status != pleat.DeliveryFailed || d.Triggered != "" ||
			!strings.Contains(d.Reason, "needs the engine openmm") {
			t.Errorf("%+v", d)
		}
		if n := storetest.Count(t, f.s, "workflow"); n != 3 {
			t.Errorf("%d workflows", n)
		}
	})
}

// While the disk is almost full, a fold ends well, and its follow-up waits for space.
func TestFollowUpsWaitForDisk(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		var checks atomic.Int64
		stop := f.startWith("full", func(c *work.Config) {
			c.Disk = &blob.Disk{Folders: []string{t.TempDir()}, Least: 1 << 60, Log: c.Log, Clock: func() time.Time {
				checks.Add(1)
				return f.clock.Now()
			}}
		}, trpCage(t), builtin.Analyst{})
		job := f.create(followedBy(pleat.DestQnA, "qna", `{"enabled":true,"initial_question":"How many residues?"}`))
		f.await(job.Job, pleat.StateCompleted)
		seen := checks.Load()
		storetest.Eventually(t, "a further look at the disk", func() bool { return checks.Load() > seen+1 })
		if n := storetest.Count(t, f.s, "workflow"); n != 0 {
			t.Errorf("%d workflows were started", n)
		}
		stop()
		f.start("empty", trpCage(t), builtin.Analyst{})
		if d := f.endedFollowUps(1)[followUp{job.Job, pleat.DestQnA}]; d.Status != pleat.DeliverySucceeded {
			t.Errorf("%+v", d)
		}
	})
}

// followUp names the workflow that a fold starts at a destination.
type followUp struct {
	job         pleat.JobID
	destination pleat.Destination
}

// followedBy subscribes a fold to a workflow with settings.
func followedBy(destination pleat.Destination, alias, settings string) func(n *runs.NewJob) {
	return func(n *runs.NewJob) {
		n.Subs = append(n.Subs, pleat.Subscription{
			Destination: destination,
			Alias:       alias,
			TargetType:  pleat.WorkflowType(alias),
			Settings:    json.RawMessage(settings),
		})
	}
}

// endedFollowUps waits until n follow-ups of the owner's folds, and no others, have started or failed.
func (f *fixture) endedFollowUps(n int) map[followUp]webhooks.Delivery {
	f.t.Helper()
	out := map[followUp]webhooks.Delivery{}
	storetest.Eventually(f.t, fmt.Sprint(n, " follow-ups"), func() bool {
		all, err := f.s.Webhooks.Deliveries(context.Background(), f.owner, webhooks.DeliveryFilter{Limit: 20})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range all {
			if d.Status == pleat.DeliverySucceeded || d.Status == pleat.DeliveryFailed {
				out[followUp{d.Source.Job, d.Destination}] = d
			}
		}
		return len(all) == n && len(out) == n
	})
	return out
}

// libraryFile adds an item with one file to the owner's library.
func (f *fixture) libraryFile(name string, content []byte) pleat.ItemID {
	f.t.Helper()
	ctx := context.Background()
	item, err := f.s.Runs.CreateItem(ctx, f.owner, runs.LibraryItem{
		Owner:    f.owner.Project,
		Name:     name,
		Type:     "file",
		Metadata: json.RawMessage(`{}`),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	key := "library/" + string(item.ID)
	if _, err := f.blobs.Put(ctx, key, bytes.NewReader(content)); err != nil {
		f.t.Fatal(err)
	}
	file := runs.LibraryFile{Name: name, Bytes: int64(len(content)), Key: key}
	if _, err := f.s.Runs.AddFile(ctx, f.owner, item.ID, file); err != nil {
		f.t.Fatal(err)
	}
	return item.ID
}

// The worker fetches an entry that a comparison names, by its own configuration.
func TestComparisonWithAnEntry(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
		if err != nil {
			t.Fatal(err)
		}
		srv := structureServer(t, crambin)
		f.startWith("w", func(c *work.Config) { c.ArchiveURLs.PDB = srv.URL + "/pdb/{id}.pdb" }, builtin.Compare{})
		item := f.libraryFile("crambin.pdb", crambin)
		id := f.createWorkflow(f.owner, pleat.TaskCompare, fmt.Sprintf(`{"of":["library:%s","pdb:1CRN"]}`, item))
		f.awaitWorkflow(id, pleat.StateCompleted)
	})
}

// A fetch that fails shows no key of the operator's address, in the log or to the user.
func TestFetchShowsNoKey(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		var log bytes.Buffer
		stop := f.startWith("w", func(c *work.Config) {
			c.ArchiveURLs.PDB = "http://hush:hush@" + gone.Listener.Addr().String() + "/{id}?key=hush"
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		}, builtin.Analyst{})
		id := f.createWorkflow(f.owner, pleat.TaskQnA, `{"question":"q","targetSource":"pdb","pdbId":"1CRN"}`)
		v, err := f.s.Runs.WorkflowView(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		storetest.AwaitLine(t, f.s, v.Run.ID, "trying again: ")
		stop() // nothing writes to the log any more
		if !strings.Contains(log.String(), "a structure cannot be fetched") {
			t.Errorf("the log does not say that the fetch failed: %s", log.String())
		}
		news, err := f.s.Runs.Progress(context.Background(), v.Run.ID, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		if shown := fmt.Sprint(log.String(), news); strings.Contains(shown, "hush") {
			t.Errorf("the key is shown: %s", shown)
		}
	})
}
