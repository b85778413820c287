package work_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/garbage"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/structure"
)

// counted is the embedded engine, and how often it ran.
type counted struct {
	builtin.Mini
	runs *atomic.Int64
}

func (c counted) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	c.runs.Add(1)
	return c.Mini.Run(ctx, w, sink)
}

// quick is an engine that writes a few files in no time.
func quick(t *testing.T, runs *atomic.Int64) engine.Engine {
	return scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		runs.Add(1)
		return pleat.Output{
			Engine: "quick",
			Result: &pleat.Result{
				Timings:     map[string]float64{"infer": 0},
				Predictions: []pleat.Prediction{{Sequence: w.Fold.Sequences[0].ID}},
			},
			// In this order, since tests spoil the second when the first is read.
			Files: []pleat.File{
				file(t, w, "model.cif", pleat.ArtifactCIF, []byte("data_"+w.Fold.Seed)),
				file(t, w, "model.pdb", pleat.ArtifactPDB, []byte("TITLE "+w.Fold.Seed)),
				file(t, w, "config.json", pleat.ArtifactConfig, []byte("{}")),
			},
		}
	}}
}

// tripeptide is a fold that a test asks for, by default one of ada's.
type tripeptide struct {
	model  string // empty: null
	owner  people.Reach
	name   string
	seed   string // that the request has; empty: the service chose chosen
	chosen string
	label  string
	chain  string // empty: A
	fresh  bool
}

func (f *fixture) createTripeptide(p tripeptide) runs.Created {
	f.t.Helper()
	model, values := cmp.Or(p.model, "null"), map[string]any{}
	if p.seed != "" {
		values["seed"] = p.seed
	}
	sequence := storetest.Protein("GAG", cmp.Or(p.chain, "A"))
	sequence.Label = p.label
	return f.create(named(p.name), sequences(sequence), func(n *runs.NewJob) {
		n.Job.Owner = cmp.Or(p.owner, f.owner).Project
		n.Job.Params = pleat.Params{Model: model, Values: values}
		n.Run = runs.RunSpec{
			Model:  model,
			Seed:   cmp.Or(p.seed, p.chosen),
			Queue:  pleat.Queue(pleat.TaskFold, model),
			Params: n.Job.Params,
			Fresh:  p.fresh,
		}
	})
}

// folded creates a fold, waits for its end and reports whether the engine ran for it.
func (f *fixture) folded(runs *atomic.Int64, p tripeptide) (v runs.View, ran bool) {
	f.t.Helper()
	before := runs.Load()
	v = f.await(f.createTripeptide(p).Job, pleat.StateCompleted)
	return v, runs.Load() > before
}

// files reads every artifact of a view, and those inside its archive under ZIP/NAME.
func (f *fixture) files(v runs.View) map[string][]byte {
	f.t.Helper()
	out := map[string][]byte{}
	for _, a := range v.Artifacts {
		raw := f.content(v.Artifacts, a.Name)
		out[a.Name] = raw
		if a.Kind != pleat.ArtifactArchive {
			continue
		}
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, entry := range z.File {
			in, err := entry.Open()
			if err != nil {
				f.t.Fatal(err)
			}
			if out["ZIP/"+entry.Name], err = io.ReadAll(in); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	return out
}

// configuration is what config.json, the configuration of a run, says of it.
type configuration struct {
	Cached  bool   `json:"cached"`
	Input   string `json:"input_sha256"`
	Seed    string `json:"seed"`
	Request struct{ Name string }
}

func TestSameInputSameAnswer(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		runs := &atomic.Int64{}
		f.start("w", counted{builtin.Mini{Steps: 500}, runs})
		first, ran := f.folded(runs, tripeptide{name: "the first, which nobody is to see", seed: "7", model: "mini"})
		if !ran || first.Run.Result.AnsweredFrom != "" {
			t.Fatal("the first was not computed")
		}
		second, ran := f.folded(runs, tripeptide{name: "second", seed: "7", model: "mini"})
		if ran {
			t.Fatal("the same input was computed twice")
		}
		if second.Run.Result.AnsweredFrom != first.Run.ID || second.Run.Engine != first.Run.Engine ||
			*second.Run.Result.Predictions[0].MeanPLDDT != *first.Run.Result.Predictions[0].MeanPLDDT {
			t.Errorf("%+v", second.Run)
		}
		if p := second.Run.Result.Predictions[0]; p.Sequence != second.Job.Sequences[0].ID ||
			p.Sequence == first.Job.Sequences[0].ID {
			t.Errorf("the prediction is of the sequence %s", p.Sequence)
		}
		f.wantTimings(&second.Run, "answer", "queue", "write")
		if n := second.Run.Result.Notes; len(n) == 0 ||
			!strings.Contains(n[len(n)-1], "Result cached from an earlier run of 2") {
			t.Errorf("notes %q", n)
		}
		sameFiles(t, f, first, second)
		third, ran := f.folded(runs, tripeptide{name: "third", seed: "7", model: "mini"})
		if n := third.Run.Result.Notes; ran || len(n) != len(second.Run.Result.Notes) {
			t.Errorf("an answer from an answer: %v, notes %q", ran, n)
		}
		news, err := f.s.Runs.Progress(context.Background(), second.Run.ID, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(news, func(p pleat.Progress) bool {
			return strings.Contains(p.Line, "of job "+string(first.Job.ID))
		}) {
			t.Errorf("the log does not say so: %+v", news)
		}
	})
}

func TestAnotherInputAnotherAnswer(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		runs := &atomic.Int64{}
		f.start("w", quick(t, runs))
		f.folded(runs, tripeptide{name: "x", seed: "7"})
		if _, ran := f.folded(runs, tripeptide{name: "x", seed: "7"}); ran {
			t.Fatal("the same input was computed twice")
		}
		for what, a := range map[string]tripeptide{"another seed": {seed: "8"}, "no seed": {chosen: "7"},
			"no-cache":      {seed: "7", fresh: true},
			"another label": {seed: "7", label: "x"}, "another chain": {seed: "7", chain: "B"}} {
			a.name = "x"
			if v, ran := f.folded(runs, a); !ran || v.Run.Result.AnsweredFrom != "" {
				t.Errorf("%s: not computed", what)
			}
		}
		// A seed that the service chose once may be asked for.
		if _, ran := f.folded(runs, tripeptide{name: "x", chosen: "99"}); !ran {
			t.Error("no seed: not computed")
		}
		if _, ran := f.folded(runs, tripeptide{name: "x", seed: "99"}); ran {
			t.Error("the chosen seed, asked for: computed again")
		}
	})
}

// untitled returns a structure file with another title.
func untitled(t *testing.T, name string, file []byte) string {
	t.Helper()
	retitle := structure.RetitleCIF
	if name == "model.pdb" {
		retitle = structure.RetitlePDB
	}
	var out bytes.Buffer
	if err := retitle(&out, bytes.NewReader(file), structure.Meta{Title: "x"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sameFiles: the arrays are the same blobs, the structures differ in their titles alone, and what says whose it is
// belongs to the second.
func sameFiles(t *testing.T, f *fixture, first, second runs.View) {
	t.Helper()
	keys := map[string]string{}
	for _, a := range first.Artifacts {
		keys[a.Name] = a.Key
	}
	if len(second.Artifacts) != len(first.Artifacts) {
		t.Fatalf("%d files; the first has %d", len(second.Artifacts), len(first.Artifacts))
	}
	own := []string{"config.json", "metrics.json", "model.cif", "model.pdb", "results.zip"}
	for _, a := range second.Artifacts {
		if shared := a.Key == keys[a.Name]; shared == slices.Contains(own, a.Name) {
			t.Errorf("%s: shared %v", a.Name, shared)
		}
		if a.Kind == pleat.ArtifactCIF && a.Sequence != second.Job.Sequences[0].ID {
			t.Errorf("%s is of the sequence %s", a.Name, a.Sequence)
		}
	}
	had, has := f.files(first), f.files(second)
	for name, raw := range has {
		for _, word := range []string{
			first.Job.Name, string(first.Job.ID), string(first.Run.ID), string(first.Job.Sequences[0].ID),
		} {
			if bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s holds %q of the first job", name, word)
			}
		}
	}
	for _, name := range []string{"pae.json", "citations.bib"} {
		if !bytes.Equal(had[name], has["ZIP/"+name]) || len(had[name]) == 0 {
			t.Errorf("%s in the archive differs", name)
		}
	}
	for name, line := range map[string]string{
		"model.cif": "_entry.id %s\n", "model.pdb": "TITLE     %s: predicted structure of chain A, by ",
	} {
		if !strings.Contains(string(has[name]), fmt.Sprintf(line, second.Job.Name)) {
			t.Errorf("%s has not the name of its job", name)
		}
		if was, is := untitled(t, name, had[name]), untitled(t, name, has[name]); was != is {
			t.Errorf("%s differs in more than its title: %s", name, gocmp.Diff(was, is))
		}
	}
	for _, name := range []string{"config.json", "metrics.json", "model.cif", "model.pdb"} {
		if !bytes.Equal(has[name], has["ZIP/"+name]) {
			t.Errorf("%s in the archive is another", name)
		}
	}
	var was, is configuration
	if err := json.Unmarshal(had["config.json"], &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(has["config.json"], &is); err != nil {
		t.Fatal(err)
	}
	want := configuration{Cached: true, Input: was.Input, Seed: "7"}
	want.Request.Name = second.Job.Name
	if d := gocmp.Diff(want, is); d != "" || was.Cached || len(was.Input) != 64 {
		t.Errorf("the first run has %+v; the second: %s", was, d)
	}
	if !bytes.Contains(has["metrics.json"], []byte(second.Job.Sequences[0].ID)) ||
		!bytes.Contains(has["metrics.json"], []byte("Result cached from an earlier run")) {
		t.Error("the metrics are not the second's")
	}
}

// Only what its owner may see answers a run, and it outlives what it came from.
func TestAnswersArePrivate(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		count := &atomic.Int64{}
		f.start("w", quick(t, count))
		adas, _ := f.folded(count, tripeptide{name: "ada's", seed: "7"})
		if _, ran := f.folded(
			count, tripeptide{name: "bob's", seed: "7", owner: storetest.User(t, f.s, "bob")},
		); !ran {
			t.Fatal("a private job answered another user's")
		}
		if err := f.s.Runs.SetPublic(ctx, f.owner, adas.Job.ID, true); err != nil {
			t.Fatal(err)
		}
		carols, ran := f.folded(count, tripeptide{name: "carol's", seed: "7", owner: storetest.User(t, f.s, "carol")})
		if ran || carols.Run.Result.AnsweredFrom != adas.Run.ID {
			t.Fatal("a public job did not answer")
		}
		if err := f.s.Runs.SetPublic(ctx, f.owner, adas.Job.ID, false); err != nil {
			t.Fatal(err)
		}
		if _, ran := f.folded(count, tripeptide{
			name: "dave's", seed: "7", owner: storetest.User(t, f.s, "dave"),
		}); !ran {
			t.Error("a job that is private again answered another user's")
		}
		// Files that a public job no longer shows are not given out either.
		if err := f.s.Runs.SetPublic(ctx, f.owner, adas.Job.ID, true); err != nil {
			t.Fatal(err)
		}
		if _, err := f.s.Runs.Rerun(ctx, f.owner, adas.Job.ID, runs.RunSpec{
			Model:  "null",
			Seed:   "8",
			Queue:  "fold/null",
			Params: pleat.Params{Model: "null", Values: map[string]any{"seed": "8"}},
		}); err != nil {
			t.Fatal(err)
		}
		f.await(adas.Job.ID, pleat.StateCompleted)
		if _, ran := f.folded(count, tripeptide{
			name: "erin's", seed: "7", owner: storetest.User(t, f.s, "erin"),
		}); !ran {
			t.Error("an older run of a public job answered another user's")
		}
		if again, ran := f.folded(count, tripeptide{name: "ada's again", seed: "7"}); ran ||
			again.Run.Result.AnsweredFrom != adas.Run.ID {
			t.Error("an older run of one's own did not answer")
		}
		// The first job is deleted, and its garbage collected; the runs that share its files keep them.
		if err := f.s.Ops.DeleteJob(ctx, f.owner, adas.Job.ID); err != nil {
			t.Fatal(err)
		}
		_, err := garbage.Collect(ctx, f.s.Ops, f.s.Runs, f.blobs, time.Now().Add(time.Hour)) // or the worker did
		if err != nil {
			t.Fatal(err)
		}
		if got := f.files(carols); string(got["model.cif"]) != "data_7" || len(got) != 3 {
			t.Error("carol's files went with ada's job")
		}
		if _, _, err := f.blobs.Open(ctx, key(adas, "config.json")); err == nil {
			t.Error("what only the deleted job had was kept")
		}
		if err := f.s.Ops.DeleteJob(ctx, storetest.User(t, f.s, "carol"), carols.Job.ID); err != nil {
			t.Fatal(err)
		}
		if v, ran := f.folded(count, tripeptide{
			name: "frank's", seed: "7", owner: storetest.User(t, f.s, "frank"),
		}); !ran ||
			v.Run.Result.AnsweredFrom != "" {
			t.Error("a deleted job answered")
		}
	})
}

func key(v runs.View, name string) string {
	i := slices.IndexFunc(v.Artifacts, func(a pleat.Artifact) bool { return a.Name == name })
	return v.Artifacts[i].Key
}

// tampered does something the first time that a file is opened.
type tampered struct {
	blob.Store
	on   string // part of the key; empty: no file
	once atomic.Bool
	then func()
}

func (b *tampered) Open(ctx context.Context, key string) (io.ReadSeekCloser, blob.Info, error) {
	if b.on != "" && strings.Contains(key, b.on) && b.once.CompareAndSwap(false, true) {
		b.then()
	}
	return b.Store.Open(ctx, key)
}

// Where the source is deleted while it is read, or its files are no longer what they were, the run is computed.
func TestResultThatCannotBeReused(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(f *fixture, v runs.View) error{
		"deleted": func(f *fixture, v runs.View) error {
			return f.s.Ops.DeleteJob(context.Background(), f.owner, v.Job.ID)
		},
		"file is gone": func(f *fixture, v runs.View) error {
			return f.blobs.Delete(context.Background(), key(v, "model.pdb"))
		},
		"file is another": func(f *fixture, v runs.View) error {
			_, err := f.blobs.Put(context.Background(), key(v, "model.pdb"), strings.NewReader("x"))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			onEachService(t, func(t *testing.T, f *fixture) {
				spoiled := &tampered{Store: f.blobs}
				f.blobs = spoiled
				runs := &atomic.Int64{}
				f.start("w", quick(t, runs))
				first, _ := f.folded(runs, tripeptide{name: "first", seed: "7"})
				spoiled.then = func() {
					if err := spoil(f, first); err != nil {
						t.Error(err)
					}
				}
				spoiled.on = "model.cif"
				v, ran := f.folded(runs, tripeptide{name: "second", seed: "7"})
				if !ran || v.Run.Result.AnsweredFrom != "" || !spoiled.once.Load() ||
					string(f.files(v)["model.pdb"]) != "TITLE 7" {
					t.Error("the result was reused all the same")
				}
			})
		})
	}
}
