package engines

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pleat/internal/msa/msatest"
	"pleat/internal/testprogram"
)

const (
	alone    = `"modelName":"monomer","seed":"1","msaAlgorithm":"none","recyclingSteps":1,"numTrunkSamples":2`
	together = `"modelName":"multimer","seed":"1","recyclingSteps":1,"numTrunkSamples":2`
)

// TestRealEnginesColabFold has AlphaFold 2 by ColabFold, installed from PyPI, fold chains alone and together in one
// process. Every size is compiled once, which is most of the time; so the sizes are few. The alignments are made up, as
// the weights are.
func TestRealEnginesColabFold(t *testing.T) {
	server := msatest.New(t)
	server.Known = true
	t.Setenv("PLEAT_MSA_SERVER", server.URL)
	l := startEngines(t, "colabfold")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "colabfold") })
	l.run("chains alone", l.monomer)
	l.run("refusals", l.notForAlphaFold)
	l.run("cancel", l.cancelledRecycling)
	l.run("complex", l.multimer)
	l.run("templates", l.templatesOfAlphaFold)
}

// alphaFoldMetrics are the engine's own numbers of a structure, with all candidates in their ranking.
type alphaFoldMetrics struct {
	Rows    int `json:"alignment_rows"`
	Samples []struct {
		Model   string  `json:"model"`
		Ranking float64 `json:"ranking_confidence"`
		PTM     float64 `json:"ptm"`
	} `json:"samples"`
}

// alphaFold reads the engine's numbers of a job of one prediction.
func (l *engineServer) alphaFold(id string) alphaFoldMetrics {
	l.T.Helper()
	var v struct {
		Predictions []struct {
			Engine alphaFoldMetrics `json:"engine_metrics"`
		} `json:"predictions"`
	}
	if err := json.Unmarshal(l.file(id, "metrics_json"), &v); err != nil || len(v.Predictions) != 1 {
		l.T.Fatalf("%d predictions: %v", len(v.Predictions), err)
	}
	return v.Predictions[0].Engine
}

// samples reads how the engine ranked its structures, and the rows of alignment that it read.
func (l *engineServer) samples(id string) (ranking []float64, rows int) {
	l.T.Helper()
	m := l.alphaFold(id)
	for _, s := range m.Samples {
		ranking = append(ranking, s.Ranking)
	}
	return ranking, m.Rows
}

// confidences reads the pLDDT and the pTM of each of the models of monomer, by name. Both have 16 bits.
func (l *engineServer) confidences(id string) map[string][2]float64 {
	l.T.Helper()
	out := map[string][2]float64{}
	for _, s := range l.alphaFold(id).Samples {
		name, _, _ := strings.Cut(s.Model, "_seed")
		out[name] = [2]float64{s.Ranking, s.PTM}
	}
	return out
}

// monomer folds two chains, each on its own, then one of them again: nothing is loaded or compiled, and the bytes are
// the same.
func (l *engineServer) monomer(t *testing.T) {
	first := l.fold(trp+`,{"proteinChain":{"sequence":"GSHMKT"}}`, alone, "")
	if len(first.Predictions) != 2 {
		t.Fatalf("%d predictions", len(first.Predictions))
	}
	for _, p := range first.Predictions {
		wantScores(t, p, false)
	}
	if first.Run.Timings["load"] <= 0 || !strings.HasPrefix(first.Run.Engine, "colabfold 1.") {
		t.Errorf("engine %q, timings %v", first.Run.Engine, first.Run.Timings)
	}
	second := l.fold(trp, alone, "")
	if load, ok := second.Run.Timings["load"]; ok {
		t.Errorf("the second job loaded for %.1f s", load)
	}
	t.Logf("first %v, second %v", first.Run.Timings, second.Run.Timings)
	l.wantChains(second.Job.ID, "A "+trp3)
	if ranking, rows := l.samples(second.Job.ID); len(ranking) != 2 || ranking[0] <= ranking[1] || rows != 1 {
		t.Errorf("ranked %v, from %d rows", ranking, rows)
	}
	third := l.fold(trp, strings.Replace(alone, `"numTrunkSamples":2`, `"numTrunkSamples":1,"numModelSeeds":2`, 1), "")
	again := l.fold(trp, alone, "")
	if !bytes.Equal(l.file(second.Job.ID, "cif"), l.file(again.Job.ID, "cif")) {
		t.Error("the same seed gave two structures")
	}
	if ranking, _ := l.samples(third.Job.ID); len(ranking) != 2 {
		t.Errorf("two seeds of one model gave %d structures", len(ranking))
	}
}

func (l *engineServer) notForAlphaFold(t *testing.T) {
	for sequences, want := range map[string]string{
		`{"proteinChain":{"sequence":"GSXM"}}`:                                             "X",
		trp + `,{"ligandSequence":{"sequence":"CCO"}}`:                                     "ligand",
		`{"proteinChain":{"sequence":"GSHM","cyclic":true}}`:                               "cyclic",
		`{"proteinChain":{"sequence":"GSHM","modifications":[{"res_idx":2,"ccd":"SEP"}]}}`: "modif",
	} {
		if id, message := l.create(sequences, together, ""); id != "" || !strings.Contains(message, want) {
			t.Errorf("%s: %q", sequences, message)
		}
	}
	if id, message := l.create(trp, strings.Replace(alone, `"numTrunkSamples":2`, `"samplingSteps":5`, 1),
		""); id != "" || !strings.Contains(message, "recyclingSteps") {
		t.Errorf("sampling steps of AlphaFold: %q", message)
	}
}

// cancelledRecycling stops a job between two passes; the process stays.
func (l *engineServer) cancelledRecycling(t *testing.T) {
	id := l.mustCreate(trp, `"modelName":"monomer","msaAlgorithm":"none","recyclingSteps":50,"numModelSeeds":10`, "")
	testprogram.WaitUntil(t, 5*time.Minute, "the job recycles", func() bool {
		v := l.view(id)
		return v.Progress.Stage == "trunk" && v.Progress.Done > 2 && v.Progress.Total == 5*10*51
	})
	before := l.runner()
	l.cancel(id)
	if v := l.fold(trp, alone, ""); v.Run.Timings["load"] != 0 || l.runner() != before {
		t.Error("the cancel cost the process")
	}
}

// multimer folds three chains of two sequences from alignments, paired and not, in an order that the package changes.
func (l *engineServer) multimer(t *testing.T) {
	v := l.fold(`{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"H"}},
		{"proteinChain":{"sequence":"NLYIQWLK","chain_id":"B"}},
		{"proteinChain":{"sequence":"GSHMKTAY","chain_id":"A"}}`, together, "")
	l.wantChains(v.Job.ID, "H GLY SER HIS MET LYS THR ALA TYR", "B ASN LEU TYR ILE GLN TRP LEU LYS",
		"A GLY SER HIS MET LYS THR ALA TYR")
	wantScores(t, v.Predictions[0], true)
	l.wantPAE(v.Job.ID, 24)
	if ranking, rows := l.samples(v.Job.ID); len(ranking) != 2 || ranking[0] <= ranking[1] || rows < 4 {
		t.Errorf("ranked %v, from %d rows: the alignments did not reach the model", ranking, rows)
	}
	if hasNote(v.Run.Notes, "Without an alignment") {
		t.Errorf("a chain had no alignment: %q", v.Run.Notes)
	}
	t.Logf("%v", v.Run.Timings)
}

// templatesOfAlphaFold folds a chain, and one of two copies, with the structure of an earlier job as a template: the
// networks read it, and the models of monomer that read no templates fold as before. Random weights show no more.
func (l *engineServer) templatesOfAlphaFold(t *testing.T) {
	const protein = `{"proteinChain":{"sequence":"GSHMKTAY"}}`
	three := strings.Replace(alone, `"numTrunkSamples":2`, `"numTrunkSamples":3`, 1)
	source := l.fold(protein, strings.Replace(alone, `"seed":"1"`, `"seed":"2"`, 1), "")
	one := `"templates":[{"jobId":"` + source.Job.ID + `"`
	plain := l.fold(protein, three, "")
	v := l.fold(protein, three, one+`}]`)
	scores := v.Predictions[0].Templates
	if len(scores) != 1 || scores[0].Residues != 8 || scores[0].RMSD == nil {
		t.Errorf("templates %+v", scores)
	}
	before, after := l.confidences(plain.Job.ID), l.confidences(v.Job.ID)
	for model, reads := range map[string]bool{"model_1": true, "model_2": true, "model_3": false} {
		if changed := before[model] != after[model]; changed != reads || before[model][1] == 0 {
			t.Errorf("%s: pLDDT and pTM %g without the template and %g with it", model, before[model], after[model])
		}
	}
	if id, message := l.create(protein, three, one+`,"force":true,"maxDistance":1}]`); id != "" ||
		!strings.Contains(message, "takes templates as examples only") {
		t.Errorf("a template with force: %q", message)
	}
	const copies = `{"proteinChain":{"sequence":"GSHMKTAY","count":2}},{"proteinChain":{"sequence":"NLYIQWLK"}}`
	bare := l.fold(copies, together, "")
	v = l.fold(copies, together, one+`,"chain":"B"}]`)
	l.wantChains(v.Job.ID, "A GLY SER HIS MET LYS THR ALA TYR", "B GLY SER HIS MET LYS THR ALA TYR",
		"C ASN LEU TYR ILE GLN TRP LEU LYS")
	if scores = v.Predictions[0].Templates; len(scores) != 1 || scores[0].Chain != "B" || scores[0].RMSD == nil {
		t.Errorf("templates of a copy %+v", scores)
	}
	if bytes.Equal(l.file(bare.Job.ID, "cif"), l.file(v.Job.ID, "cif")) {
		t.Error("the template of a copy changed nothing")
	}
}
