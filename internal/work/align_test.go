package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

const seqA, seqB = "MKTAYIAK", "GSHMLEDP"

// aligned is a worker with a server for alignments, whose engine hands what it got to see.
type aligned struct {
	*bench
	server *msatest.Server
	see    func(w pleat.Work)
	lane   string // where folds begin
}

func newAligned(t *testing.T, s *store.Store, clock *storetest.Clock) *aligned {
	a := &aligned{bench: newBench(t, s, clock), server: msatest.New(t), lane: pleat.SearchQueue("null")}
	a.server.Known = true
	a.startWith(work.Config{Aligner: finder(a.server)}, "w",
		scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			if a.see != nil {
				a.see(w)
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}})
	return a
}

func finder(server *msatest.Server) *msa.Finder {
	return &msa.Finder{Source: &msa.Server{URL: server.URL, Agent: "pleat/test"}, Log: slog.New(slog.DiscardHandler),
		Timeout: time.Minute}
}

func protein(text string, chains ...string) pleat.Sequence {
	return pleat.Sequence{Kind: pleat.Protein, Text: text, Chains: chains, Count: len(chains)}
}

func (a *aligned) fold(item pleat.ItemID, params map[string]any, sequences ...pleat.Sequence) store.Created {
	a.t.Helper()
	c, err := a.s.CreateJob(context.Background(), store.NewJob{
		Job: pleat.Job{Owner: a.owner, Name: "j", LibraryItem: item, Sequences: sequences, Complex: len(sequences) > 1},
		Run: store.RunSpec{
			Model:  "null",
			Seed:   "1",
			Queue:  a.lane,
			Params: pleat.Params{Model: "null", Values: params},
		}, Quota: 1000,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func names(v store.View, kind pleat.ArtifactKind) []string {
	var out []string
	for _, a := range v.Artifacts {
		if a.Kind == kind {
			out = append(out, a.Name)
		}
	}
	slices.Sort(out)
	return out
}

func TestAlignmentReachesTheEngine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		a.see = func(w pleat.Work) {
			if d := cmp.Diff([]pleat.Alignment{{Sequence: 0, File: "input/msa-0.a3m"}}, w.Fold.Alignments); d != "" {
				t.Error(d)
				return
			}
			in, err := os.Open(filepath.Join(w.Dir, w.Fold.Alignments[0].File))
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			if m, err := msa.Read(in, seqA); err != nil || len(m.Rows) != 3 {
				t.Errorf("%v, %v", m, err)
			}
			if !slices.ContainsFunc(w.Model.Citations, func(c pleat.Citation) bool {
				return c.Key == "steinegger2017mmseqs2"
			}) {
				t.Error("the search is not cited")
			}
			// What was found is readable before the fold has ended.
			v, err := s.View(context.Background(), w.Fold.Job)
			if err != nil || v.Run.MSA != pleat.StateCompleted || v.Run.State != pleat.StateRunning {
				t.Errorf("the alignment is %s, the run %s, %v", v.Run.MSA, v.Run.State, err)
			}
			if d := cmp.Diff([]string{"coverage.png", "coverage.svg"}, names(v, pleat.ArtifactCoverage)); d != "" {
				t.Error(d)
			}
		}
		c := a.fold("", nil, protein(seqA, "A"))
		v := a.await(c.Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || v.Run.Result.Timings["msa"] <= 0 {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Result.Timings)
		}
		if got := names(v, pleat.ArtifactMSA); len(got) != 1 || len(names(v, pleat.ArtifactCoverage)) != 2 {
			t.Errorf("artifacts %v, %v", got, names(v, pleat.ArtifactCoverage))
		}
		told := ""
		news, err := s.Progress(context.Background(), c.Run, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range news {
			told += p.Stage + " " + p.Line + "\n"
		}
		if !strings.Contains(told, "msa ") || !strings.Contains(told, "chain A: an alignment of 3 sequences") {
			t.Errorf("told:\n%s", told)
		}
		// The same sequence again costs no search.
		a.await(a.fold("", nil, protein(seqA, "A")).Job, pleat.StateCompleted)
		if len(a.server.Tickets) != 1 {
			t.Errorf("%d tickets", len(a.server.Tickets))
		}
	})
}

func TestPairsReachTheEngine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		a.see = func(w pleat.Work) {
			want := []pleat.Alignment{{Sequence: 0, File: "input/msa-0.a3m", Paired: "input/msa-paired-0.a3m"},
				{Sequence: 2, File: "input/msa-2.a3m", Paired: "input/msa-paired-2.a3m"}}
			if d := cmp.Diff(want, w.Fold.Alignments); d != "" {
				t.Error(d)
				return
			}
			raw, err := os.ReadFile(filepath.Join(w.Dir, want[1].Paired))
			if err != nil || string(raw) != ">102\n"+seqB+"\n>UniRef100_A\t100\nGins-HMLEDP\n" {
				t.Errorf("%q, %v", raw, err)
			}
		}
		v := a.await(a.fold("", nil, protein(seqA, "A", "B"), pleat.Sequence{
			Kind:   pleat.DNA,
			Text:   "ACGT",
			Chains: []string{"C"},
			Count:  1,
		}, protein(seqB, "D")).Job, pleat.StateCompleted)
		if d := cmp.Diff([]string{"A-msa-paired.a3m", "A-msa.a3m", "D-msa-paired.a3m", "D-msa.a3m"},
			names(v, pleat.ArtifactMSA)); d != "" {
			t.Error(d)
		}
		for _, art := range v.Artifacts {
			if art.Name == "coverage.svg" {
				in, _, err := a.blobs.Open(context.Background(), art.Key)
				if err != nil {
					t.Fatal(err)
				}
				var svg bytes.Buffer
				_, _ = svg.ReadFrom(in)
				in.Close()
				for _, want := range []string{
					">paired<", "8 sequences over the residues of 2 chains: A, B (8) and D (8)", "Between 3 and 5",
				} {
					if !strings.Contains(svg.String(), want) {
						t.Errorf("the figure has no %q", want)
					}
				}
			}
		}
	})
}

func TestNoAlignment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		dna := pleat.Sequence{Kind: pleat.DNA, Text: "ACGT", Chains: []string{"A"}, Count: 1}
		for _, c := range []store.Created{a.fold("", map[string]any{"msaAlgorithm": "none"}, protein(seqA, "A")),
			a.fold("", nil, dna)} {
			v := a.await(c.Job, pleat.StateCompleted)
			if _, timed := v.Run.Result.Timings["msa"]; v.Run.MSA != pleat.StatePending || timed ||
				len(v.Artifacts) != 0 {
				t.Errorf("%s, %v, %v", v.Run.MSA, v.Run.Result.Timings, v.Artifacts)
			}
		}
		if len(a.server.Tickets) != 0 {
			t.Errorf("%d tickets", len(a.server.Tickets))
		}
		models, err := s.Models(context.Background())
		if err != nil || len(models) != 1 || models[0].Params[0].Name != "msaAlgorithm" ||
			models[0].Params[0].Default != "mmseqs2" {
			t.Errorf("%v, %v", models, err)
		}
	})
}

// hurry lets the clock run fast until the function that it answers with is called.
func hurry(clock *storetest.Clock) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				clock.Advance(60 * time.Millisecond) // faster, and leases would run out between heartbeats
			}
		}
	}()
	return func() { close(end); <-done }
}

// Without anything that makes alignments, models are offered without.
func TestNothingMakesAlignments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		b.start("w", builtin.Null{})
		if v := b.await(b.create(nil).Job, pleat.StateCompleted); v.Run.MSA != pleat.StatePending {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
		// A job that was accepted where alignments are made fails here, and waits for another worker.
		c := b.create(map[string]any{"msaAlgorithm": "mmseqs2"})
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			news, err := s.Progress(context.Background(), c.Run, 0, 50)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(news, func(p pleat.Progress) bool {
				return p.Line == "trying again: this worker makes no alignments"
			}) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("told %v", news)
			}
		}
		models, err := s.Models(context.Background())
		if err != nil || models[0].Params[0].Default != "none" || len(models[0].Params[0].Values) != 1 {
			t.Errorf("%v, %v", models, err)
		}
	})
}

// A search that fails fails the run, in time; one that fails for a while only delays it.
func TestFailedSearch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		a.server.Submit = []msatest.Answer{{Code: 404}}
		v := a.await(a.fold("", nil, protein(seqA, "A")).Job, pleat.StateFailed)
		want := `the alignment server answered 404; the operator has to check its address; run the job again later, or with params.msaAlgorithm "none"`
		if v.Run.MSA != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailMSAUnavailable ||
			v.Run.Failure.Message != want {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Failure)
		}
		a.server.Lock()
		a.server.Submit = []msatest.Answer{{Body: `{"id":"","status":"ERROR"}`}}
		a.server.Unlock()
		c := a.fold("", nil, protein(seqA, "A"))
		defer hurry(clock)() // the pause before the second try
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted {
			t.Errorf("%s", v.Run.MSA)
		}
	})
}

func TestCancelledSearch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		a.server.Submit = []msatest.Answer{{Hang: true}}
		c := a.fold("", nil, protein(seqA, "A"))
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if v, err := s.View(context.Background(), c.Job); err == nil && v.Run.MSA == pleat.StateRunning {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the search has not begun")
			}
		}
		if _, err := s.Cancel(context.Background(), a.owner, c.Job); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if v := a.await(c.Job, pleat.StateStopped); v.Run.MSA != pleat.StateStopped {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
		if took := time.Since(began); took > 20*time.Second { // the server would hang for as long as it is let
			t.Errorf("stopped after %v", took)
		}
	})
}

// An alignment of the library item that a job was made from stands in for the search of its sequence.
func TestGivenAlignment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		a := newAligned(t, s, clock)
		ctx := context.Background()
		give := func(name, text string) pleat.ItemID {
			i, err := s.CreateItem(ctx, store.LibraryItem{
				Owner:    a.owner,
				Name:     name,
				Type:     "file",
				Metadata: json.RawMessage(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			key := "library/" + string(i.ID)
			if _, err := a.blobs.Put(ctx, key, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			if err := s.AddFile(ctx, a.owner, i.ID, store.LibraryFile{Name: name, Bytes: int64(len(text)), Key: key},
				1<<30); err != nil {
				t.Fatal(err)
			}
			return i.ID
		}
		a.see = func(w pleat.Work) {
			raw, err := os.ReadFile(filepath.Join(w.Dir, w.Fold.Alignments[0].File))
			if err != nil || string(raw) != ">mine\n"+seqA+"\n>theirs\nMKT--IAK\n" {
				t.Errorf("%q, %v", raw, err)
			}
		}
		item := give("mine.A3M", ">mine\n"+seqA+"\n>theirs\nMKT--IAK\n")
		v := a.await(a.fold(item, nil, protein(seqA, "A")).Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || len(a.server.Tickets) != 0 {
			t.Errorf("%s, %d tickets", v.Run.MSA, len(a.server.Tickets))
		}
		v = a.await(a.fold(item, nil, protein(seqA, "A"), protein(seqB, "B")).Job, pleat.StateCompleted)
		if len(a.server.Tickets) != 1 || !slices.Equal(a.server.Tickets[0].Sequences, []string{seqB}) ||
			len(names(v, pleat.ArtifactMSA)) != 2 {
			t.Errorf("%v, %v", a.server.Tickets, names(v, pleat.ArtifactMSA))
		}
		a.see = nil
		v = a.await(a.fold(give("ragged.a3m", ">mine\n"+seqA+"\n>x\nMK\n"), nil, protein(seqA, "A")).Job,
			pleat.StateFailed)
		if v.Run.MSA != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailInvalidInput ||
			!strings.Contains(v.Run.Failure.Message, "row 2 has 2 columns") {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Failure)
		}
		v = a.await(a.fold(item, nil, protein(seqB, "A")).Job, pleat.StateFailed)
		if !strings.Contains(v.Run.Failure.Message, "begins with none of the job's proteins") {
			t.Errorf("%v", v.Run.Failure)
		}
		v = a.await(a.fold(item, map[string]any{"msaAlgorithm": "none"}, protein(seqB, "A")).Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StatePending {
			t.Errorf("%s", v.Run.MSA)
		}
	})
}
