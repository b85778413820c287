package structure

import "cmp"

// maxScattered bounds the work for residues whose atoms are not together in a file, as a multiple of Limits.Atoms.
const maxScattered = 20

// compare orders keys by position, number and insertion code.
func (k residueKey) compare(other residueKey) int {
	return cmp.Or(cmp.Compare(k.seq, other.seq), cmp.Compare(k.auth, other.auth), cmp.Compare(k.ins, other.ins))
}

// join returns the place in chain c of the residue whose atoms are pending. Where an earlier residue has the same key
// and component and none of these atoms, they are its late atoms, such as hydrogens at the end of the file: joined is
// true. It has them then, or all atoms of it are pending if some have alternative locations. It fails where the atoms
// of a file are too scattered.
func (b *builder) join(c *rawChain) (place int, joined bool, err error) {
	place = len(c.residues)
	at, known := c.find(b.key)
	if !known {
		return place, false, nil
	}
	r, before := &c.residues[at], c.alternatives[at]
	if b.joined += max(len(before), len(r.Atoms)); b.joined > maxScattered*b.in.lim.Atoms {
		return 0, false, b.in.limit("the atoms of residues are not together in the file, in too many places")
	}
	if before == nil {
		before = make([]pendingAtom, len(r.Atoms))
		for i := range r.Atoms {
			before[i] = pendingAtom{Atom: Atom{Name: r.Atoms[i].Name}, comp: r.Comp}
		}
	}
	if !belong(before, b.pending) {
		c.places[b.key] = place
		return place, false, nil
	}
	if !b.labelled && c.alternatives[at] == nil {
		for i := range b.pending {
			r.Atoms = append(r.Atoms, b.pending[i].Atom)
		}
		b.pending = b.pending[:0]
		return at, true, nil
	}
	for i := range r.Atoms {
		if c.alternatives[at] == nil {
			before[i].Atom, before[i].het = r.Atoms[i], r.Het
		}
	}
	b.pending, b.labelled = append(before[:len(before):len(before)], b.pending...), true
	return at, true, nil
}

// find returns the place of the last residue with a key, and enters the key for the next one if there is none.
func (c *rawChain) find(key residueKey) (place int, known bool) {
	place = len(c.residues)
	rising := place == 0 || key.compare(c.top) > 0
	if rising {
		c.top = key
	}
	if c.places == nil {
		if rising {
			return 0, false
		}
		c.places = make(map[residueKey]int, place)
		for i := range c.residues {
			c.places[residueKey{c.residues[i].Seq, c.residues[i].Auth, c.residues[i].Ins}] = i
		}
	}
	at, known := c.places[key]
	if !known {
		c.places[key] = place
	}
	return at, known
}

// belong reports whether atoms with the key of an earlier residue belong to it: they are of its component and have
// other names, or are alternatives to its atoms.
func belong(before, late []pendingAtom) bool {
	comps, labelled := map[string]bool{}, true
	for i := range before {
		comps[before[i].comp] = true
		labelled = labelled && before[i].alt != ""
	}
	for i := range late {
		if !comps[late[i].comp] && (!labelled || late[i].alt == "") {
			return false
		}
	}
	return repeated(before, late) == nil
}

// few is up to how many atoms are compared each with each.
const few = 64

// repeated returns the first of the atoms that is one of those before it in the list or in before, by component, name
// and alternative location; nil: none is.
func repeated(before, atoms []pendingAtom) *pendingAtom {
	if len(before)+len(atoms) > few && len(atoms) > 1 {
		return repeatedOfMany(before, atoms)
	}
	for i := range atoms {
		a := &atoms[i]
		for j := range before {
			if a.same(&before[j]) {
				return a
			}
		}
		for j := range i {
			if a.same(&atoms[j]) {
				return a
			}
		}
	}
	return nil
}

// same reports whether two atoms of a residue are the same one.
func (a *pendingAtom) same(b *pendingAtom) bool {
	return a.Name == b.Name && a.alt == b.alt && a.comp == b.comp
}

// repeatedOfMany is repeated for lists that are too long to compare each with each.
func repeatedOfMany(before, atoms []pendingAtom) *pendingAtom {
	seen := make(map[[3]string]bool, len(before)+len(atoms))
	for i := range before {
		seen[[3]string{before[i].comp, before[i].Name, before[i].alt}] = true
	}
	for i := range atoms {
		key := [3]string{atoms[i].comp, atoms[i].Name, atoms[i].alt}
		if seen[key] {
			return &atoms[i]
		}
		seen[key] = true
	}
	return nil
}

// settleRepeated leaves each atom of a residue of a polymer once: one that is listed twice at the same place, and the
// one of the highest occupancy where alternative locations have lost their labels. It fails where two atoms claim to be
// the whole of one, because which of them is meant cannot be known. Atoms of ligands may share a name.
func (b *builder) settleRepeated() error {
	if polymerKind(b.pending[0].comp) == "" || repeated(nil, b.pending) == nil {
		return nil
	}
	places := map[[3]string]int{}
	kept := b.pending[:0]
	for _, a := range b.pending {
		key := [3]string{a.comp, a.Name, a.alt}
		at, known := places[key]
		switch {
		case !known:
			places[key] = len(kept)
			kept = append(kept, a)
		case kept[at].Pos == a.Pos:
		case kept[at].Occupancy < 1 && a.Occupancy < 1:
			if a.Occupancy > kept[at].Occupancy {
				kept[at] = a
			}
		default:
			return b.in.errorf("the residue %s %d%s before this line has the atom %s at two places; want each atom "+
				"once, or alternative locations", a.comp, b.key.auth, b.key.ins, a.Name)
		}
	}
	b.pending = kept
	return nil
}

// unlabelled is the alternative location of atoms without one where others of their names have one.
const unlabelled = " "

// labelFirst labels the pending atoms without an alternative location whose names others with one have: some files
// label only the second location.
func (b *builder) labelFirst() {
	var labelled map[string]bool
	for i := range b.pending {
		if b.pending[i].alt != "" {
			if labelled == nil {
				labelled = map[string]bool{}
			}
			labelled[b.pending[i].Name] = true
		}
	}
	for i := range b.pending {
		if labelled != nil && b.pending[i].alt == "" && labelled[b.pending[i].Name] {
			b.pending[i].alt = unlabelled
		}
	}
}
