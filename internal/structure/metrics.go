package structure

import (
	"context"
	"math"
	"slices"
)

// TMScore compares two structures of the same sequence, residue by residue: the mean over the native's residues of
// 1/(1+(d/d0)²) after the superposition that maximises it; 0 to 1. Two chains with a score above 0.5 share a fold.
// d0 = 1.24·(L−15)^⅓−1.8 Å with L = len(native), but at least 0.5 Å, which applies to L ≤ 21, as in Zhang's
// program. No points score 0. It panics where the lengths differ.
//
// Source: Zhang and Skolnick, Proteins 57, 702 (2004): superpositions start from every fragment of length L, L/2,
// L/4 … 4 and are refined on the residues that came close, until these stay the same. Beyond 362 residues it uses
// only some hundred evenly spaced fragments of each length, so that time does not grow with L³.
func TMScore(model, native []Vec) float64 {
	score, _ := AlignedTMScore(context.Background(), model, native, len(native))
	return score
}

// AlignedTMScore is [TMScore] for the aligned residues of two structures, which may be fewer than a structure has:
// length is the number of residues of the structure by which the score is normalised, in the mean and in d0. The only
// error is that of ctx, once it ends. It panics where the lists differ in length.
func AlignedTMScore(ctx context.Context, model, native []Vec, length int) (float64, error) {
	sameLength(model, native)
	if len(native) == 0 {
		return 0, ctx.Err()
	}
	best, err := search(ctx, model, native, distanceScale(length, 15, 0.5))
	return best / float64(length), err
}

// search runs the superpositions that TMScore describes and returns the best Σ 1/(1+(d/d0)²).
func search(ctx context.Context, model, native []Vec, d0 float64) (float64, error) {
	n := len(native)
	s := &tmSearch{model: model, native: native, d02: d0 * d0, near: min(max(d0, 4.5), 8),
		d2: make([]float64, n), selected: make([]int32, 0, n), previous: make([]int32, 0, n),
		a: make([]Vec, 0, n), b: make([]Vec, 0, n)}
	step := max(1, min(n*n/65536, n/16))
	shortest := min(4, n)
	for size, k := n, 0; ; k++ {
		if size <= shortest || k == 5 {
			size = shortest
		}
		for from := 0; from+size <= n; from += step {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			s.refine(from, size)
		}
		if size == shortest {
			break
		}
		size /= 2
	}
	return s.best, nil
}

// distanceScale returns d0, the distance scale of the TM-score in Å, for n residues, computed for at least from and not
// below least.
func distanceScale(n, from int, least float64) float64 {
	return max(least, 1.24*math.Cbrt(float64(max(n, from)-15))-1.8)
}

// tmSearch holds the best scores so far and the buffers of a search.
type tmSearch struct {
	model, native []Vec
	d02, near     float64 // d0², radius in which residues take part in the next round
	best          float64 // best Σ 1/(1+(d/d0)²) so far
	// d2 are the squared distances in Å² under the superposition measured last.
	d2 []float64
	// selected and previous are the residues selected in this round and in the one before.
	selected, previous []int32
	// a and b are buffers for the selected points of model and native.
	a, b []Vec
}

// refine superposes one fragment and repeats with the residues that came close, at most 20 times.
func (s *tmSearch) refine(from, size int) {
	rot, trans, _ := Superpose(s.model[from:from+size], s.native[from:from+size])
	s.measure(&rot, trans, s.near-1)
	for range 20 {
		s.a, s.b = s.a[:0], s.b[:0]
		for _, i := range s.selected {
			s.a = append(s.a, s.model[i])
			s.b = append(s.b, s.native[i])
		}
		rot, trans, _ = Superpose(s.a, s.b)
		s.previous, s.selected = s.selected, s.previous
		s.measure(&rot, trans, s.near+1)
		if slices.Equal(s.selected, s.previous) {
			return
		}
	}
}

// measure scores one superposition and selects the residues closer than cut Å, or than the smallest wider cut that
// selects three.
func (s *tmSearch) measure(rot *[3][3]float64, trans Vec, cut float64) {
	sum := 0.0
	for i := range s.model {
		d2 := distance2(add(rotate(rot, s.model[i]), trans), s.native[i])
		s.d2[i] = d2
		sum += 1 / (1 + d2/s.d02)
	}
	s.best = max(s.best, sum)
	for {
		s.selected = s.selected[:0]
		for i, d2 := range s.d2 {
			if d2 < cut*cut {
				s.selected = append(s.selected, int32(i))
			}
		}
		if len(s.selected) >= min(3, len(s.d2)) || cut > 1e6 {
			return
		}
		if cut += 0.5; cut > 100 {
			cut *= 2
		}
	}
}

// LDDT returns the superposition-free agreement of one point per residue (CA for proteins): the fraction of the
// native's distances under 15 Å that the model preserves within 0.5, 1, 2 and 4 Å, averaged over the four. Both
// results are 0 to 1: one over all distances, and one per residue over its own. A residue without neighbours scores
// 1, as in AlphaFold's program. It panics where the lengths differ. Use [NewReference] to compare many models with
// one native.
//
// Source: Mariani et al., Bioinformatics 29, 2722 (2013), without its stereochemical checks.
func LDDT(model, native []Vec) (global float64, per []float64) {
	sameLength(model, native)
	per = make([]float64, len(native))
	return NewReference(native).LDDT(model, per), per
}

// lddtRadius is the inclusion radius of lDDT in Å.
const lddtRadius = 15.0

// Reference holds the distances of a native structure, so that many models can be scored against it without
// allocating. It is safe for concurrent use.
type Reference struct {
	n int
	// pairs are the residue pairs of the native within 15 Å.
	pairs []refPair
	count []int32 // pairs each residue takes part in
}

// refPair is a pair of residues and their distance d in Å.
type refPair struct {
	i, j int32
	d    float64
}

// NewReference prepares a native structure, given by one point per residue in Å.
func NewReference(native []Vec) *Reference {
	r := &Reference{n: len(native), count: make([]int32, len(native))}
	keep := func(i, j int) {
		if d2 := distance2(native[i], native[j]); d2 < lddtRadius*lddtRadius {
			r.pairs = append(r.pairs, refPair{int32(i), int32(j), math.Sqrt(d2)})
			r.count[i]++
			r.count[j]++
		}
	}
	if len(native) <= 512 {
		for i := range native {
			for j := i + 1; j < len(native); j++ {
				keep(i, j)
			}
		}
		return r
	}
	g := NewGrid(native, lddtRadius)
	var near []int
	for i := range native {
		near = g.Near(near[:0], native[i], lddtRadius)
		for _, j := range near {
			if j > i {
				keep(i, j)
			}
		}
	}
	return r
}

// LDDT scores a model as the function LDDT does. It writes scores per residue into per, which is nil or has one
// element per residue. It panics where lengths differ.
func (r *Reference) LDDT(model []Vec, per []float64) float64 {
	if len(model) != r.n || per != nil && len(per) != r.n {
		panic("structure: LDDT of a model that has not the reference's length")
	}
	clear(per)
	total := 0
	for k := range r.pairs {
		p := &r.pairs[k]
		diff := math.Abs(math.Sqrt(distance2(model[p.i], model[p.j])) - p.d)
		if !(diff < 4) {
			continue
		}
		hits := 1
		if diff < 2 {
			hits++
		}
		if diff < 1 {
			hits++
		}
		if diff < 0.5 {
			hits++
		}
		total += hits
		if per != nil {
			per[p.i] += float64(hits)
			per[p.j] += float64(hits)
		}
	}
	for i := range per {
		if r.count[i] == 0 {
			per[i] = 1
		} else {
			per[i] /= 4 * float64(r.count[i])
		}
	}
	if len(r.pairs) == 0 {
		return 1
	}
	return float64(total) / (4 * float64(len(r.pairs)))
}
