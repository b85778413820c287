package engines

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/msa/msatest"
)

// quickOpen asks OpenFold3 for as little work as it takes.
const quickOpen = `"modelName":"openfold3","seed":"1","recyclingSteps":1,"samplingSteps":4,"diffusionSample":1`

// TestRealEnginesOpenFold3 has OpenFold3, installed from PyPI, fold what the interface offers of it, in one process
// that stays loaded. Its model is a small one of random weights, and the server of alignments makes them up.
func TestRealEnginesOpenFold3(t *testing.T) {
	server := msatest.New(t)
	server.Known = true
	t.Setenv("PLEAT_MSA_SERVER", server.URL)
	l := startEngines(t, "openfold3")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "openfold3") })
	l.run("protein", l.openProtein)
	l.run("complex", l.openComplex)
	l.run("alignments", l.openAligned)
	l.run("templates", func(t *testing.T) { l.templates(t, quickOpen, `}]`) })
	l.run("refusals", l.openRefusals)
	l.run("cancel", l.openCancel)
}

// openProtein folds one chain, three samples of it, then one: nothing is loaded again, and the same seed gives the same
// bytes.
func (l *engineServer) openProtein(t *testing.T) {
	several := strings.Replace(quickOpen, `"diffusionSample":1`,
		`"diffusionSample":2,"numModelSeeds":2,"stepScale":1.2`, 1)
	v := l.fold(trp, several, "")
	l.wantChains(v.Job.ID, "A "+trp3)
	wantScores(t, v.Predictions[0], false)
	if v.Run.Timings["load"] <= 0 || !strings.HasPrefix(v.Run.Engine, "openfold3 0.") {
		t.Errorf("engine %q, timings %v", v.Run.Engine, v.Run.Timings)
	}
	l.wantPAE(v.Job.ID, 20)
	var metrics struct {
		Predictions []struct {
			Own struct {
				Samples []struct {
					Seed  int64   `json:"seed"`
					Score float64 `json:"sample_ranking_score"`
				} `json:"samples"`
			} `json:"engine_metrics"`
		} `json:"predictions"`
	}
	if err := json.Unmarshal(l.file(v.Job.ID, "metrics_json"), &metrics); err != nil || len(metrics.Predictions) != 1 {
		t.Fatalf("%d predictions in the metrics: %v", len(metrics.Predictions), err)
	}
	samples := metrics.Predictions[0].Own.Samples
	var seeds []int64
	for i, s := range samples {
		seeds = append(seeds, s.Seed)
		if i > 0 && s.Score > samples[i-1].Score {
			t.Errorf("the samples are not ranked: %+v", samples)
		}
	}
	if slices.Sort(seeds); !slices.Equal(seeds, []int64{1, 1, 2, 2}) {
		t.Errorf("the samples have the seeds %v", seeds)
	}
	first, second := l.fold(trp, quickOpen, ""), l.fold(trp, quickOpen, "")
	if first.Run.Timings["load"] != 0 || second.Run.Timings["load"] != 0 {
		t.Errorf("a warm process loaded: %v, %v", first.Run.Timings, second.Run.Timings)
	}
	if !bytes.Equal(l.file(first.Job.ID, "cif"), l.file(second.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	if bytes.Equal(l.file(first.Job.ID, "cif"), l.file(v.Job.ID, "cif")) {
		t.Error("another step scale gave the same structure")
	}
	t.Logf("first %v, then %v", v.Run.Timings, second.Run.Timings)
}

// openComplex folds one of every kind: a chain and its modified copy, RNA, cyclic DNA, ligands by SMILES and by code,
// and a pocket.
func (l *engineServer) openComplex(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"H","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"proteinChain":{"sequence":"GSHM","chain_id":"B"}},
		{"rnaSequence":{"sequence":"GACU","chain_id":"A"}},
		{"dnaSequence":{"sequence":"GACT","chain_id":"D","cyclic":true}},
		{"ligandSequence":{"sequence":"CC(=O)Oc1ccccc1C(=O)O","chain_id":"L"}},
		{"ligandSequence":{"sequence":"ATP","chain_id":"N","is_ccd":true}},
		{"ligandSequence":{"sequence":"MG","chain_id":"M","is_ccd":true}}`, quickOpen,
		`"pocket":[{"binder":{"chain_id":"L"},"contacts":[{"chain_id":"B","res_idx":3}]}]`)
	got := l.chains(v.Job.ID)
	if len(got) == 7 && strings.HasPrefix(got[4], "L LIG") {
		got[4] = "L"
	}
	want := []string{"H GLY SEP HIS MET", "B GLY SER HIS MET", "A G A C U", "D DG DA DC DT", "L", "N ATP", "M MG"}
	if !slices.Equal(got, want) {
		t.Errorf("chains %q, want %q", got, want)
	}
	wantScores(t, v.Predictions[0], true)
	if v.Predictions[0].Affinity != nil {
		t.Error("an affinity that was not requested")
	}
}

// openAligned folds a pair with alignments, paired and not, and without: they reach the model, which gives another
// structure for the same seed.
func (l *engineServer) openAligned(t *testing.T) {
	pair := `{"proteinChain":{"sequence":"NLYIQWLKDG"}},{"proteinChain":{"sequence":"GSHMKTAYIAKQ"}}`
	with, without := l.fold(pair, quickOpen, ""), l.fold(pair, quickOpen+`,"msaAlgorithm":"none"`, "")
	if with.Run.MSAStatus != "COMPLETED" || hasNote(with.Run.Notes, "without an alignment") {
		t.Errorf("with: the alignment is %s, notes %q", with.Run.MSAStatus, with.Run.Notes)
	}
	if without.Run.MSAStatus != "PENDING" || !hasNote(without.Run.Notes, "without an alignment") {
		t.Errorf("without: the alignment is %s, notes %q", without.Run.MSAStatus, without.Run.Notes)
	}
	if bytes.Equal(l.file(with.Job.ID, "cif"), l.file(without.Job.ID, "cif")) {
		t.Error("the structure is the same with alignments and without")
	}
}

// openRefusals are jobs at which `run_openfold` logs a warning, writes nothing and exits with 0, and those that it
// would fold as if something had not been asked for.
func (l *engineServer) openRefusals(t *testing.T) {
	none := `,"msaAlgorithm":"none"`
	for name, c := range map[string]struct{ sequences, constraints, want string }{
		"SMILES that is none": {trp + `,{"ligandSequence":{"sequence":"C1CC("}}`, "", "SMILES"},
		"unknown CCD":         {trp + `,{"ligandSequence":{"sequence":"QQQQQ","is_ccd":true}}`, "", "QQQQQ"},
		"no residue": {`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"ATP"}]}}`, "",
			"lacks the atoms"},
		"no conformer": {trp + `,{"ligandSequence":{"sequence":"F[C@]12C[C@@](F)(C1)C2"}}`, "",
			"three-dimensional"},
		"two tokens": {`{"proteinChain":{"sequence":"GS"}}`, "", "needs 3"},
		"bond": {trp + `,{"ligandSequence":{"sequence":"CCO"}}`,
			`"bond":[{"atom1":{"chain_id":"A","res_idx":1,"atom_name":"CA"},
				"atom2":{"chain_id":"B","res_idx":1,"atom_name":"C1"}}]`, "bond"},
		"pocket of a protein": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"pocket":[{"binder":{"chain_id":"A"},"contacts":[{"chain_id":"B","res_idx":1}]}]`, "pockets of ligand only"},
		"affinity of a ligand": {trp + `,{"ligandSequence":{"sequence":"CCO","property_type":"affinity"}}`, "",
			"affinity"},
	} {
		l.refused(name, c.sequences, quickOpen+none, c.constraints, c.want, pleat.FailInvalidInput,
			pleat.FailUnsupported)
	}
}

// openCancel stops a job in mid-diffusion; the process stays, loaded.
func (l *engineServer) openCancel(t *testing.T) {
	id := l.mustCreate(trp, strings.Replace(quickOpen, `"samplingSteps":4`, `"samplingSteps":1000`, 1)+
		`,"msaAlgorithm":"none"`, "")
	l.awaitStage(id, "diffusion", 10)
	before := l.runner()
	l.cancel(id)
	if v := l.fold(trp, quickOpen+`,"msaAlgorithm":"none"`, ""); v.Run.Timings["load"] != 0 || l.runner() != before {
		t.Error("the cancel cost the process")
	}
}
