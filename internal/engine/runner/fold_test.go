package runner

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// site is one atom of a structure file of the tests.
type site struct {
	chain, comp, atom, element string
	seq                        int // 0: not of a polymer
	x, y, z                    float64
}

// cif writes sites as a runner would; entities: chain → protein, rna, dna or ligand, in the order given.
func cif(entities [][2]string, sites []site) string {
	var b strings.Builder
	b.WriteString("data_x\nloop_\n_entity.id\n_entity.type\n")
	number := map[string]int{}
	for i, e := range entities {
		number[e[0]] = i + 1
		fmt.Fprintf(&b, "%d %s\n", i+1, map[bool]string{true: "non-polymer", false: "polymer"}[e[1] == "ligand"])
	}
	b.WriteString("loop_\n_entity_poly.entity_id\n_entity_poly.type\n")
	for i, e := range entities {
		if e[1] != "ligand" {
			fmt.Fprintf(&b, "%d %s\n", i+1, map[string]string{
				"protein": "polypeptide(L)",
				"rna":     "polyribonucleotide",
				"dna":     "polydeoxyribonucleotide",
			}[e[1]])
		}
	}
	b.WriteString("loop_\n_struct_asym.id\n_struct_asym.entity_id\n")
	for i, e := range entities {
		fmt.Fprintf(&b, "%s %d\n", e[0], i+1)
	}
	b.WriteString("loop_\n")
	for _, item := range []string{
		"group_PDB", "id", "type_symbol", "label_atom_id", "label_comp_id", "label_asym_id", "auth_asym_id",
		"label_entity_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z",
	} {
		b.WriteString("_atom_site." + item + "\n")
	}
	for i, a := range sites {
		group, seq := "ATOM", fmt.Sprint(a.seq)
		if a.seq == 0 {
			group, seq = "HETATM", "."
		}
		fmt.Fprintf(&b, "%s %d %s %s %s %s %s %d %s %.3f %.3f %.3f\n", group, i+1, a.element, a.atom, a.comp, a.chain,
			a.chain, number[a.chain], seq, a.x, a.y, a.z)
	}
	return b.String()
}

func floats(v []float32) string {
	var b bytes.Buffer
	for _, x := range v {
		_ = binary.Write(&b, binary.LittleEndian, math.Float32bits(x))
	}
	return b.String()
}

// predicted is a piece with files as a runner leaves them.
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

// complexJob is a protein A, a ligand B of two atoms and a protein C with a phosphorylated serine; the file has them
// in another order, and calls A and C the other way round.
func complexJob() (seqs []pleat.Sequence, model string) {
	seqs = []pleat.Sequence{
		{Kind: pleat.Protein, Text: "AG", Chains: []string{"A"}, Label: "first"},
		{Kind: pleat.Ligand, Text: "CO", Chains: []string{"B"}},
		{
			Kind:          pleat.Protein,
			Text:          "SK",
			Chains:        []string{"C"},
			Modifications: []pleat.Modification{{Residue: 1, CCD: "SEP"}},
		},
	}
	model = cif([][2]string{{"A", "protein"}, {"C", "protein"}, {"B", "ligand"}}, []site{
		{"A", "SEP", "N", "N", 1, 0, 0, 0},
		{"A", "SEP", "CA", "C", 1, 1, 0, 0},
		{"A", "SEP", "CB", "C", 1, 2, 0, 0},
		{"A", "LYS", "CA", "C", 2, 4, 0, 0},
		{"C", "ALA", "CA", "C", 1, 0, 5, 0},
		{"C", "GLY", "CA", "C", 2, 4, 5, 0},
		{"B", "LIG", "C1", "C", 0, 0, 9, 0},
		{"B", "LIG", "O1", "O", 0, 1, 9, 0},
	})
	return seqs, model
}

// Tokens of the file: three of SEP, LYS, ALA, GLY, two of the ligand.
func TestFoldArrangesChainsAndArrays(t *testing.T) {
	seqs, text := complexJob()
	plddt := []float32{90, 80, 70, 60, 50, 40, 30, 20}
	var pae []float32
	for i := range 8 {
		for j := range 8 {
			pae = append(pae, float32(10*i+j)/10)
		}
	}
	half := 0.5
	c := predicted(t, seqs, wireResult{ID: "x", ChainMap: map[string]string{"A": "C", "C": "A"},
		Scores: &wireScores{IPTM: &half, Pairs: []wirePair{{"B", "A", &half}}}}, text, plddt, pae)
	m, err := c.prediction()
	if err != nil {
		t.Fatal(err)
	}
	var chains, comps []string
	for _, ch := range m.Structure.Chains {
		chains = append(chains, ch.ID)
		for _, r := range ch.Residues {
			comps = append(comps, r.Comp)
		}
	}
	if got := strings.Join(chains, "") + " " + strings.Join(comps, " "); got != "ABC ALA GLY LIG SEP LYS" {
		t.Errorf("the structure is %s", got)
	}
	if m.Structure.Chains[0].Name != "first" {
		t.Errorf("chain A is called %q", m.Structure.Chains[0].Name)
	}
	if diff := cmp.Diff([][]float64{{50, 40}, {25}, {80, 60}}, m.PLDDT); diff != "" {
		t.Error(diff)
	}
	if *m.MeanPLDDT != 55 { // over tokens
		t.Errorf("the mean is %v; want 55", *m.MeanPLDDT)
	}
	atoms := m.Structure.Chains[1].Residues[0].Atoms
	if atoms[0].B != 30 || atoms[1].B != 20 || m.BFactors[1] != nil {
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
	if m.PAE.N != 6 {
		t.Fatalf("the errors have %d rows; want 6", m.PAE.N)
	}
	for at, v := range want {
		if got := m.PAE.At(at[0], at[1]); math.Abs(got-v) > 1e-5 {
			t.Errorf("the error at %v is %v; want %v", at, got, v)
		}
	}
	if len(m.PAEChains) != 3 || m.PAEChains[1].Length != 2 || m.PAEChains[2].Length != 2 {
		t.Errorf("the errors' chains are %+v", m.PAEChains)
	}
	pairs := map[string]pleat.PairScore{}
	for _, p := range m.Pairs {
		pairs[p.A+p.B] = p
	}
	if p := pairs["BC"]; p.IPTM == nil || *p.IPTM != 0.5 || p.IPSAE != nil {
		t.Errorf("the ligand's pair is %+v; want the model's own ipTM alone", p)
	}
	if _, ok := pairs["AB"]; ok {
		t.Error("a pair without any score is listed")
	}
	if p := pairs["AC"]; p.IPTM == nil || p.IPSAE == nil || p.PDockQ2 == nil {
		t.Errorf("the proteins' pair is %+v", p)
	}
	// What is written is read again by those who ask about it.
	if got, err := report.ProteinPAE(m.Structure, *m.PAE); err != nil || got.N != 4 {
		t.Errorf("%d rows of proteins, %v", got.N, err)
	}
}

// The pair's scores are those of the published definitions, worked out by hand: two residues against two, every error
// between the chains 1 Å, within them 0. With so few residues d0 is 1 Å, so every term is 1/(1+1) = 0.5. Four pairs
// of residues lie within 8 Å; each chain's interface has pLDDT 50, and the mean of 1/(1+(1/10)²) over the contacts is
// 1/1.01.
func TestFoldPairScores(t *testing.T) {
	seqs := []pleat.Sequence{
		{Kind: pleat.Protein, Text: "AG", Chains: []string{"A"}},
		{Kind: pleat.Protein, Text: "GA", Chains: []string{"B"}},
	}
	text := cif([][2]string{{"A", "protein"}, {"B", "protein"}}, []site{
		{"A", "ALA", "CA", "C", 1, 0, 0, 0},
		{"A", "GLY", "CA", "C", 2, 3.8, 0, 0},
		{"B", "GLY", "CA", "C", 1, 0, 4, 0},
		{"B", "ALA", "CA", "C", 2, 3.8, 4, 0},
	})
	pae := []float32{0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0}
	c := predicted(t, seqs, wireResult{ID: "x"}, text, []float32{50, 50, 50, 50}, pae)
	m, err := c.prediction()
	if err != nil {
		t.Fatal(err)
	}
	x := 50 / 1.01
	dockq2 := 1.31/(1+math.Exp(-0.075*(x-84.733))) + 0.005
	if len(m.Pairs) != 1 {
		t.Fatalf("%+v", m.Pairs)
	}
	p := m.Pairs[0]
	for name, v := range map[string][2]float64{
		"iptm":    {*p.IPTM, 0.5},
		"ipsae":   {*p.IPSAE, 0.5},
		"pdockq2": {*p.PDockQ2, dockq2},
	} {
		if math.Abs(v[0]-v[1]) > 1e-4 {
			t.Errorf("%s is %v; want %v", name, v[0], v[1])
		}
	}
	// Without errors there is nothing to score a pair by.
	c = predicted(t, seqs, wireResult{ID: "x"}, text, []float32{50, 50, 50, 50}, nil)
	if m, err = c.prediction(); err != nil || len(m.Pairs) != 0 || m.PAE != nil {
		t.Errorf("%+v, %v", m.Pairs, err)
	}
}

func TestFoldTokens(t *testing.T) {
	seqs, text := complexJob()
	names := map[string]string{"A": "C", "C": "A"}
	for _, c := range []struct {
		plddt  []float32
		tokens []int
		says   string
	}{
		{plddt: []float32{1, 2, 3, 4, 5}},                                                   // one per residue
		{plddt: []float32{1, 2, 3, 4, 5, 6, 7, 8}},                                          // the protocol's own
		{plddt: []float32{1, 2, 3, 4, 5, 6}, tokens: []int{1, 1, 1, 1, 2}},                  // the runner's
		{plddt: []float32{1, 2, 3, 4, 5, 6}, says: "6 tokens"},                              // of nobody
		{plddt: []float32{1, 2, 3, 4, 5, 6}, tokens: []int{1, 1, 1, 3}, says: "4 counts"},   // too few
		{plddt: []float32{1, 2, 3, 4}, tokens: []int{0, 1, 1, 1, 1}, says: "5 counts"},      // none for a residue
		{plddt: []float32{1, 2, 3, 4, 101}, says: "the plddt of token 5 is 101"},            // no pLDDT
		{plddt: []float32{1, 2, 3, 4, float32(math.NaN())}, says: "NaN at place 4"},         // no number
		{plddt: []float32{1, 2, 3, 4, -1}, says: "-1 at place 4; it must be a number from"}, // no error
	} {
		p := predicted(t, seqs, wireResult{ID: "x", ChainMap: names, Tokens: c.tokens}, text, c.plddt, nil)
		_, err := p.prediction()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v %v: error %v; want %q", c.plddt, c.tokens, err, c.says)
		}
	}
}

// A structure that is not the job's is refused.
func TestFoldRefusesAnother(t *testing.T) {
	seqs, text := complexJob()
	names := map[string]string{"A": "C", "C": "A"}
	for _, c := range []struct {
		name   string
		change func([]pleat.Sequence) []pleat.Sequence
		names  map[string]string
		says   string
	}{
		{"chains not mapped", nil, nil, "residue 1 of chain A of its structure is"},
		{"two of one name", nil, map[string]string{"A": "C"}, `two chains "C"`},
		{
			"a chain is missing",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Chains = []string{"A", "D"}; return s },
			names,
			"lacks the chain D",
		},
		{"a chain too many", func(s []pleat.Sequence) []pleat.Sequence { return s[:2] }, names, "3 chains"},
		{
			"too few residues",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Text = "AGG"; return s },
			names,
			"has 2 residues",
		},
		{
			"another residue",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Text = "AK"; return s },
			names,
			"residue 2 of chain A of its structure is GLY; K was asked for",
		},
		{
			"a ligand for a protein",
			func(s []pleat.Sequence) []pleat.Sequence { s[0].Kind = pleat.Ligand; return s },
			names,
			"not the one ligand",
		},
	} {
		s := append([]pleat.Sequence{}, seqs...)
		if c.change != nil {
			s = c.change(s)
		}
		p := predicted(t, s, wireResult{ID: "x", ChainMap: c.names}, text, nil, nil)
		if _, err := p.prediction(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v; want %q", c.name, err, c.says)
		}
	}
}

// A whole report of a complex: every artifact, and the scores in the files and the result.
func TestFoldReport(t *testing.T) {
	seqs, text := complexJob()
	pae := make([]float32, 64)
	for i := range pae {
		pae[i] = float32(i % 7)
	}
	ptm, cap := 0.8, 31.75
	c := predicted(t, seqs, wireResult{ID: "x", ChainMap: map[string]string{"A": "C", "C": "A"},
		Scores: &wireScores{
			PTM:      &ptm,
			MaxPAE:   &cap,
			Affinity: &pleat.Affinity{Value: -1, Probability: 0.5},
		}}, text, []float32{90, 80, 70, 60, 50, 40, 30, 20}, pae)
	c.result.Files = append(c.result.Files, writeResult(c.dir, "embedding", "s b.npz", "x"),
		writeResult(c.dir, "other", "model.pdb", "x"))
	sample := writeResult(c.dir, "structure", "m1.cif", text)
	sample.Rank = 1
	c.result.Files = append(c.result.Files, sample)
	m, err := c.prediction()
	if err != nil {
		t.Fatal(err)
	}
	w := pleat.Work{Kind: pleat.TaskFold, Dir: t.TempDir(), Model: pleat.Model{
		Name:     "fake",
		Engine:   "fake",
		Version:  "1",
		Features: []pleat.Feature{pleat.FeatureComplex},
	},
		Fold: &pleat.FoldInput{Name: "n", Sequences: seqs, Seed: "1", Complex: true}}
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
	read, err := report.ReadPAE(filepath.Join(w.Dir, "pae.json"))
	if err != nil || read.N != 6 {
		t.Errorf("%d rows, %v", read.N, err)
	}
	raw, err := os.ReadFile(filepath.Join(w.Dir, "config.json"))
	if err != nil || !bytes.Contains(raw, []byte(`"weights_sha256": "ab"`)) {
		t.Errorf("%s, %v", raw, err)
	}
}
