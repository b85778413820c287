package runner

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
