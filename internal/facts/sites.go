package facts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"pleat/internal/structure"
)

// Select returns the polymer sites that pass, in file order.
func (x *Index) Select(pass func(site int) bool) (out []int) {
	for _, p := range x.Polymers {
		for i := p.Lo; i < p.Hi; i++ {
			if pass(i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// Residues returns all polymer sites, in file order.
func (x *Index) Residues() []int { return x.Select(func(int) bool { return true }) }

// lookup is the sites of polymers in the order of their numbers, and the polymers by the name of their chain.
type lookup struct {
	byNumber []int
	polymers map[string][]Polymer
}

func (x *Index) newLookup() lookup {
	l := lookup{byNumber: x.Residues(), polymers: map[string][]Polymer{}}
	slices.SortStableFunc(l.byNumber, func(i, j int) int {
		return cmp.Compare(x.Sites[i].Ref.Number, x.Sites[j].Ref.Number)
	})
	for _, p := range x.Polymers {
		id := x.Sites[p.Lo].Ref.Chain
		l.polymers[id] = append(l.polymers[id], p)
	}
	return l
}

// At returns the polymer sites with a residue number, in file order. The list must not change.
func (x *Index) At(number int) []int {
	byNumber := func(site, number int) int { return cmp.Compare(x.Sites[site].Ref.Number, number) }
	all := x.lookup().byNumber
	from, _ := slices.BinarySearchFunc(all, number, byNumber)
	n, _ := slices.BinarySearchFunc(all[from:], number+1, byNumber)
	return all[from : from+n]
}

// PolymersOf returns the polymers that a chain has by its name, in file order. The list must not change.
func (x *Index) PolymersOf(chain string) []Polymer { return x.lookup().polymers[chain] }

// Runs cuts sites in file order into runs of a chain without a gap.
func (x *Index) Runs(sites []int) [][]int {
	return cutRuns(sites, func(a, b int) bool { return x.Sites[a].Chain == x.Sites[b].Chain })
}

// Segments cuts sites in file order into runs of a chain without a gap and of one state of secondary structure.
func (x *Index) Segments(sites []int) [][]int {
	return cutRuns(sites, func(a, b int) bool {
		return x.Sites[a].Chain == x.Sites[b].Chain && x.Sites[a].State == x.Sites[b].State
	})
}

// cutRuns cuts sites where one does not follow the other, or does not go with the first of its run.
func cutRuns(sites []int, together func(a, b int) bool) (out [][]int) {
	for from, i := 0, 1; i <= len(sites); i++ {
		if i == len(sites) || sites[i] != sites[i-1]+1 || !together(sites[from], sites[i]) {
			out, from = append(out, sites[from:i]), i
		}
	}
	return out
}

// Span names sites that follow each other in a chain by their ends, others one by one, at most 30; empty: none.
func (x *Index) Span(sites []int) string {
	if len(sites) > 0 && len(x.Runs(sites)) == 1 {
		return Span(x.Sites[sites[0]].Ref, x.Sites[sites[len(sites)-1]].Ref)
	}
	return x.List(sites, 30)
}

// Near returns the closest pair of atoms of each polymer residue within radius Å of the anchors, by its site, and
// separately the neighbours of the anchors in the chain, which do not count as near. B is the atom of the anchor. It
// takes what it looks at off left, and returns false once nothing is left; see Around.
func (x *Index) Near(anchors []int, radius float64, left *int) (near map[int]AtomPair, next []int, ok bool) {
	near = map[int]AtomPair{}
	isAnchor := map[int]bool{}
	for _, a := range anchors {
		isAnchor[a] = true
	}
	around, ok := x.Around(anchors, radius, left)
	for i, p := range around {
		nextTo := func(a int) bool {
			if !isAnchor[a] || !x.Adjacent(a, i) {
				return false
			}
			pair, ok := x.Closest(i, a)
			return ok && pair.Distance <= radius
		}
		switch {
		case !x.Sites[i].Kind.Polymer() || isAnchor[i]:
		case nextTo(i-1) || nextTo(i+1):
			next = append(next, i)
		default:
			near[i] = x.Pair(p[0], p[1])
		}
	}
	slices.Sort(next)
	return near, next, ok
}

// ClosestAtoms returns the pair of atoms of two lists of positions in Atoms that are nearest to each other, and false
// where a list is empty.
func (x *Index) ClosestAtoms(a, b []int) (AtomPair, bool) {
	best, at := math.Inf(1), [2]int{}
	for _, p := range a {
		for _, q := range b {
			if d := structure.Distance(x.Points[p], x.Points[q]); d < best {
				best, at = d, [2]int{p, q}
			}
		}
	}
	if math.IsInf(best, 1) {
		return AtomPair{}, false
	}
	return x.Pair(at[0], at[1]), true
}

// AtomsOf returns the positions in Atoms of the heavy atoms of sites, or of those with a name if it is not empty.
func (x *Index) AtomsOf(sites []int, name string) (out []int) {
	for _, i := range sites {
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			if name == "" || x.Atoms[p].Name == name {
				out = append(out, p)
			}
		}
	}
	return out
}

// CentreDistance returns the distance in Å between the centres of two residues (CA, or C1' of nucleotides), and false
// where one is missing.
func (x *Index) CentreDistance(i, j int) (float64, bool) {
	a, okA := x.Sites[i].Residue.Centre()
	b, okB := x.Sites[j].Residue.Centre()
	return structure.Distance(a, b), okA && okB
}

// Letters returns the one-letter codes of polymer sites.
func (x *Index) Letters(sites []int) string {
	var out strings.Builder
	for _, i := range sites {
		out.WriteByte(x.Sites[i].Letter)
	}
	return out.String()
}

// Area returns the accessible surface of residues in Å²; see Index.HasSurface.
func (x *Index) Area(sites []int) (sum float64) {
	for _, i := range sites {
		sum += x.Sites[i].Area
	}
	return sum
}
