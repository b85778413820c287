package mini

import "math"

// vec3 is a point or direction in Å. Products are converted before they are added, so that no compiler may fuse them
// and the same seed gives the same bytes.
type vec3 struct{ x, y, z float64 }

// The usual operations on vectors in Å: difference, sum, product with a number, scalar and vector product, length,
// direction.
func (a vec3) sub(b vec3) vec3 { return vec3{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec3) add(b vec3) vec3 { return vec3{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec3) scale(s float64) vec3 {
	return vec3{float64(a.x * s), float64(a.y * s), float64(a.z * s)}
}
func (a vec3) dot(b vec3) float64 {
	return float64(a.x*b.x) + float64(a.y*b.y) + float64(a.z*b.z)
}
func (a vec3) cross(b vec3) vec3 {
	return vec3{float64(a.y*b.z) - float64(a.z*b.y), float64(a.z*b.x) - float64(a.x*b.z),
		float64(a.x*b.y) - float64(a.y*b.x)}
}
func (a vec3) norm() float64 { return math.Sqrt(a.dot(a)) }
func (a vec3) unit() vec3    { return a.scale(1 / a.norm()) }

// dist2 returns the squared distance in Å².
func dist2(a, b vec3) float64 {
	x, y, z := a.x-b.x, a.y-b.y, a.z-b.z
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// radian is one degree in radians.
const radian = math.Pi / 180

// bond is the constant part of placing an atom from the three atoms before it, computed from bond length and bond
// angle.
type bond struct{ along, across float64 }

// newBond returns the bond of a length in Å and an angle in degrees.
func newBond(length, angle float64) bond {
	return bond{-length * math.Cos(angle*radian), length * math.Sin(angle*radian)}
}

// position returns the fourth atom of a chain a-b-c at the torsion given by its sine and cosine (Parsons et al., J.
// Comput. Chem. 26, 1063, 2005).
func (k bond) position(a, b, c vec3, sin, cos float64) vec3 {
	u := c.sub(b).unit()
	n := b.sub(a).cross(u).unit()
	m := n.cross(u)
	return c.add(u.scale(k.along)).add(m.scale(float64(k.across * cos))).add(n.scale(float64(k.across * sin)))
}

// Ideal backbone geometry in Å and degrees (Engh and Huber, Acta Cryst. A47, 392, 1991, rounded).
var (
	bondN  = newBond(1.329, 117.0)
	bondCA = newBond(1.458, 121.7)
	bondC  = newBond(1.525, 111.0)
)

// residue is the low-resolution form of a residue: backbone, amide hydrogen, CB and side-chain centroid.
type residue struct{ n, a, c, o, h, b, s vec3 }

// start places the first residue's N, CA and C, with N at the origin.
func start(r *residue) {
	r.n = vec3{}
	r.a = vec3{1.458, 0, 0}
	s, c := math.Sincos(111 * radian)
	r.c = vec3{1.458 - float64(1.525*c), float64(1.525 * s), 0}
}

// follow places N, CA and C of r after p, from psi of p and phi of r in degrees.
func follow(p, r *residue, psi, phi float64) {
	s, c := math.Sincos(psi * radian)
	r.n = bondN.position(p.n, p.a, p.c, s, c)
	r.a = bondCA.position(p.a, p.c, r.n, 0, -1)
	setPhi(p, r, phi)
}

// setPhi places C of r at phi in degrees. The other atoms stay.
func setPhi(p, r *residue, phi float64) {
	s, c := math.Sincos(phi * radian)
	r.c = bondC.position(p.c, r.n, r.a, s, c)
}

// decorate places CB and the centroid, given in the frame e1 = CA→C, e2 towards N.
func (r *residue) decorate(cen vec3) {
	b, c := r.a.sub(r.n), r.c.sub(r.a)
	a := b.cross(c)
	r.b = r.a.sub(a.scale(0.58273431)).add(b.scale(0.56802827)).sub(c.scale(0.54067466))
	e1 := c.unit()
	nn := r.n.sub(r.a)
	e2 := nn.sub(e1.scale(nn.dot(e1))).unit()
	e3 := e1.cross(e2)
	r.s = r.a.add(e1.scale(cen.x)).add(e2.scale(cen.y)).add(e3.scale(cen.z))
}

// carbonyl places O from the next residue's N.
func (r *residue) carbonyl(next vec3) {
	r.o = r.c.add(r.c.sub(r.a).unit().sub(next.sub(r.c).unit()).unit().scale(1.231))
}

// amide places H from the C of the preceding residue.
func (r *residue) amide(before vec3) {
	r.h = r.n.add(r.n.sub(before).unit().sub(r.a.sub(r.n).unit()).unit().scale(1.01))
}

// motion is a rigid motion p → R(p-from)+to.
type motion struct {
	r1, r2, r3 vec3
	from, to   vec3
}

// frame returns the unit vectors of a residue's local frame.
func frame(n, a, c vec3) (e1, e2, e3 vec3) {
	e1 = c.sub(a).unit()
	v := n.sub(a)
	e2 = v.sub(e1.scale(v.dot(e1))).unit()
	return e1, e2, e1.cross(e2)
}

// between returns the motion that maps the frame of old onto the frame of now.
func between(old, now *residue) motion {
	a1, a2, a3 := frame(old.n, old.a, old.c)
	b1, b2, b3 := frame(now.n, now.a, now.c)
	row := func(p, q, r float64) vec3 { return a1.scale(p).add(a2.scale(q)).add(a3.scale(r)) }
	return motion{row(b1.x, b2.x, b3.x), row(b1.y, b2.y, b3.y), row(b1.z, b2.z, b3.z), old.a, now.a}
}

// apply returns the moved point.
func (m *motion) apply(p vec3) vec3 {
	p = p.sub(m.from)
	return vec3{m.r1.dot(p) + m.to.x, m.r2.dot(p) + m.to.y, m.r3.dot(p) + m.to.z}
}

// move applies the motion to all atoms of a residue.
func (m *motion) move(r *residue) {
	r.n, r.a, r.c, r.o = m.apply(r.n), m.apply(r.a), m.apply(r.c), m.apply(r.o)
	r.h, r.b, r.s = m.apply(r.h), m.apply(r.b), m.apply(r.s)
}
