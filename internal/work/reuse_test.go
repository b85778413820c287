package work_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
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
		out := pleat.Output{
			Engine: "quick", Result: &pleat.Result{
				Timings: map[string]float64{"infer": 0}, Predictions: []pleat.Prediction{
					{Sequence: w.Fold.Sequences[0].ID},
				},
			},
		}
		// In this order, since tests spoil the second when the first is read.
		for _, f := range []struct {
			name string
			kind pleat.ArtifactKind
			text string
		}{{"model.cif", pleat.ArtifactCIF, "data_" + w.Fold.Seed},
			{"model.pdb", pleat.ArtifactPDB, "TITLE " + w.Fold.Seed}, {"config.json", pleat.ArtifactConfig, "{}"}} {
			path := filepath.Join(w.Dir, f.name)
			if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
				t.Error(err)
			}
			out.Files = append(out.Files, pleat.File{
				Kind:     f.kind,
				Name:     f.name,
				Path:     path,
				Sequence: w.Fold.Sequences[0].ID,
			})
		}
		return out
	}}
}

// ask is what a test asks for: a tripeptide, by default of ada and with the seed 7.
type ask struct {
	model  string // empty: null
	owner  pleat.UserID
	name   string
	seed   string // given; empty: chosen is
	chosen string
	label  string
	chain  string
	public bool
	fresh  bool
}

func (b *bench) order(a ask) store.Created {
	b.t.Helper()
	if a.owner == "" {
		a.owner = b.owner
	}
	params := map[string]any{}
	seed := a.chosen
	if a.seed != "" {
		params["seed"], seed = a.seed, a.seed
	}
	if a.chain == "" {
		a.chain = "A"
	}
	if a.model == "" {
		a.model = "null"
	}
	c, err := b.s.CreateJob(context.Background(), store.NewJob{
		Job: pleat.Job{
			Owner:  a.owner,
			Name:   a.name,
			Public: a.public,
			Sequences: []pleat.Sequence{
				{Kind: pleat.Protein, Text: "GAG", Chains: []string{a.chain}, Count: 1, Label: a.label},
			},
			Params: pleat.Params{Model: a.model, Values: params},
		},
		Run: store.RunSpec{
			Model:  a.model,
			Seed:   seed,
			Queue:  "fold/" + a.model,
			Params: pleat.Params{Model: a.model, Values: params},
			Fresh:  a.fresh,
		}, Quota: 1000,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// folded asks, waits and says whether the engine ran for it.
func (b *bench) folded(runs *atomic.Int64, a ask) (store.View, bool) {
	b.t.Helper()
	before := runs.Load()
	v := b.await(b.order(a).Job, pleat.StateCompleted)
	return v, runs.Load() > before
}

// files reads every artifact of a view, those inside its archive under ZIP/NAME too, and checks their hashes by the
// way.
func (b *bench) files(v store.View) map[string][]byte {
	b.t.Helper()
	out := map[string][]byte{}
	for _, a := range v.Artifacts {
		r, info, err := b.blobs.Open(context.Background(), a.Key)
		if err != nil {
			b.t.Fatalf("%s: %v", a.Name, err)
		}
		raw, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || info.Bytes != a.Bytes || int64(len(raw)) != a.Bytes {
			b.t.Fatalf("%s: %v, %d bytes", a.Name, err, len(raw))
		}
		out[a.Name] = raw
		if a.Kind != pleat.ArtifactArchive {
			continue
		}
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range z.File {
			in, err := f.Open()
			if err != nil {
				b.t.Fatal(err)
			}
			if out["ZIP/"+f.Name], err = io.ReadAll(in); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	return out
}

func (b *bench) user(name string) pleat.UserID {
	b.t.Helper()
	u, err := b.s.EnsureUser(context.Background(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return u.ID
}

type receipt struct {
	AnsweredFrom string `json:"answered_from"`
	Input        string `json:"input_sha256"`
	Seed         string `json:"seed"`
	Request      struct{ Name string }
}

func TestSameInputSameAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		runs := &atomic.Int64{}
		b.start("w", counted{runs: runs})
		first, ran := b.folded(runs, ask{name: "the first, which nobody is to see", seed: "7", model: "mini"})
		if !ran || first.Run.Result.AnsweredFrom != "" {
			t.Fatal("the first was not computed")
		}
		second, ran := b.folded(runs, ask{name: "second", seed: "7", model: "mini"})
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
		if got := slices.Sorted(maps.Keys(second.Run.Result.Timings)); !slices.Equal(got, []string{"answer", "queue"}) {
			t.Errorf("timings %v", got)
		}
		if n := second.Run.Result.Notes; len(n) == 0 ||
			!strings.Contains(n[len(n)-1], "answered from run "+string(first.Run.ID)+" of 2") {
			t.Errorf("notes %q", n)
		}
		sameFiles(t, b, first, second)
		third, ran := b.folded(runs, ask{name: "third", seed: "7", model: "mini"})
		if n := third.Run.Result.Notes; ran || len(n) != len(second.Run.Result.Notes) {
			t.Errorf("an answer from an answer: %v, notes %q", ran, n)
		}
		news, err := s.Progress(context.Background(), second.Run.ID, 0, 50)
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
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		runs := &atomic.Int64{}
		b.start("w", quick(t, runs))
		b.folded(runs, ask{name: "x", seed: "7"})
		if _, ran := b.folded(runs, ask{name: "x", seed: "7"}); ran {
			t.Fatal("the same input was computed twice")
		}
		for what, a := range map[string]ask{"another seed": {seed: "8"}, "no seed": {chosen: "7"},
			"no-cache":      {seed: "7", fresh: true},
			"another label": {seed: "7", label: "x"}, "another chain": {seed: "7", chain: "B"}} {
			a.name = "x"
			if v, ran := b.folded(runs, a); !ran || v.Run.Result.AnsweredFrom != "" {
				t.Errorf("%s: not computed", what)
			}
		}
		// A seed that the service chose once may be asked for.
		if _, ran := b.folded(runs, ask{name: "x", chosen: "99"}); !ran {
			t.Error("no seed: not computed")
		}
		if _, ran := b.folded(runs, ask{name: "x", seed: "99"}); ran {
			t.Error("the chosen seed, asked for: computed again")
		}
	})
}

// sameFiles: the structures are the same blobs, and what says whose it is belongs to the second.
func sameFiles(t *testing.T, b *bench, first, second store.View) {
	t.Helper()
	keys := map[string]string{}
	for _, a := range first.Artifacts {
		keys[a.Name] = a.Key
	}
	if len(second.Artifacts) != len(first.Artifacts) {
		t.Fatalf("%d files; the first has %d", len(second.Artifacts), len(first.Artifacts))
	}
	own := []string{"config.json", "metrics.json", "results.zip"}
	for _, a := range second.Artifacts {
		if shared := a.Key == keys[a.Name]; shared == slices.Contains(own, a.Name) {
			t.Errorf("%s: shared %v", a.Name, shared)
		}
		if a.Kind == pleat.ArtifactCIF && a.Sequence != second.Job.Sequences[0].ID {
			t.Errorf("%s is of the sequence %s", a.Name, a.Sequence)
		}
	}
	had, has := b.files(first), b.files(second)
	for name, raw := range has {
		for _, word := range []string{first.Job.Name, string(first.Job.ID), string(first.Job.Sequences[0].ID)} {
			if bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s holds %q of the first job", name, word)
			}
		}
	}
	for _, name := range []string{"model.cif", "model.pdb", "pae.json", "citations.bib"} {
		if !bytes.Equal(had[name], has["ZIP/"+name]) || len(had[name]) == 0 {
			t.Errorf("%s in the archive differs", name)
		}
	}
	for _, name := range []string{"config.json", "metrics.json"} {
		if !bytes.Equal(has[name], has["ZIP/"+name]) {
			t.Errorf("%s in the archive is another", name)
		}
	}
	var was, is receipt
	if err := json.Unmarshal(had["config.json"], &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(has["config.json"], &is); err != nil {
		t.Fatal(err)
	}
	if is.AnsweredFrom != string(first.Run.ID) || was.AnsweredFrom != "" || is.Request.Name != second.Job.Name ||
		is.Input != was.Input || len(is.Input) != 64 || is.Seed != "7" {
		t.Errorf("receipts %+v and %+v", was, is)
	}
	if !bytes.Contains(has["metrics.json"], []byte(second.Job.Sequences[0].ID)) ||
		!bytes.Contains(has["metrics.json"], []byte("answered from run")) {
		t.Error("the metrics are not the second's")
	}
}

// Only what its owner may see answers a run, and it outlives what it came from.
func TestAnswersArePrivate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		b := newBench(t, s, clock)
		runs := &atomic.Int64{}
		b.start("w", quick(t, runs))
		adas, _ := b.folded(runs, ask{name: "ada's", seed: "7"})
		if _, ran := b.folded(runs, ask{name: "bob's", seed: "7", owner: b.user("bob")}); !ran {
			t.Fatal("a private job answered another user's")
		}
		if err := s.SetPublic(ctx, b.owner, adas.Job.ID, true); err != nil {
			t.Fatal(err)
		}
		carols, ran := b.folded(runs, ask{name: "carol's", seed: "7", owner: b.user("carol")})
		if ran || carols.Run.Result.AnsweredFrom != adas.Run.ID {
			t.Fatal("a public job did not answer")
		}
		if err := s.SetPublic(ctx, b.owner, adas.Job.ID, false); err != nil {
			t.Fatal(err)
		}
		if _, ran := b.folded(runs, ask{name: "dave's", seed: "7", owner: b.user("dave")}); !ran {
			t.Error("a job that was hidden answered another user's")
		}
		// What a public job no longer shows is not given out either.
		if err := s.SetPublic(ctx, b.owner, adas.Job.ID, true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Rerun(ctx, b.owner, adas.Job.ID, store.RunSpec{
			Model:  "null",
			Seed:   "8",
			Queue:  "fold/null",
			Params: pleat.Params{Model: "null", Values: map[string]any{"seed": "8"}},
		}, 1000); err != nil {
			t.Fatal(err)
		}
		b.await(adas.Job.ID, pleat.StateCompleted)
		if _, ran := b.folded(runs, ask{name: "erin's", seed: "7", owner: b.user("erin")}); !ran {
			t.Error("an older run of a public job answered another user's")
		}
		if again, ran := b.folded(runs, ask{name: "ada's again", seed: "7"}); ran ||
			again.Run.Result.AnsweredFrom != adas.Run.ID {
			t.Error("an older run of one's own did not answer")
		}
		// The first job goes, its sweep comes; what shares its files keeps them.
		if err := s.DeleteJob(ctx, b.owner, adas.Job.ID); err != nil {
			t.Fatal(err)
		}
		n, err := work.CollectGarbage(ctx, s, b.blobs, time.Now().Add(time.Hour))
		if err != nil || n == 0 {
			t.Fatalf("swept %d, %v", n, err)
		}
		if got := b.files(carols); string(got["model.cif"]) != "data_7" || len(got) != 3 {
			t.Error("carol's files went with ada's job")
		}
		if _, _, err := b.blobs.Open(ctx, key(adas, "config.json")); err == nil {
			t.Error("what only the deleted job had was kept")
		}
		if err := s.DeleteJob(ctx, b.user("carol"), carols.Job.ID); err != nil {
			t.Fatal(err)
		}
		if v, ran := b.folded(runs, ask{name: "frank's", seed: "7", owner: b.user("frank")}); !ran ||
			v.Run.Result.AnsweredFrom != "" {
			t.Error("a deleted job answered")
		}
	})
}

func key(v store.View, name string) string {
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

// Where the source goes while it is being read, or its files are no longer what they were, the run is computed.
func TestAnswerThatFails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		for what, spoil := range map[string]func(b *bench, v store.View) error{
			"deleted": func(b *bench, v store.View) error {
				return s.DeleteJob(context.Background(), b.owner, v.Job.ID)
			},
			"file is gone": func(b *bench, v store.View) error {
				return b.blobs.Delete(context.Background(), key(v, "model.pdb"))
			},
			"file is another": func(b *bench, v store.View) error {
				_, err := b.blobs.Put(context.Background(), key(v, "model.pdb"), strings.NewReader("x"))
				return err
			},
		} {
			b := newBench(t, s, clock)
			b.owner = b.user(what)
			spoiled := &tampered{Store: b.blobs}
			b.blobs = spoiled
			runs := &atomic.Int64{}
			stop := b.start("w", quick(t, runs))
			first, _ := b.folded(runs, ask{name: "first", seed: "7"})
			spoiled.then = func() {
				if err := spoil(b, first); err != nil {
					t.Error(err)
				}
			}
			spoiled.on = "model.cif"
			v, ran := b.folded(runs, ask{name: "second", seed: "7"})
			if !ran || v.Run.Result.AnsweredFrom != "" || !spoiled.once.Load() ||
				string(b.files(v)["model.pdb"]) != "TITLE 7" {
				t.Errorf("%s: answered all the same", what)
			}
			stop()
		}
	})
}
