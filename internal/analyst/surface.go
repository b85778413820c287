package analyst

import (
	"cmp"
	"math"
	"slices"

	"pleat/internal/structure"
)

// Shape is the size of the polymers together.
type Shape struct {
	Gyration float64    `json:"radius_of_gyration_A"` // heavy atoms, weighed by mass
	Longest  float64    `json:"longest_distance_A"`   // between residue centres
	LongestA ResidueRef `json:"longest_from"`
	LongestB ResidueRef `json:"longest_to"`
	Area     float64    `json:"accessible_area_A2"`
	Buried   int        `json:"buried_residues"`  // of proteins, less than 20 % accessible
	Exposed  int        `json:"exposed_residues"` // of proteins
}

// Patch is a group of touching hydrophobic residues that lie at the surface.
type Patch struct {
	Residues []ResidueRef `json:"residues"`
	Area     float64      `json:"accessible_area_A2"`
}

const (
	probe       = 1.4
	spherePoint = 100
	buriedBelow = 0.20
	hydrophobic = "AVILMFWP"
)

// Radii of van der Waals in Å: Bondi, J. Phys. Chem. 68, 441 (1964).
func radius(element string) float64 {
	switch element {
	case "N":
		return 1.55
	case "O":
		return 1.52
	case "S", "P":
		return 1.80
	}
	return 1.70
}

// fullArea is the accessible surface in Å² of a residue X in Gly-X-Gly: Tien et al., PLOS ONE 8, e80635 (2013), theoretical.
var fullArea = map[byte]float64{
	'A': 129, 'R': 274, 'N': 195, 'D': 193, 'C': 167, 'Q': 225, 'E': 223, 'G': 104, 'H': 224, 'I': 197, 'L': 201, 'K': 236,
	'M': 224, 'F': 240, 'P': 159, 'S': 155, 'T': 172, 'W': 285, 'Y': 263, 'V': 174,
}

// accessible is the share of a protein residue's surface that a water can reach.
func (s *site) accessible() (float64, bool) {
	full, ok := fullArea[s.letter]
	if !ok || s.kind != structure.Protein || s.hi == s.lo {
		return 0, false
	}
	return s.area / full, true
}

var sphere = func() (out [spherePoint]structure.Vec) {
	for i := range out { // golden spiral
		z := 1 - 2*(float64(i)+0.5)/spherePoint
		r, t := math.Sqrt(1-z*z), math.Pi*(3-math.Sqrt(5))*float64(i)
		out[i] = structure.Vec{r * math.Cos(t), r * math.Sin(t), z}
	}
	return out
}()

// reach is one atom's accessible area among those that count: Shrake and Rupley, J. Mol. Biol. 79, 351 (1973).
func (x *index) reach(p int, near []int, counts func(int) bool) float64 {
	r := radius(x.atoms[p].Element) + probe
	var blockers []int
	for _, q := range near {
		if q != p && counts(q) {
			blockers = append(blockers, q)
		}
	}
	free, last := 0, 0
	for _, u := range sphere {
		v := structure.Vec{x.points[p][0] + r*u[0], x.points[p][1] + r*u[1], x.points[p][2] + r*u[2]}
		blocked := func(q int) bool {
			s := radius(x.atoms[q].Element) + probe
			dx, dy, dz := v[0]-x.points[q][0], v[1]-x.points[q][1], v[2]-x.points[q][2]
			return dx*dx+dy*dy+dz*dz < s*s
		}
		hit := last < len(blockers) && blocked(blockers[last]) // the next point is mostly hidden by the same atom
		for k := 0; !hit && k < len(blockers); k++ {
			if hit = blocked(blockers[k]); hit {
				last = k
			}
		}
		if !hit {
			free++
		}
	}
	return 4 * math.Pi * r * r * float64(free) / spherePoint
}

const surfaceReach = 2 * (1.80 + probe)

// surface computes every site's accessible area, ligands hiding what they touch, and on the way which sites touch.
func (x *index) surface() {
	found := links{}
	var buf []int
	for p := range x.points {
		buf = x.grid.Near(buf[:0], x.points[p], surfaceReach)
		x.sites[x.owner[p]].area += x.reach(p, buf, func(int) bool { return true })
		found.take(x, p, buf)
	}
	x.linked, x.surfOK = found.sorted(), true
}

// buriedArea is what two chains hide of each other: the areas of both alone less that of the pair.
func (x *index) buriedArea(a, b run) float64 {
	inside := func(r run, q int) bool { o := int(x.owner[q]); return r.lo <= o && o < r.hi }
	hidden := 0.0
	var buf []int
	for _, side := range [2][2]run{{a, b}, {b, a}} {
		own, other := side[0], side[1]
		for p := x.sites[own.lo].lo; p < x.sites[own.hi-1].hi; p++ {
			buf = x.grid.Near(buf[:0], x.points[p], surfaceReach)
			if !slices.ContainsFunc(buf, func(q int) bool { return inside(other, q) }) {
				continue
			}
			hidden += x.reach(p, buf, func(q int) bool { return inside(own, q) }) -
				x.reach(p, buf, func(q int) bool { return inside(own, q) || inside(other, q) })
		}
	}
	return hidden
}

// gyration of the atoms from lo to hi, weighed by mass.
func (x *index) gyration(lo, hi int) float64 {
	var m float64
	var c structure.Vec
	weigh := func(p int) float64 {
		if w, ok := structure.Mass(x.atoms[p].Element); ok {
			return w
		}
		w, _ := structure.Mass("C")
		return w
	}
	for p := lo; p < hi; p++ {
		w := weigh(p)
		m += w
		for k := range c {
			c[k] += w * x.points[p][k]
		}
	}
	if m == 0 {
		return 0
	}
	for k := range c {
		c[k] /= m
	}
	sum := 0.0
	for p := lo; p < hi; p++ {
		d := structure.Distance(x.points[p], c)
		sum += weigh(p) * d * d
	}
	return math.Sqrt(sum / m)
}

// shape measures the polymers together.
func (f *Facts) shape() {
	x := f.index
	if len(x.polymers) == 0 {
		return
	}
	var centres []structure.Vec
	var owners []int
	whole := &index{}
	for _, r := range x.polymers {
		for i := r.lo; i < r.hi; i++ {
			s := &x.sites[i]
			if v, ok := s.res.Centre(); ok {
				centres, owners = append(centres, v), append(owners, i)
			}
			f.Shape.Area += s.area
			if share, ok := s.accessible(); ok && share < buriedBelow {
				f.Shape.Buried++
			} else if ok {
				f.Shape.Exposed++
			}
		}
		lo, hi := x.sites[r.lo].lo, x.sites[r.hi-1].hi
		whole.atoms, whole.points = append(whole.atoms, x.atoms[lo:hi]...), append(whole.points, x.points[lo:hi]...)
	}
	f.Shape.Area = round(f.Shape.Area, 0)
	f.Shape.Gyration = round(whole.gyration(0, len(whole.points)), 2)
	if len(centres) > 10_000 {
		return
	}
	for i := range centres {
		for j := i + 1; j < len(centres); j++ {
			u, v := &centres[i], &centres[j]
			dx, dy, dz := u[0]-v[0], u[1]-v[1], u[2]-v[2]
			if d := dx*dx + dy*dy + dz*dz; d > f.Shape.Longest { // squared until the end
				f.Shape.Longest, f.Shape.LongestA, f.Shape.LongestB = d, x.sites[owners[i]].ref, x.sites[owners[j]].ref
			}
		}
	}
	f.Shape.Longest = round(math.Sqrt(f.Shape.Longest), 2)
}

// patches joins accessible hydrophobic residues that touch; three make a patch.
func (f *Facts) patches() {
	x := f.index
	member := func(i int) bool {
		share, ok := x.sites[i].accessible()
		return ok && share >= buriedBelow && slices.Contains([]byte(hydrophobic), x.sites[i].letter)
	}
	seen := make([]bool, len(x.sites))
	for i := range x.sites {
		if seen[i] || !member(i) {
			continue
		}
		seen[i] = true
		group := []int{i}
		for k := 0; k < len(group); k++ {
			for _, j := range x.around(group[k], contactCut) {
				if !seen[j] && member(j) {
					seen[j] = true
					group = append(group, j)
				}
			}
		}
		if len(group) < 3 {
			continue
		}
		slices.Sort(group)
		p := Patch{Residues: x.refs(head(group, maxNear))}
		for _, j := range group {
			p.Area += x.sites[j].area
		}
		p.Area = round(p.Area, 0)
		f.Patches = append(f.Patches, p)
	}
	slices.SortStableFunc(f.Patches, func(a, b Patch) int { return cmp.Compare(b.Area, a.Area) })
	f.Patches = head(f.Patches, 10)
}
