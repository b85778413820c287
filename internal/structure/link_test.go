package structure

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestLink(t *testing.T) {
	residue := func(atoms ...Atom) *Residue { return &Residue{Atoms: atoms} }
	at := func(name string, x float64) Atom { return Atom{Name: name, Element: name[:1], Pos: Vec{x}} }
	for _, c := range []struct {
		name     string
		kind     Kind
		a, b     *Residue
		state    LinkState
		distance float64
	}{
		{"peptide bond", Protein, residue(at("CA", 0), at("C", 1.5)), residue(at("N", 2.83), at("CA", 3.8)), LinkIntact, 1.33},
		{"broken", Protein, residue(at("CA", 0), at("C", 1.5)), residue(at("N", 6.5), at("CA", 7.5)), LinkBroken, 5},
		{"CA alone", Protein, residue(at("CA", 0)), residue(at("CA", 3.8)), LinkIntact, 3.8},
		{"CA alone, broken", Protein, residue(at("CA", 0)), residue(at("CA", 5.4)), LinkBroken, 5.4},
		{"other atoms", Protein, residue(at("CA3", 0), at("C3", 1.5)), residue(at("N", 2.9)), LinkIntact, 1.4},
		{"nothing in common", Protein, residue(at("N", 0)), residue(at("CA", 9)), LinkNotKnown, math.NaN()},
		{"phosphodiester", RNA, residue(at("O3'", 0)), residue(at("P", 1.6)), LinkIntact, 1.6},
		{"old names", DNA, residue(at("O3*", 0)), residue(at("P", 1.6)), LinkIntact, 1.6},
		{"P alone", RNA, residue(at("P", 0)), residue(at("P", 6.5)), LinkIntact, 6.5},
		{"P alone, broken", RNA, residue(at("P", 0)), residue(at("P", 12)), LinkBroken, 12},
		{"C1' alone", RNA, residue(at("C1'", 0)), residue(at("C1'", 9.7)), LinkNotKnown, 9.7},
		{"no number", Protein, residue(at("CA", math.NaN())), residue(at("CA", 3)), LinkNotKnown, math.NaN()},
	} {
		state, d := Link(c.kind, c.a, c.b)
		if state != c.state || math.Abs(d-c.distance) > 1e-9 || math.IsNaN(d) != math.IsNaN(c.distance) {
			t.Errorf("%s: %d, %v Å", c.name, state, d)
		}
	}
	calcium := func(x float64) *Residue { return residue(Atom{Name: "CA", Element: "CA", Pos: Vec{x}}) }
	if state, _ := Link(Protein, calcium(0), calcium(4)); state != LinkNotKnown {
		t.Error("a calcium links")
	}
}

// A broken link tells where the residues are missing that the numbers do not tell, and a place that is not the only one
// is not sure.
func TestReadWholeBrokenLink(t *testing.T) {
	text, err := os.ReadFile("../analyst/testdata/seqres.pdb")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadWhole(strings.NewReader(string(text)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := &s.Chains[0]
	missing := ""
	for i := range c.Residues {
		if r := &c.Residues[i]; len(r.Atoms) == 0 {
			missing += r.Comp + " "
		}
	}
	if !c.Whole || len(c.Residues) != 20 || missing != "ASP GLY GLY " {
		t.Errorf("whole %v, %d residues, without atoms %q", c.Whole, len(c.Residues), missing)
	}
	same := ""
	for _, number := range []string{"1", "2"} { // two of three alanines
		same += "ATOM      1  CA  ALA A   " + number + "       " + number + ".000   0.000   0.000\n"
	}
	if s, err = ReadWhole(strings.NewReader("SEQRES   1 A    3  ALA ALA ALA\n"+same), Limits{}); err != nil {
		t.Fatal(err)
	}
	if s.Chains[0].Whole || len(s.Chains[0].Residues) != 3 {
		t.Errorf("whole %v, %d residues", s.Chains[0].Whole, len(s.Chains[0].Residues))
	}
}

// Atoms without an element are told by their names.
func TestHeavy(t *testing.T) {
	for name, want := range map[string]bool{"CA": true, "O5'": true, "": true, "H": false, "1HB": false, "HD11": false,
		"D": false, "OH": true} {
		if got := (&Atom{Name: name}).Heavy(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if a := (&Atom{Name: "HG", Element: "HG"}); !a.Heavy() {
		t.Error("mercury is a hydrogen")
	}
}

// The time for a pair of residues is bounded: those of more atoms than any residue has are not compared atom by atom.
func TestLinkOfHugeResidues(t *testing.T) {
	a, b := &Residue{Comp: "ALA"}, &Residue{Comp: "ALA"}
	for n := range 300 {
		a.Atoms = append(a.Atoms, Atom{Name: "X", Element: "C", Pos: Vec{float64(n)}})
		b.Atoms = append(b.Atoms, Atom{Name: "X", Element: "C", Pos: Vec{float64(n), 1.5}})
	}
	if state, _ := Link(Protein, a, b); state != LinkNotKnown {
		t.Errorf("state %v", state)
	}
	b.Atoms = b.Atoms[:200]
	if state, d := Link(Protein, a, b); state != LinkIntact || d != 1.5 {
		t.Errorf("state %v, %v Å", state, d)
	}
}
