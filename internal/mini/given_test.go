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
func lysozyme(t *testing.T) structure.Chain {
	t.Helper()
	in, err := os.Open("testdata/1aki.pdb")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Chains[0]
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
		if a, b, ok := chiOnes(want, got); ok {
			all++
			if math.Abs(turn(a-b)) < 40 {
				right++
			}
		}
	}
	// With the experiment's backbone it is 78 of 103.
	if right < 75 || all != 103 {
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
		var p [4]vec3
		for k, name := range []string{"N", "CA", "CB", t.parts[0].name} {
			at, _ := r.Atom(name)
			p[k] = vec3{at.Pos[0], at.Pos[1], at.Pos[2]}
		}
		u, v, w := p[1].sub(p[0]), p[2].sub(p[1]), p[3].sub(p[2])
		m, n := u.cross(v), v.cross(w)
		return math.Atan2(v.unit().dot(m.cross(n)), m.dot(n)) / radian
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
		"residue 3 of chain A lacks the atom C":                   func(r *structure.Residue) { r.Atoms = r.Atoms[:2] },
		"residue 3 of chain A is MSE, none of the 20 amino acids": func(r *structure.Residue) { r.Comp = "MSE" },
	} {
		c := bare(lysozyme(t))
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
	in, err := os.Open("testdata/1aki.pdb")
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := SideChains(s.Chains[:1], never); err != nil {
			b.Fatal(err)
		}
	}
}
