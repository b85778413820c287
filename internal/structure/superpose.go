package structure

import (
	"fmt"
	"math"
)

// identity is the rotation that changes nothing.
var identity = [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}

// Superpose returns the rotation and translation that move mobile onto target with the smallest root mean square
// deviation in Å: x' = rot·x + trans (see [Apply]). The rotation is always proper, so that a mirror image is never
// matched by reflection. It allocates nothing. For no points the result is the identity, for one point a
// translation; for collinear or coinciding points it is one of the equally good rotations. It panics where the
// lengths differ.
//
// Source: Horn, J. Opt. Soc. Am. A 4, 629 (1987): the rotation is the eigenvector of the largest eigenvalue of a
// 4×4 quaternion matrix; the optimum is that of Kabsch, Acta Cryst. A32, 922 (1976).
func Superpose(mobile, target []Vec) (rot [3][3]float64, trans Vec, rmsd float64) {
	sameLength(mobile, target)
	if len(mobile) == 0 {
		return identity, Vec{}, 0
	}
	cm, ct := Centroid(mobile), Centroid(target)
	var m [3][3]float64
	for i := range mobile {
		a, b := sub(mobile[i], cm), sub(target[i], ct)
		for j := range 3 {
			m[j][0] += a[j] * b[0]
			m[j][1] += a[j] * b[1]
			m[j][2] += a[j] * b[2]
		}
	}
	rot = rotation(&m)
	trans = sub(ct, rotate(&rot, cm))
	sum := 0.0
	for i := range mobile {
		sum += distance2(Apply(rot, trans, mobile[i]), target[i])
	}
	return rot, trans, math.Sqrt(sum / float64(len(mobile)))
}

// RMSD returns the root mean square deviation in Å after the best superposition, or 0 for no points. It panics
// where the lengths differ.
func RMSD(a, b []Vec) float64 {
	_, _, rmsd := Superpose(a, b)
	return rmsd
}

// Apply returns the moved point rot·v + trans, in Å; rot and trans are those of [Superpose].
func Apply(rot [3][3]float64, trans, v Vec) Vec { return add(rotate(&rot, v), trans) }

// rotate returns r·v.
func rotate(r *[3][3]float64, v Vec) Vec {
	return Vec{
		r[0][0]*v[0] + r[0][1]*v[1] + r[0][2]*v[2],
		r[1][0]*v[0] + r[1][1]*v[1] + r[1][2]*v[2],
		r[2][0]*v[0] + r[2][1]*v[1] + r[2][2]*v[2],
	}
}

// sameLength panics where two lists differ in length.
func sameLength(a, b []Vec) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("structure: %d points against %d", len(a), len(b)))
	}
}

// rotation returns the best proper rotation for the correlation m[j][k] = Σ mobile_j·target_k.
func rotation(m *[3][3]float64) [3][3]float64 {
	n := [4][4]float64{
		{m[0][0] + m[1][1] + m[2][2], m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]},
		{0, m[0][0] - m[1][1] - m[2][2], m[0][1] + m[1][0], m[2][0] + m[0][2]},
		{0, 0, -m[0][0] + m[1][1] - m[2][2], m[1][2] + m[2][1]},
		{0, 0, 0, -m[0][0] - m[1][1] + m[2][2]},
	}
	for i := range 4 {
		for j := range i {
			n[i][j] = n[j][i]
		}
	}
	q := topEigenvector(&n)
	w, x, y, z := q[0], q[1], q[2], q[3]
	return [3][3]float64{
		{w*w + x*x - y*y - z*z, 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), w*w - x*x + y*y - z*z, 2 * (y*z - w*x)},
		{2 * (x*z - w*y), 2 * (y*z + w*x), w*w - x*x - y*y + z*z},
	}
}

// topEigenvector returns the unit eigenvector of the largest eigenvalue of a symmetric matrix. It uses Jacobi
// rotations, which remain exact where eigenvalues coincide (points on a line), unlike the faster power and Newton
// methods.
func topEigenvector(a *[4][4]float64) [4]float64 {
	v := [4][4]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}
	for range 32 {
		off, diag := 0.0, 0.0
		for i := range 4 {
			diag += a[i][i] * a[i][i]
			for j := i + 1; j < 4; j++ {
				off += a[i][j] * a[i][j]
			}
		}
		if !(off > 1e-30*diag) { // also leaves on NaN
			break
		}
		for p := range 3 {
			for q := p + 1; q < 4; q++ {
				jacobi(a, &v, p, q)
			}
		}
	}
	best := 0
	for i := 1; i < 4; i++ {
		if a[i][i] > a[best][best] {
			best = i
		}
	}
	out := [4]float64{v[0][best], v[1][best], v[2][best], v[3][best]}
	l := math.Sqrt(out[0]*out[0] + out[1]*out[1] + out[2]*out[2] + out[3]*out[3])
	if !(l > 0) || math.IsInf(l, 0) {
		return [4]float64{1, 0, 0, 0}
	}
	for i := range out {
		out[i] /= l
	}
	return out
}

// jacobi applies the rotation that makes a[p][q] zero to a, and accumulates it in v.
func jacobi(a, v *[4][4]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range 4 {
		akp, akq := a[k][p], a[k][q]
		a[k][p], a[k][q] = c*akp-s*akq, s*akp+c*akq
	}
	for k := range 4 {
		apk, aqk := a[p][k], a[q][k]
		a[p][k], a[q][k] = c*apk-s*aqk, s*apk+c*aqk
		vkp, vkq := v[k][p], v[k][q]
		v[k][p], v[k][q] = c*vkp-s*vkq, s*vkp+c*vkq
	}
}
