package structure

import (
	"math"
	"slices"
)

// Least distances in Å of neighbours in a polymer, of linked atoms and of the same atom of both (CA, 2.9 in a cis
// peptide): a copy of a molecule may lie on top of it.
const (
	minLink    = 0.9
	minCentres = 2.5
)

// continues reports whether residue b of a polymer belongs to the same molecule as residue a, which the file lists
// before it under the same name of a chain. They do where a bond links them. Otherwise numbers that fall or repeat
// begin another molecule. After a TER record (ter), so do numbers between which nothing is missing, a terminal atom on
// either side, and a distance that the missing residues cannot span; without TER, numbers that rise are of one chain.
func continues(a, b *Residue, ter bool) bool {
	state := neighbours(a, b)
	if state == LinkIntact {
		return true
	}
	rising := b.Auth > a.Auth || b.Auth == a.Auth && b.Ins > a.Ins
	if !ter {
		return rising || state == LinkNotKnown
	}
	return reaches(a, b)
}

// neighbours tells whether two residues of a molecule are linked by their main chains.
func neighbours(a, b *Residue) LinkState {
	state, distance := backboneLink(kindOf(a), a, b)
	least := minLink
	if math.IsNaN(bondLength(kindOf(a), a, b)) {
		least = minCentres
	}
	if state == LinkIntact && distance < least {
		return LinkBroken
	}
	return state
}

// kindOf returns the kind of polymer of a residue, as far as its atoms tell how it is linked.
func kindOf(r *Residue) Kind {
	if _, protein := r.point("CA"); protein {
		return Protein
	}
	return RNA
}

// spanned reports whether residues that are missing between two can span the distance between their centres.
func spanned(a, b *Residue, missing int) bool {
	p, okA := a.Centre()
	q, okB := b.Centre()
	d, reach := Distance(p, q), anchors(kindOf(a))[0].linked
	return okA && okB && d >= minCentres && d <= float64(missing+1)*reach
}

// ended reports whether a residue has the atom at the end of a whole protein, as the PDB and force fields name it.
func ended(r *Residue) bool {
	return slices.ContainsFunc(r.Atoms, func(a Atom) bool {
		return a.Name == "OXT" || a.Name == "OT2" || a.Name == "OC2"
	})
}

// begins reports whether a residue has the hydrogens at the start of a whole protein.
func begins(r *Residue) bool {
	for _, names := range [...][2]string{{"H2", "H3"}, {"HT2", "HT3"}, {"2H", "3H"}} {
		_, okA := r.Atom(names[0])
		_, okB := r.Atom(names[1])
		if okA && okB {
			return polymerKind(r.Comp) == Protein
		}
	}
	return false
}
