package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

// lab is a server whose engines are real packages with random weights, which scripts/with-engines makes. Random weights
// prove that everything is handed on and handed back, never that a structure is right.
type lab struct {
	*node
	api *api.Client
}

func newLab(t *testing.T, engine string, beside ...string) *lab {
	if os.Getenv("PLEAT_TEST_ENGINES") == "" {
		t.Skip("needs real engines: scripts/with-engines go test -run RealEngines ./cmd/pleat")
	}
	data, weights := os.Getenv("PLEAT_ENGINE_DATA"), os.Getenv("PLEAT_WEIGHTS")
	needs := []string{filepath.Join(data, engine, "venv")}
	if _, err := os.Stat(filepath.Join("..", "..", "runners", engine, "testing",
		"make_random_weights.py")); err == nil {
		needs = append(needs, filepath.Join(weights, engine))
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
	l := &lab{node: newNode(t, "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"))}
	// The caches of a run are its own, the environments are shared.
	own := filepath.Join(l.dir, "engines")
	if err := os.MkdirAll(filepath.Join(own, engine), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(data, engine, "venv"), filepath.Join(own, engine, "venv")); err != nil {
		t.Fatal(err)
	}
	l.env = append(l.env, "PLEAT_ENGINES="+strings.Join(append([]string{engine}, beside...), ","),
		"PLEAT_RUNNERS="+runners, "PLEAT_ENGINE_DATA="+own, "PLEAT_WEIGHTS="+weights,
		// the manifests expect the released weights
		"PLEAT_DEVICES=none", "PLEAT_THREADS=1", "PLEAT_SLOTS=2", "PLEAT_MEMORY=64GB")
	key := strings.TrimSpace(l.output("keys", "create", "--user", "ada"))
	l.api = &api.Client{Base: l.start("serve", "--addr", "127.0.0.1:0"), Key: key}
	return l
}

// create posts a job as a stranger's client would, and returns its id or the refusal.
func (l *lab) create(sequences, params, constraints string) (id string, refusal string) {
	l.t.Helper()
	body := fmt.Sprintf(`{"name":"lab","sequences":[%s],"params":{%s},"constraints":{%s}}`, sequences, params,
		constraints)
	req, err := http.NewRequest(http.MethodPost, l.api.Base+"/v1/jobs", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.api.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Cache-Control", "no-cache") // the engine is to run, whatever it has answered before
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	var v struct {
		JobID   string `json:"jobId"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(answer, &v); err != nil || v.JobID == "" && res.StatusCode != http.StatusBadRequest {
		l.t.Fatalf("%d %s", res.StatusCode, answer)
	}
	return v.JobID, v.Message
}

func (l *lab) view(id string) api.JobView {
	l.t.Helper()
	v, err := l.api.Job(context.Background(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// ended waits for the end of a job.
func (l *lab) ended(id string) api.JobView {
	l.t.Helper()
	var v api.JobView
	waitUntil(l.t, 10*time.Minute, "the job has ended", func() bool {
		v = l.view(id)
		return slices.Contains([]string{"COMPLETED", "FAILED", "STOPPED"}, v.Run.Status)
	})
	return v
}

// fold runs a job that must complete.
func (l *lab) fold(sequences, params, constraints string) api.JobView {
	l.t.Helper()
	id, refusal := l.create(sequences, params, constraints)
	if id == "" {
		l.t.Fatal("refused: " + refusal)
	}
	v := l.ended(id)
	if v.Run.Status != "COMPLETED" {
		l.t.Fatalf("%s: %+v", v.Run.Status, v.Run.Failure)
	}
	if !slices.ContainsFunc(v.Run.Notes, func(n string) bool {
		return strings.Contains(n,
			"weights of this model are random")
	}) {
		l.t.Errorf("its notes do not say that the weights are random: %q", v.Run.Notes)
	}
	return v
}

// file reads the artifact of a kind.
func (l *lab) file(id, kind string) []byte {
	l.t.Helper()
	res, err := l.api.Results(context.Background(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	i := slices.IndexFunc(res.Artifacts, func(a api.Artifact) bool { return a.Kind == kind })
	if i < 0 {
		l.t.Fatalf("no artifact of kind %s", kind)
	}
	var b bytes.Buffer
	if err := l.api.Download(context.Background(), res.Artifacts[i], &b); err != nil {
		l.t.Fatal(err)
	}
	return b.Bytes()
}

// chains are the residues of a job's structure, by chain in order: "A GLY SER".
func (l *lab) chains(id string) []string {
	l.t.Helper()
	s, err := structure.ReadCIF(bytes.NewReader(l.file(id, "cif")), structure.Limits{})
	if err != nil {
		l.t.Fatal(err)
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

func (l *lab) wantChains(id string, want ...string) {
	l.t.Helper()
	if got := l.chains(id); !slices.Equal(got, want) {
		l.t.Errorf("chains %q, want %q", got, want)
	}
}

// confident checks that scores are there, and within their bounds.
func confident(t *testing.T, p api.ScoredChains, several bool) {
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

// runner is the process that works for the server.
func (l *lab) runner() int {
	l.t.Helper()
	found := 0
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, dir := range dirs {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // a process may end meanwhile
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, after, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(after))
		if bytes.Contains(command, []byte("runner.py")) && len(fields) > 1 &&
			fields[1] == strconv.Itoa(l.cmd.Process.Pid) {
			found, _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	if found == 0 {
		l.t.Fatal("the server has no runner")
	}
	return found
}

const (
	quick = `"modelName":"boltz-2","seed":"1","recyclingSteps":1,"samplingSteps":20`
	trp   = `{"proteinChain":{"sequence":"NLYIQWLKDGGPSSGRPPPS"}}`
	trp3  = "ASN LEU TYR ILE GLN TRP LEU LYS ASP GLY GLY PRO SER SER GLY ARG PRO PRO PRO SER"
)

// TestRealEnginesBoltz has Boltz-2, installed from PyPI, do everything that the interface offers of it, in one process
// that stays loaded.
func TestRealEnginesBoltz(t *testing.T) {
	l := newLab(t, "boltz")
	t.Run("protein", func(t *testing.T) { l.t = t; l.protein(t) })
	t.Run("complex", func(t *testing.T) { l.t = t; l.complex(t) })
	t.Run("affinity", func(t *testing.T) { l.t = t; l.affinity(t) })
	t.Run("modification", func(t *testing.T) { l.t = t; l.modification(t) })
	t.Run("nucleic acids", func(t *testing.T) { l.t = t; l.nucleic(t) })
	t.Run("refusals", func(t *testing.T) { l.t = t; l.refusals(t) })
	t.Run("cancel", func(t *testing.T) { l.t = t; l.cancelled(t) })
	t.Run("killed runner", func(t *testing.T) { l.t = t; l.killed(t) })
	t.Run("Boltz-1", func(t *testing.T) { l.t = t; l.older(t) })
	l.t = t
}

// protein folds one chain twice: the second time nothing is loaded, and the same seed gives the same bytes.
func (l *lab) protein(t *testing.T) {
	first := l.fold(trp, quick, "")
	l.wantChains(first.Job.ID, "A "+trp3)
	confident(t, first.Predictions[0], false)
	var pae []struct {
		Error [][]float64 `json:"predicted_aligned_error"`
	}
	if err := json.Unmarshal(l.file(first.Job.ID, "pae_json"), &pae); err != nil || len(pae) != 1 ||
		len(pae[0].Error) != 20 || len(pae[0].Error[19]) != 20 {
		t.Errorf("the PAE is not 20 by 20: %v", err)
	}
	if first.Run.Timings["load"] < 1 {
		t.Errorf("the first job's timings tell no load: %v", first.Run.Timings)
	}
	if !strings.HasPrefix(first.Run.Engine, "boltz 2.") {
		t.Errorf("engine %q", first.Run.Engine)
	}
	second := l.fold(trp, quick, "")
	if load, ok := second.Run.Timings["load"]; ok {
		t.Errorf("the second job loaded for %.1f s", load)
	}
	t.Logf("first %v, second %v", first.Run.Timings, second.Run.Timings)
	if !bytes.Equal(l.file(first.Job.ID, "cif"), l.file(second.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	other := l.fold(trp, strings.Replace(quick, `"seed":"1"`, `"seed":"2"`, 1), "")
	if bytes.Equal(l.file(first.Job.ID, "cif"), l.file(other.Job.ID, "cif")) {
		t.Error("two seeds gave one structure")
	}
}

// complex folds chains in an order that Boltz changes, under every kind of constraint, three samples of them.
func (l *lab) complex(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"H"}},{"proteinChain":{"sequence":"MKTAY","chain_id":"B"}},
		{"ligandSequence":{"sequence":"CCO","chain_id":"L"}},{"proteinChain":{"sequence":"GSHM","chain_id":"A"}}`,
		quick+`,"diffusionSample":3,"stepScale":1.2`,
		`"pocket":[{"binder":{"chain_id":"L"},"contacts":[{"chain_id":"B","res_idx":3}]}],
		"contact":[{"chainA":"H","res_idxA":1,"chainB":"B","res_idxB":5,"distance":8},{"chainA":"L","res_idxA":1,"chainB":"A","res_idxB":2}],
		"bond":[{"atom1":{"chain_id":"H","res_idx":2,"atom_name":"OG"},"atom2":{"chain_id":"B","res_idx":5,"atom_name":"OH"}}]`)
	if got := l.chains(v.Job.ID); len(got) != 4 || !slices.Equal([]string{got[0], got[1], got[3]},
		[]string{"H GLY SER HIS MET", "B MET LYS THR ALA TYR", "A GLY SER HIS MET"}) ||
		!strings.HasPrefix(got[2], "L ") {
		t.Errorf("the chains are not in the job's order: %q", got)
	}
	confident(t, v.Predictions[0], true)
	if v.Predictions[0].Affinity != nil {
		t.Error("an affinity that nobody asked for")
	}
}

// affinity binds a ligand given as SMILES, and one given by its code.
func (l *lab) affinity(t *testing.T) {
	less := quick + `,"samplingStepsAffinity":10,"diffusionSamplesAffinity":1`
	for name, ligand := range map[string]string{
		"SMILES": `{"ligandSequence":{"sequence":"CC(=O)Oc1ccccc1C(=O)O","property_type":"affinity"}}`,
		"CCD":    `{"ligandSequence":{"sequence":"BNZ","is_ccd":true,"property_type":"affinity"}}`,
	} {
		v := l.fold(trp+","+ligand, less, "")
		p := v.Predictions[0]
		confident(t, p, true)
		if p.Affinity == nil || p.Affinity.Probability <= 0 || p.Affinity.Probability >= 1 {
			t.Fatalf("%s: affinity %+v", name, p.Affinity)
		}
		if name == "CCD" {
			continue
		}
		heavier := l.fold(trp+","+ligand, less+`,"affinityMwCorrection":true`, "")
		if heavier.Predictions[0].Affinity.Value == p.Affinity.Value {
			t.Error("affinityMwCorrection changed nothing")
		}
	}
}

// modification changes one copy of a chain and not the other, which Boltz itself would not tell apart.
func (l *lab) modification(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"B","modifications":[{"res_idx":2,"ccd":"SEP"}]}},{"proteinChain":{"sequence":"GSHM","chain_id":"A"}}`, quick, "")
	l.wantChains(v.Job.ID, "B GLY SEP HIS MET", "A GLY SER HIS MET")
	confident(t, v.Predictions[0], true)
}

func (l *lab) nucleic(t *testing.T) {
	v := l.fold(`{"rnaSequence":{"sequence":"GACU"}},{"dnaSequence":{"sequence":"GACT","count":2}},{"proteinChain":{"sequence":"GSHMKT","cyclic":true}},
		{"ligandSequence":{"sequence":"MG","is_ccd":true}}`, quick, "")
	l.wantChains(v.Job.ID, "A G A C U", "B DG DA DC DT", "C DG DA DC DT", "D GLY SER HIS MET LYS THR", "E MG")
	confident(t, v.Predictions[0], true)
}

// refusals are jobs at which the package itself prints a line and exits with 0. None may count as done.
func (l *lab) refusals(t *testing.T) {
	for name, c := range map[string]struct{ sequences, constraints, says string }{
		"SMILES that is none":   {trp + `,{"ligandSequence":{"sequence":"C1CC("}}`, "", "SMILES"},
		"SMILES of no molecule": {trp + `,{"ligandSequence":{"sequence":"C(C)(C)(C)(C)C"}}`, "", "Explicit valence"},
		"unknown CCD":           {trp + `,{"ligandSequence":{"sequence":"QQQ","is_ccd":true}}`, "", "QQQ"},
		"unknown modification": {`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"TPO"}]}}`,
			"", "TPO"},
		"atom that is not there": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},"atom2":{"chain_id":"B","res_idx":2,"atom_name":"OG"}}]`, "has the atoms N, CA"},
		"affinity of two copies": {trp + `,{"ligandSequence":{"sequence":"CCO","count":2,"property_type":"affinity"}}`,
			"", "cop"},
		"contact too far": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"contact":[{"chainA":"A","res_idxA":1,"chainB":"B","res_idxB":1,"distance":30}]`, "4 to 20"},
	} {
		id, message := l.create(c.sequences, quick, c.constraints)
		if id != "" {
			v := l.ended(id)
			if v.Run.Status != "FAILED" || v.Run.Failure == nil {
				t.Errorf("%s: %s", name, v.Run.Status)
				continue
			}
			if message = v.Run.Failure.Message; v.Run.Failure.Kind != string(pleat.FailInvalidInput) &&
				v.Run.Failure.Kind != string(pleat.FailUnsupported) {
				t.Errorf("%s: %+v", name, v.Run.Failure)
			}
		}
		if !strings.Contains(message, c.says) || strings.Contains(message, "/") {
			t.Errorf("%s: %q", name, message)
		}
	}
	if v := l.fold(trp, quick, ""); v.Run.Timings["load"] != 0 {
		t.Error("the refusals cost the process")
	}
}

// long is a job that takes its time in the diffusion.
const long = `"modelName":"boltz-2","seed":"1","recyclingSteps":1,"samplingSteps":1000`

// diffusing starts a long job and waits until it is in mid-diffusion.
func (l *lab) diffusing() string {
	l.t.Helper()
	id, refusal := l.create(trp, long, "")
	if id == "" {
		l.t.Fatal(refusal)
	}
	waitUntil(l.t, 5*time.Minute, "the job is in mid-diffusion", func() bool {
		v := l.view(id)
		if v.Run.Status == "COMPLETED" || v.Run.Status == "FAILED" {
			l.t.Fatalf("it ended first: %s %+v", v.Run.Status, v.Run.Failure)
		}
		return v.Progress.Stage == "diffusion" && v.Progress.Done > 10 && v.Progress.Total == 1000
	})
	return id
}

func (l *lab) cancelled(t *testing.T) {
	id, before := l.diffusing(), l.runner()
	began := time.Now()
	if _, err := l.api.Cancel(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	v := l.ended(id)
	if v.Run.Status != "STOPPED" {
		t.Fatalf("%s %+v", v.Run.Status, v.Run.Failure)
	}
	t.Logf("stopped after %v", time.Since(began))
	if v := l.fold(trp, quick, ""); v.Run.Timings["load"] != 0 || l.runner() != before {
		t.Error("the cancel cost the process")
	}
}

func (l *lab) killed(t *testing.T) {
	id, before := l.diffusing(), l.runner()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v := l.ended(id)
	if v.Run.Status != "COMPLETED" {
		t.Fatalf("%s %+v", v.Run.Status, v.Run.Failure)
	}
	if v.Run.Timings["load"] == 0 || l.runner() == before {
		t.Errorf("it completed in the process that was killed: %v", v.Run.Timings)
	}
	l.wantChains(id, "A "+trp3)
}

// older has Boltz-1 fold in the same process, and refuses what it lacks.
func (l *lab) older(t *testing.T) {
	params := strings.Replace(quick, "boltz-2", "boltz", 1)
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}},{"ligandSequence":{"sequence":"CCO"}}`, params, "")
	if got := l.chains(v.Job.ID); len(got) != 2 || got[0] != "A GLY SEP HIS MET" {
		t.Errorf("chains %q", got)
	}
	confident(t, v.Predictions[0], true)
	if id, message := l.create(trp+`,{"ligandSequence":{"sequence":"CCO","property_type":"affinity"}}`, params,
		""); id != "" || !strings.Contains(message, "affinity") {
		t.Errorf("an affinity of Boltz-1: %q", message)
	}
}

// TestRealEnginesESMFold has transformers' ESMFold fold two chains, each on its own.
func TestRealEnginesESMFold(t *testing.T) {
	l := newLab(t, "esm")
	params := `"modelName":"esm1b","recyclingSteps":2`
	v := l.fold(trp+`,{"proteinChain":{"sequence":"GSHMKT"}}`, params, "")
	if len(v.Predictions) != 2 {
		t.Fatalf("%d predictions", len(v.Predictions))
	}
	for _, p := range v.Predictions {
		confident(t, p, false)
	}
	second := l.fold(trp, params, "")
	if second.Run.Timings["load"] != 0 {
		t.Errorf("the second job loaded again: %v", second.Run.Timings)
	}
	l.wantChains(second.Job.ID, "A "+trp3)
	if id, message := l.create(`{"proteinChain":{"sequence":"GSXM"}}`, params, ""); id != "" || message == "" {
		t.Errorf("an unknown residue was taken: %q", message)
	}
}

// TestRealEnginesEvolla has transformers' Evolla answer a question about a structure that the service folded.
func TestRealEnginesEvolla(t *testing.T) {
	l := newLab(t, "evolla", "mini")
	id, refusal := l.create(trp, `"modelName":"mini","seed":"1"`, "")
	if id == "" {
		t.Fatal(refusal)
	}
	if v := l.ended(id); v.Run.Status != "COMPLETED" {
		t.Fatalf("%+v", v.Run.Failure)
	}
	first, took := l.ask(id, "What does the protein bind?")
	if first == "" {
		t.Error("an empty answer")
	}
	again, warm := l.ask(id, "What does the protein bind?")
	if again != first {
		t.Errorf("the same question had the answers %q and %q", first, again)
	}
	if other, _ := l.ask(id, "How many residues does it have?"); other == first {
		t.Errorf("two questions had one answer: %q", first)
	}
	t.Logf("answered after %v and, warm, after %v: %q", took, warm, first)
	if warm > took/2 {
		t.Errorf("the second answer took %v, the first %v: the model was loaded twice", warm, took)
	}
}

// ask puts a question about a job's structure and returns the answer, and how long it took.
func (l *lab) ask(job, question string) (answer string, took time.Duration) {
	l.t.Helper()
	input, err := json.Marshal(map[string]any{"targetSource": "fold_job", "source_job_id": job, "question": question})
	if err != nil {
		l.t.Fatal(err)
	}
	began := time.Now()
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "evolla_v1", Name: "lab",
		Input: input})
	if err != nil {
		l.t.Fatal(err)
	}
	waitUntil(l.t, 10*time.Minute, "the question is answered", func() bool {
		s, err := l.api.WorkflowStatus(context.Background(), w.ID)
		if err != nil {
			l.t.Fatal(err)
		}
		if s.Status == "FAILED" {
			log, err := l.api.WorkflowLogs(context.Background(), w.ID)
			l.t.Fatalf("%s %v", log, err)
		}
		return s.Status == "COMPLETED"
	})
	took = time.Since(began)
	res, err := l.api.TaskResults(context.Background(), w.ID)
	if err != nil || len(res.TasksResults) != 1 {
		l.t.Fatalf("%+v %v", res, err)
	}
	var row struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(res.TasksResults[0].Result, &row); err != nil {
		l.t.Fatal(err)
	}
	return row.Answer, took
}
