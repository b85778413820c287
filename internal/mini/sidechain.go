package mini

import (
	"math"
	"slices"

	"pleat/internal/structure"
)

// Constants of side-chain building.
const (
	maxParts = 14          // atoms of a residue, tryptophan's
	passes   = 10          // of coordinate descent over the chain
	wiggle   = 15          // degrees tried on either side of a rotamer's first two chi
	ringBond = 1.5         // of proline's CG, Å
	pucker   = 35 * radian // of proline's CG out of the ring's plane
)

// score weighs the contacts of a side chain, in units of −ln of a rotamer's frequency. Distances are in Å.
type score struct {
	repel  [3]float64 // squared distance below which two atoms repel, by the number of polar ones
	reach  float64    // beyond, atoms are not seen
	near   float64    // gained by two apolar atoms that touch; it falls to nothing at reach
	bond   float64    // gained by two polar atoms within bondReach
	wiggle float64    // cost of a chi that is wiggle degrees off its rotamer
	// slack is how far contacts still to come may lower a sum.
	slack float64
	// alone places each side chain for its backbone before it sees other side chains, and leaves out its own N, whose
	// distance is a matter of the rotamer.
	alone bool
}

// bondReach is the largest distance of two atoms of a hydrogen bond, Å.
const bondReach = 3.4

// foldScore only separates atoms: a backbone that mini folds has errors larger than the range of an attraction.
var foldScore = score{
	repel:  [3]float64{3.2 * 3.2, 3.2 * 3.2, 2.8 * 2.8},
	reach:  3.2,
	wiggle: 0.3,
}

// builtScore is for accurate backbones. Its values found the most rotamers of 21 experiments (3,289 chi 1).
var builtScore = score{
	repel:  [3]float64{3.7 * 3.7, 3.4 * 3.4, 2.9 * 2.9},
	reach:  6,
	near:   0.2,
	bond:   0.5,
	wiggle: 0.6,
	slack:  10,
	alone:  true,
}

// side holds the heavy atoms of one residue in the order N CA C CB, side chain; O is separate.
type side struct {
	t       *template
	at      [maxParts]vec3
	n       int // atoms in use
	o       vec3
	centre  vec3 // CB, from which neighbours are counted
	reach   float64
	glycine bool
	bridged bool // a cysteine in a disulfide, which stays as it is
	open    bool // others do not see the side chain yet
	// tried and moved number the steps at which improve last tried the rotamers and changed the current one.
	tried, moved int
	chi          rotamer
	// options are the rotamers that improve tries, and neighbor the residues whose atoms can touch this one.
	options  []rotamer
	neighbor []int
}

// backbone is what side chains are built on: the residues of one or several chains.
type backbone struct {
	score *score
	aa    []int // as in walk
	at    []residue
	// previous is the C before each residue, and joined reports that it is that of the residue before in at. Where no
	// residue is before, it has an ideal place.
	previous []vec3
	joined   []bool
}

// backbone returns the backbone of a walk, which is one chain.
func (w *walk) backbone() *backbone {
	b := &backbone{
		score:    &foldScore,
		aa:       w.aa,
		at:       w.at,
		previous: make([]vec3, w.n),
		joined:   make([]bool, w.n),
	}
	b.previous[0] = ideal(&w.at[0], w.phi[0])
	for i := 1; i < w.n; i++ {
		b.previous[i], b.joined[i] = w.at[i-1].c, true
	}
	return b
}

// ideal returns where the C before a residue is at phi in degrees.
func ideal(r *residue, phi float64) vec3 {
	s, c := math.Sincos(phi * radian)
	return newBond(1.329, 121.7).position(r.c, r.a, r.n, s, c)
}

// dressUp builds all heavy atoms on w's backbone and returns the remaining side-chain overlap. It returns false
// once stopped.
func dressUp(w *walk, stop func() bool) (chain structure.Chain, overlap float64, ok bool) {
	sides, overlap, ok := w.backbone().pack(stop)
	if !ok {
		return chain, 0, false
	}
	return assemble(w, sides), overlap, true
}

// pack places the side chains and returns their remaining overlap. It returns false once stopped.
func (b *backbone) pack(stop func() bool) (sides []side, overlap float64, ok bool) {
	sides = make([]side, len(b.at))
	for i := range sides {
		sides[i].start(b, i)
	}
	for i := range sides {
		for j := range sides {
			// 2.5 Å covers the backbone around CB.
			if i != j && math.Sqrt(dist2(sides[i].centre, sides[j].centre)) < sides[i].reach+max(2.5, sides[j].reach)+
				b.score.reach {
				sides[i].neighbor = append(sides[i].neighbor, j)
			}
		}
		sides[i].set(b, i, &sides[i].options[0])
	}
	bridge(sides)
	if !b.descend(sides, stop) {
		return nil, 0, false
	}
	for i := range sides {
		if !sides[i].bridged {
			overlap += sides[i].clash(b.score, sides[i].around(b, i, sides), math.Inf(1))
		}
	}
	return sides, overlap, true
}

// descend improves one side chain after the other until none changes. It returns false once stopped.
func (b *backbone) descend(sides []side, stop func() bool) bool {
	for i := range sides {
		sides[i].open = b.score.alone && !sides[i].bridged && sides[i].t.comp != "PRO"
	}
	step := 0
	for range passes {
		changed := false
		for i := range sides {
			if stop() {
				return false
			}
			step++
			changed = sides[i].improve(b, i, step, sides) || changed
		}
		for i := range sides {
			if sides[i].open {
				sides[i].open, sides[i].moved, changed = false, step, true
			}
		}
		if !changed {
			break
		}
	}
	return true
}

// start sets the atoms of residue i that its side chain is built on, its rotamers, and how far they reach.
func (s *side) start(b *backbone, i int) {
	r := &b.at[i]
	s.t = &templates[b.aa[i]]
	s.at[0], s.at[1], s.at[2], s.at[3], s.o = r.n, r.a, r.c, r.b, r.o
	s.centre = r.b
	s.glycine = s.t.comp == "GLY"
	s.n = 4 + len(s.t.parts)
	switch {
	case s.glycine:
		s.n = 3
	case s.t.comp == "PRO":
		s.n = 6
		s.at[3] = newBond(1.530, 103.0).position(r.c, r.n, r.a, math.Sin(-121*radian), math.Cos(-121*radian))
	}
	s.options = options(s.t, b.score.wiggle)
	for k := range s.options {
		s.build(b, i, &s.options[k])
		for _, p := range s.at[3:max(3, s.n)] {
			s.reach = max(s.reach, math.Sqrt(dist2(p, s.centre)))
		}
	}
}

// options returns a residue's rotamers, with small variations of the first two chi, each of which has a cost.
func options(t *template, cost float64) []rotamer {
	if t.chis == 0 {
		if t.comp == "PRO" {
			return []rotamer{{chi: [4]float64{1}}, {chi: [4]float64{-1}}}
		}
		return []rotamer{{}}
	}
	var out []rotamer
	for _, r := range t.rotamers {
		for _, a := range []float64{0, -wiggle, wiggle} {
			for _, b := range []float64{0, -wiggle, wiggle} {
				if b != 0 && t.chis < 2 {
					continue
				}
				x := r
				x.chi[0] += a
				x.chi[1] += b
				x.cost += cost * (math.Abs(a) + math.Abs(b)) / wiggle
				out = append(out, x)
			}
		}
	}
	return out
}

// build places the side-chain atoms of one rotamer.
func (s *side) build(b *backbone, i int, r *rotamer) {
	if s.t.comp == "PRO" {
		s.ring(b.previous[i], r.chi[0])
		return
	}
	for k := range s.t.parts {
		p := &s.t.parts[k]
		angle := p.offset
		if p.chi > 0 {
			angle += r.chi[p.chi-1]
		}
		sin, cos := math.Sincos(angle * radian)
		s.at[4+k] = p.bond.position(s.at[p.from[0]], s.at[p.from[1]], s.at[p.from[2]], sin, cos)
	}
}

// ring closes proline's ring: CD lies in the plane of the preceding peptide bond, CG bridges CD and CB, puckered to
// the side of sign.
func (s *side) ring(previous vec3, sign float64) {
	n, ca, cb := s.at[0], s.at[1], s.at[3]
	u := ca.sub(n).unit()
	v := previous.sub(n)
	v = v.sub(u.scale(v.dot(u))).unit()
	sin, cos := math.Sincos(112 * radian)
	cd := n.add(u.scale(1.473 * cos)).sub(v.scale(1.473 * sin))
	axis := cd.sub(cb)
	half := axis.norm() / 2
	axis = axis.unit()
	mid := cb.add(cd).scale(0.5)
	out := mid.sub(n.add(ca).scale(0.5))
	out = out.sub(axis.scale(out.dot(axis))).unit()
	up := axis.cross(out)
	h := math.Sqrt(max(0.25, ringBond*ringBond-half*half))
	s.at[4] = mid.add(out.scale(float64(h * math.Cos(pucker)))).add(up.scale(float64(sign * h * math.Sin(pucker))))
	s.at[5] = cd
}

// set builds rotamer r and records it as the current one.
func (s *side) set(b *backbone, i int, r *rotamer) {
	s.build(b, i, r)
	s.chi = *r
}

// atom is one heavy atom of the surroundings. Two polar atoms may be closer to each other than other atoms.
type atom struct {
	at    vec3
	polar bool
}

// polar reports whether an element can form hydrogen bonds.
func polar(element string) bool { return element == "N" || element == "O" }

// around returns the current atoms near residue i.
func (s *side) around(b *backbone, i int, all []side) []atom {
	if s.n <= 4 {
		return nil
	}
	var around []atom
	far := s.reach + b.score.reach
	farPolar := s.reach + min(b.score.reach, bondReach) // polar atoms attract no others
	add := func(p vec3, polar bool) {
		limit := far
		if polar {
			limit = farPolar
		}
		if dist2(p, s.centre) < limit*limit {
			around = append(around, atom{p, polar})
		}
	}
	for _, j := range s.neighbor {
		o := &all[j]
		add(o.at[1], false)
		if !(s.t.comp == "PRO" && j == i-1 && b.joined[i]) { // the ring is bonded to the residue before
			add(o.at[0], true)
			add(o.at[2], false)
			add(o.o, true)
		}
		seen := o.n
		if o.open {
			seen = min(seen, 4)
		}
		for k := 3; k < seen; k++ {
			add(o.at[k], k > 3 && o.polarPart(k))
		}
	}
	add(s.o, true)
	if s.t.comp != "PRO" && !b.score.alone {
		add(s.at[0], true)
	}
	return around
}

// improve sets residue i to its best rotamer with the others fixed, and reports whether it changed.
func (s *side) improve(b *backbone, i, step int, all []side) bool {
	if s.n <= 4 || s.bridged || s.settled(all) {
		return false
	}
	s.tried = step
	around := s.around(b, i, all)
	best, pick := math.Inf(1), -1
	for k := range s.options {
		s.build(b, i, &s.options[k])
		if e := s.options[k].cost + s.clash(b.score, around, best); e < best {
			best, pick = e, k
		}
	}
	old := s.chi
	s.set(b, i, &s.options[pick])
	if old == s.chi {
		return false
	}
	s.moved = step
	return true
}

// settled reports that no neighbor has moved since the rotamers were tried.
func (s *side) settled(all []side) bool {
	return s.tried > 0 && !slices.ContainsFunc(s.neighbor, func(j int) bool { return all[j].moved >= s.tried })
}

// polarPart reports whether atom k of the side chain is polar.
func (s *side) polarPart(k int) bool {
	return k-4 < len(s.t.parts) && polar(s.t.parts[k-4].element)
}

// clash sums 2(r²-d²)²/r² over the side chain and its surroundings, and what attraction gains; it may stop beyond most.
func (s *side) clash(by *score, around []atom, most float64) float64 {
	e := 0.0
	far2 := by.reach * by.reach
	slope := by.near / (far2 - by.repel[0])
	for k := 4; k < s.n; k++ {
		p := s.polarPart(k)
		for l := range around {
			d2 := dist2(s.at[k], around[l].at)
			if d2 > far2 {
				continue
			}
			r2 := by.repel[0]
			switch {
			case p && around[l].polar:
				r2 = by.repel[2]
				if d2 < bondReach*bondReach && d2 >= r2 {
					e -= by.bond
				}
			case p || around[l].polar:
				r2 = by.repel[1]
			case d2 >= r2:
				e -= float64(slope * (far2 - d2))
			}
			if x := r2 - d2; x > 0 {
				e += float64(2 * x * x / r2)
			}
		}
		if e > most+by.slack {
			return e
		}
	}
	return e
}

// assemble returns the chain with atoms in the order of the chemical component dictionary: N CA C O CB …, OXT last.
func assemble(w *walk, sides []side) structure.Chain {
	c := structure.Chain{ID: "A", Kind: structure.Protein, Entity: 1, Residues: make([]structure.Residue, len(sides))}
	for i := range sides {
		s := &sides[i]
		r := structure.Residue{Comp: s.t.comp, Seq: i + 1, Auth: i + 1}
		put := func(name, element string, p vec3) {
			r.Atoms = append(r.Atoms, structure.Atom{
				Name:      name,
				Element:   element,
				Pos:       structure.Vec{p.x, p.y, p.z},
				Occupancy: 1,
			})
		}
		s.each(put)
		if i == len(sides)-1 {
			sin, cos := math.Sincos(w.psi[i] * radian)
			put("OXT", "O", newBond(1.249, 117.0).position(s.at[0], s.at[1], s.at[2], sin, cos))
		}
		c.Residues[i] = r
	}
	return c
}

// each names the heavy atoms of a residue in the order of the chemical component dictionary, without OXT.
func (s *side) each(put func(name, element string, p vec3)) {
	put("N", "N", s.at[0])
	put("CA", "C", s.at[1])
	put("C", "C", s.at[2])
	put("O", "O", s.o)
	if !s.glycine {
		put("CB", "C", s.at[3])
	}
	if s.t.comp == "PRO" {
		put("CG", "C", s.at[4])
		put("CD", "C", s.at[5])
	}
	for k := range s.t.parts {
		put(s.t.parts[k].name, s.t.parts[k].element, s.at[4+k])
	}
}
