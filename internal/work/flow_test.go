package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/engine/enginetest"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// patience is how long a test waits for what a loaded machine takes long for.
const patience = 2 * time.Minute

const trpCage = "NLYIQWLKDGGPSSGRPPPS"

// folder is an engine that folds the Trp-cage: it hands out the measured structure with the confidence of a good
// prediction.
func folder(t *testing.T) engine.Engine {
	t.Helper()
	cif, pae := enginetest.PredictedTrpCage(t)
	return scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		if w.Fold.Name == "bad" {
			return pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "no")}
		}
		out := pleat.Output{
			Engine: "folder", Result: &pleat.Result{
				Predictions: []pleat.Prediction{
					{Sequence: w.Fold.Sequences[0].ID, Chains: []string{"A"}, Affinity: &pleat.Affinity{
						Value: -1.5, Probability: 0.75,
					}},
				},
			},
		}
		for name, f := range map[string]struct {
			kind pleat.ArtifactKind
			text []byte
		}{"model.cif": {pleat.ArtifactCIF, cif}, "pae.json": {pleat.ArtifactPAE, pae}} {
			path := filepath.Join(w.Dir, name)
			if err := os.WriteFile(path, f.text, 0o600); err != nil {
				t.Error(err)
			}
			out.Files = append(out.Files, pleat.File{
				Kind:     f.kind,
				Name:     name,
				Path:     path,
				Sequence: w.Fold.Sequences[0].ID,
			})
		}
		return out
	}}
}

// pool starts a worker with several engines.
func (b *bench) pool(id string, change func(*work.Config), engines ...engine.Engine) (stop func()) {
	b.t.Helper()
	reg, err := engine.New(slog.New(slog.DiscardHandler), engines...)
	if err != nil {
		b.t.Fatal(err)
	}
	cfg := work.Config{
		ID:    pleat.WorkerID(id),
		Host:  "test",
		Clock: b.clock.Now,
		Dir:   filepath.Join(b.dir, "scratch-"+id),
		Slots: 2,
		Log:   slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	p := work.New(cfg, b.s, b.blobs, reg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			b.t.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	b.t.Cleanup(stop)
	return stop
}

func (b *bench) fold(name string, public bool, subs ...pleat.Subscription) store.Created {
	b.t.Helper()
	c, err := b.s.CreateJob(context.Background(), store.NewJob{
		Quota: 1000,
		Subs:  subs,
		Job: pleat.Job{Owner: b.owner, Name: name, Public: public, Sequences: []pleat.Sequence{
			{Kind: pleat.Protein, Text: trpCage, Chains: []string{"A"}, Count: 1},
		}},
		Run: store.RunSpec{Model: "null", Seed: "1", Queue: "fold/null", Params: pleat.Params{Model: "null"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) ask(owner pleat.UserID, kind pleat.TaskKind, input string) pleat.WorkflowID {
	b.t.Helper()
	word, lane := "qna", "qna/analyst"
	if kind == pleat.TaskMD {
		word, lane = "md", "md/calvados"
	}
	w, err := b.s.CreateWorkflow(context.Background(), store.NewWorkflow{
		Workflow: pleat.Workflow{
			Owner: owner,
			Kind:  kind,
			Alias: word,
			Type:  pleat.WorkflowType(word),
			Name:  "w",
			Input: json.RawMessage(input),
		},
		Run: store.RunSpec{Queue: lane, Model: "m", Seed: "11"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return w.ID
}

// ended waits for a workflow's end and gives its row.
func (b *bench) ended(id pleat.WorkflowID, want pleat.State) (store.WorkflowView, map[string]any) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		v, err := b.s.WorkflowView(context.Background(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if v.Workflow.State != want {
			if v.Workflow.State.Terminal() || time.Now().After(end) {
				b.t.Fatalf("the workflow is %s (%s), not %s", v.Workflow.State, v.Run.Failure, want)
			}
			continue
		}
		row := map[string]any{}
		if v.Run.Result != nil {
			if err := json.Unmarshal(v.Run.Result.Row, &row); err != nil {
				b.t.Fatal(err)
			}
		}
		return v, row
	}
}

func TestWorkflowsOfAFold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		b.pool("w", nil, folder(t), builtin.Analyst{}, builtin.Calvados{Workers: 1})
		private, public := b.fold("mine", false), b.fold("shown", true)
		b.await(private.Job, pleat.StateCompleted)
		b.await(public.Job, pleat.StateCompleted)

		v, row := b.ended(
			b.ask(b.owner, pleat.TaskQnA,
				fmt.Sprintf(`{"question":"How many residues does the protein have?","source_job_id":%q}`, private.Job)),
			pleat.StateCompleted)
		if !strings.Contains(row["answer"].(string), "20") || row["fileName"] != "model.cif" ||
			row["targetSource"] != "fold_job" {
			t.Error(row)
		}
		if want := fmt.Sprintf("fold_job/%s/%s/%s", private.Job, private.Run,
			private.Sequences[0]); row["targetRef"] != want {
			t.Errorf("%v, not %s", row["targetRef"], want)
		}
		if len(v.Artifacts) != 4 || v.Run.Engine != "analyst 1" {
			t.Errorf("%+v", v)
		}
		if _, ok := v.Run.Result.Timings["queue"]; !ok {
			t.Error("no time in the queue")
		}
		facts := b.content(v.Artifacts, "facts.json")
		for _, want := range []string{`"predicted": true`, `"affinity_pred_value": -1.5`, `"mean_plddt": 95`,
			`"pae":`} {
			if !strings.Contains(facts, want) {
				t.Errorf("the facts lack %s", want)
			}
		}

		const short = `"step_size_ns":0.0005,"sim_length_ns":0.005`
		v, row = b.ended(
			b.ask(b.owner, pleat.TaskMD,
				fmt.Sprintf(`{"sourceType":"fold_job","sourceJobId":%q,"sourceJobRunId":%q,%s}`, private.Job,
					private.Run, short)), pleat.StateCompleted)
		metrics := row["metrics"].(map[string]any)
		if metrics["residues"] != 20.0 || metrics["restraints"].(float64) == 0 ||
			len(v.Artifacts) != len(row["artifacts"].([]any)) {
			t.Errorf("%v", row)
		}
		eve, err := s.EnsureUser(context.Background(), "eve")
		if err != nil {
			t.Fatal(err)
		}
		v, _ = b.ended(
			b.ask(eve.ID, pleat.TaskQnA, fmt.Sprintf(`{"question":"What is it?","source_job_id":%q}`, private.Job)),
			pleat.StateFailed)
		if !strings.Contains(v.Run.Failure.Message, "is not the caller's") {
			t.Error(v.Run.Failure)
		}
		b.ended(b.ask(eve.ID, pleat.TaskQnA, fmt.Sprintf(`{"question":"How many chains are there?","source_job_id":%q}`,
			public.Job)), pleat.StateCompleted)
		v, _ = b.ended(
			b.ask(b.owner, pleat.TaskQnA, fmt.Sprintf(`{"question":"What?","source_job_id":%q,"source_job_run_id":%q}`,
				private.Job, public.Run)), pleat.StateFailed)
		if !strings.Contains(v.Run.Failure.Message, "which is not a run of the job") {
			t.Error(v.Run.Failure)
		}
	})
}

// content reads a stored file.
func (b *bench) content(all []pleat.Artifact, name string) string {
	b.t.Helper()
	for _, a := range all {
		if a.Name != name {
			continue
		}
		r, _, err := b.blobs.Open(context.Background(), a.Key)
		if err != nil {
			b.t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			b.t.Fatal(err)
		}
		_ = r.Close()
		return string(raw)
	}
	b.t.Fatalf("there is no %s", name)
	return ""
}

func TestWorkflowsOfFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		b := newBench(t, s, clock)
		raw, err := os.ReadFile("../structure/testdata/1crn.pdb")
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/pdb/1CRN.pdb":
				_, _ = w.Write(raw)
			case "/pdb/9BIG.pdb":
				http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
			default:
				w.WriteHeader(404)
			}
		}))
		defer srv.Close()
		b.pool("w", func(c *work.Config) { c.Sources.PDB = srv.URL + "/pdb/{id}.pdb" }, builtin.Analyst{})

		item, err := s.CreateItem(ctx, store.LibraryItem{
			Owner:    b.owner,
			Name:     "crambin",
			Type:     "file",
			Metadata: json.RawMessage(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.blobs.Put(ctx, "library/crambin", bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		if err := s.AddFile(ctx, b.owner, item.ID, store.LibraryFile{
			Name: "my crambin.PDB", Bytes: int64(len(raw)), Key: "library/crambin",
		}, 1<<30); err != nil {
			t.Fatal(err)
		}
		_, row := b.ended(
			b.ask(b.owner, pleat.TaskQnA,
				fmt.Sprintf(`{"question":"How many disulfide bonds are there?","targetSource":"library","libraryItemId":%q}`, item.ID)), pleat.StateCompleted)
		if !strings.Contains(row["answer"].(string), "3") || row["fileName"] != "structure.pdb" ||
			row["targetRef"] != "library/"+string(item.ID) {
			t.Error(row)
		}
		_, row = b.ended(
			b.ask(b.owner, pleat.TaskQnA,
				`{"question":"How many residues does the protein have?","targetSource":"pdb","pdbId":"1crn"}`),
			pleat.StateCompleted)
		if !strings.Contains(row["answer"].(string), "46") || row["fileName"] != "1crn.pdb" ||
			row["targetRef"] != "pdb/1CRN" {
			t.Error(row)
		}
		eve, err := s.EnsureUser(ctx, "eve")
		if err != nil {
			t.Fatal(err)
		}
		for input, want := range map[string]string{
			`{"question":"q","targetSource":"pdb","pdbId":"9XYZ"}`:           "there is no structure of the PDB id 9XYZ",
			`{"question":"q","targetSource":"pdb","pdbId":"9BIG"}`:           "answered 302",
			`{"question":"q","targetSource":"uniprot","uniprotId":"P0CG47"}`: "does not allow this service to fetch structures by UniProt id",
			fmt.Sprintf(`{"question":"q","files":{"pdb":{"libraryItemId":%q,"fileName":"other.pdb"}}}`,
				item.ID): `has no structure file named "other.pdb"`,
		} {
			if v, _ := b.ended(b.ask(b.owner, pleat.TaskQnA, input), pleat.StateFailed); !strings.Contains(
				v.Run.Failure.Message, want) {
				t.Errorf("%s: %v", input, v.Run.Failure)
			}
		}
		v, _ := b.ended(b.ask(eve.ID, pleat.TaskQnA, fmt.Sprintf(`{"question":"q","libraryItemId":%q}`, item.ID)),
			pleat.StateFailed)
		if !strings.Contains(v.Run.Failure.Message, "is not the caller's") {
			t.Error(v.Run.Failure)
		}
	})
}

// pausing is calvados that stands still once it has kept a checkpoint, until it is broken off.
type pausing struct {
	builtin.Calvados
	paused chan int64
}

func (e pausing) Run(ctx context.Context, w pleat.Work, s pleat.Sink) pleat.Output {
	return e.Calvados.Run(ctx, w, &pausingSink{s, ctx, e.paused})
}

type pausingSink struct {
	pleat.Sink
	ctx    context.Context
	paused chan int64
}

func (s *pausingSink) Checkpoint(path string, step int64) error {
	err := s.Sink.Checkpoint(path, step)
	if s.ctx.Err() == nil {
		s.paused <- step
		<-s.ctx.Done()
	}
	return err
}

// A simulation that a worker's shutdown breaks off goes on at another, from the last checkpoint.
func TestDynamicsMovesToAnotherWorker(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		paused := make(chan int64, 1)
		stop := b.pool("first", nil, pausing{builtin.Calvados{Workers: 1, CheckpointInterval: -1}, paused})
		// 30,000 steps
		id := b.ask(b.owner, pleat.TaskMD,
			`{"sequence":"DSHAKRHHGYKRKFHEKHHSHRGY","step_size_ns":0.005,"sim_length_ns":0.3}`)
		var step int64
		select {
		case step = <-paused:
		case <-time.After(patience):
			t.Fatal("no checkpoint")
		}
		stop()
		if v, err := s.WorkflowView(context.Background(), id); err != nil || v.Workflow.State != pleat.StateRunning {
			t.Fatalf("after the shutdown it is %s, %v", v.Workflow.State, err)
		}
		b.pool("second", nil, builtin.Calvados{Workers: 1})
		v, row := b.ended(id, pleat.StateCompleted)
		metrics := row["metrics"].(map[string]any)
		if got := metrics["resumed_from_step"].(float64); got < float64(step) || got >= 30_000 ||
			metrics["steps"] != 30_000.0 || metrics["frames"] != 60.0 {
			t.Errorf("stopped at step %d: %v", step, metrics)
		}
		if size := len(b.content(v.Artifacts, "trajectory.dcd")); size < 60*24*12 {
			t.Errorf("a trajectory of %d bytes", size)
		}
	})
}

// What a worker that died had kept comes to the next one, whoever that is.
func TestCheckpointOfADeadWorker(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		b := newBench(t, s, clock)
		id := b.ask(b.owner, pleat.TaskMD,
			`{"sequence":"DSHAKRHHGYKRKFHEKHHSHRGY","step_size_ns":0.005,"sim_length_ns":0.3}`)
		got, err := s.Claim(ctx, "dead", []string{"md/calvados"}, 1, 0)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		key := "runs/" + string(got[0].Task.Run) + "/1/checkpoint-7.bin"
		if _, err := b.blobs.Put(ctx, key, strings.NewReader("so far")); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveCheckpoint(ctx, store.LeaseOf(&got[0].Task), pleat.Checkpoint{Key: key, Step: 7}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(pleat.LeaseDuration + time.Second)
		b.pool("next", nil, simulator{func(w pleat.Work) pleat.Output {
			if raw, err := os.ReadFile(w.Resume); err != nil || string(raw) != "so far" || w.Step != 7 ||
				w.Attempt != 2 {
				return pleat.Output{
					Failure: pleat.Failed(pleat.FailInternal, fmt.Sprintf("%q %d %d %v", raw, w.Step, w.Attempt, err)),
				}
			}
			return pleat.Output{Result: &pleat.Result{}, Row: json.RawMessage(`{"artifacts":[]}`)}
		}})
		b.ended(id, pleat.StateCompleted)
	})
}

// simulator is a dynamics engine whose behaviour a test gives.
type simulator struct {
	run func(w pleat.Work) pleat.Output
}

func (simulator) Models() []pleat.Model { return builtin.Calvados{}.Models() }

func (s simulator) Run(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output { return s.run(w) }

func TestFollowUpsStartOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		b := newBench(t, s, clock)
		for _, id := range []string{"a", "b"} {
			b.pool(id, nil, folder(t), builtin.Analyst{}, builtin.Calvados{Workers: 1})
		}
		sub := func(dest pleat.Destination, word, settings string) pleat.Subscription {
			return pleat.Subscription{
				Destination: dest,
				Alias:       word,
				TargetType:  pleat.WorkflowType(word),
				Settings:    json.RawMessage(settings),
			}
		}
		const md = `{"enabled":true,"preset":"single_idr_fasta","temp":300,"step_size_ns":0.0005,"sim_length_ns":0.005}`
		c := b.fold("good", false,
			sub(pleat.DestQnA, "evolla",
				`{"enabled":true,"initial_question":"How many residues does the protein have?"}`),
			sub(pleat.DestMD, "md", md))
		b.fold("bad", false, sub(pleat.DestQnA, "qna", `{"enabled":true}`), sub(pleat.DestMD, "md", md))
		draft := b.fold("draft", false, sub(pleat.DestQnA, "qna", `{"enabled":true}`),
			sub(pleat.DestMD, "openmm", `{"enabled":true,"preset":"all_atom"}`))
		b.await(c.Job, pleat.StateCompleted)
		b.await(draft.Job, pleat.StateCompleted)

		var d []store.Delivery
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			var err error
			if d, err = s.Deliveries(ctx, b.owner, store.DeliveryFilter{Limit: 20}); err != nil {
				t.Fatal(err)
			}
			open := 0
			for i := range d {
				if d[i].Status != "SUCCEEDED" && d[i].Status != "FAILED" {
					open++
				}
			}
			if len(d) == 4 && open == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%+v", d)
			}
		}
		for i := range d {
			switch key := d[i].Source.ID() + " " + string(d[i].Destination); key {
			case string(c.Job) + " qna":
				v, row := b.ended(pleat.WorkflowID(d[i].Triggered), pleat.StateCompleted)
				if v.Workflow.Type != "evolla_v1" ||
					v.Workflow.Source != (pleat.FoldRef{Job: c.Job, Run: c.Run, Sequence: c.Sequences[0]}) ||
					!strings.Contains(row["answer"].(string), "20") {
					t.Errorf("%+v %v", v.Workflow, row)
				}
			case string(c.Job) + " md":
				v, row := b.ended(pleat.WorkflowID(d[i].Triggered), pleat.StateCompleted)
				if !strings.Contains(b.content(v.Artifacts, "config.json"), `"temp": 300`) ||
					row["metrics"].(map[string]any)["frames"] != 10.0 ||
					row["metrics"].(map[string]any)["residues"] != 20.0 {
					t.Errorf("%v", row)
				}
			case string(draft.Job) + " qna":
				if v, err := s.WorkflowView(ctx, pleat.WorkflowID(d[i].Triggered)); err != nil ||
					v.Workflow.State != pleat.StateDraft {
					t.Errorf("%+v %v", v.Workflow, err)
				}
			case string(draft.Job) + " md":
				if d[i].Status != "FAILED" || d[i].Triggered != "" ||
					!strings.Contains(d[i].Reason, "needs the engine openmm") {
					t.Errorf("%+v", d[i])
				}
			default:
				t.Errorf("a failed fold has set off %s", key)
			}
		}
		if n := storetest.Count(t, s, "workflow"); n != 3 {
			t.Errorf("%d workflows", n)
		}
	})
}
