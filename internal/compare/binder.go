package compare

import (
	"math"

	"pleat/internal/structure"
)

// BinderRMSD returns how far the designed chains of a fold are from those of a design, in Å over the atoms N, CA, C and
// O, after the other proteins of the two were superposed over theirs; where there is none, the designed chains were.
// Chains have the same names in both. It is false for a designed chain that is missing or has another length, or
// without atoms.
func BinderRMSD(design, fold *structure.Structure, designed func(chain string) bool) (float64, bool) {
	var target, binder [2][]structure.Vec
	others := 0
	for i := range design.Chains {
		a := &design.Chains[i]
		if a.Kind != structure.Water && !designed(a.ID) {
			others++
		}
		if a.Kind != structure.Protein {
			continue
		}
		b := fold.Chain(a.ID)
		if b == nil || len(b.Residues) != len(a.Residues) {
			if designed(a.ID) {
				return 0, false
			}
			continue
		}
		to := &target
		if designed(a.ID) {
			to = &binder
		}
		for j := range a.Residues {
			for _, name := range backbone[:4] {
				x, okX := a.Residues[j].Atom(name)
				y, okY := b.Residues[j].Atom(name)
				if okX && okY {
					to[0], to[1] = append(to[0], x.Pos), append(to[1], y.Pos)
				}
			}
		}
	}
	if len(binder[0]) == 0 {
		return 0, false
	}
	on := target
	if len(on[0]) == 0 {
		if others > 0 {
			return 0, false
		}
		on = binder
	}
	rot, trans, _ := structure.Superpose(on[1], on[0])
	sum := 0.0
	for i, v := range binder[1] {
		moved := structure.Apply(rot, trans, v)
		for k := range 3 {
			d := moved[k] - binder[0][i][k]
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(len(binder[0]))), true
}
