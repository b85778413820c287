package facts

import (
	"slices"
	"strings"
	"testing"

	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// Contacts are those of the digest, without ligands and waters, and each once. Those of chains have the ligands.
func TestContacts(t *testing.T) {
	atom := func(name string, x float64) structure.Atom {
		return structure.Atom{Name: name, Element: "C", Pos: structure.Vec{x}, Occupancy: 1}
	}
	gly := func(first, last float64) []structure.Atom { // all four atoms
		return []structure.Atom{atom("N", last), atom("CA", first), atom("C", first), atom("O", first)}
	}
	s := &structure.Structure{Chains: []structure.Chain{
		{ID: "A", Kind: structure.Protein, Residues: []structure.Residue{
			{Comp: "GLY", Seq: 1, Auth: 1, Atoms: gly(0, 1)},
			{Comp: "GLY", Seq: 2, Auth: 2, Atoms: gly(20, 20)},
		}},
		{ID: "L", Kind: structure.Ligand, Residues: []structure.Residue{
			{Comp: "ATP", Auth: 1, Het: true, Atoms: []structure.Atom{atom("C1", 2)}},
		}},
		{ID: "B", Kind: structure.Protein, Residues: []structure.Residue{
			{Comp: "GLY", Seq: 1, Auth: 7, Atoms: gly(5, 24.5)},
		}},
	}}
	list, reason, err := Contacts(t.Context(), s)
	want := []Contact{
		{A: ResidueAt{0, 0}, B: ResidueAt{2, 0}, Distance: 4},
		{A: ResidueAt{0, 1}, B: ResidueAt{2, 0}, Distance: 4.5},
	}
	if err != nil || reason != "" || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("%v %q %v", list, reason, err)
	}
	list, reason, err = ChainContacts(t.Context(), s)
	want = []Contact{
		{A: ResidueAt{0, 0}, B: ResidueAt{1, 0}, Distance: 1},
		{A: ResidueAt{0, 0}, B: ResidueAt{2, 0}, Distance: 4},
		{A: ResidueAt{0, 1}, B: ResidueAt{2, 0}, Distance: 4.5},
		{A: ResidueAt{1, 0}, B: ResidueAt{2, 0}, Distance: 3},
	}
	if err != nil || reason != "" || !slices.Equal(list, want) {
		t.Errorf("%v %q %v", list, reason, err)
	}
	s.Chains[2].Residues[0].Atoms = s.Chains[2].Residues[0].Atoms[:2] // contacts of chain B are not complete
	list, reason, err = ChainContacts(t.Context(), s)
	if err != nil || !strings.HasSuffix(reason, "1 of the 1 residues of chain B has only N, CA.") ||
		len(list) != 4 {
		t.Errorf("%v %q %v", list, reason, err)
	}
	if list, reason, err := Contacts(t.Context(), structuretest.CrowdedCube(3000, 10)); err != nil || reason == "" ||
		list != nil {
		t.Errorf("%d contacts, %q, %v", len(list), reason, err)
	}
}
