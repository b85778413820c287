package facts

import (
	"fmt"
	"math"
	"slices"

	"pleat/internal/structure"
	"pleat/internal/words"
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
	// AcrossBox reports that the two would be linked if one were moved by an edge of the file's periodic box or cell.
	AcrossBox bool `json:"across_box,omitempty"`
}

// String says between which residues the link is broken, and what is missing there.
func (g Gap) String() string {
	broken := fmt.Sprintf("Between %s and %s the chain is broken", g.After, g.Before)
	if g.Distance != nil {
		broken += fmt.Sprintf(" (%s apart)", Angstrom(*g.Distance))
	}
	switch {
	case g.AcrossBox:
		return broken + ", because the periodic box of the file divides it: moved by an edge of the box, the two are " +
			"linked, and no residue is missing"
	case g.Missing == nil:
		return broken + ", and nothing tells how many residues are missing"
	case *g.Missing == 0:
		return broken + ", although the whole sequence of the file has no residue there"
	}
	by := fmt.Sprintf("numbers (%d to %d)", g.After.Number+1, g.Before.Number-1)
	if g.Exact {
		by = "whole sequence of the file"
	}
	return fmt.Sprintf("Between %s and %s %s missing by the %s", g.After, g.Before,
		words.Quantity(*g.Missing, "residue is", "residues are"), by)
}

// Following are two residues that follow each other in a file.
type Following struct {
	After  ResidueRef `json:"after"`
	Before ResidueRef `json:"before"`
}

// Links are the links between the residues of a chain that are not as one expects. In Facts each list has at most
// maxList entries; Index.Links has all.
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
	// AcrossBox reports that the periodic box or cell of the file divides the chain, at gaps or within residues: its
	// size is not that of the molecule.
	AcrossBox bool `json:"across_box,omitempty"`
	// Before and After are how many residues the whole sequence has before the first and after the last residue; nil:
	// the file does not tell.
	Before *int `json:"missing_before_first,omitempty"`
	After  *int `json:"missing_after_last,omitempty"`
}

// Circular reports whether the last residue of a chain is bonded to the first one.
func (x *Index) Circular(r Polymer) bool {
	last, first := &x.Sites[r.Hi-1], &x.Sites[r.Lo]
	return r.Hi-r.Lo > 2 && structure.Closes(first.Kind, last.Residue, first.Residue)
}

// follows reports whether the number of a residue is the next one after that of another: 53 after 52, 52A or 52B, and
// 52B after 52A.
func follows(a, b ResidueRef) bool {
	return b.Number == a.Number+1 || b.Number == a.Number && b.Ins != a.Ins
}

// Links looks at every link of a chain.
func (x *Index) Links(r Polymer) Links {
	cell := x.Structure.Cell
	divided := func(s Site) bool { return cell.Divides(s.Kind, s.Residue) }
	out := Links{Circular: x.Circular(r), AcrossBox: slices.ContainsFunc(x.Sites[r.Lo:r.Hi], divided)}
	absent := x.absent[r.Chain]
	for i := r.Lo + 1; i < r.Hi; i++ {
		a, b := x.Sites[i-1].Ref, x.Sites[i].Ref
		missing, exact := b.Number-a.Number-1, absent != nil
		if exact {
			missing = absent[i-r.Lo]
		}
		state, d := structure.Link(x.Sites[i].Kind, x.Sites[i-1].Residue, x.Sites[i].Residue)
		switch {
		case state == structure.LinkBroken, state == structure.LinkNotKnown && exact && missing > 0:
			g := Gap{After: a, Before: b, Exact: exact}
			adjacent := missing == 0 || !exact && follows(a, b)
			g.AcrossBox = adjacent && cell.Links(x.Sites[i].Kind, x.Sites[i-1].Residue, x.Sites[i].Residue)
			out.AcrossBox = out.AcrossBox || g.AcrossBox
			if exact || missing > 0 {
				g.Missing = &missing
			}
			if !math.IsNaN(d) {
				g.Distance = new(Round(d, 2))
			}
			out.Gaps = append(out.Gaps, g)
		case state == structure.LinkNotKnown:
			out.Untold = append(out.Untold, Following{a, b})
		case !follows(a, b):
			out.Jumps = append(out.Jumps, Following{a, b})
		}
	}
	if absent != nil {
		out.Before, out.After = &absent[0], &absent[len(absent)-1]
	}
	return out
}

// head returns the links with lists of at most maxList entries.
func (l Links) head() Links {
	l.Gaps, l.Jumps, l.Untold = Head(l.Gaps, maxList), Head(l.Jumps, maxList), Head(l.Untold, maxList)
	return l
}

// present returns a structure without the residues that have no atoms, and how many of them each chain has before each
// of its other residues and after the last one; nil for chains of which structure.ReadWhole does not know the whole
// sequence.
func present(s *structure.Structure) (*structure.Structure, [][]int) {
	absent := make([][]int, len(s.Chains))
	out := *s
	out.Chains = make([]structure.Chain, len(s.Chains))
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
	return &out, absent
}
