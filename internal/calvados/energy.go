package calvados

import (
	"math"

	"pleat"
)

// Energy is the potential energy by term, in kJ/mol. The scaled terms of restrained pairs are included in
// AshbaughHatch and DebyeHuckel.
type Energy struct {
	Bond          float64
	AshbaughHatch float64
	DebyeHuckel   float64
	Restraint     float64
}

// Total returns the sum of the terms.
func (e Energy) Total() float64 { return e.Bond + e.AshbaughHatch + e.DebyeHuckel + e.Restraint }

// checkLen panics where x has another number of beads than the system.
func (s *System) checkLen(x []vec) {
	if len(x) != len(s.beads) {
		panic(pleat.Invalidf("calvados: %d positions for %d beads", len(x), len(s.beads)))
	}
}

// energy computes the potential energy at x over the same lists as the forces.
func (f *field) energy(x []vec) Energy {
	f.load(x)
	s := f.s
	var e Energy
	for i := range s.beads {
		f.addSticky(&e.AshbaughHatch, i, f.lists.ah.partners(i))
		f.addSticky(&e.AshbaughHatch, i, f.lists.farAH.partners(i))
		f.addCharged(&e.DebyeHuckel, i, f.lists.dh.partners(i))
		f.addCharged(&e.DebyeHuckel, i, f.lists.farDH.partners(i))
	}
	for _, b := range s.bonds {
		_, _, _, r2 := f.difference(int(b.i), int(b.j))
		d := math.Sqrt(r2) - b.r0
		e.Bond += bondK / 2 * d * d
	}
	for _, c := range s.contacts {
		_, _, _, r2 := f.difference(int(c.i), int(c.j))
		q := c.d * c.d / r2
		q5 := q * q * q * q * q
		e.Restraint += c.k * (5*q5*q - 6*q5)
	}
	for _, c := range s.weak {
		i, j := int(c.i), int(c.j)
		_, _, _, r2 := f.difference(i, j)
		e.AshbaughHatch += c.b * s.table[s.beads[i].kind][s.beads[j].kind].ahEnergy(r2)
		e.DebyeHuckel += c.b * f.x[i][3] * f.x[j][3] * s.dhEnergy(r2)
	}
	return e
}

// addSticky adds to sum the Ashbaugh–Hatch energy in kJ/mol between bead i and its partners js of a list.
func (f *field) addSticky(sum *float64, i int, js []uint32) {
	row := &f.s.table[f.s.beads[i].kind]
	for _, p := range js {
		j := int(p & beadMask)
		if j == len(f.s.beads) { // the bead that lists are padded with
			continue
		}
		if _, _, _, r2 := f.difference(i, j); r2 < cutAH*cutAH {
			*sum += row[p>>kindShift].ahEnergy(r2)
		}
	}
}

// addCharged adds to sum the Debye–Hückel energy in kJ/mol between bead i and its charged partners js of a list.
func (f *field) addCharged(sum *float64, i int, js []uint32) {
	for _, p := range js {
		j := int(p)
		if j == len(f.s.beads) { // the bead that lists are padded with
			continue
		}
		if _, _, _, r2 := f.difference(i, j); r2 < cutDH*cutDH {
			*sum += f.x[i][3] * f.x[j][3] * f.s.dhEnergy(r2)
		}
	}
}

// ahEnergy returns the Ashbaugh–Hatch energy in kJ/mol at a squared distance, without cutoff.
func (t *sticky) ahEnergy(r2 float64) float64 {
	s6 := t.sigma6 / (r2 * r2 * r2)
	lj := s6*s6 - s6
	if r2 >= t.min2 {
		return 4 * epsilon * t.lambda * (lj - t.shift)
	}
	return 4*epsilon*(lj-t.lambda*t.shift) + epsilon*(1-t.lambda)
}

// dhEnergy returns the Debye–Hückel energy in kJ/mol per unit charge product at a squared distance, without cutoff.
func (s *System) dhEnergy(r2 float64) float64 {
	r := math.Sqrt(r2)
	return s.coulombA * (math.Exp(-s.kappa*r)/r - s.dhShift)
}
