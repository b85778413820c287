package analyst

import (
	"fmt"
	"slices"
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
	q := &query{finder: finder{x: f.Index()}, f: f, near: &left}
	if near, _ := q.nearby(all, maxRadius); len(near) != 0 || !strings.HasPrefix(q.problem, "Too many atoms") {
		t.Errorf("%d residues near all, and the problem %q", len(near), q.problem)
	}
}

// Numbers of residues are looked up, so that a long list of them costs the same in a small and in a large structure.
// What must look at all residues again and again is refused once it has looked at as many as it may.
func TestLongQuestionsAreBounded(t *testing.T) {
	const small, large, bound = 2_000, 10_000, 2_000_000
	structures := [...]*facts.Facts{lineOf(t, small), lineOf(t, large)}
	fill := func(unit func(k int) string) (text string) {
		for k := 0; len(text) < maxQuestion-40; k++ {
			text += unit(k)
		}
		return text
	}
	alternately := func(a, b string) func(int) string { return func(k int) string { return [...]string{a, b}[k%2] } }
	for _, c := range []struct {
		lead    string
		unit    func(k int) string
		refused bool // of the large structure
	}{
		{"Are these exposed: residues 1", func(k int) string { return fmt.Sprintf(", %d", k*7%2000+1) }, false},
		{"Are these exposed: ALA 1", func(k int) string { return fmt.Sprintf(", A%d, Ala-%d", k%2000+1, k+1) }, false},
		{"What are residues 1", func(k int) string { return fmt.Sprintf(", %d", 900_000+k) }, false},
		{"What is A:1", func(k int) string { return fmt.Sprintf(", A:%d-%d", k*7%1000+1, k*7%1000+9) }, false},
		{"What are residues 1-9", func(k int) string { return fmt.Sprintf(", %d-10000", k+1) }, true},
		{"Which are not lysines", alternately(" not lysines", " not alanines"), true},
		{"Is it in the first helix", alternately(", the second helix", " or chain A"), true},
	} {
		question, looked := c.lead+fill(c.unit)+"?", [2]int{}
		for k, f := range structures {
			near := maxNear
			talk := &talk{f: f, x: f.Index(), near: &near, outside: map[string][]string{}}
			talk.scanner = newScanner(talk.x)
			*talk.scanner.left = bound
			talk.answer(question)
			looked[k] = bound - *talk.scanner.left
			if refused := slices.Contains(talk.texts, tooMany); refused != c.refused && (k == 1 || refused) {
				t.Errorf("%.60s… of %d residues: %.200q", question, f.Residues, talk.texts)
			}
		}
		// two conditions of all residues
		if more := looked[1] - looked[0]; !c.refused && more > 4*large || looked[1] > bound+large {
			t.Errorf("%.60s… looks at %d and at %d residues", question, looked[0], looked[1])
		}
	}
}

// lineOf is the facts of one chain of n alanines, in a line.
func lineOf(t *testing.T, n int) *facts.Facts {
	c := structure.Chain{ID: "A", Kind: structure.Protein}
	for i := range n {
		r := structure.Residue{Comp: "ALA", Seq: i + 1, Auth: i + 1}
		for k, name := range []string{"N", "CA", "C", "O", "CB"} {
			r.Atoms = append(r.Atoms, structure.Atom{
				Name:    name,
				Element: name[:1],
				Pos:     structure.Vec{3.8*float64(i) + float64(k), float64(k % 2), 0},
			})
		}
		c.Residues = append(c.Residues, r)
	}
	return mustDigest(t, &structure.Structure{Chains: []structure.Chain{c}}, facts.Extra{})
}
