package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"pleat/internal/mini/local"
)

type vec = [3]float64

// chain is one structure of the training file: positions in Å, torsions in degrees (NaN where undefined).
type chain struct {
	id            string
	aa            []int
	n, ca, c, cen []vec
	phi, psi      []float64
	state         []int
	weight        float64
}

// readChains reads >id, a sequence, an optional line of secondary structure, and a row of 12 numbers per residue.
func readChains(path string) ([]*chain, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		in = z
	}
	var out []*chain
	s := bufio.NewScanner(in)
	for line := 1; s.Scan(); line++ {
		t := strings.TrimSpace(s.Text())
		if strings.HasPrefix(t, ">") {
			if !s.Scan() {
				return nil, fmt.Errorf("%s line %d: no sequence after the name", path, line)
			}
			line++
			aa, ok := local.Index(strings.TrimSpace(s.Text()))
			if !ok {
				return nil, fmt.Errorf("%s line %d: a letter that is no standard residue", path, line)
			}
			out = append(out, &chain{id: strings.TrimPrefix(t, ">"), aa: aa})
			continue
		}
		fields := strings.Fields(t)
		if len(fields) != 12 || len(out) == 0 {
			continue // a secondary-structure line
		}
		var v [12]float64
		for i, x := range fields {
			if v[i], err = strconv.ParseFloat(x, 64); err != nil {
				return nil, fmt.Errorf("%s line %d: %w", path, line, err)
			}
		}
		c := out[len(out)-1]
		c.n, c.ca = append(c.n, vec(v[0:3])), append(c.ca, vec(v[3:6]))
		c.c, c.cen = append(c.c, vec(v[6:9])), append(c.cen, vec(v[9:12]))
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, c := range out {
		if len(c.aa) != len(c.ca) {
			return nil, fmt.Errorf("%s: %s has %d letters and %d rows", path, c.id, len(c.aa), len(c.ca))
		}
		c.derive()
	}
	return out, nil
}

func sub(a, b vec) vec             { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func plus(a, b vec, s float64) vec { return vec{a[0] + b[0]*s, a[1] + b[1]*s, a[2] + b[2]*s} }
func dot(a, b vec) float64         { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func norm(a vec) float64           { return math.Sqrt(dot(a, a)) }
func unit(a vec) vec               { return plus(vec{}, a, 1/norm(a)) }
func cross(a, b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
func distance(a, b vec) float64 { return norm(sub(a, b)) }
func dihedral(a, b, c, d vec) float64 {
	x, y, z := sub(b, a), sub(c, b), sub(d, c)
	n, m := cross(x, y), cross(y, z)
	return math.Atan2(dot(cross(n, m), unit(y)), dot(n, m)) * 180 / math.Pi
}

// derive fills torsions, states and the weight of a chain in training: compact chains count most, since
// lone helices cut out of complexes teach little about small folds.
func (c *chain) derive() {
	n := len(c.aa)
	c.phi, c.psi = make([]float64, n), make([]float64, n)
	for i := range n {
		c.phi[i], c.psi[i] = math.NaN(), math.NaN()
		if i > 0 && distance(c.c[i-1], c.n[i]) < 2 {
			c.phi[i] = dihedral(c.c[i-1], c.n[i], c.ca[i], c.c[i])
		}
		if i+1 < n && distance(c.c[i], c.n[i+1]) < 2 {
			c.psi[i] = dihedral(c.n[i], c.ca[i], c.c[i], c.n[i+1])
		}
	}
	helix, strand := c.bonds()
	c.state = make([]int, n)
	for i := range n {
		c.state[i] = stateOf(c.phi[i], c.psi[i], helix[i], strand[i])
	}
	var mid vec
	for _, p := range c.ca {
		mid = plus(mid, p, 1/float64(n))
	}
	rg := 0.0
	for _, p := range c.ca {
		rg += dot(sub(p, mid), sub(p, mid)) / float64(n)
	}
	switch wide := math.Sqrt(rg) / (2.2 * math.Pow(float64(n), 0.38)); {
	case wide < 1.12:
		c.weight = 1
	case wide < 1.25:
		c.weight = 0.7
	default:
		c.weight = 0.3
	}
}

func stateOf(phi, psi float64, helix, strand bool) int {
	switch {
	case math.IsNaN(phi) || math.IsNaN(psi):
		return -1
	case phi > 0 && psi > -60 && psi < 100:
		return local.Left
	case phi > 0:
		return local.Other
	case psi > -120 && psi < 50 && helix:
		return local.Helix
	case psi > -120 && psi < 50:
		return local.Alpha
	case strand:
		return local.Strand
	}
	return local.Beta
}

// bonds assigns helix and strand from backbone hydrogen bonds (Kabsch and Sander, Biopolymers 22, 2577, 1983).
func (c *chain) bonds() (helix, strand []bool) {
	n := len(c.aa)
	bond := make([][]bool, n) // bond[d][a]: N-H of d to C=O of a
	o, h := make([]vec, n), make([]vec, n)
	for i := range n {
		bond[i] = make([]bool, n)
		if i+1 < n {
			o[i] = plus(c.c[i], unit(sub(unit(sub(c.c[i], c.ca[i])), unit(sub(c.n[i+1], c.c[i])))), 1.231)
		}
		if i > 0 {
			h[i] = plus(c.n[i], unit(sub(unit(sub(c.n[i], c.c[i-1])), unit(sub(c.ca[i], c.n[i])))), 1.01)
		}
	}
	for d := 1; d < n; d++ {
		for a := 0; a+1 < n; a++ {
			if a-d < 2 && d-a < 2 || local.Letters[c.aa[d]] == 'P' || distance(c.ca[a], c.ca[d]) > 9 {
				continue
			}
			e := 27.9 * (1/distance(o[a], c.n[d]) + 1/distance(c.c[a], h[d]) - 1/distance(o[a],
				h[d]) - 1/distance(c.c[a], c.n[d]))
			bond[d][a] = e < -0.5
		}
	}
	has := func(d, a int) bool { return d >= 0 && a >= 0 && d < n && a < n && bond[d][a] }
	helix, strand = make([]bool, n), make([]bool, n)
	for i := 1; i+4 < n; i++ {
		if has(i+3, i-1) && has(i+4, i) {
			for k := i; k < i+4; k++ {
				helix[k] = true
			}
		}
	}
	for i := 1; i+1 < n; i++ {
		for j := i + 3; j+1 < n; j++ {
			parallel := has(i, j-1) && has(j+1, i) || has(j, i-1) && has(i+1, j)
			anti := has(i, j) && has(j, i) || has(j+1, i-1) && has(i+1, j-1)
			if parallel || anti {
				strand[i], strand[j] = true, true
			}
		}
	}
	return helix, strand
}
