package calvados

// Description is a system in plain numbers, from which another program can build the same system. Lengths are in
// nm, energies in kJ/mol, masses in u, times in ps; beads count from 0.
type Description struct {
	Box         float64          `json:"box"`
	Temp        float64          `json:"temp"`
	Friction    float64          `json:"friction"`
	Step        float64          `json:"step"`
	Epsilon     float64          `json:"epsilon"`
	CutAH       float64          `json:"cutoff_ashbaugh_hatch"`
	CutDH       float64          `json:"cutoff_debye_hueckel"`
	CoulombA    float64          `json:"coulomb_a"`
	Kappa       float64          `json:"kappa"`
	BondK       float64          `json:"bond_k"`
	Beads       []BeadInfo       `json:"beads"`
	Bonds       []BondInfo       `json:"bonds"`
	Restraints  []RestraintInfo  `json:"restraints"`
	Scaled      []ScaledPairInfo `json:"scaled_pairs"`
	PositionsNm [][3]float64     `json:"positions"`
}

// BeadInfo describes one bead: mass in u, charge in e, size σ in nm, stickiness λ.
type BeadInfo struct {
	Residue string  `json:"residue"`
	Chain   int     `json:"chain"`
	Mass    float64 `json:"mass"`
	Charge  float64 `json:"charge"`
	Sigma   float64 `json:"sigma"`
	Lambda  float64 `json:"lambda"`
}

// BondInfo describes a harmonic bond with its rest length R0 in nm.
type BondInfo struct {
	I  int     `json:"i"`
	J  int     `json:"j"`
	R0 float64 `json:"r0"`
}

// RestraintInfo describes a Gō restraint of depth K in kJ/mol at distance D in nm.
type RestraintInfo struct {
	I int     `json:"i"`
	J int     `json:"j"`
	D float64 `json:"d"`
	K float64 `json:"k"`
}

// ScaledPairInfo describes a pair whose ordinary terms act without cutoff, scaled by B.
type ScaledPairInfo struct {
	I int     `json:"i"`
	J int     `json:"j"`
	B float64 `json:"b"`
}

// Describe returns the system in plain numbers, at its start positions.
func (s *System) Describe() Description {
	p := &s.params
	out := Description{
		Box: p.Box, Temp: p.Temp, Friction: p.Friction, Step: p.Step, Epsilon: epsilon, CutAH: cutAH, CutDH: cutDH,
		CoulombA: s.coulombA, Kappa: s.kappa, BondK: bondK, PositionsNm: s.Start(),
		Restraints: []RestraintInfo{}, Scaled: []ScaledPairInfo{},
	}
	for _, b := range s.beads {
		out.Beads = append(out.Beads, BeadInfo{
			residues[b.kind].name, int(b.chain), b.mass, b.charge, b.sigma, b.lambda,
		})
	}
	for _, b := range s.bonds {
		out.Bonds = append(out.Bonds, BondInfo{int(b.i), int(b.j), b.r0})
	}
	for _, c := range s.contacts {
		out.Restraints = append(out.Restraints, RestraintInfo{int(c.i), int(c.j), c.d, c.k})
	}
	for _, c := range s.weak {
		out.Scaled = append(out.Scaled, ScaledPairInfo{int(c.i), int(c.j), c.b})
	}
	return out
}
