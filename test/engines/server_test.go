package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
	"pleat/internal/testprogram"
)

// engineServer is a server whose engines are real packages with random weights, which scripts/with-engines makes.
// Random weights prove that all inputs reach the model and all outputs come back, never that a structure is right.
type engineServer struct {
	*testprogram.Node
	api *api.Client
}

// run runs a subtest, in which failures of the server's methods count as its own.
func (l *engineServer) run(name string, test func(t *testing.T)) {
	parent := l.T
	defer func() { l.T = parent }()
	parent.Run(name, func(t *testing.T) {
		l.T = t
		test(t)
	})
}

// startEngines starts a server with the engine and others. It skips the test if the engine is not installed.
func startEngines(t *testing.T, engine string, others ...string) *engineServer {
	var needs []string
	if _, err := os.Stat(filepath.Join("..", "..", "runners", engine, "testing",
		"make_random_weights.py")); err == nil {
		needs = append(needs, engine)
	}
	return startWith(t, os.Getenv("PLEAT_WEIGHTS"), needs, engine, others...)
}

// startTrained is startEngines with the released weights of the engine.
func startTrained(t *testing.T, engine string, others ...string) *engineServer {
	return startWith(t, os.Getenv("PLEAT_TEST_TRAINED_WEIGHTS"), []string{engine}, engine, others...)
}

// startWith starts a server with the engine and others, and the weights of a folder, which must have some.
func startWith(t *testing.T, weights string, folders []string, engine string, others ...string) *engineServer {
	if os.Getenv("PLEAT_TEST_ENGINES") == "" {
		t.Skip("needs real engines: scripts/with-engines go test -run RealEngines ./test/engines")
	}
	data := os.Getenv("PLEAT_ENGINE_DATA")
	needs := []string{filepath.Join(data, engine, "venv")}
	for _, name := range folders {
		needs = append(needs, filepath.Join(weights, name))
	}
	for _, dir := range needs {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("scripts/with-engines has not made %s: %v", engine, err)
		}
	}
	runners, err := filepath.Abs("../../runners")
	if err != nil {
		t.Fatal(err)
	}
	l := &engineServer{Node: testprogram.NewNode(t, testprogram.SQLite(t))}
	// The caches of a run are its own, the environments are shared.
	own := filepath.Join(l.Dir, "engines")
	if err := os.MkdirAll(filepath.Join(own, engine), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(data, engine, "venv"), filepath.Join(own, engine, "venv")); err != nil {
		t.Fatal(err)
	}
	l.Env = append(l.Env, "PLEAT_ENGINES="+strings.Join(append([]string{engine}, others...), ","),
		"PLEAT_RUNNERS="+runners, "PLEAT_ENGINE_DATA="+own, "PLEAT_WEIGHTS="+weights,
		// the manifests expect the released weights
		"PLEAT_DEVICES=none", "PLEAT_THREADS=1", "PLEAT_SLOTS=2", "PLEAT_MEMORY=64GB")
	l.CreateKey()
	l.Serve()
	l.api = l.Client()
	return l
}

// create creates a job, which is not completed from the result cache, and returns its identifier, or the message of the
// refusal.
func (l *engineServer) create(sequences, params, constraints string) (id string, refusal string) {
	l.T.Helper()
	body := fmt.Sprintf(`{"name":"engine test","sequences":[%s],"params":{%s},"constraints":{%s}}`,
		sequences, params, constraints)
	status, raw := l.Request(http.MethodPost, "/v1/jobs", body, "Cache-Control", "no-cache")
	var v struct {
		JobID   string `json:"jobId"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(raw, &v); err != nil || v.JobID == "" && status != http.StatusBadRequest {
		l.T.Fatalf("%d %s", status, raw)
	}
	return v.JobID, v.Message
}

// mustCreate is create for a job that must not be refused.
func (l *engineServer) mustCreate(sequences, params, constraints string) (id string) {
	l.T.Helper()
	id, refusal := l.create(sequences, params, constraints)
	if id == "" {
		l.T.Fatal("refused: " + refusal)
	}
	return id
}

func (l *engineServer) view(id string) api.JobView {
	l.T.Helper()
	v, err := l.api.Job(context.Background(), id)
	if err != nil {
		l.T.Fatal(err)
	}
	return v
}

// ended waits for the end of a job.
func (l *engineServer) ended(id string) api.JobView {
	l.T.Helper()
	var v api.JobView
	testprogram.WaitUntil(l.T, 10*time.Minute, "the job has ended", func() bool {
		v = l.view(id)
		return api.Terminal(v.Run.Status)
	})
	return v
}

// completed waits for the end of a job that must complete.
func (l *engineServer) completed(id string) api.JobView {
	l.T.Helper()
	v := l.ended(id)
	if v.Run.Status != api.Completed {
		l.T.Fatalf("%s: %+v", v.Run.Status, v.Run.Failure)
	}
	return v
}

// awaitStage waits until a job has made more than some steps of a stage. A job that ends before fails the test.
func (l *engineServer) awaitStage(id, stage string, steps int) {
	l.T.Helper()
	testprogram.WaitUntil(l.T, 5*time.Minute, "the job is in the stage "+stage, func() bool {
		v := l.view(id)
		if api.Terminal(v.Run.Status) {
			l.T.Fatalf("it ended before: %s %+v", v.Run.Status, v.Run.Failure)
		}
		return v.Progress.Stage == stage && v.Progress.Done > steps
	})
}

// cancel cancels a running job, which must stop.
func (l *engineServer) cancel(id string) {
	l.T.Helper()
	if _, err := l.api.Cancel(context.Background(), id); err != nil {
		l.T.Fatal(err)
	}
	if v := l.ended(id); v.Run.Status != api.Stopped {
		l.T.Fatalf("%s %+v", v.Run.Status, v.Run.Failure)
	}
}

// refused checks that a job is refused at once, or fails with one of the kinds, with a message that contains a text and
// no path.
func (l *engineServer) refused(name, sequences, params, constraints, want string, kinds ...pleat.FailureKind) {
	l.T.Helper()
	id, message := l.create(sequences, params, constraints)
	if id != "" {
		v := l.ended(id)
		if v.Run.Status != api.Failed || v.Run.Failure == nil {
			l.T.Errorf("%s: %s", name, v.Run.Status)
			return
		}
		message = v.Run.Failure.Message
		if !slices.Contains(kinds, pleat.FailureKind(v.Run.Failure.Kind)) {
			l.T.Errorf("%s: %+v", name, v.Run.Failure)
		}
	}
	if !strings.Contains(message, want) || strings.Contains(message, "/") {
		l.T.Errorf("%s: %q", name, message)
	}
}

// fold runs a job that must complete.
func (l *engineServer) fold(sequences, params, constraints string) api.JobView {
	l.T.Helper()
	v := l.completed(l.mustCreate(sequences, params, constraints))
	if !hasNote(v.Run.Notes, "weights of this model are random") {
		l.T.Errorf("its notes do not say that the weights are random: %q", v.Run.Notes)
	}
	return v
}

// hasNote reports whether one of the notes contains a text.
func hasNote(notes []string, text string) bool {
	return slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, text) })
}

// file returns the artifact of a kind.
func (l *engineServer) file(id, kind string) []byte {
	l.T.Helper()
	res, err := l.api.Results(context.Background(), id)
	if err != nil {
		l.T.Fatal(err)
	}
	return l.download(res, func(a api.Artifact) bool { return a.Kind == kind })
}

// named returns the artifact of a name.
func (l *engineServer) named(id, name string) []byte {
	l.T.Helper()
	res, err := l.api.Results(context.Background(), id)
	if err != nil {
		l.T.Fatal(err)
	}
	return l.download(res, func(a api.Artifact) bool { return a.Name == name })
}

// download returns the first artifact that is wanted.
func (l *engineServer) download(res api.Results, wanted func(api.Artifact) bool) []byte {
	l.T.Helper()
	i := slices.IndexFunc(res.Artifacts, wanted)
	if i < 0 {
		l.T.Fatalf("it is not among the artifacts %+v", res.Artifacts)
	}
	var b bytes.Buffer
	if err := l.api.Download(context.Background(), res.Artifacts[i], &b); err != nil {
		l.T.Fatal(err)
	}
	return b.Bytes()
}

// chains returns the residues of a job's structure, by chain in order: "A GLY SER".
func (l *engineServer) chains(id string) []string {
	l.T.Helper()
	s, err := structure.ReadCIF(bytes.NewReader(l.file(id, "cif")), structure.Limits{})
	if err != nil {
		l.T.Fatal(err)
	}
	var out []string
	for _, c := range s.Chains {
		line := c.ID
		for _, r := range c.Residues {
			line += " " + r.Comp
		}
		out = append(out, line)
	}
	return out
}

func (l *engineServer) wantChains(id string, want ...string) {
	l.T.Helper()
	if got := l.chains(id); !slices.Equal(got, want) {
		l.T.Errorf("chains %q, want %q", got, want)
	}
}

// wantPAE checks that the PAE of a job of one structure is a square matrix of n tokens.
func (l *engineServer) wantPAE(id string, n int) {
	l.T.Helper()
	var pae []struct {
		Error [][]float64 `json:"predicted_aligned_error"`
	}
	if err := json.Unmarshal(l.file(id, "pae_json"), &pae); err != nil || len(pae) != 1 {
		l.T.Fatalf("%d matrices of PAE: %v", len(pae), err)
	}
	for _, row := range pae[0].Error {
		if len(pae[0].Error) != n || len(row) != n {
			l.T.Fatalf("the PAE is %d by %d; want %d by %d", len(pae[0].Error), len(row), n, n)
		}
	}
}

// wantScores checks that a prediction has its scores, within their bounds; several: it has several chains.
func wantScores(t *testing.T, p api.ScoredChains, several bool) {
	t.Helper()
	within := func(name string, v *float64, most float64) {
		if v == nil || *v < 0 || *v > most {
			t.Errorf("%s is not from 0 to %g: %v", name, most, v)
		}
	}
	within("pLDDT", p.MeanPLLDT, 100)
	within("pTM", p.PTM, 1)
	within("largest PAE", p.MaxPAE, 32)
	if *p.MeanPLLDT < 1 {
		t.Errorf("pLDDT %v is from 0 to 1, not to 100", *p.MeanPLLDT)
	}
	if !several {
		if p.IPTM != nil {
			t.Errorf("one chain has the ipTM %v", *p.IPTM)
		}
		return
	}
	within("ipTM", p.IPTM, 1)
	if n := len(p.Chains); len(p.Pairs) != n*(n-1)/2 {
		t.Errorf("%d pairs of %d chains have scores", len(p.Pairs), n)
	}
}

// runner returns the process of the server's runner.
func (l *engineServer) runner() int {
	l.T.Helper()
	found := 0
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.T.Fatal(err)
	}
	for _, dir := range dirs {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // a process may end meanwhile
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, after, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(after))
		if bytes.Contains(command, []byte("runner.py")) && len(fields) > 1 &&
			fields[1] == strconv.Itoa(l.Cmd.Process.Pid) {
			found, _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	if found == 0 {
		l.T.Fatal("the server has no runner")
	}
	return found
}
