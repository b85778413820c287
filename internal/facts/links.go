package facts

import (
	"fmt"
	"math"
	"strings"

	"pleat/internal/structure"
)

// Gap is a broken link of a chain: two residues that follow each other in the file and are not bonded.
type Gap struct {
	After  ResidueRef `json:"after"`
	Before ResidueRef `json:"before"`
	// Missing is how many residues are missing between the two, by the whole sequence where Exact is set and else by
	// the numbers; nil: neither tells.
	Missing *int `json:"missing"`
	Exact   bool `json:"exact"`
	// Distance is between the linking atoms or, where they are missing, between the same atom of both residues (CA, P,
	// C4' or C1'); nil: they have none in common.
	Distance *float64 `json:"distance_A"`
}

// String says where the link is broken, and what is missing there.
func (g Gap) String() string {
	switch {
	case g.Missing != nil && g.Exact:
		return fmt.Sprintf("Gap between %s and %s, %d missing by the whole sequence.", g.After, g.Before, *g.Missing)
	case g.Missing != nil:
		return fmt.Sprintf("Gap between %s and %s, %d missing by the numbers.", g.After, g.Before, *g.Missing)
	}
	return fmt.Sprintf("The chain is broken between %s and %s.", g.After, g.Before)
}

// Following are two residues that follow each other in a file.
type Following struct {
	After  ResidueRef `json:"after"`
	Before ResidueRef `json:"before"`
}

// Links are the links between the residues of a chain that are not as one expects. Each list has at most maxList
// entries.
type Links struct {
	// Gaps are the broken links.
	Gaps []Gap `json:"gaps,omitempty"`
	// Jumps are links that are there, between residues whose numbers do not follow each other: numbering schemes leave
	// numbers out, and so do deletions.
	Jumps []Following `json:"number_jumps,omitempty"`
	// Untold are links of which the atoms that are there do not tell whether they are broken.
	Untold []Following `json:"links_not_known,omitempty"`
	// Circular reports that the last residue is bonded to the first one.
	Circular bool `json:"circular,omitempty"`
	// Before and After are how many residues the whole sequence has before the first and after the last residue; nil:
	// the file does not tell.
	Before *int `json:"missing_before_first,omitempty"`
	After  *int `json:"missing_after_last,omitempty"`
}

// What a link is.
const (
	notKnown = iota
	intact
	broken
)

// Limits of links in Å. A peptide bond has 1.33, a bond of phosphorus 1.6.
const (
	linkLimit = 2.5 // between the linking atoms
	bondLimit = 2.0 // between any two heavy atoms, of residues that are linked by other atoms
)

// anchor is an atom whose distance to the same atom of the next residue tells whether the two are linked: they are up to
// linked Å, and are not beyond broken Å.
type anchor struct {
	name           string
	linked, broken float64
}

// anchors are tried in order. Of 12,636 peptide bonds in 83 PDB entries the longest CA–CA was 3.98 Å, and of 12,536
// residues two apart 0.03 % were closer than 4.5 Å. In dynamics with one bead per residue (CALVADOS) the link varies by
// 0.18 Å around 3.8 Å. The chain between two P, or two C4', is at most 7.7 Å long.
var anchors = map[structure.Kind][]anchor{
	structure.Protein: {{"CA", 4.5, 4.5}},
	structure.RNA:     {{"P", 8, 8}, {"C4'", 8, 8}, {"C1'", 8.5, 11}},
	structure.DNA:     {{"P", 8, 8}, {"C4'", 8, 8}, {"C1'", 8.5, 11}},
}

// linkAtoms returns the atoms that link a residue of a polymer with the next one.
func linkAtoms(kind structure.Kind) (from, to string) {
	if kind == structure.Protein {
		return "C", "N"
	}
	return "O3'", "P"
}

// position returns where an atom of a site is, also by its old name (C1*). A calcium is no CA.
func (x *Index) position(site int, name string) (structure.Vec, bool) {
	for p := x.Sites[site].Lo; p < x.Sites[site].Hi; p++ {
		if a := x.Atoms[p]; strings.ReplaceAll(a.Name, "*", "'") == name && (name != "CA" || a.Element != "CA") {
			return x.Points[p], true
		}
	}
	return structure.Vec{}, false
}

// atomDistance returns the distance in Å of two atoms, NaN where one is missing.
func (x *Index) atomDistance(i int, name string, j int, other string) float64 {
	a, okA := x.position(i, name)
	b, okB := x.position(j, other)
	if !okA || !okB {
		return math.NaN()
	}
	return structure.Distance(a, b)
}

// linkOf tells whether two residues that follow each other in a file are linked, and the distance in Å that tells it;
// NaN: nothing does.
func (x *Index) linkOf(i, j int) (state int, distance float64) {
	from, to := linkAtoms(x.Sites[i].Kind)
	d := x.atomDistance(i, from, j, to)
	closest, ok := x.Closest(i, j)
	switch {
	case d <= linkLimit:
		return intact, d
	case ok && closest.Distance <= bondLimit:
		return intact, closest.Distance
	case !math.IsNaN(d):
		return broken, d
	}
	for _, a := range anchors[x.Sites[i].Kind] {
		switch d := x.atomDistance(i, a.name, j, a.name); {
		case d <= a.linked:
			return intact, d
		case d > a.broken:
			return broken, d
		case !math.IsNaN(d):
			return notKnown, d
		}
	}
	return notKnown, math.NaN()
}

// Circular reports whether the last residue of a chain is bonded to the first one.
func (x *Index) Circular(r Polymer) bool {
	from, to := linkAtoms(x.Sites[r.Lo].Kind)
	return r.Hi-r.Lo > 2 && x.atomDistance(r.Hi-1, from, r.Lo, to) <= linkLimit
}

// follows reports whether the number of a residue is the next one after that of another: 53 after 52, 52A or 52B, and
// 52B after 52A.
func follows(a, b ResidueRef) bool {
	return b.Number == a.Number+1 || b.Number == a.Number && b.Ins != a.Ins
}

// links looks at every link of a chain.
func (x *Index) links(r Polymer) Links {
	out := Links{Circular: x.Circular(r)}
	absent := x.absent[r.Chain]
	for i := r.Lo + 1; i < r.Hi; i++ {
		a, b := x.Sites[i-1].Ref, x.Sites[i].Ref
		missing, exact := b.Number-a.Number-1, absent != nil
		if exact {
			missing = absent[i-r.Lo]
		}
		state, d := x.linkOf(i-1, i)
		switch {
		case state == broken, state == notKnown && exact && missing > 0:
			g := Gap{After: a, Before: b, Exact: exact}
			if exact || missing > 0 {
				g.Missing = &missing
			}
			if !math.IsNaN(d) {
				g.Distance = new(Round(d, 2))
			}
			out.Gaps = append(out.Gaps, g)
		case state == notKnown:
			out.Untold = append(out.Untold, Following{a, b})
		case !follows(a, b):
			out.Jumps = append(out.Jumps, Following{a, b})
		}
	}
	out.Gaps, out.Jumps, out.Untold = Head(out.Gaps, maxList), Head(out.Jumps, maxList), Head(out.Untold, maxList)
	if absent != nil {
		out.Before, out.After = &absent[0], &absent[len(absent)-1]
	}
	return out
}

// present returns a structure without the residues that have no atoms, and how many of them each chain has before each
// of its other residues and after the last one; nil for chains of which structure.ReadWhole does not know the whole
// sequence.
func present(s *structure.Structure) (*structure.Structure, [][]int) {
	absent := make([][]int, len(s.Chains))
	out := &structure.Structure{Title: s.Title, Chains: make([]structure.Chain, len(s.Chains))}
	for i := range s.Chains {
		c := s.Chains[i]
		kept, before, counts := make([]structure.Residue, 0, len(c.Residues)), 0, []int{}
		for _, r := range c.Residues {
			if len(r.Atoms) == 0 {
				before++
				continue
			}
			kept, counts, before = append(kept, r), append(counts, before), 0
		}
		if c.Residues = kept; c.Whole {
			absent[i] = append(counts, before)
		}
		out.Chains[i] = c
	}
	return out, absent
}
