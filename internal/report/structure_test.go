package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/pae"
	"pleat/internal/structure"
)

// swapped maps the chains of enginetest.Complex to those of the job.
var swapped = map[string]string{"A": "C", "C": "A"}

// predicted is what a model gives; nil arrays: none.
type predicted struct {
	cif        string
	plddt, pae []float32 // by token
	tokens     []int     // of each residue
}

// predict returns the prediction of a job.
func predict(t *testing.T, sequences []pleat.Sequence, scores Scores, m predicted) (*Prediction, error) {
	t.Helper()
	read, err := structure.ReadCIF(strings.NewReader(m.cif), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Structure{Structure: read, PLDDT: m.plddt}
	n := len(m.plddt)
	if m.pae != nil {
		n = int(math.Sqrt(float64(len(m.pae))))
		s.PAE = &structure.Matrix{N: n, V: m.pae}
	}
	if err := s.CountTokens(n, m.tokens); err != nil {
		return nil, err
	}
	return s.Prediction(sequences, &scores, nil)
}

func TestPredictionHasTheOrderOfTheJob(t *testing.T) {
	sequences, cif := enginetest.Complex()
	plddt := []float32{90, 80, 70, 60, 50, 40, 30, 20}
	var errs []float32
	for i := range 8 {
		for j := range 8 {
			errs = append(errs, float32(10*i+j)/10)
		}
	}
	half := 0.5
	scores := Scores{ChainMap: swapped, IPTM: &half, Pairs: []pleat.PairScore{{A: "B", B: "A", IPTM: &half}}}
	p, err := predict(t, sequences, scores, predicted{cif: cif, plddt: plddt, pae: errs})
	if err != nil {
		t.Fatal(err)
	}
	var chains, comps []string
	for _, ch := range p.Structure.Chains {
		chains = append(chains, ch.ID)
		for _, r := range ch.Residues {
			comps = append(comps, r.Comp)
		}
	}
	if got := strings.Join(chains, "") + " " + strings.Join(comps, " "); got != "ABC ALA GLY LIG SEP LYS" {
		t.Errorf("the structure is %s", got)
	}
	if p.Structure.Chains[0].Name != "first" {
		t.Errorf("chain A is called %q", p.Structure.Chains[0].Name)
	}
	if diff := cmp.Diff([][]float64{{50, 40}, {25}, {80, 60}}, p.PLDDT); diff != "" {
		t.Error(diff)
	}
	if *p.MeanPLDDT != 55 { // over tokens
		t.Errorf("the mean is %v; want 55", *p.MeanPLDDT)
	}
	atoms := p.Structure.Chains[1].Residues[0].Atoms
	if atoms[0].B != 30 || atoms[1].B != 20 || p.BFactors[1] != nil {
		t.Errorf("the ligand's atoms have %v and %v; want their own", atoms[0].B, atoms[1].B)
	}
	// Rows: ALA, GLY, C1, O1, SEP (tokens 0 to 2 of the file, their mean), LYS.
	want := map[[2]int]float64{
		{0, 0}: 4.4,
		{0, 1}: 4.5,
		{0, 4}: 4.1,
		{4, 0}: 1.4,
		{4, 4}: 1.1,
		{2, 3}: 6.7,
		{5, 2}: 3.6,
	}
	if p.PAE.N != 6 {
		t.Fatalf("the errors have %d rows; want 6", p.PAE.N)
	}
	for at, v := range want {
		if got := p.PAE.At(at[0], at[1]); math.Abs(got-v) > 1e-5 {
			t.Errorf("the error at %v is %v; want %v", at, got, v)
		}
	}
	if len(p.PAEChains) != 3 || p.PAEChains[1].Length != 2 || p.PAEChains[2].Length != 2 {
		t.Errorf("the errors' chains are %+v", p.PAEChains)
	}
	pairs := map[string]pleat.PairScore{}
	for _, s := range p.Pairs {
		pairs[s.A+s.B] = s
	}
	if s := pairs["BC"]; s.IPTM == nil || *s.IPTM != 0.5 || s.IPSAE != nil {
		t.Errorf("the ligand's pair is %+v; want the model's own ipTM alone", s)
	}
	if _, ok := pairs["AB"]; ok {
		t.Error("a pair without any score is listed")
	}
	if s := pairs["AC"]; s.IPTM == nil || s.IPSAE == nil || s.PDockQ2 == nil {
		t.Errorf("the proteins' pair is %+v", s)
	}
	// ProteinPAE reduces the matrix to the protein residues.
	if got, err := ProteinPAE(p.Structure, pae.Errors{Matrix: *p.PAE}); err != nil || got.N != 4 {
		t.Errorf("%d rows of proteins, %v", got.N, err)
	}
}

// The pair's scores are those of the published definitions, worked out by hand: two residues against two, every error
// between the chains 1 Å, within them 0. With so few residues d0 is 1 Å, so every term is 1/(1+1) = 0.5. Four pairs
// of residues lie within 8 Å; each chain's interface has pLDDT 50, and the mean of 1/(1+(1/10)²) over the contacts is
// 1/1.01. The local interaction score is (12 - 1)/12.
func TestPairScores(t *testing.T) {
	sequences := []pleat.Sequence{
		{Kind: pleat.Protein, Text: "AG", Chains: []string{"A"}},
		{Kind: pleat.Protein, Text: "GA", Chains: []string{"B"}},
	}
	cif := enginetest.CIF([][2]string{{"A", "protein"}, {"B", "protein"}},
		"A ALA CA C 1 0 0 0",
		"A GLY CA C 2 3.8 0 0",
		"B GLY CA C 1 0 4 0",
		"B ALA CA C 2 3.8 4 0",
	)
	pae := []float32{0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0}
	plddt := []float32{50, 50, 50, 50}
	prediction, err := predict(t, sequences, Scores{}, predicted{cif: cif, plddt: plddt, pae: pae})
	if err != nil {
		t.Fatal(err)
	}
	x := 50 / 1.01
	dockq2 := 1.31/(1+math.Exp(-0.075*(x-84.733))) + 0.005
	if len(prediction.Pairs) != 1 {
		t.Fatalf("%+v", prediction.Pairs)
	}
	p := prediction.Pairs[0]
	for name, v := range map[string][2]float64{
		"iptm":    {*p.IPTM, 0.5},
		"ipsae":   {*p.IPSAE, 0.5},
		"pdockq2": {*p.PDockQ2, dockq2},
		"lis":     {*p.LIS, 11.0 / 12},
	} {
		if math.Abs(v[0]-v[1]) > 1e-4 {
			t.Errorf("%s is %v; want %v", name, v[0], v[1])
		}
	}
	prediction, err = predict(t, sequences, Scores{}, predicted{cif: cif, plddt: plddt})
	if err != nil || len(prediction.Pairs) != 0 || prediction.PAE != nil {
		t.Errorf("without a PAE: %+v, %v", prediction.Pairs, err)
	}
}

func TestCountTokens(t *testing.T) {
	sequences, cif := enginetest.Complex()
	for _, c := range []struct {
		values int // in the array
		tokens []int
		err    string
	}{
		{values: 5}, // one per residue
		{values: 8}, // the rule of Structure
		{values: 6, tokens: []int{1, 1, 1, 1, 2}},                  // as the model says
		{values: 6, err: "6 tokens"},                               // neither
		{values: 6, tokens: []int{1, 1, 1, 3}, err: "4 counts"},    // too few
		{values: 4, tokens: []int{0, 1, 1, 1, 1}, err: "5 counts"}, // none for a residue
	} {
		m := predicted{cif: cif, plddt: make([]float32, c.values), tokens: c.tokens}
		_, err := predict(t, sequences, Scores{ChainMap: swapped}, m)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%d values, tokens %v: error %v; want %q", c.values, c.tokens, err, c.err)
		}
	}
}

// A structure that is not the job's is refused.
func TestPredictionOfAnotherJob(t *testing.T) {
	sequences, cif := enginetest.Complex()
	for _, c := range []struct {
		name   string
		change func([]pleat.Sequence) []pleat.Sequence
		names  map[string]string
		err    string
	}{
		{"chains not mapped", nil, nil, "residue 1 of chain A of its structure is"},
		{"two of one name", nil, map[string]string{"A": "C"}, `two chains "C"`},
		{
			"a chain is missing",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Chains = []string{"A", "D"}; return s },
			swapped,
			"lacks the chain D",
		},
		{"a chain too many", func(s []pleat.Sequence) []pleat.Sequence { return s[:2] }, swapped, "3 chains"},
		{
			"too few residues",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Text = "AGG"; return s },
			swapped,
			"has 2 residues",
		},
		{
			"another residue",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Text = "AK"; return s },
			swapped,
			"residue 2 of chain A of its structure is GLY; K was asked for",
		},
		{
			"a ligand for a protein",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Kind = pleat.Ligand; return s },
			swapped,
			"not the one ligand",
		},
	} {
		s := append([]pleat.Sequence{}, sequences...)
		if c.change != nil {
			s = c.change(s)
		}
		_, err := predict(t, s, Scores{ChainMap: c.names}, predicted{cif: cif})
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v; want %q", c.name, err, c.err)
		}
	}
}
