package engines

import (
	"bytes"
	"strings"
	"testing"

	"pleat"
)

// TestRealEnginesIntelliFold has IntelliFold, installed from PyPI, fold what the interface offers of it, in one
// process.
func TestRealEnginesIntelliFold(t *testing.T) {
	l := startEngines(t, "intellifold")
	quick := `"modelName":"intellifold","seed":"1","recyclingSteps":1,"samplingSteps":5`
	first := l.fold(trp, quick+`,"diffusionSample":2`, "")
	l.wantChains(first.Job.ID, "A "+trp3)
	wantScores(t, first.Predictions[0], false)
	if !strings.HasPrefix(first.Run.Engine, "intellifold 2.") || first.Run.Timings["load"] == 0 {
		t.Errorf("engine %q, timings %v", first.Run.Engine, first.Run.Timings)
	}
	second := l.fold(trp, quick+`,"diffusionSample":2`, "")
	if load, ok := second.Run.Timings["load"]; ok {
		t.Errorf("the second job loaded for %.1f s", load)
	}
	if !bytes.Equal(l.file(first.Job.ID, "cif"), l.file(second.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	t.Logf("first %v, second %v", first.Run.Timings, second.Run.Timings)

	// The package puts the copies of a chain together and cuts long names off; the job has them apart and whole.
	v := l.fold(`{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"H","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"rnaSequence":{"sequence":"GACU","chain_id":"R"}},
		{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"C","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"ligandSequence":{"sequence":"CC(=O)Oc1ccccc1C(=O)O","chain_id":"L"}},
		{"ligandSequence":{"sequence":"MG","is_ccd":true,"chain_id":"M"}}`, quick+`,"diffusionSample":1`,
		`"bond":[{"atom1":{"chain_id":"H","res_idx":3,"atom_name":"ND1"},
			"atom2":{"chain_id":"C","res_idx":8,"atom_name":"OH"}}]`)
	l.wantChains(v.Job.ID, "H GLY SEP HIS MET LYS THR ALA TYR", "R G A C U", "C GLY SEP HIS MET LYS THR ALA TYR",
		"L LIG", "M MG")
	wantScores(t, v.Predictions[0], true)

	for name, c := range map[string]struct{ sequences, constraints, want string }{
		"SMILES of no molecule": {trp + `,{"ligandSequence":{"sequence":"C[Ge](C)(C)(C)C"}}`, "", "Explicit valence"},
		"unknown CCD":           {trp + `,{"ligandSequence":{"sequence":"QQQ","is_ccd":true}}`, "", "QQQ"},
		"no such atom": {trp + `,{"proteinChain":{"sequence":"GSHM","chain_id":"B"}}`,
			`"bond":[{"atom1":{"chain_id":"B","res_idx":2,"atom_name":"SG"},
				"atom2":{"chain_id":"A","res_idx":1,"atom_name":"N"}}]`, "residue 2 of chain B is SER"},
		"pocket": {trp + `,{"ligandSequence":{"sequence":"CCO"}}`,
			`"pocket":[{"binder":{"chain_id":"B"},"contacts":[{"chain_id":"A","res_idx":3}]}]`, "no pocket constraints"},
		"too small": {`{"proteinChain":{"sequence":"GGGG"}}`, "", "needs 97"},
	} {
		l.refused(name, c.sequences, quick, c.constraints, c.want, pleat.FailInvalidInput, pleat.FailUnsupported)
	}
	l.stopped(`"modelName":"intellifold","seed":"1","recyclingSteps":1,"samplingSteps":1000,"diffusionSample":25`)
	if v := l.fold(trp, quick+`,"diffusionSample":1`, ""); v.Run.Timings["load"] != 0 {
		t.Error("refusals and a cancel cost the process")
	}
}

// TestRealEnginesSimpleFold has SimpleFold, installed from its source, fold chains one by one.
func TestRealEnginesSimpleFold(t *testing.T) {
	l := startEngines(t, "simplefold")
	quick := `"modelName":"simplefold_100M","seed":"1","samplingSteps":10`
	v := l.fold(trp+`,{"proteinChain":{"sequence":"GSHMKT"}}`, quick+`,"diffusionSample":2`, "")
	if len(v.Predictions) != 2 {
		t.Fatalf("%d predictions", len(v.Predictions))
	}
	for _, p := range v.Predictions {
		if p.MeanPLLDT == nil || *p.MeanPLLDT < 1 || *p.MeanPLLDT > 100 {
			t.Errorf("pLDDT %v", p.MeanPLLDT)
		}
		if p.PTM != nil || p.IPTM != nil || p.MaxPAE != nil {
			t.Errorf("scores that the model does not give: pTM %v, ipTM %v, PAE %v", p.PTM, p.IPTM, p.MaxPAE)
		}
	}
	second, third := l.fold(trp, quick, ""), l.fold(trp, quick, "")
	l.wantChains(second.Job.ID, "A "+trp3)
	if second.Run.Timings["load"] != 0 {
		t.Errorf("the second job loaded again: %v", second.Run.Timings)
	}
	if !bytes.Equal(l.file(second.Job.ID, "cif"), l.file(third.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	larger := l.fold(trp, strings.Replace(quick, "100M", "1.6B", 1), "")
	if bytes.Equal(l.file(second.Job.ID, "cif"), l.file(larger.Job.ID, "cif")) {
		t.Error("two sizes of the model gave one structure")
	}
	if id, message := l.create(`{"proteinChain":{"sequence":"GSXM"}}`, quick, ""); id != "" || message == "" {
		t.Errorf("an unknown residue was accepted: %q", message)
	}
	l.stopped(strings.Replace(quick, `"samplingSteps":10`, `"samplingSteps":1000,"diffusionSample":25`, 1))
	// For the other sizes there are no weights here.
	l.refused("a size without weights", trp, strings.Replace(quick, "100M", "360M", 1), "",
		"simplefold_360M.ckpt is missing", pleat.FailWeightsMissing)
}

// stopped cancels a long job once its diffusion has begun.
func (l *engineServer) stopped(params string) {
	l.T.Helper()
	id := l.mustCreate(trp, params, "")
	l.awaitStage(id, "diffusion", 0)
	l.cancel(id)
}

// TestRealEnginesEsmFold2 has transformers' ESMFold2 fold chains and complexes of them, in the environment and the
// process of ESMFold.
func TestRealEnginesEsmFold2(t *testing.T) {
	l := startEngines(t, "esm")
	quick := `"modelName":"esmfold2","seed":"1","recyclingSteps":1,"samplingSteps":10`
	first := l.fold(trp, quick+`,"diffusionSample":3`, "")
	l.wantChains(first.Job.ID, "A "+trp3)
	wantScores(t, first.Predictions[0], false)
	l.wantPAE(first.Job.ID, 20)
	if !strings.HasPrefix(first.Run.Engine, "esm transformers 5.") || first.Run.Timings["load"] == 0 {
		t.Errorf("engine %q, timings %v", first.Run.Engine, first.Run.Timings)
	}
	second := l.fold(trp, quick+`,"diffusionSample":3`, "")
	if load, ok := second.Run.Timings["load"]; ok {
		t.Errorf("the second job loaded for %.1f s", load)
	}
	if !bytes.Equal(l.file(first.Job.ID, "cif"), l.file(second.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	other := l.fold(trp, strings.Replace(quick, `"seed":"1"`, `"seed":"2"`, 1)+`,"diffusionSample":3`, "")
	if bytes.Equal(l.file(first.Job.ID, "cif"), l.file(other.Job.ID, "cif")) {
		t.Error("two seeds gave one structure")
	}
	t.Logf("first %v, second %v", first.Run.Timings, second.Run.Timings)

	v := l.fold(`{"proteinChain":{"sequence":"GSHM","chain_id":"H"}},{"proteinChain":{"sequence":"MKTAXY","chain_id":"B"}},
		{"proteinChain":{"sequence":"GSHM","chain_id":"A"}}`, quick, "")
	l.wantChains(v.Job.ID, "H GLY SER HIS MET", "B MET LYS THR ALA UNK TYR", "A GLY SER HIS MET")
	wantScores(t, v.Predictions[0], true)
	l.wantPAE(v.Job.ID, 14)

	for name, c := range map[string]struct{ sequences, want string }{
		"RNA":           {trp + `,{"rnaSequence":{"sequence":"GACU"}}`, "rna"},
		"ligand":        {trp + `,{"ligandSequence":{"sequence":"CCO"}}`, "ligand"},
		"modification":  {`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}}`, "modif"},
		"cyclic":        {`{"proteinChain":{"sequence":"GSHMKT","cyclic":true}}`, "cyclic"},
		"not a residue": {`{"proteinChain":{"sequence":"GS1M"}}`, "1"},
	} {
		if id, message := l.create(c.sequences, quick, ""); id != "" || !strings.Contains(message, c.want) {
			t.Errorf("%s: job %q, %q", name, id, message)
		}
	}
	l.refused("one residue", `{"proteinChain":{"sequence":"G"}}`, quick, "", "needs 2", pleat.FailUnsupported)
	l.stopped(`"modelName":"esmfold2","seed":"1","recyclingSteps":1,"samplingSteps":1000,"diffusionSample":25`)
	if v := l.fold(trp, `"modelName":"esmfold2"`, ""); v.Run.Timings["load"] != 0 {
		t.Error("a cancel cost the process")
	}
	// The other model of the engine replaces it in the same process.
	before := l.runner()
	older := l.fold(trp, `"modelName":"esm1b"`, "")
	if older.Run.Timings["load"] == 0 || l.runner() != before {
		t.Errorf("ESMFold ran in another process, or without loading: %v", older.Run.Timings)
	}
}

// TestRealEnginesProtenix has both models of Protenix, installed from PyPI, fold what the interface offers of them.
func TestRealEnginesProtenix(t *testing.T) {
	l := startEngines(t, "protenix")
	quick := `"modelName":"protenix","seed":"1","recyclingSteps":1,"samplingSteps":5`
	first := l.fold(trp, quick+`,"diffusionSample":2`, "")
	l.wantChains(first.Job.ID, "A "+trp3)
	wantScores(t, first.Predictions[0], false)
	l.wantPAE(first.Job.ID, 20)
	if !strings.HasPrefix(first.Run.Engine, "protenix 2.") || first.Run.Timings["load"] == 0 {
		t.Errorf("engine %q, timings %v", first.Run.Engine, first.Run.Timings)
	}
	second := l.fold(trp, quick+`,"diffusionSample":2`, "")
	if load, ok := second.Run.Timings["load"]; ok {
		t.Errorf("the second job loaded for %.1f s", load)
	}
	if !bytes.Equal(l.file(first.Job.ID, "cif"), l.file(second.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	t.Logf("first %v, second %v", first.Run.Timings, second.Run.Timings)

	one := quick + `,"diffusionSample":1`
	// The package puts the copies of an entity together and cuts long names off; the job has them apart and whole. An
	// ion comes before chains with alignments and templates.
	big := `{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"H","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"ligandSequence":{"sequence":"MG","is_ccd":true,"chain_id":"M"}},
		{"rnaSequence":{"sequence":"GACU","chain_id":"R"}},
		{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"C","modifications":[{"res_idx":2,"ccd":"SEP"}]}},
		{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"P"}},{"dnaSequence":{"sequence":"GACT","chain_id":"D"}},
		{"ligandSequence":{"sequence":"CC(=O)Oc1ccccc1C(=O)O","chain_id":"L"}}`
	bond := `"bond":[{"atom1":{"chain_id":"H","res_idx":3,"atom_name":"ND1"},
		"atom2":{"chain_id":"C","res_idx":8,"atom_name":"OH"}}]`
	v := l.fold(big, one, bond)
	l.wantChains(v.Job.ID, "H GLY SEP HIS MET LYS THR ALA TYR", "M MG", "R G A C U",
		"C GLY SEP HIS MET LYS THR ALA TYR", "P GLY SER HIS MET LYS THR ALA TYR", "D DG DA DC DT", "L l01")
	wantScores(t, v.Predictions[0], true)
	again := l.fold(big, one, bond)
	if !bytes.Equal(l.file(v.Job.ID, "cif"), l.file(again.Job.ID, "cif")) {
		t.Error("the same seed gave two structures of a ligand by SMILES")
	}
	l.templates(t, one, `}]`)

	for name, c := range map[string]struct{ sequences, constraints, want string }{
		"SMILES of no molecule": {trp + `,{"ligandSequence":{"sequence":"C[Ge](C)(C)(C)C"}}`, "", "Explicit valence"},
		"no backbone": {`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"BNZ"}]}}`, "",
			"no backbone"},
		"no conformer": {trp + `,{"ligandSequence":{"sequence":"C1#CC1"}}`, "", "three-dimensional"},
		"unknown CCD":  {trp + `,{"ligandSequence":{"sequence":"QQQ","is_ccd":true}}`, "", "QQQ"},
		"no such atom": {`{"proteinChain":{"sequence":"GSHM","count":2}}`,
			`"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},
				"atom2":{"chain_id":"B","res_idx":2,"atom_name":"OG"}}]`, "residue 2 of chain A is SER"},
		"pocket": {trp + `,{"ligandSequence":{"sequence":"CCO"}}`,
			`"pocket":[{"binder":{"chain_id":"B"},"contacts":[{"chain_id":"A","res_idx":3}]}]`, "no pocket constraints"},
	} {
		l.refused(name, c.sequences, one, c.constraints, c.want, pleat.FailInvalidInput, pleat.FailUnsupported)
	}
	l.stopped(`"modelName":"protenix","seed":"1","recyclingSteps":1,"samplingSteps":1000,"diffusionSample":25`)
	if v := l.fold(trp, one, ""); v.Run.Timings["load"] != 0 {
		t.Error("refusals and a cancel cost the process")
	}
	larger := strings.Replace(one, `"protenix"`, `"protenix-v2"`, 1)
	v2 := l.fold(trp, larger, "")
	l.wantChains(v2.Job.ID, "A "+trp3)
	wantScores(t, v2.Predictions[0], false)
	if bytes.Equal(l.file(first.Job.ID, "cif"), l.file(v2.Job.ID, "cif")) {
		t.Error("two models gave one structure")
	}
}
