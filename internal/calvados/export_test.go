package calvados

// Energy returns the potential energy at positions x in nm; beads may lie outside the box. It panics where x has
// another number of beads.
func (s *System) Energy(x [][3]float64) Energy {
	s.checkLen(x)
	f := newField(s)
	return f.energy(x)
}
