package facts

import (
	"context"
	"errors"
	"fmt"

	"pleat/internal/structure"
)

// Contact is two residues, ligands or ions of which two heavy atoms are at most ContactDistance apart.
type Contact struct {
	A, B ResidueAt // A comes first in the structure
	// Distance is that of their closest heavy atoms in Å.
	Distance float64
}

// ResidueAt is the place of a residue: indices into Structure.Chains and into Chain.Residues.
type ResidueAt struct{ Chain, Residue int }

// Contacts returns the contacts between residues of polymers, in the order of A and then of B. Where they cannot be
// computed in reasonable time, it returns a sentence that says why instead; where a chain does not have the atoms that
// they need, it returns such a sentence with the contacts of the atoms that there are. The only error is that of ctx,
// once it ends.
func Contacts(ctx context.Context, s *structure.Structure) (list []Contact, reason string, err error) {
	return contactsWhere(ctx, s, func(a, b *Site) bool { return a.Kind.Polymer() && b.Kind.Polymer() })
}

// ChainContacts is Contacts of what is in different chains, with ligands and ions and without water.
func ChainContacts(ctx context.Context, s *structure.Structure) (list []Contact, reason string, err error) {
	return contactsWhere(ctx, s, func(a, b *Site) bool { return a.Chain != b.Chain })
}

// contactsWhere returns the contacts of the pairs of sites that count.
func contactsWhere(
	ctx context.Context, s *structure.Structure, counts func(a, b *Site) bool,
) (list []Contact, reason string, err error) {
	x := newIndex(s)
	if reason := x.crowding(); reason != "" {
		return nil, reason, nil
	}
	if lacking := x.withoutAtoms(); len(lacking) > 0 {
		reason = "This cannot be told of every residue: it needs " + string(AllAtoms) + ", and " +
			x.describe(AllAtoms, x.sitesOf(lacking)) + "."
	}
	x.lastLink = make([]int32, len(x.Sites))
	var buf []int
	first := make([]int, len(s.Chains)) // site of each chain
	for i := len(x.Sites) - 1; i >= 0; i-- {
		first[x.Sites[i].Chain] = i
	}
	place := func(site int32) ResidueAt {
		chain := x.Sites[site].Chain
		return ResidueAt{chain, int(site) - first[chain]}
	}
	for i := range x.Sites {
		x.linked = x.linked[:0]
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			buf = x.grid.Near(buf[:0], x.Points[p], ContactDistance)
			if err := x.examine(ctx, len(buf)); errors.Is(err, errCrowded) {
				return nil, "Atoms lie on one another.", nil
			} else if err != nil {
				return nil, "", err
			}
			x.link(p, buf, 0)
		}
		x.sortLinks(0)
		for _, l := range x.linked {
			if counts(&x.Sites[l.a], &x.Sites[l.b]) {
				list = append(list, Contact{place(l.a), place(l.b), l.d})
			}
		}
		if len(list) > maxLinks {
			return nil, fmt.Sprintf("The structure has more than %d contacts.", maxLinks), nil
		}
	}
	return list, reason, nil
}
