package facts

import (
	"cmp"
	"context"
	"math"
	"slices"

	"pleat/internal/structure"
)

// Shape is the size and the surface of all polymers together.
type Shape struct {
	// Gyration is the mass-weighted radius of gyration of all heavy atoms of polymers; nil: there are none.
	Gyration *float64 `json:"radius_of_gyration_A"` // heavy atoms, weighed by mass
	// Longest is between the centres of two residues; nil where no two have one, or more than 10,000.
	Longest  *float64    `json:"longest_distance_A"`
	LongestA *ResidueRef `json:"longest_from"`
	LongestB *ResidueRef `json:"longest_to"`
	// Area is the accessible surface of the polymers, with ligands present. It and the counts are nil where the atoms
	// of a chain that they need are not there, see Need.
	Area    *float64 `json:"accessible_area_A2"`
	Buried  *int     `json:"buried_residues"`  // of proteins, less than 20 % accessible
	Exposed *int     `json:"exposed_residues"` // of proteins
}

// Patch is a group of at least three exposed hydrophobic residues in contact.
type Patch struct {
	Residues []ResidueRef `json:"residues"`
	// Area is the accessible surface of the group.
	Area float64 `json:"accessible_area_A2"`
}

// Parameters of the surface: the probe radius of water in Å, the points on each atom's sphere, the accessible
// fraction below which a residue is buried, and the residues that count as hydrophobic.
const (
	probe       = 1.4
	spherePoint = 100
	BuriedBelow = 0.20
	hydrophobic = "AVILMFWP"
)

// radius returns the van der Waals radius in Å: Bondi, J. Phys. Chem. 68, 441 (1964).
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

// fullArea is the accessible surface in Å² of a residue X in Gly-X-Gly: Tien et al., PLOS ONE 8, e80635 (2013),
// theoretical values.
var fullArea = map[byte]float64{
	'A': 129, 'R': 274, 'N': 195, 'D': 193, 'C': 167, 'Q': 225, 'E': 223, 'G': 104, 'H': 224, 'I': 197, 'L': 201,
	'K': 236, 'M': 224, 'F': 240, 'P': 159, 'S': 155, 'T': 172, 'W': 285, 'Y': 263, 'V': 174,
}

// Accessible returns the fraction of a protein residue's surface that water can reach, relative to Gly-X-Gly; it
// can exceed 1 at the ends of a chain. It returns false where the fraction is not known, also because atoms are not
// there.
func (s *Site) Accessible() (float64, bool) {
	full, ok := fullArea[s.Letter]
	if !ok || s.Kind != structure.Protein || !s.Whole {
		return 0, false
	}
	return s.Area / full, true
}

// sphere holds evenly distributed points on the unit sphere.
var sphere = func() (out [spherePoint]structure.Vec) {
	for i := range out { // golden spiral
		z := 1 - 2*(float64(i)+0.5)/spherePoint
		r, t := math.Sqrt(1-z*z), math.Pi*(3-math.Sqrt(5))*float64(i)
		out[i] = structure.Vec{r * math.Cos(t), r * math.Sin(t), z}
	}
	return out
}()

// accessibleArea returns the accessible area in Å² of one atom in the presence of those that count: Shrake and
// Rupley, J. Mol. Biol. 79, 351 (1973).
func (x *Index) accessibleArea(p int, near []int, counts func(int) bool) float64 {
	r := radius(x.Atoms[p].Element) + probe
	blockers := x.blockers[:0]
	for _, q := range near {
		if q != p && counts(q) {
			blockers = append(blockers, q)
		}
	}
	x.blockers = blockers
	free, last := 0, 0
	for _, u := range sphere {
		v := structure.Vec{x.Points[p][0] + r*u[0], x.Points[p][1] + r*u[1], x.Points[p][2] + r*u[2]}
		blocked := func(q int) bool {
			s := radius(x.Atoms[q].Element) + probe
			dx, dy, dz := v[0]-x.Points[q][0], v[1]-x.Points[q][1], v[2]-x.Points[q][2]
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

// surfaceReach is the largest distance in Å at which one atom can cover another's surface.
const surfaceReach = 2 * (1.80 + probe)

// surface computes the accessible area of every site, with ligands present, and in the same pass which sites are in
// contact.
func (x *Index) surface(ctx context.Context) error {
	x.lastLink = make([]int32, len(x.Sites))
	defer func() { x.lastLink = nil }()
	var buf []int
	for i := range x.Sites {
		from := len(x.linked)
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			buf = x.grid.Near(buf[:0], x.Points[p], surfaceReach)
			if err := x.examine(ctx, len(buf)); err != nil {
				return err
			}
			x.Sites[i].Area += x.accessibleArea(p, buf, func(int) bool { return true })
			if x.link(p, buf, from); len(x.linked) > maxLinks {
				return errCrowded
			}
		}
		x.sortLinks(from)
	}
	x.HasSurface = true
	return nil
}

// buriedArea returns the surface in Å² that two chains bury: the areas of both alone minus that of the pair.
func (x *Index) buriedArea(ctx context.Context, a, b Polymer) (float64, error) {
	inside := func(r Polymer, q int) bool { o := int(x.Owner[q]); return r.Lo <= o && o < r.Hi }
	hidden := 0.0
	var buf []int
	for _, side := range [2][2]Polymer{{a, b}, {b, a}} {
		own, other := side[0], side[1]
		for p := x.Sites[own.Lo].Lo; p < x.Sites[own.Hi-1].Hi; p++ {
			buf = x.grid.Near(buf[:0], x.Points[p], surfaceReach)
			if err := x.examine(ctx, len(buf)); err != nil {
				return 0, err
			}
			if !slices.ContainsFunc(buf, func(q int) bool { return inside(other, q) }) {
				continue
			}
			hidden += x.accessibleArea(p, buf, func(q int) bool { return inside(own, q) }) -
				x.accessibleArea(p, buf, func(q int) bool { return inside(own, q) || inside(other, q) })
		}
	}
	return hidden, nil
}

// Gyration returns the mass-weighted radius of gyration in Å of the heavy atoms of some sites; 0 without atoms.
func (x *Index) Gyration(sites []int) float64 {
	var m float64
	var c structure.Vec
	atoms := x.AtomsOf(sites, "")
	for _, p := range atoms {
		w := structure.Mass(x.Atoms[p].Element)
		m += w
		for k := range c {
			c[k] += w * x.Points[p][k]
		}
	}
	if m == 0 {
		return 0
	}
	for k := range c {
		c[k] /= m
	}
	sum := 0.0
	for _, p := range atoms {
		d := structure.Distance(x.Points[p], c)
		sum += structure.Mass(x.Atoms[p].Element) * d * d
	}
	return math.Sqrt(sum / m)
}

// gyration is Gyration as facts have it; nil: there is no atom.
func (x *Index) gyration(sites []int) *float64 {
	if !slices.ContainsFunc(sites, func(i int) bool { return x.Sites[i].Lo < x.Sites[i].Hi }) {
		return nil
	}
	return new(Round(x.Gyration(sites), 2))
}

// maxLongest is the number of residues up to which the longest distance between two of them is searched.
const maxLongest = 10_000

// measureSize measures the polymers together: the radius of gyration, and the two residues farthest apart.
func (f *Facts) measureSize(ctx context.Context) error {
	x := f.index
	var centres []structure.Vec
	var owners []int
	for _, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			if v, ok := x.Sites[i].Residue.Centre(); ok {
				centres, owners = append(centres, v), append(owners, i)
			}
		}
	}
	f.Shape.Gyration = x.gyration(x.Residues())
	if len(centres) < 2 || len(centres) > maxLongest {
		return nil
	}
	longest, from, to := -1.0, 0, 0 // squared until the end
	for i := range centres {
		if err := ctx.Err(); err != nil {
			return err
		}
		for j := i + 1; j < len(centres); j++ {
			u, v := &centres[i], &centres[j]
			dx, dy, dz := u[0]-v[0], u[1]-v[1], u[2]-v[2]
			if d := dx*dx + dy*dy + dz*dz; d > longest {
				longest, from, to = d, owners[i], owners[j]
			}
		}
	}
	if longest < 0 || math.IsInf(longest, 0) {
		return nil // coordinates that are no numbers
	}
	f.Shape.Longest = new(Round(math.Sqrt(longest), 2))
	f.Shape.LongestA, f.Shape.LongestB = &x.Sites[from].Ref, &x.Sites[to].Ref
	return nil
}

// exposure sums up the surface of all polymers, unless atoms that it needs are not there.
func (f *Facts) exposure(context.Context) error {
	x := f.index
	if len(x.Polymers) == 0 || len(x.withoutAtoms()) > 0 {
		return nil
	}
	area, buried, exposed := 0.0, 0, 0
	for _, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			area += x.Sites[i].Area
			if share, ok := x.Sites[i].Accessible(); ok && share < BuriedBelow {
				buried++
			} else if ok {
				exposed++
			}
		}
	}
	f.Shape.Area, f.Shape.Buried, f.Shape.Exposed = new(Round(area, 0)), &buried, &exposed
	return nil
}

// patches groups exposed hydrophobic residues in contact, and fills in the ten largest groups of at least three.
func (f *Facts) patches(ctx context.Context) error {
	x := f.index
	touching := make([][]int32, len(x.Sites))
	member := func(i int) bool {
		share, ok := x.Sites[i].Accessible()
		return ok && share >= BuriedBelow && slices.Contains([]byte(hydrophobic), x.Sites[i].Letter)
	}
	for _, l := range x.linked {
		if a, b := int(l.a), int(l.b); member(a) && member(b) {
			touching[a], touching[b] = append(touching[a], l.b), append(touching[b], l.a)
		}
	}
	seen := make([]bool, len(x.Sites))
	for i := range x.Sites {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[i] || !member(i) {
			continue
		}
		seen[i] = true
		group := []int{i}
		for k := 0; k < len(group); k++ {
			for _, j := range touching[group[k]] {
				if !seen[j] {
					seen[j] = true
					group = append(group, int(j))
				}
			}
		}
		if len(group) < 3 {
			continue
		}
		slices.Sort(group)
		p := Patch{Residues: x.Refs(Head(group, maxNear))}
		for _, j := range group {
			p.Area += x.Sites[j].Area
		}
		p.Area = Round(p.Area, 0)
		f.Patches = append(f.Patches, p)
	}
	slices.SortStableFunc(f.Patches, func(a, b Patch) int { return cmp.Compare(b.Area, a.Area) })
	f.Patches = Head(f.Patches, 10)
	return nil
}
