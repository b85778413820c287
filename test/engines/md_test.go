package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/calvados"
	"pleat/internal/structure"
	"pleat/internal/testprogram"
)

// TestRealEnginesOpenMM has OpenMM, installed from PyPI, simulate a peptide with all atoms: from a file of the library
// to a trajectory, over HTTP.
func TestRealEnginesOpenMM(t *testing.T) {
	l := startEngines(t, "openmm", "mini")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "openmm") })
	l.run("peptide", l.peptide)
	l.run("fold", l.foldedMD)
	l.run("refusals", l.refusedMD)
	l.run("cancel", l.cancelledMD)
	l.run("killed runner", l.killedMD)
}

// runnerTests runs the unit tests of a runner in its own environment.
func runnerTests(t *testing.T, engine string) {
	python := filepath.Join(os.Getenv("PLEAT_ENGINE_DATA"), engine, "venv", "bin", "python")
	cmd := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	cmd.Dir = filepath.Join("..", "..", "runners", engine)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func peptidePDB(t *testing.T) string {
	raw, err := os.ReadFile(filepath.Join("..", "..", "runners", "openmm", "testing", "peptide.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// simulate uploads a structure and starts a simulation of it.
func (l *engineServer) simulate(pdb string, lengthNs, stepNs float64) string {
	l.T.Helper()
	ctx := context.Background()
	item, err := l.api.CreateItem(ctx, api.CreateItem{Name: "peptide"})
	if err != nil {
		l.T.Fatal(err)
	}
	if _, err := l.api.UploadFile(ctx, item.ID, "peptide.pdb", strings.NewReader(pdb)); err != nil {
		l.T.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"preset": "all_atom", "force_field_family": "amber",
		"sim_length_ns": lengthNs, "step_size_ns": stepNs, "temp": 300, "seed": 5,
		"sourceType": "library", "files": map[string]any{"pdb": map[string]any{"libraryItemId": item.ID,
			"fileName": "peptide.pdb"}}})
	if err != nil {
		l.T.Fatal(err)
	}
	w, err := l.api.CreateWorkflow(ctx, api.CreateWorkflow{WorkflowName: "md", Name: "peptide", Input: in})
	if err != nil {
		l.T.Fatal(err)
	}
	return w.ID
}

func (l *engineServer) workflow(id string) api.Workflow {
	l.T.Helper()
	w, err := l.api.Workflow(context.Background(), id)
	if err != nil {
		l.T.Fatal(err)
	}
	return w
}

// endedAs waits until a workflow has ended, and fails the test if its status is another.
func (l *engineServer) endedAs(id, status string) api.Workflow {
	l.T.Helper()
	var w api.Workflow
	testprogram.WaitUntil(l.T, 10*time.Minute, "the simulation has ended", func() bool {
		w = l.workflow(id)
		return api.Terminal(w.Status)
	})
	if w.Status != status {
		text := "no error"
		if e := w.Tasks[0].Error; e != nil {
			text = *e
		}
		l.T.Fatalf("the simulation is %s, want %s: %s", w.Status, status, text)
	}
	return w
}

// mdMetrics are those of a simulation's row that every engine gives.
type mdMetrics struct {
	RMSD, RMSF, Rg, EndToEnd struct {
		Mean, Min, Max float64
		Plot           string
	}
	Temperature float64 `json:"mean_temperature"`
	Frames      int
	Steps       int
	Residues    int
	Atoms       int
	Resumed     int64 `json:"resumed_from_step"`
}

// mdResult returns the result of a simulation and its metrics.
func (l *engineServer) mdResult(w api.Workflow) (api.MDResult, mdMetrics) {
	l.T.Helper()
	var res api.MDResult
	var m mdMetrics
	if err := json.Unmarshal(w.Tasks[0].Result, &res); err != nil {
		l.T.Fatal(err)
	}
	raw := bytes.ReplaceAll(bytes.ReplaceAll(res.Metrics, []byte(`"radius_of_gyration"`), []byte(`"Rg"`)),
		[]byte(`"end_to_end"`), []byte(`"EndToEnd"`))
	if err := json.Unmarshal(raw, &m); err != nil {
		l.T.Fatal(err)
	}
	return res, m
}

func (l *engineServer) artifact(res api.MDResult, name string) []byte {
	l.T.Helper()
	i := slices.IndexFunc(res.Artifacts, func(a api.MDArtifact) bool { return a.Path == name })
	if i < 0 {
		l.T.Fatalf("no artifact %s", name)
	}
	var b bytes.Buffer
	if err := l.api.Download(context.Background(), api.Artifact{Name: name, URL: res.Artifacts[i].URL,
		Bytes: res.Artifacts[i].SizeBytes}, &b); err != nil {
		l.T.Fatal(err)
	}
	return b.Bytes()
}

// peptide simulates, reads the results and extracts a frame.
func (l *engineServer) peptide(t *testing.T) {
	w := l.endedAs(l.simulate(peptidePDB(t), 0.0004, 0.0001), api.Completed)
	res, m := l.mdResult(w)
	top, err := structure.ReadPDB(bytes.NewReader(l.artifact(res, "topology.pdb")), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dcd := l.artifact(res, "trajectory.dcd")
	tr, err := calvados.OpenTrajectory(bytes.NewReader(dcd), int64(len(dcd)))
	if err != nil || tr.Frames() != 4 || tr.Atoms() != top.Atoms() || tr.TimeNs(0, 0) != 0.0001 ||
		tr.TimeNs(3, 0) != 0.0004 {
		t.Fatalf("%v: %d frames of %d atoms from %v to %v ns, and a topology of %d", err, tr.Frames(), tr.Atoms(),
			tr.TimeNs(0, 0), tr.TimeNs(3, 0), top.Atoms())
	}
	if m.Frames != 4 || m.Steps != 200 || m.Residues != 5 || m.Atoms != top.Atoms() || m.Atoms < 70 {
		t.Errorf("%+v", m)
	}
	// Bonds are what they should be in every frame, and the atoms have moved, but not far in 0.4 ps.
	for _, c := range []struct {
		what         string
		least, most  float64 // measured
		lower, upper float64
	}{
		{"RMSD (nm)", m.RMSD.Min, m.RMSD.Max, math.SmallestNonzeroFloat64, 0.3},
		{"RMSF (nm)", m.RMSF.Max, m.RMSF.Max, math.SmallestNonzeroFloat64, 0.3},
		{"radius of gyration (nm)", m.Rg.Min, m.Rg.Max, 0.2, 1},
		{"temperature (K)", m.Temperature, m.Temperature, 50, 500},
	} {
		if c.least < c.lower || c.most > c.upper {
			t.Errorf("%s: %v to %v, not within %v to %v", c.what, c.least, c.most, c.lower, c.upper)
		}
	}
	if m.RMSD.Plot != "rmsd.svg" {
		t.Errorf("the plot of the RMSD is %q", m.RMSD.Plot)
	}
	x, err := tr.Read(3, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, r := range top.Chains[0].Residues {
		where := map[string]structure.Vec{}
		for _, a := range r.Atoms {
			where[a.Name] = x[at]
			at++
		}
		for _, b := range [][3]any{{"N", "CA", 1.46}, {"CA", "C", 1.52}, {"C", "O", 1.23}} {
			want := b[2].(float64)
			if d := structure.Distance(where[b[0].(string)], where[b[1].(string)]); d < want-0.25 || d > want+0.25 {
				t.Errorf("%s %d: %s and %s are %.2f Å apart, want about %.2f", r.Comp, r.Seq, b[0], b[1], d, want)
			}
		}
	}
	for _, name := range []string{"energies.csv", "rmsf.svg", "free_energy.png", "metrics.json", "config.json",
		"citations.bib", "results.zip"} {
		if n := len(l.artifact(res, name)); n < 100 {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
	when := 0.0003
	frame, err := l.api.ExtractFrame(context.Background(), w.ID, api.ExtractFrame{TimeNs: &when, Selection: "name CA"})
	if err != nil || frame.FrameIndex != 2 || frame.AtomCount != 5 {
		t.Errorf("%+v %v", frame, err)
	}
	if bib := string(l.artifact(res, "citations.bib")); !strings.Contains(bib, "10.1021/acs.jpcb.3c06662") ||
		!strings.Contains(bib, "ff14SB") {
		t.Error("the citations lack OpenMM or its force field")
	}
}

// foldedMD simulates a structure that another engine has predicted.
func (l *engineServer) foldedMD(t *testing.T) {
	id := l.mustCreate(`{"proteinChain":{"sequence":"DAYAQW"}}`, `"modelName":"mini","seed":"1"`, "")
	l.completed(id)
	in := fmt.Sprintf(
		`{"preset":"all_atom","sourceType":"fold_job","sourceJobId":%q,"sim_length_ns":0.0002,"step_size_ns":0.0001}`,
		id)
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "md", Name: "fold",
		Input: json.RawMessage(in)})
	if err != nil {
		t.Fatal(err)
	}
	if _, m := l.mdResult(l.endedAs(w.ID, api.Completed)); m.Residues != 6 || m.Frames != 2 {
		t.Errorf("%+v", m)
	}
}

// refusedMD simulates structures that cannot be simulated: each fails with a reason, and the process is kept.
func (l *engineServer) refusedMD(t *testing.T) {
	whole := peptidePDB(t)
	var gap, noise strings.Builder
	for i, line := range strings.SplitAfter(whole, "\n") {
		if !strings.HasPrefix(line, "ATOM") || line[22:26] != "   3" {
			gap.WriteString(line)
		}
		if strings.HasPrefix(line, "ATOM") { // as random weights fold: atoms anywhere within 20 Å
			line = line[:30] + "  " + strings.Join([]string{pad(i * 7919), pad(i * 104729), pad(i * 1299709)}, "  ") +
				line[54:]
		}
		noise.WriteString(line)
	}
	for name, c := range map[string]struct{ pdb, want string }{
		"gap":     {gap.String(), "the chain is broken between ALA 2 of chain A and ALA 4 of chain A"},
		"no fold": {noise.String(), "Å apart"},
		"only zinc": {"HETATM    1 ZN    ZN A   1       1.000   1.000   1.000  1.00  0.00          ZN\nEND\n",
			"0 residues of protein"},
	} {
		w := l.endedAs(l.simulate(c.pdb, 0.0004, 0.0001), api.Failed)
		if e := w.Tasks[0].Error; e == nil || !strings.Contains(*e, c.want) || strings.Contains(*e, "/") ||
			w.Tasks[0].Result != nil && string(w.Tasks[0].Result) != "null" {
			t.Errorf("%s: %v %s", name, deref(e), w.Tasks[0].Result)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "no error"
	}
	return *s
}

// pad is a coordinate from 0 to 19.999 in six columns.
func pad(n int) string {
	s := "      " + fmt.Sprintf("%.3f", float64(n%20000)/1000)
	return s[len(s)-6:]
}

// startMD starts a simulation of some minutes and waits until it has a checkpoint.
func (l *engineServer) startMD(lengthNs float64) string {
	l.T.Helper()
	id := l.simulate(peptidePDB(l.T), lengthNs, 0.001)
	db := l.Open()
	testprogram.WaitUntil(l.T, 5*time.Minute, "there is a checkpoint", func() bool {
		if w := l.workflow(id); w.Status == api.Completed || w.Status == api.Failed {
			l.T.Fatalf("it ended first: %s", w.Status)
		}
		var step int64
		_ = db.QueryRow("SELECT coalesce(max(checkpoint_step), 0) FROM task WHERE state = 'running'").Scan(&step)
		return step > 0
	})
	return id
}

func (l *engineServer) cancelledMD(t *testing.T) {
	id := l.startMD(10)
	before := l.runner()
	if _, err := l.api.CancelWorkflow(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	l.endedAs(id, api.Stopped)
	l.endedAs(l.simulate(peptidePDB(t), 0.0002, 0.0001), api.Completed)
	if l.runner() != before {
		t.Error("the cancel cost the process")
	}
}

// killedMD kills the runner after a checkpoint: the next attempt resumes from it, in another process.
func (l *engineServer) killedMD(t *testing.T) {
	id := l.startMD(0.03)
	before := l.runner()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	res, m := l.mdResult(l.endedAs(id, api.Completed))
	if m.Resumed < 1 || m.Steps != 15000 || m.Frames != 30 {
		t.Errorf("it did not resume from its checkpoint: %+v", m)
	}
	if l.runner() == before {
		t.Error("it completed in the process that was killed")
	}
	if rows := bytes.Count(l.artifact(res, "energies.csv"), []byte("\n")); rows != 31 {
		t.Errorf("the table of energies has %d lines, want 31", rows)
	}
	// 30 ps are thirty times the thermostat's memory of 1 ps; the first few warm up.
	if m.Temperature < 270 || m.Temperature > 320 {
		t.Errorf("the mean temperature is %v K, set to 300", m.Temperature)
	}
	t.Logf("resumed from step %d; mean temperature %v K", m.Resumed, m.Temperature)
}
