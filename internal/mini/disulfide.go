package mini

import (
	"cmp"
	"math"
	"slices"
)

// Geometry of a disulfide and how much each part of it may vary: the means and deviations of well-refined structures
// (Engh and Huber, Acta Cryst. A47, 392, 1991; the torsion: Thornton, J. Mol. Biol. 151, 261, 1981), rounded.
const (
	bondSS, sdSS           = 2.04, 0.05 // SG-SG, Å
	angleSS, sdAngleSS     = 104.0, 4.0 // CB-SG-SG, degrees
	torsionSS, sdTorsionSS = 90.0, 15.0 // CB-SG-SG-CB, degrees, of either sign
	angleCBSG, sdCBSG      = 114.0, 2.5 // CA-CB-SG, degrees
	bondCBSG               = 1.808      // CB-SG, Å
	sdChi                  = 15.0       // of chi 1 about a rotamer, degrees
	farSS                  = 5.2        // largest distance of two CB with a disulfide between them, Å
	longestSS              = 2.3        // SG-SG, Å: a longer one is no bond
	costSS                 = 40.0       // largest sum of squared deviations; beyond, the backbone allows no bond
	chiStep                = 5.0        // degrees between two chi that are tried
)

// sulfur is a place of SG that is tried: its position, that of CB, and its cost.
type sulfur struct {
	sg, cb vec3
	chi    float64
	cost   float64
}

// disulfide is a bond that the backbone allows between two cysteines.
type disulfide struct {
	i, j int
	a, b sulfur
	cost float64
}

// bridge bonds the pairs of cysteines whose backbones allow it, the best pairs first, each cysteine once. They stay as
// they are while other side chains are placed.
func bridge(sides []side) {
	var cysteines []int
	for i := range sides {
		if sides[i].t.comp == "CYS" {
			cysteines = append(cysteines, i)
		}
	}
	var found []disulfide
	for k, i := range cysteines {
		for _, j := range cysteines[k+1:] {
			if dist2(sides[i].at[3], sides[j].at[3]) < farSS*farSS {
				if d := bestDisulfide(&sides[i], &sides[j]); d.cost < costSS {
					d.i, d.j = i, j
					found = append(found, d)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(x, y disulfide) int { return cmp.Compare(x.cost, y.cost) })
	for _, d := range found {
		if !sides[d.i].bridged && !sides[d.j].bridged {
			sides[d.i].hold(&d.a)
			sides[d.j].hold(&d.b)
		}
	}
}

// hold fixes the SG of a cysteine.
func (s *side) hold(at *sulfur) {
	s.at[4], s.chi, s.bridged = at.sg, rotamer{chi: [4]float64{at.chi}}, true
}

// bestDisulfide returns the best bond between two cysteines; its cost is infinite if none has a possible length.
func bestDisulfide(x, y *side) disulfide {
	best := disulfide{cost: math.Inf(1)}
	left, right := x.sulfurs(), y.sulfurs()
	for k := range left {
		a := &left[k]
		for l := range right {
			b := &right[l]
			d2 := dist2(a.sg, b.sg)
			if a.cost+b.cost >= best.cost || d2 > longestSS*longestSS || d2 < 1.7*1.7 {
				continue
			}
			if cost := a.cost + b.cost + bondCost(a, b); cost < best.cost {
				best = disulfide{a: *a, b: *b, cost: cost}
			}
		}
	}
	return best
}

// sulfurs returns the places of SG of a cysteine that are tried: every chi, with the angle at CB a little wider and
// narrower.
func (s *side) sulfurs() []sulfur {
	var out []sulfur
	for chi := -180.0; chi < 180; chi += chiStep {
		near := math.Inf(1)
		for _, r := range s.t.rotamers {
			near = min(near, square(turn(chi-r.chi[0])/sdChi)+2*r.cost)
		}
		sin, cos := math.Sincos(chi * radian)
		for _, wider := range []float64{-2, -1, 0, 1, 2} {
			at := newBond(bondCBSG, angleCBSG+float64(wider*sdCBSG)).
				position(s.at[0], s.at[1], s.at[3], sin, cos)
			out = append(out, sulfur{sg: at, cb: s.at[3], chi: chi, cost: near + wider*wider})
		}
	}
	return out
}

// bondCost is the sum of squared deviations, in units of their own, of the bond between two sulfurs from an ideal
// disulfide.
func bondCost(a, b *sulfur) float64 {
	bond := b.sg.sub(a.sg)
	cost := square((bond.norm() - bondSS) / sdSS)
	u, v := a.cb.sub(a.sg), b.cb.sub(b.sg)
	cost += square((angleOf(u, bond) - angleSS) / sdAngleSS)
	cost += square((angleOf(v, bond.scale(-1)) - angleSS) / sdAngleSS)
	torsion := angleOf(u.cross(bond), v.cross(bond))
	return cost + square((torsion-torsionSS)/sdTorsionSS)
}

// angleOf returns the angle between two vectors in degrees.
func angleOf(u, v vec3) float64 {
	return math.Acos(max(-1, min(1, u.unit().dot(v.unit())))) / radian
}

// turn returns an angle in degrees between -180 and 180.
func turn(angle float64) float64 { return math.Remainder(angle, 360) }

func square(x float64) float64 { return float64(x * x) }
