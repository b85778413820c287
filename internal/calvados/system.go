package calvados

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"pleat"
	"pleat/internal/words"
)

// vec is a position or a vector in nm, unless stated otherwise.
type vec = [3]float64 // nm

// bond is a harmonic spring between neighbours in sequence.
type bond struct {
	i, j int32
	r0   float64
}

// contact is a Gō restraint k(5(d/r)¹² − 6(d/r)¹⁰), without cutoff or shift.
type contact struct {
	i, j     int32
	d, k     float64
	c12, c10 float64 // 60·k·d¹², 60·k·d¹⁰: of the force
}

// weakContact is a restrained pair whose ordinary terms act too, scaled by b and without cutoff.
type weakContact struct {
	i, j int32
	b    float64
}

// sticky holds the Ashbaugh–Hatch parameters of two residue kinds.
type sticky struct {
	c6, c12 float64 // 24εσ⁶ and 48εσ¹² of the force over r
	min2    float64 // square of the distance of the minimum, 2^(1/6)σ
	lambda  float64 // scale of the force beyond the minimum
	sigma6  float64
	shift   float64 // (σ/r)¹² − (σ/r)⁶ at the cutoff
}

// System is a molecule prepared for simulation: its beads, their interactions, and their start positions. It is
// immutable and may be shared.
type System struct {
	params   Params
	molecule *Molecule
	beads    []bead
	bonds    []bond
	contacts []contact
	weak     []weakContact
	excluded [][]int32 // partners j > i that take no full-strength ordinary term, in ascending order
	start    []vec
	coulombA float64 // kJ·nm/mol
	kappa    float64 // 1/nm
	dhShift  float64 // e^(−κr)/r at the cutoff
	table    [20][20]sticky
	hot      [20][32]quad // of the table, what the kernel reads; 32 as no index of five bits is out of it
}

// NewSystem checks the parameters, builds the molecule's beads, bonds and restraints, and places the beads in the
// box. In addition to the errors of [Params.Check], it returns an error for a box smaller than the chain, a
// trajectory over [MaxBytes], a molecule that does not fit the preset, and overlapping residues.
func NewSystem(p Params, m *Molecule) (*System, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	s := &System{params: p, molecule: m}
	if err := s.checkMolecule(); err != nil {
		return nil, err
	}
	var err error
	if s.beads, err = makeBeads(&p, m); err != nil {
		return nil, err
	}
	if err := p.CheckTrajectory(len(s.beads)); err != nil {
		return nil, err
	}
	s.coulombA, s.kappa = screening(p.Temp, p.Ionic)
	s.dhShift = math.Exp(-s.kappa*cutDH) / cutDH
	s.fillTable()
	if err := s.placeBeads(); err != nil {
		return nil, err
	}
	s.connect()
	return s, nil
}

// checkMolecule checks the number of residues and chains against the preset.
func (s *System) checkMolecule() error {
	m := s.molecule
	switch {
	case m.Len() < 2 || m.Len() > MaxBeads:
		return pleat.Invalidf("the molecule has %s; dynamics takes 2 to %d",
			words.Quantity(m.Len(), "residue", "residues"), MaxBeads)
	case s.params.Preset == SingleIDR && len(m.Chains) != 1:
		return pleat.Invalidf("preset %s simulates one chain; the molecule has %d", SingleIDR, len(m.Chains))
	case s.params.Preset == SingleGo && !m.placed:
		return pleat.Invalidf("preset %s needs a predicted structure and its PAE; preset %s starts from a sequence",
			SingleGo, SingleIDR)
	}
	for i := range m.Chains {
		if len(m.Chains[i].Sites) < 2 {
			return pleat.Invalidf("chain %s has %s; dynamics takes at least 2 in each chain", m.Chains[i].ID,
				words.Quantity(len(m.Chains[i].Sites), "residue", "residues"))
		}
	}
	return nil
}

// fillTable computes the Ashbaugh–Hatch parameters of all pairs of residue kinds.
func (s *System) fillTable() {
	var lambda [20]float64
	for i := range residues {
		lambda[i] = residues[i].lambda[0]
		if s.params.Residues == Calvados3 {
			lambda[i] = residues[i].lambda[1]
		}
	}
	for a := range residues {
		for b := range residues {
			t := newSticky((residues[a].sigma+residues[b].sigma)/2, (lambda[a]+lambda[b])/2)
			s.table[a][b], s.hot[a][b] = t, quad{t.c6, t.c12, t.min2, t.lambda}
		}
	}
}

// newSticky returns the parameters for a mean σ in nm and a mean λ.
func newSticky(sigma, lambda float64) sticky {
	s6 := math.Pow(sigma, 6)
	c6 := math.Pow(sigma/cutAH, 6)
	return sticky{
		c6: 24 * epsilon * s6, c12: 48 * epsilon * s6 * s6, min2: math.Cbrt(2) * sigma * sigma,
		sigma6: s6, lambda: lambda, shift: c6*c6 - c6,
	}
}

// placeBeads sets the start positions, the given structure or a spiral, centred in the box.
func (s *System) placeBeads() error {
	if s.params.Preset == SingleIDR {
		s.start = spiral(len(s.beads))
	} else {
		for c := range s.molecule.Chains {
			for _, site := range s.molecule.Chains[c].Sites {
				s.start = append(s.start, vec{site.Pos[0] / 10, site.Pos[1] / 10, site.Pos[2] / 10})
			}
		}
	}
	lo, hi := s.start[0], s.start[0]
	for _, p := range s.start {
		for k := range p {
			lo[k], hi[k] = min(lo[k], p[k]), max(hi[k], p[k])
		}
	}
	need := max(hi[0]-lo[0], hi[1]-lo[1], hi[2]-lo[2])
	if s.params.Preset == SingleIDR {
		need = max(need, DisorderedSpan(len(s.beads)))
	}
	if err := s.params.CheckBox(len(s.beads), need); err != nil {
		return err
	}
	for i := range s.start {
		for k := range s.start[i] {
			s.start[i][k] += (s.params.Box - lo[k] - hi[k]) / 2
		}
	}
	return s.checkOverlap()
}

const (
	// restraintReach is the largest distance in nm of a pair with a restraint.
	restraintReach = 0.9
	// maxCrowd is how many residues may start within restraintReach of one. A protein has some 25, each of 0.135 nm³.
	maxCrowd = 200
)

// checkOverlap returns an error for residues within 0.1 Å of one another, and for one that has more than maxCrowd
// residues so close that each pair could be restrained.
func (s *System) checkOverlap() error {
	near := make([]int, len(s.start))
	for i := range s.start {
		for j := range i {
			d := s.distance(s.start, j, i)
			if d < 0.01 {
				return pleat.Invalidf("residues %s and %s lie within 0.1 Å of one another; dynamics cannot start there",
					s.site(j), s.site(i))
			}
			if d > restraintReach {
				continue
			}
			near[i]++
			if near[j]++; max(near[i], near[j]) > maxCrowd {
				return pleat.Invalidf("more than %d residues lie within 9 Å of %s or %s; dynamics cannot start there",
					maxCrowd, s.site(j), s.site(i))
			}
		}
	}
	return nil
}

// connect creates the bonds and, for SingleGo, the restraints.
func (s *System) connect() {
	n := len(s.beads)
	s.excluded = make([][]int32, n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			bonded := j == i+1 && s.beads[i].chain == s.beads[j].chain
			confidence, d := 0.0, 0.0
			if s.params.Preset == SingleGo {
				d = s.distance(s.start, i, j)
				confidence = s.sureness(i, j)
			}
			if bonded {
				s.bonds = append(s.bonds, bond{int32(i), int32(j), restLength(confidence, d)})
			} else if confidence >= 0.05 && d <= restraintReach {
				k := 15 * confidence
				s.contacts = append(s.contacts, contact{
					int32(i), int32(j), d, k, 60 * k * math.Pow(d, 12), 60 * k * math.Pow(d, 10),
				})
				if confidence < 0.15 {
					s.weak = append(s.weak, weakContact{int32(i), int32(j), fading(confidence)})
				}
			} else {
				continue
			}
			s.excluded[i] = append(s.excluded[i], int32(j))
		}
	}
}

// sigmoid returns the logistic function, by which confidence turns into the strength of a restraint.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// sureness returns the confidence s that the prediction holds the pair, 0 to 1, from pLDDT and PAE.
func (s *System) sureness(i, j int) float64 {
	p := min(s.siteOf(i).PLDDT, s.siteOf(j).PLDDT) / 100
	e := (s.molecule.PAE.At(i, j) + s.molecule.PAE.At(j, i)) / 2 / 10
	return sigmoid(50*(p-0.8)) * sigmoid(-15*(e-0.3))
}

// fading returns b, the weight of a pair's ordinary terms, which falls from 1 to 0 as its confidence rises.
func fading(confidence float64) float64 { return sigmoid(-80 * (confidence - 0.1)) }

// restLength returns r0 in nm of the bond between neighbours at distance d.
func restLength(confidence, d float64) float64 {
	switch {
	case confidence < 0.05:
		return bondLength
	case confidence > 0.15:
		return d
	}
	b := fading(confidence)
	return b*bondLength + (1-b)*d
}

// siteOf returns the residue of bead i.
func (s *System) siteOf(i int) *Site {
	for c := range s.molecule.Chains {
		if sites := s.molecule.Chains[c].Sites; i < len(sites) {
			return &sites[i]
		} else {
			i -= len(sites)
		}
	}
	panic(fmt.Sprintf("calvados: no bead %d", i))
}

// site returns the residue of bead i in words, for errors.
func (s *System) site(i int) string {
	return fmt.Sprintf("%s %d of chain %s", residues[s.beads[i].kind].name, s.siteOf(i).Number,
		s.molecule.Chains[s.beads[i].chain].ID)
}

// distance returns the distance of beads i and j of x by the nearest image, in nm.
func (s *System) distance(x []vec, i, j int) float64 {
	var d2 float64
	for k := range 3 {
		d := nearest(x[j][k]-x[i][k], s.params.Box)
		d2 += d * d
	}
	return math.Sqrt(d2)
}

// nearest returns the difference d of the nearest image in a box.
func nearest(d, box float64) float64 { return d - box*math.RoundToEven(d/box) }

// Len returns the number of beads.
func (s *System) Len() int { return len(s.beads) }

// Params returns the parameters of the system.
func (s *System) Params() Params { return s.params }

// Molecule returns the simulated molecule, which must not be changed.
func (s *System) Molecule() *Molecule { return s.molecule }

// Masses returns the masses of the beads in u.
func (s *System) Masses() []float64 {
	out := make([]float64, len(s.beads))
	for i := range s.beads {
		out[i] = s.beads[i].mass
	}
	return out
}

// Start returns a copy of the start positions, before minimisation, in nm.
func (s *System) Start() [][3]float64 { return append([]vec(nil), s.start...) }

// digest returns a hash of everything that determines a run, except its length and the number of threads. It
// includes the steps between frames, so that a checkpoint is never continued by another system.
func (s *System) digest() [32]byte {
	h := sha256.New()
	p := &s.params
	fmt.Fprintf(h, "calvados 1 %s %s %s %v %v %v %v %v %v %d %d\n", p.Preset, p.Residues, p.Termini, p.Temp, p.Ionic,
		p.PH, p.Box, p.Friction, p.Step, p.Every(), p.Seed)
	for i := range s.beads {
		b := &s.beads[i]
		writeFloats(h, float64(b.kind), float64(b.chain), b.mass, b.charge, s.start[i][0], s.start[i][1], s.start[i][2])
	}
	for _, b := range s.bonds {
		writeFloats(h, float64(b.i), float64(b.j), b.r0)
	}
	for _, c := range s.contacts {
		writeFloats(h, float64(c.i), float64(c.j), c.d, c.k)
	}
	return [32]byte(h.Sum(nil))
}

// writeFloats hashes the bits of the values.
func writeFloats(h hash.Hash, v ...float64) {
	var b [8]byte
	for _, f := range v {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(f))
		h.Write(b[:])
	}
}
