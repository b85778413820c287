package facts

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pleat/internal/structure"
)

// chainOf returns a chain of components, each with one atom, 3.8 Å apart on a line.
func chainOf(kind structure.Kind, comps ...string) *structure.Structure {
	c := structure.Chain{ID: "A", Kind: kind}
	for i, comp := range comps {
		c.Residues = append(c.Residues, structure.Residue{Comp: comp, Seq: i + 1, Auth: i + 1,
			Atoms: []structure.Atom{{Name: "CA", Element: "C", Pos: structure.Vec{3.8 * float64(i)}}}})
	}
	return &structure.Structure{Chains: []structure.Chain{c}}
}

// The mass of a residue and one water is the weight that the Chemical Component Dictionary has of its component.
func TestMassesOfModifiedResidues(t *testing.T) {
	for comp, want := range map[string]float64{
		"MSE": 196.106, "SEP": 185.072, "TPO": 199.099, "PTR": 261.168, "TYS": 261.252, "ALY": 188.224,
		"M3L": 189.275 - 1.008, // a cation there
		"KCX": 190.197, "PCA": 129.114, "CSO": 137.158, "OCS": 169.156, "NLE": 131.173, "DAL": 89.093, "LLP": 375.314,
		"HIE": 155.156, "CYX": 121.158, "PSU": 324.181, "5MC": 337.223, "7MG": 379.263, "YYG": 588.462, "A": 347.221,
		"DT": 322.208,
	} {
		kind := structure.Protein
		if comp[0] < 'A' || len(comp) < 3 || comp == "PSU" || comp == "YYG" {
			kind = structure.RNA
		}
		f := digestOf(t, chainOf(kind, comp), Extra{})
		got := 0.0
		if m := f.Chains[0].Mass; m != nil {
			got = *m
		}
		if math.Abs(got-want) > 0.06 || f.Chains[0].Unweighed != 0 { // rounded to 0.1; weights differ by 0.01
			t.Errorf("%s weighs %.3f, want %.3f", comp, got, want)
		}
	}
	f := digestOf(t, chainOf(structure.Protein, "GLY", "XYZ"), Extra{})
	if c := f.Chains[0]; math.Abs(*c.Mass-75.07) > 0.06 || c.Unweighed != 1 {
		t.Errorf("an unknown residue: %v Da without %d", *c.Mass, c.Unweighed)
	}
	c := digestOf(t, chainOf(structure.Protein, "XYZ", "UNK"), Extra{}).Chains[0]
	if c.Mass != nil || c.Unweighed != 2 {
		t.Errorf("unknown residues alone: %v Da without %d", c.Mass, c.Unweighed)
	}
}

// A modified residue changes the charge of a chain at pH 7 by that of its groups.
func TestChargesOfModifiedResidues(t *testing.T) {
	at7 := func(comps ...string) float64 {
		x := digestOf(t, chainOf(structure.Protein, comps...), Extra{}).Index()
		return x.ChargeAt(x.Polymers[0], 7)
	}
	lysine := 1 / (1 + math.Pow(10, 7-10.0))
	for comp, want := range map[string]float64{
		"SER": 0, "SEP": -1 - 1/(1+math.Pow(10, 5.96-7)), "TPO": -1 - 1/(1+math.Pow(10, 6.30-7)),
		"PTR": -1 - 1/(1+math.Pow(10, 5.96-7)), "TYS": -1, "OCS": -1, "M3L": 1, "LYS": lysine, "LYN": lysine,
		"MLY": lysine, "DLY": lysine, "ALY": 0, "KCX": 0, "CGU": 0, "NLE": 0, "HYP": 0, "UNK": 0,
		"SEC": -1 / (1 + math.Pow(10, 5.24-7)),
	} {
		if got := at7("GLY", comp, "GLY") - at7("GLY", "GLY", "GLY"); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s has %+.4f e at pH 7, want %+.4f", comp, got, want)
		}
	}
	amine, acid := at7("GLY", "GLY", "NME"), at7("ACE", "GLY", "GLY")
	if amine < 0.5 || acid > -0.9 || at7("ACE", "GLY", "NH2") != 0 || at7("PCA", "GLY", "NH2") != 0 {
		t.Errorf("ends of capped chains have %+.2f and %+.2f e", amine, acid)
	}
	s := chainOf(structure.Protein, "GLY", "GLY", "NME")
	n := structure.Atom{Name: "N", Element: "N", Pos: structure.Vec{-1.4}}
	s.Chains[0].Residues[0].Atoms = append(s.Chains[0].Residues[0].Atoms, n)
	n.Name, n.Element, n.Pos[0] = "C", "C", -2.7
	s.Chains = append(s.Chains, structure.Chain{ID: "A", Kind: structure.Ligand,
		Residues: []structure.Residue{{Comp: "ACE", Atoms: []structure.Atom{n}}}})
	if c := digestOf(t, s, Extra{}).Chains[0]; *c.Charge != 0 {
		t.Errorf("a chain with a cap of a chain of its own has %+.2f e", *c.Charge)
	}
	for comp, want := range map[string]Titration{
		"SER": ByStandard, "MSE": ByStandard, "DAS": ByStandard, "HIP": ByStandard, "SEP": ByItself, "MLZ": ByParent,
		"KCX": LeftOut, "LLP": LeftOut, "CSO": LeftOut, "ASX": LeftOut, "UNK": LeftOut, "XYZ": LeftOut,
	} {
		f := digestOf(t, chainOf(structure.Protein, "GLY", comp), Extra{})
		left := len(f.Chains[0].Uncharged) == 1
		if got := f.Index().Sites[1].Titration(); got != want || left != (want == LeftOut) {
			t.Errorf("%s: %s, left out %v", comp, got, f.Chains[0].Uncharged)
		}
	}
	if f := digestOf(t, chainOf(structure.RNA, "A", "C"), Extra{}); f.Chains[0].Charge != nil {
		t.Error("RNA has a charge by amino acids")
	}
}

// Modified residues count by their own codes, protonation states as one.
func TestComposition(t *testing.T) {
	f := digestOf(t, chainOf(structure.Protein, "HIE", "HID", "SEP", "SER", "HIS"), Extra{})
	if got := fmt.Sprint(f.Chains[0].Composition, f.Chains[0].Modified); got !=
		"[{HIS 3} {SEP 1} {SER 1}] [SEP 3 (chain A)]" {
		t.Error(got)
	}
}

// Masses of peptides with caps are those that biotite computes of their components, without the water of each bond.
func TestCapsWeigh(t *testing.T) {
	for _, test := range []struct {
		mass  float64
		comps []string
	}{
		{387.4, []string{"ACE", "ALA", "LYS", "GLU", "NH2"}},
		{401.5, []string{"ACE", "ALA", "LYS", "GLU", "NME"}},
		{785.9, []string{"FOR", "VAL", "GLY", "ALA", "DLE", "ALA", "DVA", "TRP", "ETA"}},
		{116.1, []string{"ACE", "GLY", "NHE"}},
	} {
		s := chainOf(structure.Protein, test.comps...)
		last := &s.Chains[0].Residues[len(test.comps)-1]
		last.Atoms = []structure.Atom{{Name: "N", Element: "N", Pos: last.Atoms[0].Pos}}
		c := digestOf(t, s, Extra{}).Chains[0]
		if *c.Mass != test.mass || c.Unweighed > 0 || len(c.Uncharged) > 0 {
			t.Errorf("%v weigh %.1f Da without %d, want %.1f; without charge: %v", test.comps, *c.Mass, c.Unweighed,
				test.mass, c.Uncharged)
		}
	}
}

// Names of protonation states are those of other residues in the dictionary, which their atoms show.
func TestProtonationStatesByAtoms(t *testing.T) {
	for _, test := range []struct {
		comp, extra string
		want        Titration
	}{{"HIP", "", ByStandard}, {"HIP", "P", LeftOut}, {"CYM", "", ByStandard}, {"CYM", "C C C", LeftOut}} {
		s := chainOf(structure.Protein, "GLY", test.comp)
		r := &s.Chains[0].Residues[1]
		for k, element := range strings.Fields(test.extra) {
			pos := r.Atoms[0].Pos
			pos[1] += 1.5 * float64(k+1)
			r.Atoms = append(r.Atoms, structure.Atom{Name: fmt.Sprint(element, k), Element: element, Pos: pos})
		}
		x := digestOf(t, s, Extra{}).Index()
		if got := x.Sites[1].Titration(); got != test.want || (got == LeftOut) != x.Sites[1].Modified() {
			t.Errorf("%s with %q counts by %s, want %s", test.comp, test.extra, got, test.want)
		}
	}
}

// The weights are those of gemmi's residues and biotite's masses of components, without the water of each bond, and
// without HPO3 where the first residue has no phosphate: chain B of the DNA and the RNA begin with one.
func TestFirstNucleotideWithoutPhosphate(t *testing.T) {
	weight := func(s *structure.Structure) float64 { return *digestOf(t, s, Extra{}).Chains[0].Mass }
	dna := load(t, "dna")
	if f := digestOf(t, dna, Extra{}); *f.Chains[0].Mass != 1174.8 || *f.Chains[1].Mass != 1254.8 {
		t.Errorf("DNA weighs %v and %v Da", *f.Chains[0].Mass, *f.Chains[1].Mass)
	}
	if got := weight(load(t, "rna_protein")); got != 3176.9 {
		t.Errorf("RNA weighs %v Da", got)
	}
	r := &dna.Chains[0].Residues[0]
	r.Atoms = r.Atoms[1:] // O5'
	if got := weight(dna); got != 1254.8 {
		t.Errorf("DNA without the atoms that tell weighs %v Da", got)
	}
}

// The peptide of 1PFE has no free end: gemmi finds C of MVA 8 at 1.32 Å from OG of DSN 1, and N of DSN 1 at 1.35 Å from
// a quinoxaline. An end is bonded to another chain as well, but not to a metal or to a copy of itself.
func TestBondedEnds(t *testing.T) {
	c := digestOf(t, load(t, "depsipeptide"), Extra{}).Chains[0]
	if *c.Charge != 0 || c.Isoelectric != nil || c.FreeEnds || c.Length != 8 {
		t.Errorf("%d residues have %+.2f e, free ends %v", c.Length, *c.Charge, c.FreeEnds)
	}
	for _, end := range []struct {
		kind     structure.Kind
		distance float64
		free     bool
	}{
		{structure.Protein, 1.33, false}, {structure.Ligand, 1.33, false}, {structure.Ion, 1.9, true},
		{structure.Protein, 0, true}, {structure.Protein, 2.8, true},
	} {
		s := chainOf(structure.Protein, "GLY", "ALA", "GLY")
		r := &s.Chains[0].Residues[2]
		at := structure.Vec{r.Atoms[0].Pos[0] + 1.5}
		r.Atoms = append(r.Atoms, structure.Atom{Name: "C", Element: "C", Pos: at})
		at[0] += end.distance
		s.Chains = append(s.Chains, structure.Chain{ID: "B", Kind: end.kind, Residues: []structure.Residue{
			{Comp: "LYS", Auth: 1, Atoms: []structure.Atom{{Name: "NZ", Element: "N", Pos: at}}}}})
		if c := digestOf(t, s, Extra{}).Chains[0]; c.FreeEnds != end.free {
			t.Errorf("free ends with a %s at %.2f Å: %v", end.kind, end.distance, c.FreeEnds)
		}
	}
}
