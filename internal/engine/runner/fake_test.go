package runner

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/sandbox"
)

// TestMain makes the test binary a runner as well: one that does what the name of the job says, right or wrong.
func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv("PLEAT_TEST_RUNNER") == "yes" {
		openLifeline()
		(&fake{in: bufio.NewReader(os.Stdin)}).run()
		return
	}
	if text := os.Getenv("PLEAT_TEST_HOSTILE"); text != "" {
		hostileMain(text)
		return
	}
	if dir := os.Getenv("PLEAT_TEST_SERVICE"); dir != "" {
		service(dir)
		return
	}
	os.Exit(m.Run())
}

// fake is the runner's side of the tests.
type fake struct {
	in   *bufio.Reader
	mu   sync.Mutex  // held while a message is written
	mute atomic.Bool // it sends no heartbeat
	deaf atomic.Bool // it ignores the end of its input
	jobs int
	rss  atomic.Int64 // bytes that it reports
}

// lifeline is the end of a pipe that the fake and its children keep open as long as they live.
var lifeline *os.File

func openLifeline() {
	path := os.Getenv("PLEAT_TEST_LIFELINE")
	if path == "" {
		return
	}
	var err error
	if lifeline, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		os.Exit(11)
	}
}

// startChild starts a process that outlives its work, unless it is killed.
func startChild(cmd *exec.Cmd) {
	if lifeline != nil {
		cmd.ExtraFiles = []*os.File{lifeline}
	}
	if err := cmd.Start(); err != nil {
		os.Exit(6)
	}
}

// watchedLifeline is the other end of a lifeline.
type watchedLifeline struct {
	path string
	read *os.File
}

// newLifeline makes one in a folder that the fake may write, and makes the folder.
func newLifeline(t *testing.T, dir string) *watchedLifeline {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lifeline")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return &watchedLifeline{path, in}
}

// awaitEnd waits until no process keeps the lifeline open.
func (l *watchedLifeline) awaitEnd(t *testing.T) {
	t.Helper()
	if err := l.read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, l.read); err != nil {
		t.Fatalf("a process lives on: %v", err)
	}
}

func (f *fake) say(m any) {
	line, err := encodeWire(m, nil)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = os.Stdout.Write(line)
}

func (f *fake) heartbeat() {
	for range time.Tick(50 * time.Millisecond) {
		if !f.mute.Load() {
			f.say(wirePong{Type: "pong", Mem: &wireMem{RSS: f.rss.Load()}})
		}
	}
}

func (f *fake) run() {
	cancels := make(chan string, 10)
	work := make(chan any, 10)
	go func() {
		for {
			line, err := readLine(f.in, maxToRunner)
			if err != nil {
				if f.deaf.Load() {
					select {}
				}
				os.Exit(0)
			}
			m, err := decodeWire(line)
			if err != nil {
				os.Exit(4)
			}
			if c, ok := m.(*wireCall); ok && c.Type == "cancel" {
				cancels <- c.ID
				continue
			}
			if m != nil {
				work <- m
			}
		}
	}()
	if os.Getenv("PLEAT_TEST_START") == "never" {
		select {}
	}
	for m := range work {
		switch m := m.(type) {
		case *wireHello:
			f.say(wirePong{Type: "pong", Protocol: wireProtocol, Engine: "fake"})
			go f.heartbeat()
		case *wireLoad:
			f.load(m)
		case *wirePredict:
			f.predict(m, cancels)
		case *wireCall:
			if m.Type == "shutdown" {
				return
			}
		}
	}
}

func (f *fake) load(m *wireLoad) {
	switch m.Model {
	case "slow":
		select {}
	case "absent":
		f.say(wireError{Type: "error", Code: "weights_missing", Message: "there is no " + m.Weights + "/absent.ckpt"})
	default:
		f.say(wireReady{Type: "ready", Version: "7", Device: "fake " + m.Device})
	}
}

// predict does what the job's name says.
func (f *fake) predict(m *wirePredict, cancels <-chan string) {
	f.jobs++
	var in foldInput
	if err := json.Unmarshal(m.Input, &in); err != nil {
		os.Exit(5)
	}
	what, arg, _ := strings.Cut(in.Name, " ")
	r := wireResult{
		Type: "result",
		ID:   m.ID,
		Metrics: map[string]any{
			"pid":      os.Getpid(),
			"jobs":     f.jobs,
			"env":      os.Environ(),
			"parallel": m.Parallel,
			"workdir":  m.Workdir,
		},
	}
	if m.Kind != pleat.TaskFold {
		f.flow(m, &r)
		return
	}
	structureFile := func(name string) wireFile { return writeResult(m.Workdir, "structure", name, helixOf(in)) }
	f.ends(what, m)
	if f.refuses(what, arg, m, cancels) {
		return
	}
	switch what {
	case "attack":
		var to targets
		if err := json.Unmarshal([]byte(arg), &to); err != nil {
			os.Exit(13)
		}
		got, _ := json.Marshal(attacks(to, m.Workdir))
		f.say(wireLog{Type: "log", ID: m.ID, Line: "attacks " + string(got)})
	case "stale": // of another job, before this one's
		f.say(wireResult{Type: "result", ID: "another", Scores: &wireScores{PTM: new(float64)}})
		f.say(wireError{Type: "error", ID: "another", Code: "internal", Message: "of another job"})
	case "chatty":
		for i := range 2000 {
			f.say(wireLog{Type: "log", ID: m.ID, Line: fmt.Sprint("line ", i, "\x1b[31m ", m.Workdir)})
		}
	case "grow":
		f.rss.Store(10e9)
		f.say(wirePong{Type: "pong", Mem: &wireMem{RSS: f.rss.Load()}})
	case "none": // a result without files
	case "hash", "outside", "link", "swap", "absent", "folder", "short", "unreadable":
		r.Files = append(r.Files, f.wrongFile(what, m, structureFile))
	}
	if len(r.Files) == 0 && what != "none" {
		r.Files = append(r.Files, structureFile("model.cif"))
	}
	f.say(r)
	if what == "exit-after" {
		os.Exit(0)
	}
}

// ends does the faults after which no answer follows.
func (f *fake) ends(what string, m *wirePredict) {
	switch what {
	case "hang": // alive, but no progress
		select {}
	case "mute": // not even a heartbeat
		f.mute.Store(true)
		select {}
	case "crash":
		os.Exit(3)
	case "exit0":
		os.Exit(0)
	case "garbage":
		fmt.Println("Downloading weights: 100%")
		select {}
	case "giant":
		fmt.Println(`{"type":"log","line":"` + strings.Repeat("x", 4<<20) + `"}`)
		select {}
	case "half":
		f.mu.Lock() // no heartbeat may end the line
		fmt.Print(`{"type":"result","id":"` + m.ID + `"`)
		os.Exit(0)
	case "child": // leaves a process behind that holds the pipes
		cmd := exec.Command("sleep", "60")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		startChild(cmd)
		fmt.Fprintln(os.Stderr, "child", cmd.Process.Pid)
		os.Exit(0)
	case "stuck": // ignores its input and all signals but SIGKILL, and has a child
		f.deaf.Store(true)
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		cmd := exec.Command("sleep", "600")
		startChild(cmd)
		f.say(wireLog{Type: "log", ID: m.ID, Line: fmt.Sprint("stuck ", os.Getpid(), " ", cmd.Process.Pid)})
		select {}
	case "stubborn":
		f.say(wireProgress{Type: "progress", ID: m.ID, Stage: "diffusion", Done: 1, Total: 9})
		select {}
	}
}

// refuses answers with an error, or waits for a cancel. It returns false if a result must follow.
func (f *fake) refuses(what, arg string, m *wirePredict, cancels <-chan string) bool {
	switch what {
	case "cancellable":
		f.say(wireProgress{Type: "progress", ID: m.ID, Stage: "diffusion", Done: 1, Total: 9})
		<-cancels
		f.say(wireError{Type: "error", ID: m.ID, Code: "cancelled", Message: "stopped"})
		return true
	case "late": // the result comes after the cancel
		f.say(wireProgress{Type: "progress", ID: m.ID, Stage: "diffusion", Done: 1, Total: 9})
		<-cancels
		late := filepath.Join(os.Getenv("HOME"), lateFile)
		if _, err := os.ReadFile(late); err != nil { // blocks until the test writes
			os.Exit(12)
		}
	case "error":
		code, message, _ := strings.Cut(arg, " ")
		f.say(wireError{Type: "error", ID: m.ID, Code: code, Message: message + m.Workdir, Detail: "Traceback"})
		return true
	case "oom-once":
		if m.Parallel == 0 {
			f.say(wireError{Type: "error", ID: m.ID, Code: "oom", Message: "tried to allocate 20 GiB"})
			return true
		}
	}
	return false
}

// flow answers a question or simulates.
func (f *fake) flow(m *wirePredict, r *wireResult) {
	var files []string
	for _, v := range m.Files {
		if _, err := os.Stat(filepath.Join(m.Workdir, v.Path)); err != nil {
			os.Exit(9)
		}
		files = append(files, v.Kind)
	}
	if m.Kind == pleat.TaskQnA {
		var in qnaInput
		if err := json.Unmarshal(m.Input, &in); err != nil {
			os.Exit(5)
		}
		r.Answer = in.Question + " It has " + strings.Join(files, " and ") + "."
		f.say(*r)
		return
	}
	from := int64(0)
	if m.Resume != nil {
		from = m.Resume.Step
		if raw, err := os.ReadFile(filepath.Join(m.Workdir, m.Resume.Path)); err != nil ||
			string(raw) != fmt.Sprint("state ", from) {
			os.Exit(10)
		}
	}
	writeResult(m.Workdir, "", "state", fmt.Sprint("state ", from+50))
	f.say(wireCheckpoint{Type: "checkpoint", ID: m.ID, Path: "state", Step: from + 50})
	f.say(wireCheckpoint{Type: "checkpoint", ID: m.ID, Path: "../state", Step: 1})
	if err := os.Symlink(os.Args[0], filepath.Join(m.Workdir, "linked")); err != nil {
		os.Exit(15)
	}
	f.say(wireCheckpoint{Type: "checkpoint", ID: m.ID, Path: "linked", Step: 2})
	r.Metrics = map[string]any{"steps": from + 100, "resumed_from_step": from, "seed": m.Seed}
	r.Files = append(r.Files,
		writeResult(m.Workdir, "topology", "top.pdb",
			fakeTopology), writeResult(m.Workdir, "trajectory", "traj.dcd", fakeTrajectory()),
		writeResult(m.Workdir, "energies", "log.csv", "time_ns,temperature_k\n0.01,290\n0.02,310\n"))
	if m.Attempt > 1 {
		r.Metrics["rmsd"] = map[string]any{"unit": "nm", "mean": 0.25} // it has measured
	}
	f.say(*r)
}

// wrongFile returns a file of a result that must be refused.
func (f *fake) wrongFile(what string, m *wirePredict, structureFile func(string) wireFile) wireFile {
	switch what {
	case "outside":
		return structureFile("../outside.cif")
	case "swap": // its folder is a link to another with the same file
		v := structureFile("model.cif")
		if os.Rename(m.Workdir, m.Workdir+"-own") != nil || os.Symlink(m.Workdir+"-own", m.Workdir) != nil {
			os.Exit(14)
		}
		return v
	case "link":
		v := structureFile("../outside.cif")
		if err := os.Symlink(filepath.Join(m.Workdir, "..", "outside.cif"),
			filepath.Join(m.Workdir, "model.cif")); err != nil {
			os.Exit(7)
		}
		v.Path = "model.cif"
		return v
	case "absent":
		return wireFile{Kind: "structure", Path: "model.cif", SHA256: strings.Repeat("0", 64), Bytes: 1}
	case "folder":
		return wireFile{Kind: "structure", Path: ".", SHA256: strings.Repeat("0", 64), Bytes: 4096}
	case "short":
		v := structureFile("model.cif")
		v.Bytes++
		return v
	case "hash":
		v := structureFile("model.cif")
		v.SHA256 = strings.Repeat("0", 64)
		return v
	}
	return writeResult(m.Workdir, "structure", "model.cif", "this is no structure")
}

// lateFile is a pipe in the home of the fake. The job "late" ends once the test writes to it.
const lateFile = "late"

// writeResult writes a file of a result.
func writeResult(dir, kind, name, text string) wireFile {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		os.Exit(8)
	}
	sum := sha256.Sum256([]byte(text))
	return wireFile{Kind: kind, Path: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}
}

var threeLetters = map[byte]string{'A': "ALA", 'G': "GLY", 'C': "CYS", 'K': "LYS", 'S': "SER"}

// helixOf returns an mmCIF file of the input's proteins: one CA per residue, all on a line.
func helixOf(in foldInput) string {
	var b strings.Builder
	b.WriteString("data_x\n_entity.id 1\n_entity.type polymer\n")
	b.WriteString("_entity_poly.entity_id 1\n_entity_poly.type 'polypeptide(L)'\nloop_\n")
	for _, item := range []string{
		"group_PDB", "id", "type_symbol", "label_atom_id", "label_comp_id", "label_asym_id", "label_entity_id",
		"label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z",
	} {
		b.WriteString("_atom_site." + item + "\n")
	}
	n := 0
	for k, s := range in.Sequences {
		for i := range len(s.Text) {
			n++
			fmt.Fprintf(&b, "ATOM %d C CA %s %s 1 %d %.1f %d 0\n", n, threeLetters[s.Text[i]], s.Chains[0], i+1,
				3.8*float64(i), 5*k)
		}
	}
	return b.String()
}

// fixture is a Runner whose processes are the fake.
type fixture struct {
	*Runner
	t        *testing.T
	lifeline *watchedLifeline // of its processes and their children
}

// newFixture makes a fixture, in the sandbox where the system has one. Change, if not nil, may change its manifest and
// its Runner.
func newFixture(t *testing.T, change func(*Manifest, *Runner)) *fixture {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	raw := fmt.Sprintf(`{
		"engine": "fake", "version": "1", "protocol": 1, "argv": [%q], "env": {"PLEAT_TEST_RUNNER": "yes"},
		"device": "cpu", "entities": ["protein"], "mem_model": {"base_gb": 1},
		"load_timeout_s": 20, "job_timeout_s": 60, "stage_timeout_s": 30, "heartbeat_timeout_s": 30, "cancel_s": 1,
		"models": [
			{"name": "asks", "kind": "qna", "title": "Asks", "licence": "none"},
			{"name": "moves", "kind": "md", "title": "Moves", "licence": "none"},
			{"name": "fake", "title": "Fake", "licence": "none"},
			{"name": "slow", "title": "Slow", "licence": "none"},
			{"name": "absent", "title": "Absent", "licence": "none"}
		]}`, exe)
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	alive := newLifeline(t, filepath.Join(dir, "cache"))
	m.Env["PLEAT_TEST_LIFELINE"] = alive.path
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	r := &Runner{
		Manifest: m,
		Weights:  filepath.Join(dir, "weights"),
		Cache:    filepath.Join(dir, "cache"),
		Sandbox:  sandbox.Auto,
		Log:      log,
	}
	if change != nil {
		change(m, r)
	}
	if r.Processes == nil {
		r.Processes = NewProcessPool(nil, 1, 0, log)
		t.Cleanup(r.Processes.Close)
	}
	return &fixture{r, t, alive}
}

// watchedSink returns a sink that passes on the stages as they are reported.
func watchedSink() (*enginetest.Sink, <-chan string) {
	stages := make(chan string, 10)
	return &enginetest.Sink{OnProgress: func(stage string) {
		select {
		case stages <- stage:
		default:
		}
	}}, stages
}

// model returns a model of the fake.
func (b *fixture) model(name string) pleat.Model {
	all := b.Models()
	i := slices.IndexFunc(all, func(m pleat.Model) bool { return m.Name == name })
	return all[i]
}

// process returns the process in the first slot, or nil.
func (b *fixture) process() *process {
	b.t.Helper()
	b.Processes.mu.Lock()
	defer b.Processes.mu.Unlock()
	if procs := b.Processes.slots[0].procs; len(procs) > 0 {
		return procs[0]
	}
	return nil
}

// awaitEnd waits until a process is gone.
func awaitEnd(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(time.Minute):
		t.Fatal("the process lives on")
	}
}

// work returns a fold of the given name, which says what the fake does.
func (b *fixture) work(name string) pleat.Work { return b.workIn(b.t.TempDir(), name) }

// workIn is work in a folder.
func (b *fixture) workIn(dir, name string) pleat.Work {
	w := pleat.Work{Kind: pleat.TaskFold, Task: "task", Attempt: 1, Model: b.model("fake"), Dir: dir,
		Fold: &pleat.FoldInput{
			Name:      name,
			Seed:      "1",
			Sequences: []pleat.Sequence{{ID: "s", Kind: pleat.Protein, Text: "AGCKS", Chains: []string{"A"}, Count: 1}},
		}}
	return w
}

// run runs one job.
func (b *fixture) run(name string) pleat.Output {
	b.t.Helper()
	return b.Run(b.t.Context(), b.work(name), &enginetest.Sink{})
}

// succeed runs one job that must succeed, and returns the metrics of the fake.
func (b *fixture) succeed(name string) map[string]any {
	b.t.Helper()
	w := b.work(name)
	out := b.Run(b.t.Context(), w, &enginetest.Sink{})
	if out.Failure != nil {
		b.t.Fatalf("%q failed: %s", name, out.Failure)
	}
	raw, err := os.ReadFile(filepath.Join(w.Dir, "metrics.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var doc struct {
		Predictions []struct {
			Extra map[string]any `json:"engine_metrics"`
		} `json:"predictions"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil || len(doc.Predictions) == 0 {
		b.t.Fatalf("%s: %v", raw, err)
	}
	return doc.Predictions[0].Extra
}

// fakeTopology has two residues of two atoms each. In the second frame of fakeTrajectory the side chain of the second
// residue has moved by 5 Å, and everything by 7 Å.
const fakeTopology = `ATOM      1  CA  ALA A   1       0.000   0.000   0.000  1.00  0.00           C
ATOM      2  CB  ALA A   1       1.500   0.000   0.000  1.00  0.00           C
ATOM      3  CA  ALA B   1       0.000   3.800   0.000  1.00  0.00           C
ATOM      4  CB  ALA B   1       0.000   3.800   1.500  1.00  0.00           C
END
`

func fakeTrajectory() string {
	le := binary.LittleEndian
	rec := func(b []byte) []byte {
		n := le.AppendUint32(nil, uint32(len(b)))
		return slices.Concat(n, b, n)
	}
	head := make([]byte, 84)
	copy(head, "CORD")
	out := slices.Concat(rec(head), rec(make([]byte, 4)), rec(le.AppendUint32(nil, 4)))
	for _, frame := range [][3][4]float32{
		{{0, 1.5, 0, 0}, {0, 0, 3.8, 3.8}, {0, 0, 0, 1.5}},
		{{7, 8.5, 7, 7}, {0, 0, 3.8, 3.8}, {0, 0, 0, 6.5}},
	} {
		for _, row := range frame {
			var b []byte
			for _, v := range row {
				b = le.AppendUint32(b, math.Float32bits(v))
			}
			out = append(out, rec(b)...)
		}
	}
	return string(out)
}
