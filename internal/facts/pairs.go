package facts

import (
	"context"
	"errors"

	"pleat/internal/structure"
)

// Contact is two residues of polymers of which two heavy atoms are at most ContactDistance apart.
type Contact struct {
	A, B ResidueAt // A comes first in the structure
	// Distance is that of their closest heavy atoms in Å.
	Distance float64
}

// ResidueAt is the place of a residue: indices into Structure.Chains and into Chain.Residues.
type ResidueAt struct{ Chain, Residue int }

// Contacts returns the contacts between residues of polymers, in the order of A and then of B. Where they cannot be
// computed in reasonable time, it returns a sentence that says why instead. The only error is that of ctx, once it ends.
func Contacts(ctx context.Context, s *structure.Structure) (list []Contact, reason string, err error) {
	x := newIndex(s)
	if reason := x.crowding(); reason != "" {
		return nil, reason, nil
	}
	polymers := x.polymerOf()
	x.lastLink = make([]int32, len(x.Sites))
	var buf []int
	for i := range x.Sites {
		if polymers[i] < 0 {
			continue
		}
		from := len(x.linked)
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			buf = x.grid.Near(buf[:0], x.Points[p], ContactDistance)
			if err := x.examine(ctx, len(buf)); errors.Is(err, errCrowded) {
				return nil, "Atoms lie on one another.", nil
			} else if err != nil {
				return nil, "", err
			}
			x.link(p, buf, from)
		}
		x.sortLinks(from)
	}
	place := func(site int32) ResidueAt {
		p := x.Polymers[polymers[site]]
		return ResidueAt{p.Chain, int(site) - p.Lo}
	}
	for _, l := range x.linked {
		if polymers[l.b] >= 0 {
			list = append(list, Contact{place(l.a), place(l.b), l.d})
		}
	}
	return list, "", nil
}
