package facts

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pleat/internal/structure"
)

// Ligand is one bound molecule or ion and the residues around it.
type Ligand struct {
	Ref   ResidueRef     `json:"ligand"`
	Kind  structure.Kind `json:"kind"`
	Name  string         `json:"name,omitempty"`
	Atoms int            `json:"heavy_atoms"`
	// Neighbours are at most maxNear; Count is complete, and nil where no chain has the atoms that it needs, see Need.
	Neighbours []Neighbour `json:"neighbours,omitempty"` // polymer residues within 4.5 Å, nearest first
	Count      *int        `json:"neighbour_count"`
	Polar      []AtomPair  `json:"hydrogen_bond_candidates,omitempty"`

	Site int `json:"-"` // in Index.Sites
}

// Neighbour is a residue near a ligand, with the closest pair of atoms.
type Neighbour struct {
	Residue ResidueRef `json:"residue"`
	// Atom and Ligand are the closest pair of atoms.
	Atom     string  `json:"atom"`
	Ligand   string  `json:"ligand_atom"`
	Distance float64 `json:"distance_A"`
}

// ligands fills in the molecules and ions other than water, at most 200.
func (f *Facts) ligands(ctx context.Context) error {
	x, left := f.index, maxPairs
	lacking, polymer := x.withoutAtoms(), x.polymerOf()
	for i := range x.Sites {
		if x.Sites[i].Kind.Polymer() {
			continue
		}
		if len(f.Ligands) == maxList {
			f.Notes = append(f.Notes, "More ligands than listed.")
			return nil
		}
		l := Ligand{Ref: x.Sites[i].Ref, Kind: x.Sites[i].Kind, Name: x.Structure.Chains[x.Sites[i].Chain].Name,
			Atoms: x.Sites[i].Hi - x.Sites[i].Lo, Site: i}
		around, ok := x.Around([]int{i}, ContactDistance, &left)
		if !ok {
			return errCrowded
		}
		for _, j := range slices.Sorted(maps.Keys(around)) {
			if err := x.examine(ctx, x.pairsOf(i, j)); err != nil {
				return err
			}
			if !x.Sites[j].Kind.Polymer() || lacking[polymer[j]] {
				continue
			}
			p := x.Pair(around[j][0], around[j][1])
			l.Neighbours = append(l.Neighbours, Neighbour{x.Sites[j].Ref, p.AtomA, p.AtomB, Round(p.Distance, 2)})
			bonds, _, _ := x.polar(j, i)
			if l.Polar = append(l.Polar, bonds...); len(l.Polar) > manyPairs {
				l.Polar = nearest(l.Polar)
			}
		}
		l.Count = new(len(l.Neighbours))
		slices.SortStableFunc(l.Neighbours, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
		l.Neighbours, l.Polar = Head(l.Neighbours, maxNear), nearest(l.Polar)
		if n := len(lacking); n > 0 && n == len(x.Polymers) {
			l.Count = nil
		}
		f.Ligands = append(f.Ligands, l)
	}
	return nil
}
