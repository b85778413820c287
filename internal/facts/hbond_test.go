package facts

import (
	"testing"
)

// The counts are those by the distances of gemmi and the hydrogens of the Chemical Component Dictionary in biotite, for
// the first four base pairs of 1BNA and a loop of 3P49 with the protein around it. Where every N and O of a nucleotide
// could do both, there were 21 and 18.
func TestHydrogenBondsOfNucleicAcids(t *testing.T) {
	for name, want := range map[string]int{"dna": 15, "rna_protein": 14} {
		f := digestOf(t, load(t, name), Extra{})
		if len(f.Interfaces) != 1 || f.Interfaces[0].HBondN != want {
			t.Errorf("%s: %+v, want %d candidates", name, f.Interfaces, want)
		}
	}
}

// The hydroxyl of an end donates, that of the phosphodiester between two residues does not. Modified bases keep both
// roles.
func TestRolesOfNucleotides(t *testing.T) {
	s := load(t, "dna")
	s.Chains[0].Residues[1].Comp = "XYZ"
	x := digestOf(t, s, Extra{}).Index()
	last := x.Polymers[0].Hi - 1
	for _, c := range []struct {
		site             int
		atom             string
		donates, accepts bool
	}{
		{0, "O5'", true, true}, {1, "O5'", false, true}, {0, "O3'", false, true}, {last, "O3'", true, true},
		{0, "O4'", false, true}, {2, "OP1", false, true}, {0, "N1", false, false}, {0, "N4", true, false},
		{last, "N9", false, false}, {last, "N2", true, false}, {last, "O6", false, true}, {1, "N9", true, true},
		{1, "O4'", false, true},
	} {
		p := x.AtomsOf([]int{c.site}, c.atom)
		if donates, accepts := x.roles(p[0]); donates != c.donates || accepts != c.accepts {
			t.Errorf("%s of %s: donates %v, accepts %v", c.atom, x.Sites[c.site].Ref, donates, accepts)
		}
	}
}
