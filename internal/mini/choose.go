package mini

import (
	"cmp"
	"math"
	"slices"

	"pleat/internal/structure"
)

// Constants of the selection and of its PAE.
const (
	lowEnergy = 0.3   // share of the decoys that make the ensemble
	maxPAE    = 31.75 // Å, the cap of the AlphaFold format
	paeScale  = 1.05  // true over stated error, fitted on the tuning targets
)

// ensemble is the selected decoy and the decoys from whose agreement its confidence is computed.
type ensemble struct {
	members []decoy
	// pick is the selected decoy.
	pick decoy
}

// lowest returns the lowEnergy fraction of the decoys, at least three, in ascending order of energy.
func lowest(decoys []decoy) []decoy {
	decoys = slices.Clone(decoys)
	slices.SortStableFunc(decoys, func(a, b decoy) int { return cmp.Compare(a.energy, b.energy) })
	return decoys[:min(len(decoys), max(3, int(math.Round(lowEnergy*float64(len(decoys))))))]
}

// choose selects, among the low-energy fraction of all decoys, the one that agrees best with its nearest third.
// Confidence is computed from the first round only, whose decoys are independent of each other. It returns false
// once stop reports true.
func choose(first, all []decoy, stop func() bool) (*ensemble, bool) {
	low := lowest(all)
	m := len(low)
	agree := make([][]float64, m)
	for i := range agree {
		agree[i] = make([]float64, m)
	}
	per := make([]float64, len(low[0].ca))
	for i := range m {
		ref := structure.NewReference(points(low[i].ca))
		for j := range m {
			if stop() {
				return nil, false
			}
			if i != j {
				agree[j][i] = ref.LDDT(points(low[j].ca), per)
			}
		}
	}
	best, pick := math.Inf(-1), 0
	for i, row := range agree {
		others := slices.Delete(slices.Clone(row), i, i+1)
		slices.Sort(others)
		slices.Reverse(others)
		near := others[:min(len(others), max(1, len(others)/3))]
		s := 0.0
		for _, v := range near {
			s += v
		}
		if len(near) > 0 {
			s /= float64(len(near))
		}
		if s > best {
			best, pick = s, i
		}
	}
	e := &ensemble{pick: low[pick]}
	for _, d := range lowest(first) {
		if &d.ca[0] != &e.pick.ca[0] { // the pick's agreement with itself says nothing
			e.members = append(e.members, d)
		}
	}
	return e, true
}

// points converts positions to structure.Vec, in Å.
func points(ca []vec3) []structure.Vec {
	out := make([]structure.Vec, len(ca))
	for i, p := range ca {
		out[i] = structure.Vec{p.x, p.y, p.z}
	}
	return out
}

// Calibration of agreement c to expected lDDT: a line fitted on the nineteen tuning chains, and bounds that were
// chosen.
const (
	confidenceSlope = 0.925
	confidenceShift = -0.006
	confidenceLeast = 0.05
	confidenceMost  = 0.90
)

// score fills in PLDDT, PAE and PTM from the agreement of the members with the relaxed decoy. It returns false once
// stop reports true.
func (e *ensemble) score(r *Result, stop func() bool) bool {
	n := len(e.pick.ca)
	c, per := make([]float64, n), make([]float64, n)
	model := points(e.pick.ca)
	sum := make([]float64, n*n)
	frames := e.pick.frames()
	for _, m := range e.members {
		structure.NewReference(points(m.ca)).LDDT(model, per)
		for i, v := range per {
			c[i] += v / float64(len(e.members))
		}
		other := m.frames()
		for i := range n {
			if stop() {
				return false
			}
			for j := range n {
				sum[i*n+j] += math.Sqrt(dist2(frames[i].local(e.pick.ca[j]), other[i].local(m.ca[j])))
			}
		}
	}
	r.PLDDT = make([]float64, n)
	for i, v := range c {
		r.PLDDT[i] = 100 * max(confidenceLeast, min(confidenceMost, float64(confidenceSlope*v)+confidenceShift))
		for k := range r.Chain.Residues[i].Atoms {
			r.Chain.Residues[i].Atoms[k].B = r.PLDDT[i]
		}
	}
	plain := structure.Matrix{N: n, V: make([]float32, n*n)}
	r.PAE = structure.Matrix{N: n, V: make([]float32, n*n)}
	for k, s := range sum {
		v := s / float64(max(1, len(e.members)))
		if len(e.members) == 0 {
			v = maxPAE // nothing to agree with
		}
		plain.V[k] = float32(min(maxPAE, v))
		r.PAE.V[k] = float32(min(maxPAE, paeScale*v))
	}
	for i := range n {
		plain.V[i*n+i], r.PAE.V[i*n+i] = 0, 0
	}
	r.PTM = structure.PTM(plain)
	return true
}

// axes is the local frame of a residue: its origin and three unit vectors.
type axes struct{ at, x, y, z vec3 }

// local returns p in the coordinates of the frame.
func (f *axes) local(p vec3) vec3 {
	p = p.sub(f.at)
	return vec3{p.dot(f.x), p.dot(f.y), p.dot(f.z)}
}

// frames returns the local frame of every residue.
func (d *decoy) frames() []axes {
	out := make([]axes, len(d.ca))
	for i := range out {
		x, y, z := frame(d.n[i], d.ca[i], d.c[i])
		out[i] = axes{d.ca[i], x, y, z}
	}
	return out
}
