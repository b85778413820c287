package mini

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pleat/internal/mini/local"
	"pleat/internal/structure"
)

// atomsOf are the heavy atoms of each residue and the number of bonds between them, from the chemical
// component dictionary.
var atomsOf = map[string]struct {
	atoms string
	bonds int
}{
	"ALA": {"C CA CB N O", 4}, "GLY": {"C CA N O", 3}, "CYS": {"C CA CB N O SG", 5}, "SER": {"C CA CB N O OG", 5},
	"ASP": {"C CA CB CG N O OD1 OD2", 7}, "ASN": {"C CA CB CG N ND2 O OD1", 7}, "GLU": {"C CA CB CD CG N O OE1 OE2", 8},
	"GLN": {"C CA CB CD CG N NE2 O OE1", 8}, "PHE": {"C CA CB CD1 CD2 CE1 CE2 CG CZ N O", 11},
	"TYR": {"C CA CB CD1 CD2 CE1 CE2 CG CZ N O OH", 12}, "HIS": {"C CA CB CD2 CE1 CG N ND1 NE2 O", 10},
	"TRP": {"C CA CB CD1 CD2 CE2 CE3 CG CH2 CZ2 CZ3 N NE1 O", 15}, "ILE": {"C CA CB CD1 CG1 CG2 N O", 7},
	"LEU": {"C CA CB CD1 CD2 CG N O", 7}, "LYS": {"C CA CB CD CE CG N NZ O", 8}, "MET": {"C CA CB CE CG N O SD", 7},
	"PRO": {"C CA CB CD CG N O", 7}, "ARG": {"C CA CB CD CG CZ N NE NH1 NH2 O", 10}, "THR": {"C CA CB CG2 N O OG1", 6},
	"VAL": {"C CA CB CG1 CG2 N O", 6},
}

func TestResiduesAreWholeAndWellBuilt(t *testing.T) {
	for seed := range uint64(3) {
		r := brief(t, everyone, Options{Seed: seed, Decoys: 2, Workers: 2}, 1000)
		for i, res := range r.Chain.Residues {
			want := atomsOf[res.Comp]
			bonds := 0
			var got []string
			for k, a := range res.Atoms {
				if a.Name != "OXT" {
					got = append(got, a.Name)
				} else if i != len(everyone)-1 {
					t.Errorf("OXT inside the chain, at %d", i+1)
				}
				for _, b := range res.Atoms[:k] {
					switch d := structure.Distance(a.Pos, b.Pos); {
					case a.Name == "OXT" || b.Name == "OXT":
					case d < 1.17 || d > 1.93 && d < 2.1:
						t.Errorf("%s%d: %s and %s are %.2f Å apart", res.Comp, i+1, a.Name, b.Name, d)
					case d < 1.93:
						bonds++
						if err := bondFits(a.Element, b.Element, d); err != nil {
							t.Errorf("%s%d %s-%s: %v", res.Comp, i+1, a.Name, b.Name, err)
						}
					}
				}
			}
			sort.Strings(got)
			if strings.Join(got, " ") != want.atoms || bonds != want.bonds {
				t.Errorf("%s%d has %v and %d bonds, want %s and %d", res.Comp, i+1, got, bonds, want.atoms, want.bonds)
			}
		}
		last := r.Chain.Residues[len(everyone)-1]
		if a := last.Atoms[len(last.Atoms)-1]; a.Name != "OXT" {
			t.Errorf("the chain ends with %s", a.Name)
		}
	}
}

func bondFits(a, b string, d float64) error {
	if a > b {
		a, b = b, a
	}
	span, ok := map[string][2]float64{
		"CC": {1.34, 1.56}, "CN": {1.30, 1.50}, "CO": {1.21, 1.45}, "CS": {1.77, 1.83},
	}[a+b]
	if !ok || d < span[0] || d > span[1] {
		return fmt.Errorf("a bond of %s and %s of %.3f Å", a, b, d)
	}
	return nil
}

// volume is the signed volume of three substituents about a centre.
func volume(centre, a, b, c structure.Vec) float64 {
	sub := func(p structure.Vec) vec3 { return vec3{p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]} }
	return sub(a).dot(sub(b).cross(sub(c)))
}

func TestChiralityAndPeptides(t *testing.T) {
	r := brief(t, everyone, Options{Seed: 5, Decoys: 2, Workers: 2}, 1000)
	var prev map[string]structure.Vec
	for i, res := range r.Chain.Residues {
		at := map[string]structure.Vec{}
		for _, a := range res.Atoms {
			at[a.Name] = a.Pos
		}
		if res.Comp != "GLY" {
			// CORN: seen from H, CO, R, N run clockwise in an L residue.
			if v := volume(at["CA"], at["N"], at["C"], at["CB"]); v < 2 {
				t.Errorf("%s%d: volume %.2f about CA, want that of an L residue, about 2.6", res.Comp, i+1, v)
			}
		}
		// Thr (2S,3R) and Ile (2S,3S) have the same hand at CB, the hand of their crystal structures.
		switch res.Comp {
		case "THR":
			if v := volume(at["CB"], at["CA"], at["OG1"], at["CG2"]); v < 2 {
				t.Errorf("THR%d: volume %.2f about CB", i+1, v)
			}
		case "ILE":
			if v := volume(at["CB"], at["CA"], at["CG1"], at["CG2"]); v < 2 {
				t.Errorf("ILE%d: volume %.2f about CB", i+1, v)
			}
		case "VAL":
			if v := volume(at["CB"], at["CA"], at["CG1"], at["CG2"]); v > -2 {
				t.Errorf("VAL%d: volume %.2f about CB", i+1, v)
			}
		case "LEU":
			if v := volume(at["CG"], at["CB"], at["CD1"], at["CD2"]); v > -2 {
				t.Errorf("LEU%d: volume %.2f about CG", i+1, v)
			}
		}
		within(t, i, "N-CA-C", degrees(angle(at["N"], at["CA"], at["C"])), 111, 2)
		within(t, i, "CA-C-O", degrees(angle(at["CA"], at["C"], at["O"])), 120.5, 2.5)
		if prev != nil {
			within(t, i, "C-N", structure.Distance(prev["C"], at["N"]), 1.329, 0.01)
			within(t, i, "CA-C-N", degrees(angle(prev["CA"], prev["C"], at["N"])), 117, 2)
			within(t, i, "C-N-CA", degrees(angle(prev["C"], at["N"], at["CA"])), 121.7, 2)
			within(t, i, "omega", math.Abs(degrees(dihedral(prev["CA"], prev["C"], at["N"], at["CA"]))), 180,
				1)
			within(t, i, "O-C-N", degrees(angle(prev["O"], prev["C"], at["N"])), 122, 2.5)
		}
		prev = at
	}
}

// angle returns the angle a–b–c at b, in radians.
func angle(a, b, c structure.Vec) float64 {
	u, v := point(a).sub(point(b)), point(c).sub(point(b))
	return math.Atan2(u.cross(v).norm(), u.dot(v))
}

// dihedral returns the torsion about b–c, in radians from −π to π, with the sign of IUPAC.
func dihedral(a, b, c, d structure.Vec) float64 {
	b1, b2, b3 := point(b).sub(point(a)), point(c).sub(point(b)), point(d).sub(point(c))
	n1, n2 := b1.cross(b2), b2.cross(b3)
	return math.Atan2(b2.norm()*b1.dot(n2), n1.dot(n2))
}

func point(p structure.Vec) vec3 { return vec3{p[0], p[1], p[2]} }

func degrees(a float64) float64 { return a / radian }

func within(t *testing.T, i int, what string, got, want, slack float64) {
	t.Helper()
	if math.Abs(got-want) > slack {
		t.Errorf("residue %d: %s is %.3f, want %.3f ± %.2g", i+1, what, got, want, slack)
	}
}

func TestEnergyOfStepsIsTheEnergyOfTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.StringOfN(rapid.SampledFrom([]rune(local.Letters)), 3, 40, -1).Draw(t, "sequence")
		aa, _ := local.Index(seq)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		tab := loaded()
		r := tab.local.Read(aa)
		var chains []local.Chain
		for range 5 {
			chains = append(chains, r.Draw(rng, 1))
		}
		w := newWalk(tab, newLocals(tab.local, chains), aa)
		w.rng = rng
		w.copyRange(&w.l.drawn[0], 0, w.n)
		f := rapid.Float64Range(0, 1).Draw(t, "progress")
		w.stage(f)
		for range 60 {
			w.step(f, 5)
		}
		got := w.total
		w.rebuild()
		w.recompute()
		if math.Abs(got-w.total) > 1e-5*(1+math.Abs(w.total)) {
			t.Fatalf("%s: %.9f after the steps, %.9f computed afresh", seq, got, w.total)
		}
	})
}

func TestRefusedStepChangesNothing(t *testing.T) {
	aa, _ := local.Index(trpCage)
	tab := loaded()
	rng := rand.New(rand.NewPCG(1, 1))
	w := newWalk(tab, newLocals(tab.local, []local.Chain{tab.local.Read(aa).Draw(rng, 1)}), aa)
	w.rng = rng
	w.copyRange(&w.l.drawn[0], 0, w.n)
	w.stage(1)
	for range 500 {
		w.nudge(5, 5, 1)
	}
	at, phi, total := append([]residue{}, w.at...), append([]float64{}, w.phi...), w.total
	refused := false
	for range 50 {
		w.save(3)
		w.phi[3] = local.Wrap(w.phi[3] + 180)
		if !w.try(3, 3, 1e-9) {
			refused = true
			for i := range at {
				if at[i] != w.at[i] || phi[i] != w.phi[i] || total != w.total {
					t.Fatalf("residue %d differs after a refused step", i)
				}
			}
		}
	}
	if !refused {
		t.Fatal("no step was refused")
	}
}

func TestTemplatesCoverEveryResidue(t *testing.T) {
	for a, x := range templates {
		want := len(strings.Fields(atomsOf[names[a]].atoms))
		got := 5 + len(x.parts)
		switch names[a] {
		case "GLY":
			got = 4
		case "PRO":
			got = 7
		}
		if got != want {
			t.Errorf("%s has %d atoms, want %d", names[a], got, want)
		}
		for _, r := range x.rotamers {
			if math.IsNaN(r.cost) || math.IsInf(r.cost, 0) {
				t.Errorf("%s: a rotamer of cost %g", names[a], r.cost)
			}
		}
	}
}
