package structure

import "math"

// The usual operations on vectors: difference, sum, product with a number, scalar product and length.
func sub(a, b Vec) Vec           { return Vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func add(a, b Vec) Vec           { return Vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func scale(a Vec, f float64) Vec { return Vec{a[0] * f, a[1] * f, a[2] * f} }
func dot(a, b Vec) float64       { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func norm(a Vec) float64         { return math.Sqrt(dot(a, a)) }

// cross returns the vector product a × b, which is perpendicular to both.
func cross(a, b Vec) Vec {
	return Vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// Distance returns the distance of two points in Å.
func Distance(a, b Vec) float64 { return math.Sqrt(distance2(a, b)) }

// distance2 returns the squared distance of two points in Å².
func distance2(a, b Vec) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// Centroid returns the mean of the points, or the origin where there are none.
func Centroid(p []Vec) Vec {
	var c Vec
	for _, v := range p {
		c[0] += v[0]
		c[1] += v[1]
		c[2] += v[2]
	}
	if n := float64(len(p)); n > 0 {
		c[0], c[1], c[2] = c[0]/n, c[1]/n, c[2]/n
	}
	return c
}

// RadiusOfGyration returns the radius of gyration in Å with equal weights, √(Σ|r−c|²/n) about the centroid c, or 0 for
// no points.
func RadiusOfGyration(p []Vec) float64 {
	if len(p) == 0 {
		return 0
	}
	c, s := Centroid(p), 0.0
	for _, v := range p {
		s += distance2(v, c)
	}
	return math.Sqrt(s / float64(len(p)))
}

// CentreOfMass returns the mean position in Å weighted by atomic mass (see [Mass]), or the origin where there are no
// atoms.
func CentreOfMass(atoms []Atom) Vec {
	var c Vec
	total := 0.0
	for i := range atoms {
		m := Mass(atoms[i].Element)
		total += m
		for k := range c {
			c[k] += m * atoms[i].Pos[k]
		}
	}
	if total > 0 {
		c = scale(c, 1/total)
	}
	return c
}
