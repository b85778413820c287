package structure

// Distances in Å by which residues of a polymer follow each other. maxLink is that of the linking atoms, C and N or O3'
// and P (bonds of 1.33 and 1.6). The others are how far the representative atoms of neighbours are apart at most, in
// proteins (CA, 3.8 in a trans peptide) and in nucleic acids (C1', up to some 7.5 in stretched strands), and minCentres
// how far at least (CA, 2.9 in a cis peptide): a copy of a molecule may lie on top of it.
const (
	minLink, maxLink = 0.9, 2.5
	minCentres       = 2.5
	maxCentres       = 4.2
	maxNucleotides   = 8.0
)

// continues reports whether residue b of a polymer belongs to the same molecule as residue a, which the file lists
// before it under the same name of a chain. They do where a bond links them. Otherwise numbers that fall or repeat
// begin another molecule. After a TER record (ter), so do numbers between which nothing is missing, a terminal atom on
// either side, and a distance that the missing residues cannot span; without TER, numbers that rise are of one chain.
func continues(a, b *Residue, ter bool) bool {
	linked, known := links(a, b)
	if linked {
		return true
	}
	rising := b.Auth > a.Auth || b.Auth == a.Auth && b.Ins > a.Ins
	if !ter {
		return rising || !known
	}
	missing := b.Auth - a.Auth - 1
	if !rising || missing < 1 || ended(a) || begins(b) {
		return false
	}
	distance, reach, known := centres(a, b)
	return known && distance >= minCentres && distance <= float64(missing+1)*reach
}

// links reports whether two residues are linked, by the linking atoms or, where these are missing, by their centres,
// and whether that is known.
func links(a, b *Residue) (linked, known bool) {
	for _, names := range [...][2]string{{"C", "N"}, {"O3'", "P"}, {"O3*", "P"}} {
		p, okA := a.Atom(names[0])
		q, okB := b.Atom(names[1])
		if okA && okB {
			d := Distance(p.Pos, q.Pos)
			return d >= minLink && d <= maxLink, true
		}
	}
	distance, reach, known := centres(a, b)
	return known && distance >= minCentres && distance <= reach, known
}

// centres returns the distance of the representative atoms of two residues, how far those of neighbours are apart at
// most, and whether both have one.
func centres(a, b *Residue) (distance, reach float64, known bool) {
	p, okA := a.Centre()
	q, okB := b.Centre()
	reach = maxCentres
	if _, protein := a.Atom("CA"); !protein {
		reach = maxNucleotides
	}
	return Distance(p, q), reach, okA && okB
}

// ended reports whether a residue has the atom at the end of a whole protein.
func ended(r *Residue) bool {
	_, ok := r.Atom("OXT")
	return ok
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
