package mini

import "math"

// Weights of the energy, in units of the temperature. The terms are those of Simons et al. 1997 and 1999 with
// tables of this project.
const (
	weightVDW      = 0.65
	weightPair     = 0.75
	weightSpecific = 0.9
	weightEnv      = 1.6
	weightBond     = 1.1
	weightHelix    = 0.2 // hydrogen bonds within a helix, which the local term already pays for
	weightSheet    = 2.3
	weightLocal    = 0.35
	weightRadius   = 18
)

// pairEnergy returns the pair terms of residues i < j (i+2 <= j), and whether their CB are within 10 Å.
func (w *walk) pairEnergy(i, j int) (e float64, near bool) {
	p, q := &w.at[i], &w.at[j]
	near = dist2(p.b, q.b) < 100
	sep := j - i
	d := dist2(p.a, q.a)
	if sep >= 3 && d < 400 {
		if r := dist2(p.s, q.s); r < 144 {
			bins := &w.t.pair[w.aa[i]][w.aa[j]]
			k := 0
			for r >= w.t.edge2[k] {
				k++
			}
			if sep == 3 {
				e += 0.5 * bins[k]
			} else {
				e += bins[k]
			}
		}
	}
	if d > 81 || sep < 2 {
		return e, near
	}
	e += float64(w.clashScale * w.clash(i, j, d))
	if sep >= 3 {
		e += w.bonds(i, j)
		if d > 16 && d < 34.81 && w.extended(i) && w.extended(j) {
			e -= weightSheet * w.sheet(i, j)
		}
	}
	return e, near
}

// far is the squared CA distance in Å² beyond which N, CA, C and CB of two residues cannot overlap.
const far = 7.2 * 7.2

// clash returns the overlap of two residues with squared CA distance d: the sum of (r²-d²)²/r².
func (w *walk) clash(i, j int, d float64) float64 {
	p, q := &w.at[i], &w.at[j]
	a := [6]*vec3{&p.n, &p.a, &p.c, &p.o, &p.b, &p.s}
	b := [6]*vec3{&q.n, &q.a, &q.c, &q.o, &q.b, &q.s}
	na, nb := w.heavy[i], w.heavy[j]
	if j-i == 2 { // centroids two apart meet too often in nature to tell anything
		na, nb = min(na, 5), min(nb, 5)
	}
	e := 0.0
	for k := range na {
		r2, inv, x := &w.t.radius2[k], &w.t.inverse2[k], *a[k]
		if d > far && k != 3 && k != 5 {
			if o := r2[3] - dist2(x, *b[3]); o > 0 {
				e += float64(float64(o*o) * inv[3])
			}
			if nb == 6 {
				if o := r2[5] - dist2(x, *b[5]); o > 0 {
					e += float64(float64(o*o) * inv[5])
				}
			}
			continue
		}
		for l := range nb {
			if o := r2[l] - dist2(x, *b[l]); o > 0 {
				e += float64(float64(o*o) * inv[l])
			}
		}
	}
	return e
}

// bonds returns the energy of the hydrogen bonds between i and j in both directions (Kabsch and Sander 1983).
func (w *walk) bonds(i, j int) float64 {
	weight := weightBond
	if j-i <= 5 && w.right(i) && w.right(j) {
		weight = weightHelix
	}
	e := 0.0
	if w.donor[j] {
		e += hydrogenBond(&w.at[j], &w.at[i])
	}
	if w.donor[i] {
		e += hydrogenBond(&w.at[i], &w.at[j])
	}
	return float64(weight * e)
}

// hydrogenBond returns the energy of the bond from the donor's N–H to the acceptor's C=O in kcal/mol, between −2.8
// and 0.
func hydrogenBond(donor, acceptor *residue) float64 {
	on := dist2(acceptor.o, donor.n)
	if on > 36 {
		return 0
	}
	e := 27.9 * (1/math.Sqrt(on) + 1/math.Sqrt(dist2(acceptor.c, donor.h)) - 1/math.Sqrt(
		dist2(acceptor.o, donor.h)) - 1/math.Sqrt(dist2(acceptor.c, donor.n)))
	if e > -0.2 {
		return 0
	}
	return max(e, -2.8)
}

// sheet scores how well two extended residues pair as neighbouring strands: the strands are parallel to each other,
// both C=O point along the connecting line, and that line is perpendicular to the strands.
func (w *walk) sheet(i, j int) float64 {
	u, v := w.direction(i), w.direction(j)
	al := math.Abs(u.dot(v))
	if al < 0.6 {
		return 0
	}
	p, q := &w.at[i], &w.at[j]
	axis := q.a.sub(p.a).unit()
	pl := (math.Abs(p.o.sub(p.c).dot(axis)) + math.Abs(q.o.sub(q.c).dot(axis))) / (2 * 1.231)
	if pl < 0.6 || math.Abs(u.dot(axis)) > 0.5 || math.Abs(v.dot(axis)) > 0.5 {
		return 0
	}
	return float64(6 * (al - 0.6) * (pl - 0.6))
}

// direction returns the unit vector along the chain at residue i.
func (w *walk) direction(i int) vec3 {
	return w.at[min(i+1, w.n-1)].a.sub(w.at[max(i-1, 0)].a).unit()
}

// radius returns the penalty for a radius of gyration above that of compact proteins of the same length.
func (w *walk) radius() float64 {
	var sum vec3
	for i := range w.at {
		sum = sum.add(w.at[i].a)
	}
	mid := sum.scale(1 / float64(w.n))
	d := 0.0
	for i := range w.at {
		d += dist2(w.at[i].a, mid)
	}
	rg := math.Sqrt(d / float64(w.n))
	return float64(w.radiusScale * max(0, rg-w.compact))
}

// environment returns the burial term for the numbers of CB neighbours within 10 Å.
func (w *walk) environment(nb []int16) float64 {
	e := 0.0
	for i, k := range nb {
		e += w.t.env[w.aa[i]][min(k, 39)]
	}
	return float64(weightEnv * e)
}

// right reports whether residue i is in a right-handed helical state.
func (w *walk) right(i int) bool { return w.state[i] <= 1 }

// extended reports whether residue i is in an extended state.
func (w *walk) extended(i int) bool { return w.state[i] == 2 || w.state[i] == 3 }
