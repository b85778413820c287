package structure

import "math"

// numbersPolymers reports whether the file gives positions in a sequence to residues of polymers alone. Several
// programs number all residues of a chain so, waters too.
func (b *builder) numbersPolymers() bool {
	without := false
	for _, c := range b.chains {
		for i := range c.residues {
			r := &c.residues[i]
			switch kind := r.guessKind(); {
			case r.Seq == 0:
				without = without || !kind.Polymer()
			case kind == Water || kind == Ion:
				return false
			}
		}
	}
	return without
}

// maxMonomer is how many atoms a residue has at most by which others are told to belong to its polymer: its atoms are
// looked at for each of them.
const maxMonomer = 256

// members reports which residues of a chain belong to polymers, by their kinds: those that a bond links to a neighbour,
// that a file numbers in a sequence, if it numbers only those, or that are alone at a gap of a polymer. A name does not
// decide, because nucleotides and amino acids are ligands too.
func (c *rawChain) members(kinds []Kind, numbered bool) []bool {
	out := make([]bool, len(c.residues))
	before := make([]*Residue, len(c.residues)) // the last one before that may be a member
	c.rooted = map[int]bool{}
	for i := range c.residues {
		if !c.residues[i].Het && kinds[i].Polymer() {
			c.rooted[c.segment[i]] = true
		}
	}
	var last *Residue
	for i := range c.residues {
		r := &c.residues[i]
		out[i] = out[i] || numbered && r.Seq > 0
		if i+1 < len(out) && c.joined(i, kinds[i], kinds[i+1]) {
			out[i], out[i+1] = true, true
		}
		if before[i] = last; len(r.Atoms) <= maxMonomer && (out[i] || !r.Het && r.plain(kinds[i])) {
			last = r
		}
	}
	var after *Residue
	for i := len(out) - 1; i >= 0; i-- {
		if !out[i] && kinds[i].Polymer() {
			out[i] = c.alone(i, kinds[i], before[i], after)
		}
		if out[i] && len(c.residues[i].Atoms) <= maxMonomer {
			after = &c.residues[i]
		}
	}
	return out
}

// alone reports whether a residue without a bond to the residues before and after it belongs to their polymer. A
// monomer that is free has both its ends.
func (c *rawChain) alone(i int, kind Kind, before, after *Residue) bool {
	r := &c.residues[i]
	plain := r.plain(kind)
	if plain && !r.Het {
		return !ended(r) || rises(before, r)
	}
	if reaches(r, after) && (reaches(before, r) || before == nil && plain) {
		return true
	}
	untold := plain && before != nil && neighbours(before, r) == LinkNotKnown
	return c.segment[i] < c.ters && (untold || c.listed[r.Comp])
}

// joined reports whether a bond links a residue of a polymer to the one after it, by their kinds. One of them may be a
// cap. Without the atoms of the bond, the distance of others tells it of residues that the file has as parts of a
// chain.
func (c *rawChain) joined(i int, kind, next Kind) bool {
	a, b := &c.residues[i], &c.residues[i+1]
	if !kind.Polymer() && !next.Polymer() {
		return false
	}
	known := kind
	if !kind.Polymer() {
		known = next
	}
	if d := bondLength(known, a, b); !math.IsNaN(d) {
		return d >= minLink && d <= linkLimit
	}
	part := func(i int, r *Residue, kind Kind) bool {
		return r.plain(kind) && (!r.Het || c.segment[i] < c.ters || c.rooted[c.segment[i]])
	}
	return part(i, a, kind) && part(i+1, b, next) && neighbours(a, b) == LinkIntact
}

// plain reports whether a residue has the name of a residue of polymers, or is one bead of a polymer.
func (r *Residue) plain(kind Kind) bool {
	return polymerKind(r.Comp) != "" || len(r.Atoms) == 1 && kind.Polymer()
}

// rises reports whether the number of residue b is above that of residue a, and neither has the atoms of an end there.
func rises(a, b *Residue) bool {
	return a != nil && b != nil && b.Auth > a.Auth && !ended(a) && !begins(b)
}

// reaches reports whether residues that are missing between two, by their numbers, can link them.
func reaches(a, b *Residue) bool {
	return rises(a, b) && b.Auth > a.Auth+1 && spanned(a, b, b.Auth-a.Auth-1)
}
