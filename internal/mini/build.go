package mini

import (
	"fmt"
	"slices"

	"pleat/internal/structure"
)

// firstPhi is the phi that the first residue of a chain is given for the place of its neighbour, in degrees.
const firstPhi = -70

// kept are the atoms of a residue on which its side chain is built. CB may be missing.
var kept = []string{"N", "CA", "C", "O", "CB"}

// SideChains returns copies of protein chains with side chains built on their backbones. Each residue keeps N, CA, C,
// O, CB and its numbers, and gets the other heavy atoms of its amino acid with the B-factor of its CA. Other atoms that
// it has are dropped. A missing CB is placed by ideal geometry. Chains see each other's atoms, and cysteines are bonded
// where their backbones allow it, also those of two chains.
//
// An error names the residue that is none of the 20 amino acids or lacks N, CA, C or O. ok is false once stop reports
// true.
//
// On the backbones of the 21 experiments for which builtScore was chosen, chi 1 is within 40° of the experiment for
// 80 % of the residues, chi 1 and 2 for 68 %. On those of two others at 3.5 Å, 2GTL and 4JSV, it is 75 and 57 %.
func SideChains(chains []structure.Chain, stop func() bool) (built []structure.Chain, ok bool, err error) {
	b := &backbone{score: &builtScore}
	for i := range chains {
		if err := b.add(&chains[i]); err != nil {
			return nil, false, err
		}
	}
	sides, _, ok := b.pack(stop)
	if !ok {
		return nil, false, nil
	}
	built = slices.Clone(chains)
	for i := range built {
		built[i].Residues = slices.Clone(built[i].Residues)
		for k := range built[i].Residues {
			r := &built[i].Residues[k]
			r.Atoms = sides[0].dress(r.Atoms)
			sides = sides[1:]
		}
	}
	return built, true, nil
}

// add adds the residues of a chain.
func (b *backbone) add(c *structure.Chain) error {
	for k := range c.Residues {
		r := &c.Residues[k]
		index := slices.Index(names[:], r.Comp)
		if c.Kind != structure.Protein || index < 0 {
			return fmt.Errorf("residue %s of chain %s is %s, none of the 20 amino acids", numberOf(r), c.ID, r.Comp)
		}
		at, lacks := backboneOf(r)
		if lacks != "" {
			return fmt.Errorf("residue %s of chain %s lacks the atom %s", numberOf(r), c.ID, lacks)
		}
		last := len(b.at) - 1
		joined := k > 0 && dist2(b.at[last].c, at.n) < 2*2 // else there is a gap
		previous := ideal(&at, firstPhi)
		if joined {
			previous = b.at[last].c
		}
		b.aa, b.at = append(b.aa, index), append(b.at, at)
		b.previous, b.joined = append(b.previous, previous), append(b.joined, joined)
	}
	return nil
}

// numberOf returns the number of a residue as files show it.
func numberOf(r *structure.Residue) structure.ResidueNumber {
	if r.Auth == 0 {
		return structure.ResidueNumber{Value: r.Seq}
	}
	return r.AuthorNumber()
}

// backboneOf returns the backbone of a residue, and which atom it lacks for it; empty: none.
func backboneOf(r *structure.Residue) (at residue, lacks string) {
	var found [5]bool
	places := [5]*vec3{&at.n, &at.a, &at.c, &at.o, &at.b}
	for i := range r.Atoms {
		if k := slices.Index(kept, r.Atoms[i].Name); k >= 0 && !found[k] {
			p := r.Atoms[i].Pos
			*places[k], found[k] = vec3{p[0], p[1], p[2]}, true
		}
	}
	for k, name := range kept[:4] {
		if !found[k] {
			return at, name
		}
	}
	if beta := at; !found[4] {
		beta.decorate(vec3{})
		at.b = beta.b
	}
	return at, ""
}

// dress returns the atoms of a residue with its side chain, in the order of the chemical component dictionary. The
// atoms of the backbone are those that it had.
func (s *side) dress(had []structure.Atom) []structure.Atom {
	var out []structure.Atom
	ca := had[slices.IndexFunc(had, func(a structure.Atom) bool { return a.Name == "CA" })]
	put := func(name, element string, p vec3) {
		for i := range had {
			if had[i].Name == name && slices.Contains(kept, name) {
				out = append(out, had[i])
				return
			}
		}
		out = append(out, structure.Atom{Name: name, Element: element, Pos: structure.Vec{p.x, p.y, p.z}, Occupancy: 1,
			B: ca.B})
	}
	s.each(put)
	return out
}
