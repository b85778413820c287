package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/testprogram"
)

const (
	quick = `"modelName":"boltz-2","seed":"1","recyclingSteps":1,"samplingSteps":20`
	trp   = `{"proteinChain":{"sequence":"NLYIQWLKDGGPSSGRPPPS"}}`
	trp3  = "ASN LEU TYR ILE GLN TRP LEU LYS ASP GLY GLY PRO SER SER GLY ARG PRO PRO PRO SER"
)

// TestRealEnginesBoltz has Boltz-2, installed from PyPI, do everything that the interface offers of it, in one process
// that stays loaded.
func TestRealEnginesBoltz(t *testing.T) {
	l := startEngines(t, "boltz")
	l.run("protein", l.protein)
	l.run("complex", l.complex)
	l.run("affinity", l.affinity)
	l.run("templates", func(t *testing.T) { l.templates(t, quick, `}]`, `,"force":true,"maxDistance":1}]`) })
	l.run("modification", l.modification)
	l.run("components", l.components)
	l.run("nucleic acids", l.nucleic)
	l.run("refusals", l.refusals)
	l.run("cancel", l.cancelled)
	l.run("killed runner", l.killed)
	l.run("Boltz-1", l.older)
}

// protein folds one chain twice: the second time nothing is loaded, and the same seed gives the same bytes.
func (l *engineServer) protein(t *testing.T) {
	first := l.fold(trp, quick, "")
	l.wantChains(first.Job.ID, "A "+trp3)
	wantScores(t, first.Predictions[0], false)
	l.wantPAE(first.Job.ID, 20)
	if first.Run.Timings["load"] < 1 {
		t.Errorf("the first job's timings have no load: %v", first.Run.Timings)
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
func (l *engineServer) complex(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"H"}},
		{"proteinChain":{"sequence":"MKTAY","chain_id":"B"}},
		{"ligandSequence":{"sequence":"CCO","chain_id":"L"}},{"proteinChain":{"sequence":"GSHM","chain_id":"A"}}`,
		quick+`,"diffusionSample":3,"stepScale":1.2`,
		`"pocket":[{"binder":{"chain_id":"L"},"contacts":[{"chain_id":"B","res_idx":3}]}],
		"contact":[{"chainA":"H","res_idxA":1,"chainB":"B","res_idxB":5,"distance":8},
			{"chainA":"L","res_idxA":1,"chainB":"A","res_idxB":2}],
		"bond":[{"atom1":{"chain_id":"H","res_idx":2,"atom_name":"OG"},
			"atom2":{"chain_id":"B","res_idx":5,"atom_name":"OH"}}]`)
	if got := l.chains(v.Job.ID); len(got) != 4 || !slices.Equal([]string{got[0], got[1], got[3]},
		[]string{"H GLY SER HIS MET", "B MET LYS THR ALA TYR", "A GLY SER HIS MET"}) ||
		!strings.HasPrefix(got[2], "L ") {
		t.Errorf("the chains are not in the job's order: %q", got)
	}
	wantScores(t, v.Predictions[0], true)
	if v.Predictions[0].Affinity != nil {
		t.Error("an affinity that was not requested")
	}
}

// affinity binds a ligand given as SMILES, one given by its code, and a component of the job.
func (l *engineServer) affinity(t *testing.T) {
	less := quick + `,"samplingStepsAffinity":10,"diffusionSamplesAffinity":1`
	for name, ligand := range map[string]string{
		"SMILES": `{"ligandSequence":{"sequence":"CC(=O)Oc1ccccc1C(=O)O","property_type":"affinity"}}`,
		"CCD":    `{"ligandSequence":{"sequence":"BNZ","is_ccd":true,"property_type":"affinity"}}`,
		"own":    `{"ligandSequence":{"sequence":"DRG","is_ccd":true,"property_type":"affinity"}}`,
	} {
		constraints := ""
		if name == "own" {
			constraints = `"components":[{"code":"DRG","smiles":"C[C@H](N)c1ccc(F)cc1"}]`
		}
		v := l.fold(trp+","+ligand, less, constraints)
		p := v.Predictions[0]
		wantScores(t, p, true)
		if p.Affinity == nil || p.Affinity.Probability <= 0 || p.Affinity.Probability >= 1 {
			t.Fatalf("%s: affinity %+v", name, p.Affinity)
		}
		if name != "SMILES" {
			continue
		}
		heavier := l.fold(trp+","+ligand, less+`,"affinityMwCorrection":true`, "")
		if heavier.Predictions[0].Affinity.Value == p.Affinity.Value {
			t.Error("affinityMwCorrection changed nothing")
		}
	}
}

// templates folds a chain with the structure of an earlier job as its template, which the ends of a constraint
// complete: the package takes the file, and the structure is another than without it. Random weights show no more than
// that.
func (l *engineServer) templates(t *testing.T, params string, ends ...string) {
	source := l.fold(trp, strings.Replace(params, `"seed":"1"`, `"seed":"2"`, 1), "")
	plain := l.fold(trp, params, "")
	for _, end := range ends {
		c := `"templates":[{"jobId":"` + source.Job.ID + `"` + end
		v := l.fold(trp, params, c)
		l.wantChains(v.Job.ID, "A "+trp3)
		scores := v.Predictions[0].Templates
		if len(scores) != 1 || scores[0].Residues != 20 || scores[0].RMSD == nil {
			t.Errorf("%s: templates %+v", c, scores)
			continue
		}
		t.Logf("RMSD to the template %.3f Å", *scores[0].RMSD)
		if bytes.Equal(l.file(plain.Job.ID, "cif"), l.file(v.Job.ID, "cif")) {
			t.Errorf("%s: the template changed nothing", c)
		}
	}
}

// modification changes one copy of a chain and not the other, which Boltz itself would not tell apart.
func (l *engineServer) modification(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"B","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"proteinChain":{"sequence":"GSHM","chain_id":"A"}}`, quick, "")
	l.wantChains(v.Job.ID, "B GLY SEP HIS MET", "A GLY SER HIS MET")
	wantScores(t, v.Predictions[0], true)
}

// components folds molecules of the job's own: a ligand with a bond to the protein, and a modified residue that stands
// for an entry of the dictionary. The files call them by their codes and atoms by their names. Random weights show that
// the molecules reach the model, and nothing about accuracy.
func (l *engineServer) components(t *testing.T) {
	bond := `"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},
		"atom2":{"chain_id":"L","res_idx":1,"atom_name":"CB1"}}]`
	ligand := `{"proteinChain":{"sequence":"GCHM","chain_id":"A"}},
		{"ligandSequence":{"sequence":"ACRY1","is_ccd":true,"chain_id":"L"}}`
	own := `,"components":[{"code":"ACRY1","smiles":"CCC(=O)Nc1ccccc1 |$CB1;CA1;C1;O1;N1;;;;;;$|"}]`
	v := l.fold(ligand, quick, bond+own)
	l.wantChains(v.Job.ID, "A GLY CYS HIS MET", "L ACRY1")
	wantScores(t, v.Predictions[0], true)
	cif := string(l.file(v.Job.ID, "cif"))
	for _, want := range []string{"CCC(=O)Nc1ccccc1", "CB1", "C6"} {
		if !strings.Contains(cif, want) {
			t.Errorf("the structure has no %s", want)
		}
	}
	again := l.fold(ligand, quick, bond+own)
	if !bytes.Equal([]byte(cif), l.file(again.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	// SEP of the dictionary has 11 atoms, of which OXT leaves.
	residue := l.fold(`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}}`, quick,
		`"components":[{"code":"SEP","smiles":"N[C@@H](CF)C(=O)O |$N;CA;CB;FG;C;O;OXT$|"}]`)
	l.wantChains(residue.Job.ID, "A GLY SEP HIS MET")
	if cif := string(l.file(residue.Job.ID, "cif")); !strings.Contains(cif, " FG ") || strings.Contains(cif, "O1P") ||
		strings.Contains(cif, "OXT") {
		t.Error("the modified residue is not the job's own")
	}
	plain := l.fold(`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}}`, quick, "")
	if cif := string(l.file(plain.Job.ID, "cif")); !strings.Contains(cif, "O1P") {
		t.Error("the dictionary has lost its own component")
	}
	l.componentFiles(t)
	one := `{"ligandSequence":{"sequence":"OWN","is_ccd":true}}`
	l.refused("impossible valence", trp+","+one, quick,
		`"components":[{"code":"OWN","smiles":"C[Ge](C)(C)(C)C"}]`, "the component OWN is a SMILES",
		pleat.FailInvalidInput)
	l.refused("a code of the package", trp+`,{"ligandSequence":{"sequence":"LIG1","is_ccd":true}}`, quick,
		`"components":[{"code":"LIG1","smiles":"CCO"}]`, "choose another", pleat.FailUnsupported)
	l.refused("no conformer", trp+","+one, quick, `"components":[{"code":"OWN","smiles":"C1#CC1"}]`,
		"no three-dimensional conformer", pleat.FailInvalidInput)
}

// componentFiles folds a ligand of each format of files, of which mmCIF names the atoms.
func (l *engineServer) componentFiles(t *testing.T) {
	ctx := context.Background()
	item, err := l.api.CreateItem(ctx, api.CreateItem{Name: "molecules"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"own.cif": `data_OWN
loop_
_chem_comp_atom.atom_id
_chem_comp_atom.type_symbol
_chem_comp_atom.charge
_chem_comp_atom.pdbx_model_Cartn_x_ideal
_chem_comp_atom.pdbx_model_Cartn_y_ideal
_chem_comp_atom.pdbx_model_Cartn_z_ideal
CX C 0 0.0 0.0 0.0
NX N 1 1.4 0.0 0.0
loop_
_chem_comp_bond.atom_id_1
_chem_comp_bond.atom_id_2
_chem_comp_bond.value_order
CX NX SING
`,
		"own.sdf": `acetonitrile


  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.4500    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    2.6000    0.0000    0.0000 N   0  0  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
  2  3  3  0
M  END
$$$$
`,
	} {
		if _, err := l.api.UploadFile(ctx, item.ID, name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, atom := range map[string]string{"own.cif": "NX", "own.sdf": "C2"} {
		v := l.fold(`{"proteinChain":{"sequence":"GCHM","chain_id":"A"}},
			{"ligandSequence":{"sequence":"OWN","is_ccd":true,"chain_id":"L"}}`, quick,
			`"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},
				"atom2":{"chain_id":"L","res_idx":1,"atom_name":"`+atom+`"}}],
			"components":[{"code":"OWN","libraryItemId":"`+item.ID+`","fileName":"`+name+`"}]`)
		l.wantChains(v.Job.ID, "A GLY CYS HIS MET", "L OWN")
		if !strings.Contains(string(l.file(v.Job.ID, "cif")), " "+atom+" ") {
			t.Errorf("%s: no atom %s", name, atom)
		}
	}
}

func (l *engineServer) nucleic(t *testing.T) {
	v := l.fold(`{"rnaSequence":{"sequence":"GACU"}},{"dnaSequence":{"sequence":"GACT","count":2}},
		{"proteinChain":{"sequence":"GSHMKT","cyclic":true}},
		{"ligandSequence":{"sequence":"MG","is_ccd":true}}`, quick, "")
	l.wantChains(v.Job.ID, "A G A C U", "B DG DA DC DT", "C DG DA DC DT", "D GLY SER HIS MET LYS THR", "E MG")
	wantScores(t, v.Predictions[0], true)
}

// refusals are jobs at which the package itself prints a line and exits with 0. None may count as done.
func (l *engineServer) refusals(t *testing.T) {
	for name, c := range map[string]struct{ sequences, constraints, want string }{
		"SMILES that is none":   {trp + `,{"ligandSequence":{"sequence":"C1CC("}}`, "", "SMILES"},
		"SMILES of no molecule": {trp + `,{"ligandSequence":{"sequence":"C[Ge](C)(C)(C)C"}}`, "", "Explicit valence"},
		"unknown CCD":           {trp + `,{"ligandSequence":{"sequence":"QQQ","is_ccd":true}}`, "", "QQQ"},
		"unknown modification": {`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SAC"}]}}`,
			"", "SAC"},
		"atom that is not there": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},
				"atom2":{"chain_id":"B","res_idx":2,"atom_name":"OG"}}]`, "has the atoms N, CA"},
		"affinity of two copies": {trp + `,{"ligandSequence":{"sequence":"CCO","count":2,"property_type":"affinity"}}`,
			"", "cop"},
		"contact too far": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"contact":[{"chainA":"A","res_idxA":1,"chainB":"B","res_idxB":1,"distance":30}]`, "4 to 20"},
	} {
		l.refused(name, c.sequences, quick, c.constraints, c.want, pleat.FailInvalidInput, pleat.FailUnsupported)
	}
	if v := l.fold(trp, quick, ""); v.Run.Timings["load"] != 0 {
		t.Error("the refusals cost the process")
	}
}

// long is a job that takes its time in the diffusion.
const long = `"modelName":"boltz-2","seed":"1","recyclingSteps":1,"samplingSteps":1000`

// diffusing starts a long job and waits until it is in mid-diffusion.
func (l *engineServer) diffusing() string {
	l.T.Helper()
	id := l.mustCreate(trp, long, "")
	l.awaitStage(id, "diffusion", 10)
	return id
}

func (l *engineServer) cancelled(t *testing.T) {
	id, before := l.diffusing(), l.runner()
	began := time.Now()
	l.cancel(id)
	t.Logf("stopped after %v", time.Since(began))
	if v := l.fold(trp, quick, ""); v.Run.Timings["load"] != 0 || l.runner() != before {
		t.Error("the cancel cost the process")
	}
}

func (l *engineServer) killed(t *testing.T) {
	id, before := l.diffusing(), l.runner()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v := l.completed(id)
	if v.Run.Timings["load"] == 0 || l.runner() == before {
		t.Errorf("it completed in the process that was killed: %v", v.Run.Timings)
	}
	l.wantChains(id, "A "+trp3)
}

// older has Boltz-1 fold in the same process, and refuses what it lacks.
func (l *engineServer) older(t *testing.T) {
	params := strings.Replace(quick, "boltz-2", "boltz", 1)
	v := l.fold(`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"ligandSequence":{"sequence":"CCO"}}`, params, "")
	if got := l.chains(v.Job.ID); len(got) != 2 || got[0] != "A GLY SEP HIS MET" {
		t.Errorf("chains %q", got)
	}
	wantScores(t, v.Predictions[0], true)
	if id, message := l.create(trp+`,{"ligandSequence":{"sequence":"CCO","property_type":"affinity"}}`, params,
		""); id != "" || !strings.Contains(message, "affinity") {
		t.Errorf("an affinity of Boltz-1: %q", message)
	}
}

// TestRealEnginesESMFold has transformers' ESMFold fold two chains, each on its own.
func TestRealEnginesESMFold(t *testing.T) {
	l := startEngines(t, "esm")
	params := `"modelName":"esm1b","recyclingSteps":2`
	v := l.fold(trp+`,{"proteinChain":{"sequence":"GSHMKT"}}`, params, "")
	if len(v.Predictions) != 2 {
		t.Fatalf("%d predictions", len(v.Predictions))
	}
	for _, p := range v.Predictions {
		wantScores(t, p, false)
	}
	second := l.fold(trp, params, "")
	if second.Run.Timings["load"] != 0 {
		t.Errorf("the second job loaded again: %v", second.Run.Timings)
	}
	l.wantChains(second.Job.ID, "A "+trp3)
	if id, message := l.create(`{"proteinChain":{"sequence":"GSXM"}}`, params, ""); id != "" || message == "" {
		t.Errorf("an unknown residue was accepted: %q", message)
	}
}

// TestRealEnginesEvolla has transformers' Evolla answer a question about a structure that the service folded.
func TestRealEnginesEvolla(t *testing.T) {
	l := startEngines(t, "evolla", "mini")
	id := l.mustCreate(trp, `"modelName":"mini","seed":"1"`, "")
	l.completed(id)
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

// ask asks a question about a job's structure and returns the answer, and how long it took.
func (l *engineServer) ask(job, question string) (answer string, took time.Duration) {
	l.T.Helper()
	input, err := json.Marshal(map[string]any{"targetSource": "fold_job", "source_job_id": job, "question": question})
	if err != nil {
		l.T.Fatal(err)
	}
	began := time.Now()
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{
		WorkflowName: "evolla_v1",
		Name:         "engine test",
		Input:        input,
	})
	if err != nil {
		l.T.Fatal(err)
	}
	testprogram.WaitUntil(l.T, 10*time.Minute, "the question is answered", func() bool {
		s, err := l.api.WorkflowStatus(context.Background(), w.ID)
		if err != nil {
			l.T.Fatal(err)
		}
		if s.Status == "FAILED" {
			log, err := l.api.WorkflowLogs(context.Background(), w.ID)
			l.T.Fatalf("%s %v", log, err)
		}
		return s.Status == "COMPLETED"
	})
	took = time.Since(began)
	res, err := l.api.TaskResults(context.Background(), w.ID)
	if err != nil || len(res.TasksResults) != 1 {
		l.T.Fatalf("%+v %v", res, err)
	}
	var row struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(res.TasksResults[0].Result, &row); err != nil {
		l.T.Fatal(err)
	}
	return row.Answer, took
}
