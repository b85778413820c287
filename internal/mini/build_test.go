package mini

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pleat/internal/structure"
)

// The disulfides of hen egg-white lysozyme, by the numbers of their residues, as its PDB entry 1AKI lists them
// (_struct_conn).
var lysozymeBonds = [][2]int{{6, 127}, {30, 115}, {64, 80}, {76, 94}}

// lysozyme returns the experimental structure.
func lysozyme(t *testing.T) structure.Chain { return native(t, "1aki")[0] }

// native returns the chains of a PDB entry.
func native(t testing.TB, entry string) []structure.Chain {
	t.Helper()
	in, err := os.Open("testdata/" + entry + ".pdb")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Chains
}

// bare returns the chain without its side chains beyond CB.
func bare(c structure.Chain) structure.Chain {
	c.Residues = slices.Clone(c.Residues)
	for i := range c.Residues {
		r := &c.Residues[i]
		r.Atoms = slices.DeleteFunc(slices.Clone(r.Atoms), func(a structure.Atom) bool {
			return !slices.Contains(kept, a.Name)
		})
	}
	return c
}

func never() bool { return false }

// Side chains on an experimental backbone are like those of the experiment, and its disulfides come back, also between
// two chains.
func TestSideChains(t *testing.T) {
	whole := lysozyme(t)
	built, ok, err := SideChains([]structure.Chain{bare(whole)}, never)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	right, all := 0, 0
	for i := range whole.Residues {
		want, got := &whole.Residues[i], &built[0].Residues[i]
		if len(got.Atoms) != len(strings.Fields(atomsOf[want.Comp].atoms)) {
			t.Errorf("%s%d has %d atoms", got.Comp, got.Seq, len(got.Atoms))
		}
		for _, name := range kept {
			a, _ := want.Atom(name)
			if b, ok := got.Atom(name); (a == nil) != !ok || ok && *a != *b {
				t.Errorf("%s%d: %s has changed", got.Comp, got.Seq, name)
			}
		}
		ca, _ := want.Atom("CA")
		for _, a := range got.Atoms {
			if !slices.Contains(kept, a.Name) && a.B != ca.B {
				t.Errorf("%s%d: %s has B %g, CA has %g", got.Comp, got.Seq, a.Name, a.B, ca.B)
			}
		}
		if a, b, ok := chiOnes(want, got); ok {
			all++
			if math.Abs(turn(a-b)) < 40 {
				right++
			}
		}
	}
	// It was 78 of 103 with the score for folds.
	if right < 85 || all != 103 {
		t.Errorf("chi 1 of %d of %d residues is within 40° of the experiment", right, all)
	}
	checkBonds(t, built)

	first, second := bare(whole), bare(whole)
	first.Residues, second.Residues, second.ID = first.Residues[:70], second.Residues[70:], "B"
	built, _, err = SideChains([]structure.Chain{first, second}, never)
	if err != nil {
		t.Fatal(err)
	}
	checkBonds(t, built)
}

// chiOnes returns the first chi of a residue in two structures; ok is false if it has none.
func chiOnes(a, b *structure.Residue) (x, y float64, ok bool) {
	t := &templates[slices.Index(names[:], a.Comp)]
	if t.chis == 0 {
		return 0, 0, false
	}
	chi := func(r *structure.Residue) float64 {
		var p [4]structure.Vec
		for k, name := range []string{"N", "CA", "CB", t.parts[0].name} {
			at, _ := r.Atom(name)
			p[k] = at.Pos
		}
		return degrees(dihedral(p[0], p[1], p[2], p[3]))
	}
	return chi(a), chi(b), true
}

// checkBonds fails unless the sulfurs of lysozyme are bonded in its pairs, and in no others.
func checkBonds(t *testing.T, chains []structure.Chain) {
	t.Helper()
	at := map[int]structure.Vec{}
	for i := range chains {
		for k := range chains[i].Residues {
			if sg, ok := chains[i].Residues[k].Atom("SG"); ok {
				at[chains[i].Residues[k].Auth] = sg.Pos
			}
		}
	}
	for i, a := range at {
		for j, b := range at {
			d := structure.Distance(a, b)
			if bonded := slices.Contains(lysozymeBonds, [2]int{i, j}); i < j && (d < 2.5) != bonded ||
				bonded && math.Abs(d-bondSS) > 0.1 {
				t.Errorf("SG of %d and %d are %.2f Å apart", i, j, d)
			}
		}
	}
}

func TestSideChainsRefuse(t *testing.T) {
	for says, change := range map[string]func(*structure.Residue){
		"residue 82A of chain A lacks the atom C":                   func(r *structure.Residue) { r.Atoms = r.Atoms[:2] },
		"residue 82A of chain A is MSE, none of the 20 amino acids": func(r *structure.Residue) { r.Comp = "MSE" },
	} {
		c := bare(lysozyme(t))
		c.Residues[2].Auth, c.Residues[2].Ins = 82, "A"
		change(&c.Residues[2])
		if _, ok, err := SideChains([]structure.Chain{c}, never); ok || err == nil || err.Error() != says {
			t.Errorf("%v; want %q", err, says)
		}
	}
	if _, ok, err := SideChains([]structure.Chain{lysozyme(t)}, func() bool { return true }); ok || err != nil {
		t.Error("it was not stopped", err)
	}
}

// A residue without CB gets one of ideal geometry.
func TestSideChainsWithoutBeta(t *testing.T) {
	c := bare(lysozyme(t))
	want, _ := c.Residues[0].Atom("CB")
	place := want.Pos
	c.Residues[0].Atoms = slices.DeleteFunc(c.Residues[0].Atoms, func(a structure.Atom) bool { return a.Name == "CB" })
	built, _, err := SideChains([]structure.Chain{c}, never)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := built[0].Residues[0].Atom("CB"); structure.Distance(got.Pos, place) > 0.15 {
		t.Errorf("CB is %.2f Å from that of the experiment", structure.Distance(got.Pos, place))
	}
}

func BenchmarkSideChains(b *testing.B) {
	chains := native(b, "1aki")
	for b.Loop() {
		if _, _, err := SideChains(chains, never); err != nil {
			b.Fatal(err)
		}
	}
}

// sulfurs returns the places of SG in order.
func sulfurs(chains []structure.Chain) (at []structure.Vec) {
	for i := range chains {
		for k := range chains[i].Residues {
			if sg, ok := chains[i].Residues[k].Atom("SG"); ok {
				at = append(at, sg.Pos)
			}
		}
	}
	return at
}

// Each variable domain of an antibody has one disulfide. In the entry 8EE8 the sulfurs of the heavy chain are 3.36 Å
// apart, but its backbone allows the bond.
func TestDisulfidesOfAntibodies(t *testing.T) {
	for entry, bonds := range map[string]int{"9hzj": 1, "8ee8": 2} {
		chains := native(t, entry)
		for i := range chains {
			chains[i] = bare(chains[i])
		}
		built, _, err := SideChains(chains, never)
		if err != nil {
			t.Fatal(entry, err)
		}
		at := sulfurs(built)
		if len(at) != 2*bonds {
			t.Fatalf("%s has %d SG", entry, len(at))
		}
		for k := range bonds {
			if d := structure.Distance(at[2*k], at[2*k+1]); math.Abs(d-2.05) > 0.1 {
				t.Errorf("%s: SG of bond %d are %.2f Å apart", entry, k+1, d)
			}
		}
	}
}

// cysteinePair returns the two bonded cysteines of 9HZJ, each as a chain, and a way to move copies of the second away
// from the first.
func cysteinePair(t *testing.T) (first structure.Chain, second func(away float64) structure.Chain) {
	t.Helper()
	c := native(t, "9hzj")[0]
	c.Residues = slices.DeleteFunc(c.Residues, func(r structure.Residue) bool { return r.Comp != "CYS" })
	a, _ := c.Residues[0].Atom("CB")
	b, _ := c.Residues[1].Atom("CB")
	from, unit := a.Pos, point(b.Pos).sub(point(a.Pos)).unit()
	if d := structure.Distance(from, b.Pos); d > farSS {
		t.Fatalf("CB of the bonded pair are %.2f Å apart", d)
	}
	first, other := c, bare(c)
	first.Residues = bare(c).Residues[:1]
	return first, func(away float64) structure.Chain {
		moved := other
		moved.Residues = slices.Clone(other.Residues[1:])
		r := &moved.Residues[0]
		r.Atoms = slices.Clone(r.Atoms)
		for k := range r.Atoms {
			p := point(r.Atoms[k].Pos).add(unit.scale(away))
			r.Atoms[k].Pos = structure.Vec{p.x, p.y, p.z}
		}
		return moved
	}
}

// Cysteines of two chains are bonded where they are near, and stay thiols where they are not.
func TestDisulfideNeedsItsDistance(t *testing.T) {
	first, second := cysteinePair(t)
	for away, bonded := range map[float64]bool{0: true, 1.5: false, 6: false} {
		built, _, err := SideChains([]structure.Chain{first, second(away)}, never)
		if err != nil {
			t.Fatal(err)
		}
		at := sulfurs(built)
		// Sulfurs that are no bond repel each other at least as carbons do.
		if d := structure.Distance(at[0], at[1]); bonded != (d < 2.2) || !bonded && d < 3 {
			t.Errorf("%g Å further apart, SG are at %.2f Å", away, d)
		}
	}
}

// A cysteine that could be bonded to two others is bonded to the better one alone.
func TestDisulfideIsOneToOne(t *testing.T) {
	first, second := cysteinePair(t)
	worse := second(0.5)
	for _, order := range [][]structure.Chain{{first, second(0), worse}, {worse, second(0), first}} {
		built, _, err := SideChains(order, never)
		if err != nil {
			t.Fatal(err)
		}
		at := sulfurs(built)
		if d := structure.Distance(at[1], at[0]); order[0].Residues[0].Auth == first.Residues[0].Auth && d > 2.2 {
			t.Errorf("the better pair is %.2f Å apart", d)
		}
		if d := structure.Distance(at[1], at[2]); order[2].Residues[0].Auth == first.Residues[0].Auth && d > 2.2 {
			t.Errorf("the better pair is %.2f Å apart", d)
		}
		worst := structure.Distance(at[0], at[2])
		if math.Abs(worst-bondSS) < 0.15 {
			t.Errorf("a third cysteine is bonded too, at %.2f Å", worst)
		}
	}
	// Without the better one, the worse one is bonded: the test has two candidates.
	built, _, err := SideChains([]structure.Chain{first, worse}, never)
	if at := sulfurs(built); err != nil || structure.Distance(at[0], at[1]) > 2.3 {
		t.Errorf("the worse pair is at %.2f Å: %v", structure.Distance(at[0], at[1]), err)
	}
}
