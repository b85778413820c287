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
	if !b.belong(before) {
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

// belong reports whether the pending atoms, with the key of an earlier residue, belong to it: they are of its component
// and have other names than its atoms, or are alternatives to these.
func (b *builder) belong(before []pendingAtom) bool {
	comps, labelled := map[string]bool{}, true
	for i := range before {
		comps[before[i].comp] = true
		labelled = labelled && before[i].alt != ""
	}
	for i := range b.pending {
		if a := &b.pending[i]; !comps[a.comp] && (!labelled || a.alt == "") {
			return false
		}
	}
	return !b.repeated(before)
}

// few is how many atoms a residue has at most whose names are entered into the set of the builder: a set that has once
// been larger takes long to clear.
const few = 64

// name identifies an atom within a residue.
func (a *pendingAtom) name() [3]string { return [3]string{a.comp, a.Name, a.alt} }

// repeated reports whether one of the pending atoms is one of those before it, or in before.
func (b *builder) repeated(before []pendingAtom) bool {
	seen := b.seen
	clear(seen)
	if len(before)+len(b.pending) > few {
		seen = map[[3]string]bool{}
	}
	for i := range before {
		seen[before[i].name()] = true
	}
	for i := range b.pending {
		name := b.pending[i].name()
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// settleRepeated leaves each atom of a residue of a polymer once: one that is listed twice at the same place, and the
// one of the highest occupancy where alternative locations have lost their labels. It fails where two atoms claim to be
// the whole of one, because which of them is meant cannot be known. Atoms of ligands may share a name.
func (b *builder) settleRepeated() error {
	if polymerKind(b.pending[0].comp) == "" || !b.repeated(nil) {
		return nil
	}
	places := map[[3]string]int{}
	kept := b.pending[:0]
	for _, a := range b.pending {
		at, known := places[a.name()]
		switch {
		case !known:
			places[a.name()] = len(kept)
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
