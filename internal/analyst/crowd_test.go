package analyst

import (
	"strings"
	"testing"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// If the atoms of a structure lie on one another, questions about neighbours are refused with the reason and the place.
// "There are none" would be wrong. Everything else is answered.
func TestCrowdedStructureRefusesGeometry(t *testing.T) {
	f, err := facts.Digest(t.Context(), structuretest.CrowdedCube(9_000, 0), facts.Extra{})
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{
		"What pockets are there?", "Which ligands are bound?", "Are there disulfides?", "Which salt bridges are there?",
		"How many hydrogen bonds are there?", "What is the accessible surface?", "What touches residue 7?",
		"Which residues are within 5 Å of the ligand?", "Do chain A and chain B touch?",
	} {
		r := Answer(f, question)
		if !r.Abstained || !strings.HasPrefix(r.Text, "Atoms lie on one another: a cube of 8 Å at ALA") {
			t.Errorf("%s\n%s", question, r.Text)
		}
	}
	for question, want := range map[string]string{
		"How many residues are there?":  "9000",
		"What is the overview?":         "Atoms lie on one another",
		"What is the length of chain A": "9000 residues",
	} {
		if r := Answer(f, question); r.Abstained || !strings.Contains(r.Text, want) {
			t.Errorf("%s\n%s", question, r.Text)
		}
	}
}

// A question about the surroundings of everything is refused once it has found as many pairs of atoms as it may.
func TestSurroundingsAreBounded(t *testing.T) {
	s := &structure.Structure{Chains: []structure.Chain{{ID: "A", Kind: structure.Protein}}}
	for i := range 4_800 { // 75 atoms in each of 64 cubes of 8 Å
		corner, n := i%64, i/64
		at := structure.Vec{float64(corner%4)*8 + 1, float64(corner/4%4)*8 + 1, float64(corner/16)*8 + float64(n)/100}
		s.Chains[0].Residues = append(s.Chains[0].Residues, structure.Residue{Comp: "ALA", Seq: i + 1, Auth: i + 1,
			Atoms: []structure.Atom{{Name: "CA", Element: "C", Pos: at}}})
	}
	f, err := facts.Digest(t.Context(), s, facts.Extra{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int, len(f.Index().Sites))
	for i := range all {
		all[i] = i
	}
	if why := f.Index().Lacks(facts.Space, all).Refusal(); why != "" {
		t.Fatal(why)
	}
	left := 1_000_000
	if found, ok := f.Index().Around(all, maxRadius, &left); ok || found != nil || left >= 0 || left < -100_000 {
		t.Errorf("%d residues were found around all", len(found))
	}
	left = 1_000_000
	if found, ok := f.Index().Around(all[:100], maxRadius, &left); !ok || len(found) < 1000 {
		t.Errorf("%d residues were found around a hundred, %v", len(found), ok)
	}
	left = 1_000_000
	q := &query{f: f, x: f.Index(), near: &left}
	if near, _ := q.nearby(all, maxRadius); len(near) != 0 || !strings.HasPrefix(q.problem, "Too many atoms") {
		t.Errorf("%d residues near all, and the problem %q", len(near), q.problem)
	}
}
