package compare

import (
	"math"
	"testing"

	"pleat/internal/structure"
)

// Two chains of four residues: in the fold everything is moved, and the binder by a further 2 Å.
func TestBinderRMSD(t *testing.T) {
	build := func(move structure.Vec, binder float64) *structure.Structure {
		s := &structure.Structure{}
		for k, name := range []string{"A", "B"} {
			c := structure.Chain{ID: name, Kind: structure.Protein}
			for i := range 4 {
				r := structure.Residue{Comp: "GLY", Seq: i + 1}
				for j, atom := range []string{"N", "CA", "C", "O", "CB"} {
					pos := structure.Vec{
						float64(3*i+j) + move[0], float64(j*j%7+5*k) + move[1], float64(i*i+2*k) + move[2],
					}
					if name == "B" {
						pos[2] += binder
					}
					if atom == "CB" {
						pos[0] += 100 * binder // is no atom of the backbone
					}
					r.Atoms = append(r.Atoms, structure.Atom{Name: atom, Pos: pos})
				}
				c.Residues = append(c.Residues, r)
			}
			s.Chains = append(s.Chains, c)
		}
		return s
	}
	isB := func(chain string) bool { return chain == "B" }
	design, fold := build(structure.Vec{}, 0), build(structure.Vec{10, -4, 7}, 2)
	if got, ok := BinderRMSD(design, fold, isB); !ok || math.Abs(got-2) > 1e-9 {
		t.Errorf("%v %v; want 2", got, ok)
	}
	all := func(string) bool { return true }
	if got, ok := BinderRMSD(design, build(structure.Vec{1, 2, 3}, 0), all); !ok || got > 1e-6 {
		t.Errorf("without a target: %v %v; want 0", got, ok)
	}
	fold.Chains[1].Residues = fold.Chains[1].Residues[1:]
	if _, ok := BinderRMSD(design, fold, isB); ok {
		t.Error("a binder of another length was measured")
	}
	fold.Chains = fold.Chains[:1]
	if _, ok := BinderRMSD(design, fold, isB); ok {
		t.Error("a missing binder was measured")
	}
	if _, ok := BinderRMSD(design, fold, func(string) bool { return false }); ok {
		t.Error("a design without designed chains was measured")
	}
}
