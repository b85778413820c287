package runner

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/report"
	"pleat/internal/structure"
)

func floats(v []float32) string {
	var b bytes.Buffer
	for _, x := range v {
		_ = binary.Write(&b, binary.LittleEndian, math.Float32bits(x))
	}
	return b.String()
}

// predicted is a request with the files that a runner has written.
func predicted(t *testing.T, seqs []pleat.Sequence, r wireResult, model string, plddt, pae []float32) *predictRequest {
	t.Helper()
	c := &predictRequest{dir: t.TempDir(), sequences: seqs, result: &r}
	add := func(kind, name, text string, shape ...int) {
		f := writeResult(c.dir, kind, name, text)
		f.Shape = shape
		r.Files = append(r.Files, f)
	}
	add("structure", "m.cif", model)
	if plddt != nil {
		add("plddt", "plddt.f32", floats(plddt), len(plddt))
	}
	if pae != nil {
		n := int(math.Sqrt(float64(len(pae))))
		add("pae", "pae.f32", floats(pae), n, n)
	}
	if err := c.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// An array must hold valid numbers of the right shape.
func TestArrays(t *testing.T) {
	t.Parallel()
	sequences, cif := enginetest.Complex()
	for _, c := range []struct {
		plddt []float32
		err   string
	}{
		{[]float32{1, 2, 3, 4, 100}, ""},
		{[]float32{1, 2, 3, 4, 101}, "the plddt of token 5 is 101"},
		{[]float32{1, 2, 3, 4, float32(math.NaN())}, "NaN at index 4"},
		{[]float32{1, 2, 3, 4, -1}, "-1 at index 4; it must be a number from"},
	} {
		r := wireResult{ID: "x", ChainMap: map[string]string{"A": "C", "C": "A"}}
		_, err := predicted(t, sequences, r, cif, c.plddt, nil).prediction()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v: error %v; want %q", c.plddt, err, c.err)
		}
	}
}

// A predicted RMSD is checked as pLDDT is.
func TestPredictedRMSDFile(t *testing.T) {
	t.Parallel()
	sequences, cif := enginetest.Complex()
	for _, c := range []struct {
		rmsd  []float32
		shape []int
		plddt []float32
		err   string
	}{
		{[]float32{0, 0.5, 1, 1.5, 999}, []int{5}, nil, ""},
		{[]float32{0, 0.5, 1, 1.5, 999}, []int{5}, []float32{1, 2, 3, 4, 100}, ""},
		{[]float32{0, 0.5, 1, 1.5, 1000}, []int{5}, nil, "the predicted_rmsd of token 5 is 1000; it must be 0 to 999"},
		{[]float32{0, -0.5, 1, 1.5, 2}, []int{5}, nil, "the predicted_rmsd file has -0.5 at index 1"},
		{[]float32{0, 1, 2, 3}, []int{2, 2}, nil, "the predicted_rmsd file has the shape [2 2]; it must be a row"},
		{[]float32{0, 1, 2, 3}, []int{4}, []float32{1, 2, 3, 4, 100}, "has 4 values, and plddt 5"},
		{[]float32{0, 1, 2, 3, 4, 5}, []int{6}, nil, "6 tokens"},
	} {
		r := wireResult{ID: "x", ChainMap: map[string]string{"A": "C", "C": "A"}}
		q := predicted(t, sequences, r, cif, c.plddt, nil)
		file := writeResult(q.dir, "predicted_rmsd", "rmsd.f32", floats(c.rmsd))
		file.Shape = c.shape
		q.result.Files = append(q.result.Files, file)
		p, err := q.prediction()
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%v: error %v; want %q", c.rmsd, err, c.err)
		case c.err == "" && (err != nil || p.PredictedRMSD == nil || (p.PLDDT == nil) != (c.plddt == nil)):
			t.Errorf("%v: %+v, error %v", c.rmsd, p, err)
		}
	}
}

// A report of a predicted RMSD: it stands in every file as what it is, and nothing is called pLDDT.
func TestReportOfPredictedRMSD(t *testing.T) {
	t.Parallel()
	seqs, text := enginetest.Complex()
	q := predicted(t, seqs, wireResult{ID: "x", ChainMap: map[string]string{"A": "C", "C": "A"}}, text, nil, nil)
	file := writeResult(q.dir, "predicted_rmsd", "rmsd.f32", floats([]float32{1, 2, 2, 0.5, 3, 1.25, 0.25, 0.75}))
	file.Shape = []int{8}
	q.result.Files = append(q.result.Files, file)
	m, err := q.prediction()
	if err != nil {
		t.Fatal(err)
	}
	// The three tokens of the modified residue become their root mean square.
	root := []float64{math.Sqrt(3), 0.5}
	if d := cmp.Diff([][]float64{{3, 1.25}, {math.Sqrt((0.0625 + 0.5625) / 2)}, root}, m.PredictedRMSD); d != "" {
		t.Error(d)
	}
	w := pleat.Work{
		Kind:  pleat.TaskFold,
		Dir:   t.TempDir(),
		Model: pleat.Model{Name: "fake", Engine: "fake", Version: "1"},
		Fold:  &pleat.FoldInput{Name: "n", Sequences: seqs, Seed: "1", Complex: true},
	}
	rep := &report.Report{
		Work:        w,
		Engine:      "fake 1",
		Predictions: []report.Prediction{*m},
		Timings:     map[string]float64{},
	}
	out := rep.Write(t.Context(), &enginetest.Sink{})
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	p := out.Result.Predictions[0]
	if p.MeanPLDDT != nil || p.PredictedRMSD == nil || *p.PredictedRMSD != 1.41 {
		t.Errorf("pLDDT %v, predicted RMSD %v; want none and 1.41", p.MeanPLDDT, p.PredictedRMSD)
	}
	content := map[string]string{}
	for _, f := range out.Files {
		raw, err := os.ReadFile(filepath.Join(w.Dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name] = string(raw)
	}
	if content["plddt.svg"] != "" || !strings.Contains(content["plots.zip"], "predicted_rmsd.svg") ||
		content["predicted_rmsd.png"] == "" {
		t.Error("the figures are not those of a predicted RMSD")
	}
	if !strings.Contains(content["model.pdb"], "REMARK 999 The B-factor column holds the predicted RMSD in Angstrom.") {
		t.Error("model.pdb does not say what its B-factors are")
	}
	var metrics struct {
		Predictions []struct {
			PLDDT map[string][]float64
			RMSD  map[string][]float64 `json:"predicted_rmsd"`
		}
	}
	if err := json.Unmarshal([]byte(content["metrics.json"]), &metrics); err != nil {
		t.Fatal(err)
	}
	if got := metrics.Predictions[0]; len(got.PLDDT) > 0 || got.RMSD["C"][0] != 1.73 {
		t.Errorf("metrics.json has %+v", got)
	}
	s, err := structure.ReadCIF(strings.NewReader(content["model.cif"]), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ligand, rmsd := s.Chain("B").Residues[0].Atoms, s.Chain("C").Residues[0].PredictedRMSD
	if ligand[0].B != 0.25 || ligand[1].B != 0.75 || rmsd == nil || *rmsd != 1.73 || s.Confidence(true).PLDDT != nil {
		t.Errorf("model.cif has %v and %v for the ligand, and %v for SEP", ligand[0].B, ligand[1].B, rmsd)
	}
}

// A whole report of a complex: every artifact, and the scores in the files and the result.
func TestReport(t *testing.T) {
	t.Parallel()
	seqs, text := enginetest.Complex()
	pae := make([]float32, 64)
	for i := range pae {
		pae[i] = float32(i % 7)
	}
	ptm, maxPAE := 0.8, 31.75
	r := wireResult{
		ID:       "x",
		ChainMap: map[string]string{"A": "C", "C": "A"},
		Scores: &wireScores{
			PTM:      &ptm,
			MaxPAE:   &maxPAE,
			Affinity: &pleat.Affinity{Value: -1, Probability: 0.5},
		},
	}
	c := predicted(t, seqs, r, text, []float32{90, 80, 70, 60, 50, 40, 30, 20}, pae)
	c.result.Files = append(c.result.Files, writeResult(c.dir, "embedding", "s b.npz", "x"),
		writeResult(c.dir, "other", "model.pdb", "x"))
	sample := writeResult(c.dir, "structure", "m1.cif", text)
	sample.Rank = 1
	c.result.Files = append(c.result.Files, sample)
	m, err := c.prediction()
	if err != nil {
		t.Fatal(err)
	}
	w := pleat.Work{
		Kind: pleat.TaskFold,
		Dir:  t.TempDir(),
		Model: pleat.Model{
			Name:     "fake",
			Engine:   "fake",
			Version:  "1",
			Features: []pleat.Feature{pleat.FeatureComplex},
		},
		Fold: &pleat.FoldInput{Name: "n", Sequences: seqs, Seed: "1", Complex: true},
	}
	rep := &report.Report{
		Work:        w,
		Engine:      "fake 1",
		Predictions: []report.Prediction{*m},
		Timings:     map[string]float64{},
		Runner:      map[string]any{"weights_sha256": "ab"},
	}
	out := rep.Write(t.Context(), &enginetest.Sink{})
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var names []string
	for _, f := range out.Files {
		names = append(names, f.Name)
	}
	want := "model.cif model.pdb pae.json plddt.svg plddt.png pae.svg pae.png s_b.npz x-model.pdb sample-1.cif " +
		"metrics.json config.json citations.bib plots.zip results.zip"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the files are %s", got)
	}
	p := out.Result.Predictions[0]
	if *p.PTM != 0.8 || *p.MeanPLDDT != 55 || p.Affinity.Value != -1 || len(p.Pairs) != 1 || p.IPTM != nil {
		t.Errorf("%+v", p)
	}
	in, err := os.Open(filepath.Join(w.Dir, "model.cif"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadCIF(in, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Chain("B").Residues[0].Atoms; b[0].B != 30 || b[1].B != 20 {
		t.Errorf("in the file the ligand's atoms have %v and %v", b[0].B, b[1].B)
	}
	read, err := report.ReadPAE(t.Context(), filepath.Join(w.Dir, "pae.json"))
	if err != nil || read.N != 6 {
		t.Errorf("%d rows, %v", read.N, err)
	}
	raw, err := os.ReadFile(filepath.Join(w.Dir, "config.json"))
	if err != nil || !bytes.Contains(raw, []byte(`"weights_sha256": "ab"`)) {
		t.Errorf("%s, %v", raw, err)
	}
}
