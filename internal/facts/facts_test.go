package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/structure"
)

// shell is a hollow ball of carbons: its inside is a pocket whose size is known.
func shell(radius float64) *structure.Structure {
	res := structure.Residue{Comp: "ALA", Seq: 1, Auth: 1}
	n := int(4 * math.Pi * radius * radius)
	for i := range n {
		z := 1 - 2*(float64(i)+0.5)/float64(n)
		r, a := math.Sqrt(1-z*z), math.Pi*(3-math.Sqrt(5))*float64(i)
		res.Atoms = append(res.Atoms, structure.Atom{Name: "C", Element: "C",
			Pos: structure.Vec{radius * r * math.Cos(a), radius * r * math.Sin(a), radius * z}})
	}
	return &structure.Structure{Chains: []structure.Chain{{ID: "A", Kind: structure.Protein,
		Residues: []structure.Residue{res}}}}
}

// load reads one of the structures of the tests of this package, of the analyst or of structure.
func load(t testing.TB, name string) *structure.Structure {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".pdb")
	for _, other := range []string{"analyst", "structure"} {
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.Open("../" + other + "/testdata/" + name + ".pdb")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := structure.Read(f, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(t testing.TB, s *structure.Structure, extra Extra) *Facts {
	t.Helper()
	f, err := Digest(context.Background(), s, extra)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func digest(t testing.TB, name string) *Facts {
	return digestOf(t, load(t, name), Extra{Source: name + ".pdb"})
}

func TestPocketOfAHollowBall(t *testing.T) {
	for _, radius := range []float64{6, 7.5} { // wide enough for a probe, narrower than the widest cleft
		f := digestOf(t, shell(radius), Extra{})
		want := 4. / 3 * math.Pi * math.Pow(radius-pocketClear, 3)
		if len(f.Pockets) != 1 || math.Abs(f.Pockets[0].Volume-want) > 0.15*want {
			t.Errorf("radius %g: pockets %+v; want one of %.0f Å³", radius, f.Pockets, want)
		}
	}
	if f := digestOf(t, shell(4.5), Extra{}); len(f.Pockets) != 0 {
		t.Errorf("a ball without room has pockets: %+v", f.Pockets)
	}
}

// matrix of errors: low within two halves of a chain, high between them.
func matrix(n, cut int, inside, across float32) structure.Matrix {
	m := structure.Matrix{N: n, V: make([]float32, n*n)}
	for i := range n {
		for j := range n {
			if (i < cut) == (j < cut) {
				m.V[i*n+j] = inside
			} else {
				m.V[i*n+j] = across
			}
		}
	}
	return m
}

func TestAlignedErrors(t *testing.T) {
	s := load(t, "predicted")
	f := digestOf(t, s, Extra{PAE: matrix(76, 40, 2, 20)})
	var got []string
	for _, d := range f.PAE.Domains {
		got = append(got, fmt.Sprintf("%d-%d %.1f", d.From.Number, d.To.Number, d.Mean))
	}
	if diff := cmp.Diff([]string{"1-40 2.0", "41-76 2.0"}, got); diff != "" {
		t.Error(diff)
	}
	if f := digestOf(t, s, Extra{PAE: matrix(76, 40, 2, 8)}); len(f.PAE.Domains) != 0 {
		t.Errorf("8 Å across makes domains: %+v", f.PAE.Domains)
	}
	if f := digestOf(t, s, Extra{PAE: matrix(75, 40, 2, 8)}); f.PAE != nil || len(f.Notes) == 0 {
		t.Errorf("a matrix that does not fit: %+v, notes %q", f.PAE, f.Notes)
	}
}

func TestScoresOfAPredictedComplex(t *testing.T) {
	s := load(t, "dimer")
	plddt := [][]float64{make([]float64, 76), make([]float64, 28)}
	for _, list := range plddt {
		for i := range list {
			list[i] = 90
		}
	}
	ptm, iptm := 0.8, 0.7
	f := digestOf(t, s, Extra{PLDDT: plddt, PAE: matrix(104, 76, 2, 4), Scores: &pleat.Prediction{
		PTM: &ptm, IPTM: &iptm, Affinity: &pleat.Affinity{Value: -1, Probability: 0.9}}})
	if len(f.Interfaces) != 1 || f.Interfaces[0].Scores == nil || f.Interfaces[0].Scores.MinPAE != 4 {
		t.Fatalf("interfaces: %+v", f.Interfaces)
	}
}

func TestDigestEncodesAndStaysBounded(t *testing.T) {
	f := digest(t, "ligand")
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Facts
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Text(1<<20), back.Text(1<<20)); diff != "" {
		t.Error(diff)
	}
	for n := 0; n < 6000; n += 7 {
		if text := f.Text(n); len(text) > n || !utf8.ValidString(text) {
			t.Fatalf("Text(%d) has %d bytes, valid %v", n, len(text), utf8.ValidString(text))
		}
	}
	if !strings.Contains(f.Text(8000), "Around ZN 202 (chain A): GLU 23 (chain A)") {
		t.Errorf("the digest does not say what is around the zinc:\n%s", f.Text(8000))
	}
}

// copies of ubiquitin side by side, 34 Å apart, each a chain.
func copies(t testing.TB, n int) *structure.Structure {
	one := load(t, "1ubi").Chains[0]
	s := &structure.Structure{}
	for k := range n {
		c := one
		c.ID = fmt.Sprintf("C%d", k)
		c.Residues = make([]structure.Residue, len(one.Residues))
		for i, r := range one.Residues {
			c.Residues[i] = r
			c.Residues[i].Atoms = append([]structure.Atom{}, r.Atoms...)
			for j := range c.Residues[i].Atoms {
				p := &c.Residues[i].Atoms[j].Pos
				p[0], p[1], p[2] = p[0]+34*float64(k%4), p[1]+34*float64(k/4%4), p[2]+34*float64(k/16)
			}
		}
		s.Chains = append(s.Chains, c)
	}
	return s
}

func TestDigestOfManyChains(t *testing.T) {
	const n = 12
	f := digestOf(t, copies(t, n), Extra{})
	if raw, err := json.Marshal(f); err != nil || len(raw) > 1<<20 {
		t.Errorf("the digest has %d bytes: %v", len(raw), err)
	}
	one := digest(t, "1ubi")
	if f.Residues != n*76 || *f.BridgeN < n**one.BridgeN || *f.Chains[n-1].Gyration != *one.Chains[0].Gyration {
		t.Errorf("%d residues, %d salt bridges, radius of gyration %g in the last copy; one has %d and %g", f.Residues,
			*f.BridgeN, *f.Chains[n-1].Gyration, *one.BridgeN, *one.Chains[0].Gyration)
	}
}

func BenchmarkDigest5000(b *testing.B) {
	s := copies(b, 66)
	for b.Loop() {
		if f := digestOf(b, s, Extra{}); f.Residues != 66*76 {
			b.Fatal(f.Residues)
		}
	}
}

func TestOddStructures(t *testing.T) {
	nan := load(t, "2jof")
	nan.Chains[0].Residues[3].Atoms[0].Pos[1] = math.NaN()
	nan.Chains[0].Residues[4].Atoms = nil
	far := load(t, "2jof")
	far.Chains[0].Residues[19].Atoms[0].Pos[0] = 1e12
	for name, s := range map[string]*structure.Structure{"nil": nil, "empty": {}, "not finite": nan, "far": far} {
		f := digestOf(t, s, Extra{Predicted: true})
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// B-factors of an experiment are not a confidence.
func TestConfidenceOnlyOfPredictions(t *testing.T) {
	s := load(t, "1crn")
	if f := digestOf(t, s, Extra{}); f.Confidence != nil {
		t.Errorf("an experiment has confidence %+v", f.Confidence)
	}
	if f := digestOf(t, s, Extra{Predicted: true}); f.Confidence == nil {
		t.Error("a prediction has no confidence")
	}
	if f := digestOf(t, s, Extra{PLDDT: [][]float64{{1, 2}}}); len(f.Notes) == 0 {
		t.Error("pLDDT of another length passes without a note")
	}
}

// Answers say once that two polymers of a file have one name, and residues one number.
func TestRenamedChains(t *testing.T) {
	file := "ATOM      1  CA  ALA A   1       0.000   0.000   0.000  1.00 10.00           C\n" +
		"ATOM      2  CA  ALA B   1      50.000   0.000   0.000  1.00 10.00           C\n" +
		"ATOM      3  CA  GLY A   1      90.000   0.000   0.000  1.00 10.00           C\n"
	file += "ATOM      4  CA  GLY C   5       0.000  50.000   0.000  1.00 10.00           C\n" +
		"ATOM      5  CA  ALA C   6       0.000  53.800   0.000  1.00 10.00           C\n" +
		"ATOM      6  CA  ALA C   6       0.000  57.600   0.000  1.00 10.00           C\n"
	s, err := structure.ReadPDB(strings.NewReader(file), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := "The file calls 2 polymers A; here they are A and A-2, in its order. The numbers in the file do not tell " +
		"the residues of chain C apart; here they are counted from 1."
	if f := digestOf(t, s, Extra{}); f.Renamed != want || !slices.Contains(f.Notes, want) {
		t.Errorf("%q, notes %q", f.Renamed, f.Notes)
	}
}
