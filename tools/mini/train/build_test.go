package main

import (
	"fmt"
	"math"
	"strings"
)

// rows writes n residues of one phi and psi in the form of the training file.
func rows(n int, phi, psi float64) string {
	at := []vec{{0, 0, 0}, {1.458, 0, 0}, {1.458 + 1.525*math.Cos(69*math.Pi/180), 1.525 * math.Sin(69*math.Pi/180), 0}}
	next := func(length, angle, torsion float64) {
		k := len(at)
		at = append(at, extend(at[k-3], at[k-2], at[k-1], length, angle, torsion))
	}
	for range n - 1 {
		next(1.329, 117, psi)
		next(1.458, 121.7, 180)
		next(1.525, 111, phi)
	}
	var b strings.Builder
	for i := range n {
		for _, p := range []vec{at[3*i], at[3*i+1], at[3*i+2], at[3*i+1]} {
			fmt.Fprintf(&b, "%.4f %.4f %.4f ", p[0], p[1], p[2])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func extend(a, b, c vec, length, angle, torsion float64) vec {
	angle, torsion = angle*math.Pi/180, torsion*math.Pi/180
	u := unit(sub(c, b))
	n := unit(cross(sub(b, a), u))
	m := cross(n, u)
	p := plus(c, u, -length*math.Cos(angle))
	p = plus(p, m, length*math.Sin(angle)*math.Cos(torsion))
	return plus(p, n, length*math.Sin(angle)*math.Sin(torsion))
}
