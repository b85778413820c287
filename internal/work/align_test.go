package work_test

import (
	"context"
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
	"pleat/internal/flow"
	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

const seqA, seqB = "MKTAYIAK", "GSHMLEDP"

// aligned is a fixture with a server for alignments, whose engine shows what it gets.
type aligned struct {
	*fixture
	server *msatest.Server
	see    func(w pleat.Work)
}

func newAligned(t *testing.T, f *fixture) *aligned {
	a := &aligned{fixture: f, server: msatest.New(t)}
	a.server.Known = true
	a.startWith("w", func(c *work.Config) { c.Aligner = finder(a.server) },
		scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			if a.see != nil {
				a.see(w)
			}
			return builtin.Null{}.Run(ctx, w, sink)
		}})
	return a
}

func finder(server *msatest.Server) *msa.Finder {
	return &msa.Finder{
		Searcher: &msa.Server{URL: server.URL, Agent: "pleat/test"},
		Log:      slog.New(slog.DiscardHandler),
		Timeout:  time.Minute,
	}
}

// toSearch queues a fold for its MSA search.
func toSearch(n *runs.NewJob) { n.Run.Queue = pleat.SearchQueue("null") }

// fold queues a fold, its search first.
func (a *aligned) fold(change ...func(n *runs.NewJob)) runs.Created {
	a.t.Helper()
	return a.create(append(change, toSearch)...)
}

// proteins sets the proteins that are folded: each with one chain, in the order of the alphabet.
func proteins(texts ...string) func(n *runs.NewJob) {
	var out []pleat.Sequence
	for i, text := range texts {
		out = append(out, storetest.Protein(text, string(rune('A'+i))))
	}
	return sequences(out...)
}

func TestAlignmentReachesTheEngine(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
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
			if !slices.ContainsFunc(w.Citations, func(c pleat.Citation) bool {
				return c.Key == "steinegger2017mmseqs2"
			}) {
				t.Error("the search is not cited")
			}
			// The alignment is readable before the fold has ended.
			v, err := f.s.Runs.View(context.Background(), w.Fold.Job)
			if err != nil || v.Run.MSA != pleat.StateCompleted || v.Run.State != pleat.StateRunning {
				t.Errorf("the alignment is %s, the run %s, %v", v.Run.MSA, v.Run.State, err)
			}
			if d := cmp.Diff([]string{"coverage.png", "coverage.svg"}, names(v, pleat.ArtifactCoverage)); d != "" {
				t.Error(d)
			}
		}
		c := a.fold(proteins(seqA))
		v := a.await(c.Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || v.Run.Result.Timings["msa"] <= 0 {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Result.Timings)
		}
		if got := names(v, pleat.ArtifactMSA); len(got) != 1 || len(names(v, pleat.ArtifactCoverage)) != 2 {
			t.Errorf("artifacts %v, %v", got, names(v, pleat.ArtifactCoverage))
		}
		progress := ""
		news, err := f.s.Runs.Progress(context.Background(), c.Run, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range news {
			progress += p.Stage + " " + p.Line + "\n"
		}
		for _, want := range []string{"msa ", "chain A: an alignment of 3 sequences"} {
			if !strings.Contains(progress, want) {
				t.Errorf("the progress has no %q:\n%s", want, progress)
			}
		}
		// The same sequence again costs no search.
		a.await(a.fold(proteins(seqA)).Job, pleat.StateCompleted)
		if len(a.server.Tickets) != 1 {
			t.Errorf("%d tickets", len(a.server.Tickets))
		}
	})
}

func TestPairsReachTheEngine(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
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
		dna := pleat.Sequence{Kind: pleat.DNA, Text: "ACGT", Chains: []string{"C"}, Count: 1}
		c := a.fold(sequences(storetest.Protein(seqA, "A", "B"), dna, storetest.Protein(seqB, "D")))
		v := a.await(c.Job, pleat.StateCompleted)
		if d := cmp.Diff([]string{"A-msa-paired.a3m", "A-msa.a3m", "D-msa-paired.a3m", "D-msa.a3m"},
			names(v, pleat.ArtifactMSA)); d != "" {
			t.Error(d)
		}
		svg := string(a.content(v.Artifacts, "coverage.svg"))
		for _, want := range []string{
			">paired<", "8 sequences over the residues of 2 chains: A, B (8) and D (8)", "Between 3 and 5",
		} {
			if !strings.Contains(svg, want) {
				t.Errorf("the figure has no %q", want)
			}
		}
	})
}

func TestNoAlignment(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		dna := pleat.Sequence{Kind: pleat.DNA, Text: "ACGT", Chains: []string{"A"}, Count: 1}
		for _, c := range []runs.Created{a.fold(params(withoutMSA)),
			a.fold(sequences(dna))} {
			v := a.await(c.Job, pleat.StateCompleted)
			if _, timed := v.Run.Result.Timings["msa"]; v.Run.MSA != pleat.StatePending || timed ||
				len(v.Artifacts) != 0 {
				t.Errorf("%s, %v, %v", v.Run.MSA, v.Run.Result.Timings, v.Artifacts)
			}
		}
		if len(a.server.Tickets) != 0 {
			t.Errorf("%d tickets", len(a.server.Tickets))
		}
		models, err := f.s.Workers.Models(context.Background())
		m, _ := pleat.FindModel(models, "null")
		if err != nil || len(models) != 2 || m.Params[0].Name != "msaAlgorithm" || m.Params[0].Default != "mmseqs2" {
			t.Errorf("%v, %v", models, err)
		}
	})
}

// Without anything that makes alignments, models are offered without.
func TestNothingMakesAlignments(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		f.start("w", builtin.Null{})
		if v := f.await(f.create().Job, pleat.StateCompleted); v.Run.MSA != pleat.StatePending {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
		models, err := f.s.Workers.Models(context.Background())
		if err != nil || models[0].Params[0].Default != "none" || len(models[0].Params[0].Values) != 1 {
			t.Errorf("%v, %v", models, err)
		}
	})
}

// A search that fails fails the run, in time; one that fails for a while only delays it.
func TestFailedSearch(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		a.server.Submit = []msatest.Answer{{Code: 404}}
		v := a.await(a.fold(proteins(seqA)).Job, pleat.StateFailed)
		want := `the alignment server answered 404; the operator has to check its address; run the job again later, or with params.msaAlgorithm "none"`
		if v.Run.MSA != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailMSAUnavailable ||
			v.Run.Failure.Message != want {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Failure)
		}
		a.server.Lock()
		a.server.Submit = []msatest.Answer{{Body: `{"id":"","status":"ERROR"}`}}
		a.server.Unlock()
		c := a.fold(proteins(seqA))
		storetest.AwaitLine(t, f.s, c.Run, "trying again: ")
		f.clock.Advance(2 * time.Second) // the pause before the second try
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted {
			t.Errorf("%s", v.Run.MSA)
		}
	})
}

func TestCancelledSearch(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		a.server.Submit = []msatest.Answer{{Hang: true}}
		c := a.fold(proteins(seqA))
		a.awaitSearch(c.Job)
		if _, err := f.s.Runs.Cancel(context.Background(), a.owner, c.Job); err != nil {
			t.Fatal(err)
		}
		// The server hangs for as long as the test lasts.
		if v := a.await(c.Job, pleat.StateStopped); v.Run.MSA != pleat.StateStopped {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
	})
}

// An alignment of the library item that a job was made from stands in for the search of its sequence.
func TestReferencedAlignment(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		from := func(item pleat.ItemID) func(n *runs.NewJob) {
			return func(n *runs.NewJob) { n.Job.LibraryItem = item }
		}
		a.see = func(w pleat.Work) {
			raw, err := os.ReadFile(filepath.Join(w.Dir, w.Fold.Alignments[0].File))
			if err != nil || string(raw) != ">mine\n"+seqA+"\n>theirs\nMKT--IAK\n" {
				t.Errorf("%q, %v", raw, err)
			}
		}
		item := f.libraryFile("mine.A3M", []byte(">mine\n"+seqA+"\n>theirs\nMKT--IAK\n"))
		ragged := f.libraryFile("ragged.a3m", []byte(">mine\n"+seqA+"\n>x\nMK\n"))
		v := a.await(a.fold(from(item), proteins(seqA)).Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StateCompleted || len(a.server.Tickets) != 0 {
			t.Errorf("%s, %d tickets", v.Run.MSA, len(a.server.Tickets))
		}
		v = a.await(a.fold(from(item), proteins(seqA, seqB)).Job, pleat.StateCompleted)
		if len(a.server.Tickets) != 1 || !slices.Equal(a.server.Tickets[0].Sequences, []string{seqB}) ||
			len(names(v, pleat.ArtifactMSA)) != 2 {
			t.Errorf("%v, %v", a.server.Tickets, names(v, pleat.ArtifactMSA))
		}
		a.see = nil
		v = a.await(a.fold(from(ragged), proteins(seqA)).Job,
			pleat.StateFailed)
		if v.Run.MSA != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailInvalidInput ||
			!strings.Contains(v.Run.Failure.Message, "row 2 has 2 columns") {
			t.Errorf("%s, %v", v.Run.MSA, v.Run.Failure)
		}
		v = a.await(a.fold(from(item), proteins(seqB)).Job, pleat.StateFailed)
		if !strings.Contains(v.Run.Failure.Message, "begins with none of the job's proteins") {
			t.Errorf("%v", v.Run.Failure)
		}
		v = a.await(a.fold(from(item), params(withoutMSA), proteins(seqB)).Job, pleat.StateCompleted)
		if v.Run.MSA != pleat.StatePending {
			t.Errorf("%s", v.Run.MSA)
		}
	})
}

// A pairing that was asked for is not left out silently where the search cannot pair.
func TestPairingThatTheSearchCannotMake(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.startWith("w", func(c *work.Config) {
			c.Aligner = &msa.Finder{Searcher: &msa.Command{Program: "/no/mmseqs"}, Log: slog.New(slog.DiscardHandler)}
		}, builtin.Null{})
		w := f.createWorkflow(f.owner, pleat.TaskAlign,
			`{"sequences":["`+seqA+`","`+seqB+`"],"pairing":"complete"}`)
		v, _ := f.awaitWorkflow(w, pleat.StateFailed)
		const want = `pairing is "complete", but the search of this service pairs no rows; leave pairing out`
		if v.Run.Failure.Message != want {
			t.Errorf("%v", v.Run.Failure)
		}
	})
}

// The log of a complex says which alignments are not paired, and which have no related sequences.
func TestLogSaysWhatAnAlignmentLacks(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		item := f.libraryFile("mine.a3m", []byte(">mine\n"+seqA+"\n"))
		from := func(n *runs.NewJob) { n.Job.LibraryItem = item }
		c := a.fold(proteins(seqA, seqB), from)
		a.await(c.Job, pleat.StateCompleted)
		for _, want := range []string{
			"chain A: an alignment without related sequences, not paired with those of other chains",
			"chain B: an alignment of 3 sequences, not paired with those of other chains",
		} {
			storetest.AwaitLine(t, f.s, c.Run, want)
		}
	})
}

// Alignments that a job names, also of RNA, reach the engine through the search for the others.
func TestReferencedAlignmentsPassTheSearch(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		const rna, text = "ACGUACGU", ">mine\nACGUACGU\n>theirs\nACG--CGU\n"
		item := f.libraryFile("rna.a3m", []byte(text))
		a.see = func(w pleat.Work) {
			want := []pleat.Alignment{{Sequence: 0, File: "input/msa-0.a3m"}, {Sequence: 1, File: "input/msa-1.a3m"}}
			if d := cmp.Diff(want, w.Fold.Alignments); d != "" {
				t.Error(d)
				return
			}
			if raw, err := os.ReadFile(filepath.Join(w.Dir, want[1].File)); err != nil || string(raw) != text {
				t.Errorf("%q, %v", raw, err)
			}
		}
		named := pleat.Sequence{
			Kind:   pleat.RNA,
			Text:   rna,
			Chains: []string{"B"},
			Count:  1,
			MSA:    pleat.FileRef{Item: item, Name: "rna.a3m"},
		}
		v := a.await(a.fold(sequences(storetest.Protein(seqA, "A"), named)).Job, pleat.StateCompleted)
		if got := names(v, pleat.ArtifactMSA); len(got) != 2 || len(a.server.Tickets) != 1 {
			t.Errorf("%v, %d searches", got, len(a.server.Tickets))
		}
	})
}

// A fold whose own alignments were gone when its turn came fails: no search has made others.
func TestAlignmentsThatGoBeforeTheFold(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := &aligned{fixture: f, server: msatest.New(t)}
		item := f.libraryFile("mine.a3m", []byte(">mine\n"+seqA+"\n"))
		c := a.fold(proteins(seqA), func(n *runs.NewJob) { n.Job.LibraryItem = item })
		stop := a.startWith("search", func(c *work.Config) {
			c.Aligner, c.Alignments = finder(a.server), pleat.AlignmentsOnly
		}, builtin.Null{})
		awaitSearched(t, f)
		stop()
		if _, err := f.s.Runs.DeleteItem(context.Background(), f.owner, item); err != nil {
			t.Fatal(err)
		}
		f.start("bare", builtin.Null{})
		v := f.await(c.Job, pleat.StateFailed)
		const want = "the alignments that the job names have gone since it was queued; run the job again"
		if v.Run.MSA != pleat.StateFailed || v.Run.Failure.Message != want || len(a.server.Tickets) != 0 {
			t.Errorf("%s, %v, %d searches", v.Run.MSA, v.Run.Failure, len(a.server.Tickets))
		}
	})
}

// searched folds a protein for a user and returns the lines that the user reads about it.
func (a *aligned) searched(user people.Reach, protein string) []string {
	a.t.Helper()
	c := a.fold(proteins(protein), func(n *runs.NewJob) { n.Job.Owner = user.Project })
	a.await(c.Job, pleat.StateCompleted)
	news, err := a.s.Runs.Progress(context.Background(), c.Run, 0, 50)
	if err != nil {
		a.t.Fatal(err)
	}
	var lines []string
	for _, p := range news {
		lines = append(lines, strings.TrimSpace(string(p.Kind)+" "+p.Stage+" "+p.Line))
	}
	return lines
}

// A user who folds another user's private sequence learns nothing from the search: it is made again, and reads as the
// first one did. Where the operator shares alignments, it is made once.
func TestAlignmentsOfAnotherUserAreNotUsed(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		bob := storetest.User(t, f.s, "bob")
		for shared, want := range map[bool]int{false: 2, true: 1} {
			a := &aligned{fixture: f, server: msatest.New(t)}
			a.server.Known = true
			stop := a.startWith("w", func(c *work.Config) {
				c.Aligner = finder(a.server)
				c.Aligner.Shared = shared
			}, builtin.Null{})
			first, second := a.searched(a.owner, seqA), a.searched(bob, seqA)
			if n := len(a.server.Tickets); n != want {
				t.Errorf("shared %t: %d searches of two users; want %d", shared, n, want)
			}
			// A log line is stored with the next heartbeat, before or after a file; one may store a stage twice.
			slices.Sort(first)
			slices.Sort(second)
			first, second = slices.Compact(first), slices.Compact(second)
			if d := cmp.Diff(first, second); d != "" && !shared {
				t.Errorf("the second search reads otherwise than the first:\n%s", d)
			}
			a.searched(bob, seqA)
			if n := len(a.server.Tickets); n != want {
				t.Errorf("shared %t: %d searches after a user's second fold; want %d", shared, n, want)
			}
			stop()
		}
	})
}

// However many folds on however many workers need an alignment, it is searched for once.
func TestWorkersSearchOnce(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := &aligned{fixture: f, server: msatest.New(t)}
		a.server.Gate = make(chan struct{})
		want := []string{seqA, seqB, "AAAAAAAA", "CCCCCCCC"}
		slices.Sort(want)
		var jobs []runs.Created
		for range 5 {
			for _, s := range want {
				jobs = append(jobs, a.fold(proteins(s)))
			}
		}
		for _, id := range []string{"one", "two"} {
			a.startWith(id, func(c *work.Config) { c.Aligner = finder(a.server) }, builtin.Null{})
		}
		storetest.Eventually(t, "each worker has as many searches as it takes", func() bool {
			n := 0
			for _, c := range jobs {
				if f.states([]pleat.JobID{c.Job})[0] == pleat.StateRunning {
					n++
				}
			}
			return n == 16
		})
		close(a.server.Gate)
		for _, c := range jobs {
			a.await(c.Job, pleat.StateCompleted)
		}
		a.server.Lock()
		defer a.server.Unlock()
		var got []string
		for _, ticket := range a.server.Tickets {
			got = append(got, ticket.Sequences...)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("searched for (-want +got):\n%s", d)
		}
	})
}

// An alignment of its own publishes the files that a fold of its proteins would, and is not searched for again by it.
func TestAlignmentAlone(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := newAligned(t, f)
		w := f.createWorkflow(f.owner, pleat.TaskAlign,
			`{"sequences":["`+seqA+`","`+seqB+`"],"pairing":"complete"}`)
		v, _ := f.awaitWorkflow(w, pleat.StateCompleted)
		var names []string
		for _, file := range v.Artifacts {
			names = append(names, file.Name)
		}
		slices.Sort(names)
		want := []string{
			"A-msa-paired.a3m",
			"A-msa.a3m",
			"B-msa-paired.a3m",
			"B-msa.a3m",
			"coverage.png",
			"coverage.svg",
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
		found, err := flow.AlignedProteins(v.Run.Result.Row)
		if err != nil || len(found) != 2 || found[0].Depth != 3 || found[1].PairFile != "B-msa-paired.a3m" {
			t.Errorf("%+v, %v", found, err)
		}
		if n := len(a.server.Tickets); n != 2 || a.server.Tickets[1].Mode != "paircomplete" {
			t.Errorf("%+v", a.server.Tickets)
		}
		var given []pleat.Alignment
		a.see = func(w pleat.Work) { given = w.Fold.Alignments }
		c := a.fold(proteins(seqB, seqA), params(map[string]any{"alignmentId": string(w)}))
		if v := a.await(c.Job, pleat.StateCompleted); v.Run.MSA != pleat.StateCompleted {
			t.Errorf("the alignment is %s", v.Run.MSA)
		}
		if len(given) != 2 || given[0].Paired == "" || given[1].Paired == "" {
			t.Errorf("the engine got %+v", given)
		}
		if n := len(a.server.Tickets); n != 2 {
			t.Errorf("%d searches after the fold", n)
		}
	})
}

// A server of alignments that asked one worker to be left alone is asked by none until then. Jobs that cannot wait for
// that fail at once, say until when, and spend no further tries.
func TestPauseReachesAllWorkers(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		a := &aligned{fixture: f, server: msatest.New(t)}
		hour := msatest.Answer{Code: 429, Header: [2]string{"Retry-After", "3600"}}
		a.server.Submit = []msatest.Answer{hour, hour, hour}
		for _, id := range []string{"one", "two"} {
			stop := a.startWith(id, func(c *work.Config) { c.Aligner = finder(a.server) }, builtin.Null{})
			v := a.await(a.fold(proteins(seqA)).Job, pleat.StateFailed)
			const want = "the alignment server asked to be left alone until "
			why := v.Run.Failure
			if why.Kind != pleat.FailMSAUnavailable || why.Retry || !strings.HasPrefix(why.Message, want) {
				t.Errorf("%s: the failure is %+v; want %q", id, why, want)
			}
			stop()
		}
		if n := len(a.server.Requests); n != 1 {
			t.Errorf("%d requests of two workers; want that which was refused", n)
		}
		if n := attempts(t, f); n != 2 {
			t.Errorf("%d attempts at two searches", n)
		}
	})
}
