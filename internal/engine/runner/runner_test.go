package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/enginetest"
	"pleat/internal/flow"
)

// Each fault of a runner ends in one typed failure in bounded time, and the next job succeeds.
func TestRunnerFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		kind  pleat.FailureKind
		retry bool
		says  string
	}{
		{"crash", pleat.FailCrashed, true, "exit status 3"},
		{"exit0", pleat.FailCrashed, true, "it ended by itself"},
		{"half", pleat.FailCrashed, true, "died"},
		{"garbage", pleat.FailCrashed, true, "broke the protocol"},
		{"giant", pleat.FailCrashed, true, "broke the protocol"},
		{"mute", pleat.FailCrashed, true, "sent nothing for 0.6 s"},
		{"hang", pleat.FailTimeout, false, "no progress for 1.2 s"},
		{"child", pleat.FailCrashed, true, "died"},
		{"none", pleat.FailOutputInvalid, false, "no structure"},
		{"hash", pleat.FailOutputInvalid, false, "hash"},
		{"outside", pleat.FailOutputInvalid, false, "outside the folder"},
		{"link", pleat.FailOutputInvalid, false, "not a regular file"},
		{"swap", pleat.FailOutputInvalid, false, "moved or replaced"},
		{"absent", pleat.FailOutputInvalid, false, "does not exist"},
		{"folder", pleat.FailOutputInvalid, false, "outside the folder"},
		{"short", pleat.FailOutputInvalid, false, "announced"},
		{"unreadable", pleat.FailOutputInvalid, false, "cannot be used"},
		{"error invalid_input the SMILES is wrong", pleat.FailInvalidInput, false, "the SMILES is wrong"},
		{"error device_lost the GPU fell off", pleat.FailDeviceLost, true, "fell off"},
		{"error quantum new", pleat.FailInternal, false, "new"},
		{"error oom too much", pleat.FailOOM, false, "one sample at a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, func(m *Manifest, _ *Runner) { // only the tested limit is short: the machine may be busy
				switch c.name {
				case "mute":
					m.Silence = 0.6
				case "hang":
					m.StageTime = 1.2
				}
			})
			began := time.Now()
			w := b.work(c.name)
			out := b.Run(t.Context(), w, &enginetest.Sink{})
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			f := out.Failure
			if f == nil || f.Kind != c.kind || f.Retry != c.retry || !strings.Contains(f.Message, c.says) {
				t.Fatalf("got %+v; want %s, retry %v, that says %q", f, c.kind, c.retry, c.says)
			}
			if strings.Contains(f.Message, w.Dir) {
				t.Errorf("the failure shows the host's path: %s", f.Message)
			}
			b.Manifest.Silence, b.Manifest.StageTime = 30, 30
			b.succeed("ok")
		})
	}
}

// The first job loads; the second finds the model loaded, in the same process.
func TestRunnerStaysWarm(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	first, second := b.work("ok"), b.work("ok")
	cold := b.Run(t.Context(), first, &enginetest.Sink{})
	warm := b.Run(t.Context(), second, &enginetest.Sink{})
	if cold.Failure != nil || warm.Failure != nil {
		t.Fatal(cold.Failure, warm.Failure)
	}
	if cold.Result.Timings["load"] <= 0 {
		t.Errorf("the first run has the times %v; want one to load", cold.Result.Timings)
	}
	if s, ok := warm.Result.Timings["load"]; ok {
		t.Errorf("the second run took %v s to load; want none", s)
	}
	for _, stage := range []string{"infer", "write"} {
		if _, ok := warm.Result.Timings[stage]; !ok {
			t.Errorf("the times %v lack %s", warm.Result.Timings, stage)
		}
	}
	if cold.Engine != "fake 7" {
		t.Errorf("the engine is called %q", cold.Engine)
	}
	if a, b := b.succeed("ok"), b.succeed("ok"); a["pid"] != b["pid"] || b["jobs"] != 4.0 {
		t.Errorf("processes %v and %v, jobs %v", a["pid"], b["pid"], b["jobs"])
	}
}

func TestRunnerFiles(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	out := b.run("ok")
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var names []string
	for _, f := range out.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	want := "citations.bib config.json metrics.json model.cif model.pdb results.zip"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the files are %s", got)
	}
	if p := out.Result.Predictions[0]; p.MeanPLDDT != nil || p.PTM != nil || p.MaxPAE != nil {
		t.Errorf("the runner gave no scores, and the prediction has %+v", p)
	}
}

func TestRunnerIgnoresGrease(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(_ *Manifest, r *Runner) { r.grease = 11 })
	for range 5 {
		b.succeed("ok")
	}
}

func TestRunnerIgnoresOtherJobs(t *testing.T) {
	t.Parallel()
	newFixture(t, nil).succeed("stale")
}

func TestRunnerResultBeforeTheEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	a, c := b.succeed("exit-after"), b.succeed("ok")
	if a["pid"] == c["pid"] {
		t.Error("a process that ended was used again")
	}
}

func TestRunnerOutOfMemoryOnce(t *testing.T) {
	t.Parallel()
	if got := newFixture(t, nil).succeed("oom-once"); got["parallel"] != 1.0 {
		t.Errorf("the second try had parallel %v; want 1", got["parallel"])
	}
}

// A runner gets the listed variables and no secret of the service.
func TestRunnerEnvironment(t *testing.T) {
	t.Setenv("PLEAT_SECRET_KEY", "hush")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	t.Setenv("PLEAT_DATABASE", "postgres://u:hush@h/d")
	got := newFixture(t, func(m *Manifest, r *Runner) { m.Env["CACHE"], r.Threads = "{cache}/x", 3 }).succeed("ok")
	var names []string
	for _, e := range got["env"].([]any) {
		name, value, _ := strings.Cut(e.(string), "=")
		names = append(names, name)
		if strings.Contains(value, "hush") {
			t.Errorf("the runner sees %s", e)
		}
		if name == "CACHE" && !filepath.IsAbs(value) {
			t.Errorf("CACHE is %q", value)
		}
		if name == "CUDA_VISIBLE_DEVICES" && value != "" || name == "OMP_NUM_THREADS" && value != "3" {
			t.Errorf("%s", e)
		}
	}
	for _, want := range []string{"HOME", "TMPDIR", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "CACHE"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not set", want)
		}
	}
}

func TestRunnerLogIsBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	h := &enginetest.Sink{}
	w := b.work("chatty")
	if out := b.Run(t.Context(), w, h); out.Failure != nil {
		t.Fatal(out.Failure)
	}
	if len(h.Lines) != maxJobLines {
		t.Errorf("%d lines were kept; want %d", len(h.Lines), maxJobLines)
	}
	if strings.ContainsAny(h.Lines[0], "\x1b") || strings.Contains(h.Lines[0], w.Dir) {
		t.Errorf("the line is %q", h.Lines[0])
	}
}

// A cancelled run returns at once, whatever the runner does, and its slot becomes free in bounded time.
func TestRunnerCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		same bool // the process is kept
	}{{"cancellable", true}, {"late", true}, {"stubborn", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, func(m *Manifest, _ *Runner) {
				if c.same {
					m.CancelTime = 60 // it must end by itself
				}
			})
			before := b.succeed("ok")
			ctx, cancel := context.WithCancel(t.Context())
			h, progress := watchedSink()
			w := b.work(c.name)
			late := filepath.Join(b.Cache, "home", lateFile)
			if err := syscall.Mkfifo(late, 0o600); err != nil {
				t.Fatal(err)
			}
			ended := make(chan pleat.Output, 1)
			go func() { ended <- b.Run(ctx, w, h) }()
			for stage := range progress {
				if stage == "diffusion" {
					break
				}
			}
			began := time.Now()
			cancel()
			out := <-ended
			if took := time.Since(began); took > 30*time.Second { // the late one goes on until the test lets it end
				t.Errorf("the cancel took %v", took)
			}
			if out.Failure == nil || out.Failure.Kind != pleat.FailCancelled {
				t.Fatalf("got %+v", out.Failure)
			}
			if c.name == "late" {
				if err := os.WriteFile(late, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			after := b.succeed("ok")
			if took := time.Since(began); took > time.Minute {
				t.Errorf("the next job was done after %v", took)
			}
			if (before["pid"] == after["pid"]) != c.same {
				t.Errorf("the process was %v and is %v", before["pid"], after["pid"])
			}
		})
	}
}

// A run that is cancelled while the model loads returns at once too; its process is ended.
func TestRunnerCancelWhileLoading(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	before := b.succeed("ok")["pid"]
	p := b.process()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	w := b.work("ok")
	w.Model = b.model("slow")
	began := time.Now()
	out := b.Run(ctx, w, &enginetest.Sink{})
	if took := time.Since(began); took > time.Minute || out.Failure == nil {
		t.Errorf("%+v after %v", out.Failure, took)
	}
	if b.succeed("ok")["pid"] == before {
		t.Error("a process that was given up was used again")
	}
	awaitEnd(t, p)
}

func TestRunnerKilled(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	pid := int(b.succeed("ok")["pid"].(float64))
	h, progress := watchedSink()
	ended := make(chan pleat.Output, 1)
	w := b.work("stubborn")
	go func() { ended <- b.Run(t.Context(), w, h) }()
	<-progress
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out := <-ended
	if out.Failure == nil || out.Failure.Kind != pleat.FailCrashed || !out.Failure.Retry ||
		!strings.Contains(out.Failure.Message, "killed") {
		t.Fatalf("got %+v", out.Failure)
	}
	if again := b.succeed("ok"); again["pid"] == float64(pid) {
		t.Error("the process is the same")
	}
}

// A runner that gets the worker's SIGTERM first did not crash: the run is interrupted, and spends no try.
func TestRunnerTerminatedWithTheWorker(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	pid := int(b.succeed("ok")["pid"].(float64))
	ctx, shutDown := context.WithCancelCause(t.Context())
	h, progress := watchedSink()
	ended := make(chan pleat.Output, 1)
	w := b.work("cancellable")
	go func() { ended <- b.Run(ctx, w, h) }()
	<-progress
	p := b.process()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.gone
	shutDown(engine.ErrShutdown)
	if out := <-ended; out.Failure == nil || out.Failure.Message != "the worker shut down" {
		t.Errorf("got %+v", out.Failure)
	}
}

// The children of a dead runner are killed.
func TestRunnerGroupIsKilled(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	b := newFixture(t, func(_ *Manifest, r *Runner) { r.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	if out := b.run("child"); out.Failure == nil || out.Failure.Kind != pleat.FailCrashed {
		t.Fatalf("got %+v", out.Failure)
	}
	b.Processes.Close()
	if !regexp.MustCompile(`child \d+`).MatchString(said.String()) {
		t.Fatalf("the operator's log lacks the end of stderr: %s", &said)
	}
	b.lifeline.awaitEnd(t)
}

func TestRunnerLoad(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	loadTimeout := b.Manifest.LoadTimeout
	w := b.work("ok")
	for name, want := range map[string]pleat.FailureKind{
		"fake":   "",
		"slow":   pleat.FailTimeout,
		"absent": pleat.FailWeightsMissing,
	} {
		w.Model = b.model(name)
		b.Manifest.LoadTimeout = loadTimeout
		if name == "slow" { // only here: the time is that for the start of the process, too
			b.Manifest.LoadTimeout = 0.5
		}
		out := b.Run(t.Context(), w, &enginetest.Sink{})
		if out.Failure == nil && want != "" || out.Failure != nil && out.Failure.Kind != want {
			t.Errorf("%s: got %+v; want %s", w.Model.Name, out.Failure, want)
		}
		if out.Failure != nil && strings.Contains(out.Failure.Message, b.Weights) {
			t.Errorf("the failure shows the host's path: %s", out.Failure.Message)
		}
	}
	b = newFixture(t, func(m *Manifest, _ *Runner) { m.LoadTimeout, m.Env["PLEAT_TEST_START"] = 0.5, "never" })
	if out := b.run("ok"); out.Failure == nil || out.Failure.Kind != pleat.FailTimeout {
		t.Errorf("a silent runner gave %+v", out.Failure)
	}
	b = newFixture(t, func(m *Manifest, _ *Runner) { m.Argv = []string{"/nonexistent"} })
	if out := b.run("ok"); out.Failure == nil || out.Failure.Kind != pleat.FailLoad {
		t.Errorf("a runner that is not there gave %+v", out.Failure)
	}
}

func TestRunnerRecycles(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(m *Manifest, _ *Runner) { m.RecycleJobs = 2 })
	var pids []any
	for range 4 {
		pids = append(pids, b.succeed("ok")["pid"])
	}
	if pids[0] != pids[1] || pids[1] == pids[2] || pids[2] != pids[3] {
		t.Errorf("with two jobs a process, the processes were %v", pids)
	}
	b = newFixture(t, func(m *Manifest, _ *Runner) { m.RecycleRSS = 5 })
	if a, c := b.succeed("grow")["pid"], b.succeed("ok")["pid"]; a == c {
		t.Error("a process that had grown was used again")
	}
	off := false
	b = newFixture(t, func(m *Manifest, _ *Runner) { m.Warm = &off })
	if a, c := b.succeed("ok")["pid"], b.succeed("ok")["pid"]; a == c {
		t.Error("a process that was not to stay did")
	}
}

func TestRunnerIdleEnds(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(m *Manifest, _ *Runner) { m.IdleTTL = 0.1 })
	var p *process
	sink := &enginetest.Sink{OnProgress: func(string) {
		if running := b.process(); running != nil {
			p = running
		}
	}}
	if out := b.Run(t.Context(), b.work("ok"), sink); out.Failure != nil {
		t.Fatal(out.Failure)
	}
	awaitEnd(t, p)
	b.succeed("ok")
}

// A runner can answer questions. The facts and files are those of every Q&A engine.
func TestRunnerAnswers(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	w := pleat.Work{
		Kind:    pleat.TaskQnA,
		Task:    "task",
		Attempt: 1,
		Model:   b.model("asks"),
		Dir:     t.TempDir(),
		QnA:     &pleat.QnAInput{Question: "What is it?", Source: "upload", File: "input/a.cif"},
	}
	inputOf(t, w, "input/a.cif", helixOf(foldInput{Sequences: []sequenceInput{{Text: "AGCKS", Chains: []string{"A"}}}}))
	out := b.Run(t.Context(), w, &enginetest.Sink{})
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var row map[string]string
	if err := json.Unmarshal(out.Row, &row); err != nil || row["answer"] != "What is it? It has structure." ||
		row["question"] != "What is it?" {
		t.Errorf("%s, %v", out.Row, err)
	}
	if len(out.Files) < 4 || out.Result.Timings["load"] <= 0 {
		t.Errorf("%d files, times %v", len(out.Files), out.Result.Timings)
	}
}

func inputOf(t *testing.T, w pleat.Work, name, text string) {
	t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The service analyses the trajectory of a runner, unless the runner has. The next attempt resumes from the checkpoint.
func TestRunnerSimulates(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	var kept []string
	work := func() pleat.Work {
		w := pleat.Work{
			Kind:    pleat.TaskMD,
			Task:    "task",
			Attempt: 1,
			Model:   b.model("moves"),
			Dir:     t.TempDir(),
			MD: &pleat.MDInput{
				Preset:   "all_atom",
				File:     "input/a.pdb",
				Seed:     1<<33 + 5,
				Temp:     300,
				StepNs:   0.01,
				LengthNs: 0.02,
			},
		}
		inputOf(t, w, "input/a.pdb", "END\n")
		return w
	}
	sink := &enginetest.Sink{OnCheckpoint: func(path string, step int64) error {
		raw, err := os.ReadFile(path)
		kept = append(kept, fmt.Sprint(step, " ", string(raw)))
		return err
	}}
	out := b.Run(t.Context(), work(), sink)
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var names []string
	for _, f := range out.Files {
		names = append(names, f.Name)
	}
	want := "top.pdb traj.dcd log.csv rmsd.svg rmsd.png rmsf.svg rmsf.png " +
		"radius_of_gyration.svg radius_of_gyration.png free_energy.svg free_energy.png " +
		"free_energy_pca.svg free_energy_pca.png metrics.json config.json citations.bib results.zip"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the files are %s", got)
	}
	var row struct {
		Artifacts []flow.RowFile
		Metrics   struct {
			flow.Metrics
			Seed float64
		}
	}
	if err := json.Unmarshal(out.Row, &row); err != nil {
		t.Fatalf("%s, %v", out.Row, err)
	}
	type summary struct {
		Files, Residues   int
		Steps, Frames     int64
		Seed, Temperature float64
	}
	m := row.Metrics
	if diff := cmp.Diff(summary{Files: 17, Residues: 2, Steps: 100, Frames: 2, Seed: 5, Temperature: 300}, summary{
		Files: len(row.Artifacts), Residues: m.Residues, Steps: m.Steps, Frames: m.Frames, Seed: m.Seed,
		Temperature: m.Temperature,
	}); diff != "" {
		t.Error(diff)
	}
	// The residues keep their distance and their side chains move: nothing of it is in the RMSD and RMSF of alpha
	// carbons, all of it in the radius of gyration. For four atoms of one mass at (0,0,0), (1.5,0,0), (0,3.8,0) and
	// (0,3.8,1.5) Å it is 2.11 Å.
	if m.RMSD.Max > 1e-4 || m.RMSF.Max > 1e-4 || m.EndToEnd.Max != 0 {
		t.Errorf("alpha carbons moved: RMSD %+v, RMSF %+v, end to end %+v", m.RMSD, m.RMSF, m.EndToEnd)
	}
	if math.Abs(m.Rg.Min-0.21104) > 1e-4 || m.Rg.Max < m.Rg.Min+0.1 {
		t.Errorf("the radius of gyration is %+v", m.Rg)
	}
	if got := strings.Join(kept, ", "); got != "50 state 50" {
		t.Errorf("the checkpoints are %s; want the one inside the folder", got)
	}
	if !slices.ContainsFunc(sink.Lines, func(l string) bool { return strings.Contains(l, "outside the folder") }) {
		t.Errorf("the log is %q", sink.Lines)
	}
	w := work()
	w.Attempt = 2
	w.Resume, w.Step = filepath.Join(w.Dir, "resume.state"), 50
	inputOf(t, w, "resume.state", "state 50")
	out = b.Run(t.Context(), w, &enginetest.Sink{})
	if out.Failure != nil || !bytes.Contains(out.Row, []byte(`"resumed_from_step":50`)) ||
		bytes.Contains(out.Row, []byte(`"rmsf"`)) || bytes.Contains(out.Row, []byte(`rmsd.svg`)) {
		t.Errorf("what a runner has measured is not measured again: %+v %s", out.Failure, out.Row)
	}
}

// Work.Computed is called when the device is free and before any file is written.
func TestComputedIsCalled(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	w := b.work("ok")
	calls := 0
	w.Computed = func() {
		calls++
		b.Processes.mu.Lock()
		defer b.Processes.mu.Unlock()
		if b.Processes.slots[0].busy {
			t.Error("the slot is taken")
		}
		if _, err := os.Stat(filepath.Join(w.Dir, "metrics.json")); err == nil {
			t.Error("the files are written")
		}
	}
	if out := b.Run(t.Context(), w, &enginetest.Sink{}); out.Failure != nil || calls != 1 {
		t.Errorf("it was called %d times; %+v", calls, out.Failure)
	}
	w = b.work("crash")
	w.Computed = func() { t.Error("it was called for a failed run") }
	b.Run(t.Context(), w, &enginetest.Sink{})
}
