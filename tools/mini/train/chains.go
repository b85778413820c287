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

// vec is a position or direction in Å.
type vec = [3]float64

// chain is one structure of the training file. Its slices have one entry per residue.
type chain struct {
	id            string
	aa            []int     // residue types, as indices into local.Letters
	n, ca, c, cen []vec     // positions in Å; cen is the centroid of the side chain
	phi, psi      []float64 // degrees, -180 to 180; NaN where undefined
	state         []int     // states of the local model; -1 where a torsion is undefined
	weight        float64   // probability of use in an epoch, 0 to 1
}

// readChains reads a training file, compressed with gzip if its name ends in .gz, and derives torsions and states. Each
// chain is a line ">id", a sequence, an optional line of secondary structure, which is ignored, and a row of 12 numbers
// per residue.
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
				return nil, fmt.Errorf("%s line %d: a letter that is not a standard residue", path, line)
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

// Vector arithmetic. plus returns a + s·b, and unit the direction of a vector.
func sub(a, b vec) vec             { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func plus(a, b vec, s float64) vec { return vec{a[0] + b[0]*s, a[1] + b[1]*s, a[2] + b[2]*s} }
func dot(a, b vec) float64         { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func norm(a vec) float64           { return math.Sqrt(dot(a, a)) }
func unit(a vec) vec               { return plus(vec{}, a, 1/norm(a)) }
func cross(a, b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
func distance(a, b vec) float64 { return norm(sub(a, b)) }

// dihedral returns the torsion about the bond from b to c in degrees, -180 to 180.
func dihedral(a, b, c, d vec) float64 {
	x, y, z := sub(b, a), sub(c, b), sub(d, c)
	n, m := cross(x, y), cross(y, z)
	return math.Atan2(dot(cross(n, m), unit(y)), dot(n, m)) * 180 / math.Pi
}

// derive computes the torsions and states of a chain from its positions, and its weight in the training. Two residues
// whose C and N are 2 Å apart or more are not bonded, and have no torsions across the gap. Compact chains have the
// largest weight, since lone helices cut out of complexes teach little about small folds.
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
	c.state = make([]int, n)
	for i, ss := range c.bonds().secondary() {
		c.state[i] = stateOf(c.phi[i], c.psi[i], ss)
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

// stateOf returns the state of a residue from its torsions in degrees and its secondary structure; -1 where a torsion
// is undefined.
func stateOf(phi, psi float64, ss secondary) int {
	switch {
	case math.IsNaN(phi) || math.IsNaN(psi):
		return -1
	case phi > 0 && psi > -60 && psi < 100:
		return local.Left
	case phi > 0:
		return local.Other
	case psi > -120 && psi < 50 && ss.helix:
		return local.Helix
	case psi > -120 && psi < 50:
		return local.Alpha
	case ss.strand:
		return local.Strand
	}
	return local.Beta
}

// secondary is the secondary structure of a residue, by hydrogen bonds alone. A residue can be part of both; stateOf
// decides by its torsions.
type secondary struct{ helix, strand bool }

// bonds are the backbone hydrogen bonds of a chain: bonds[d][a] is the one from N-H of residue d to C=O of residue a.
type bonds [][]bool

// has reports whether residue d donates a hydrogen bond to residue a. Residues outside the chain have none.
func (b bonds) has(d, a int) bool {
	return d >= 0 && a >= 0 && d < len(b) && a < len(b) && b[d][a]
}

// bonds returns the hydrogen bonds of energy below -0.5 kcal/mol (Kabsch and Sander, Biopolymers 22, 2577, 1983).
func (c *chain) bonds() bonds {
	n := len(c.aa)
	out := make(bonds, n)
	o, h := c.carbonylsAndAmides()
	for d := range out {
		out[d] = make([]bool, n)
		if d == 0 || local.Letters[c.aa[d]] == 'P' {
			continue // no amide hydrogen
		}
		for a := 0; a+1 < n; a++ {
			if a-d < 2 && d-a < 2 || distance(c.ca[a], c.ca[d]) > 9 {
				continue
			}
			e := 27.9 * (1/distance(o[a], c.n[d]) + 1/distance(c.c[a], h[d]) -
				1/distance(o[a], h[d]) - 1/distance(c.c[a], c.n[d]))
			out[d][a] = e < -0.5
		}
	}
	return out
}

// carbonylsAndAmides returns the positions of each residue's carbonyl oxygen and amide hydrogen, by ideal geometry: the
// training file has neither. The last residue has no oxygen and the first no hydrogen.
func (c *chain) carbonylsAndAmides() (o, h []vec) {
	n := len(c.aa)
	o, h = make([]vec, n), make([]vec, n)
	for i := range n {
		if i+1 < n {
			o[i] = plus(c.c[i], unit(sub(unit(sub(c.c[i], c.ca[i])), unit(sub(c.n[i+1], c.c[i])))), 1.231)
		}
		if i > 0 {
			h[i] = plus(c.n[i], unit(sub(unit(sub(c.n[i], c.c[i-1])), unit(sub(c.ca[i], c.n[i])))), 1.01)
		}
	}
	return o, h
}

// secondary returns each residue's secondary structure: a helix has two consecutive turns of four residues, a strand at
// least one bridge to another strand.
func (b bonds) secondary() []secondary {
	n := len(b)
	out := make([]secondary, n)
	for i := 1; i+4 < n; i++ {
		if b.has(i+3, i-1) && b.has(i+4, i) {
			for k := i; k < i+4; k++ {
				out[k].helix = true
			}
		}
	}
	for i := 1; i+1 < n; i++ {
		for j := i + 3; j+1 < n; j++ {
			if b.parallel(i, j) || b.antiparallel(i, j) {
				out[i].strand, out[j].strand = true, true
			}
		}
	}
	return out
}

// parallel reports whether residues i and j form a parallel bridge.
func (b bonds) parallel(i, j int) bool {
	return b.has(i, j-1) && b.has(j+1, i) || b.has(j, i-1) && b.has(i+1, j)
}

// antiparallel reports whether residues i and j form an antiparallel bridge.
func (b bonds) antiparallel(i, j int) bool {
	return b.has(i, j) && b.has(j, i) || b.has(j+1, i-1) && b.has(i+1, j-1)
}
