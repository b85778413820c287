package format

import (
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/chem"
)

// A job has no glycans. Each sugar of one becomes a ligand, with a bond to the sugar or the residue that it is on.

// sugar is one of a glycan.
type sugar struct {
	code   string
	place  int // where the text names it, in characters from 1
	parent int // index of the sugar that it is on; -1: the first has none
	from   int // the carbon of the parent whose oxygen it is bonded to; 0: the text does not say
	to     int // its own carbon
}

// glycan is a tree of sugars, each behind the one that it is on, in one copy for each id.
type glycan struct {
	at     string // path in the file
	sugars []sugar
	ids    []string
	// on are the ids of the chains that the copies are bonded to; nil: none.
	on      []string
	residue int
	atom    string // of the residue
}

// describe returns what messages call sugar k.
func (g *glycan) describe(k int) string { return fmt.Sprintf("sugar %d (%s)", k+1, g.sugars[k].code) }

// checkLinks checks that each bond is one of an anomeric carbon and a hydroxyl group that no other bond has.
func (g *glycan) checkLinks() error {
	taken := map[[2]int]bool{}
	for k := range g.sugars {
		c := &g.sugars[k]
		if c.parent < 0 {
			continue
		}
		link := fmt.Sprintf("%s, character %d: the linkage of %s to %s, O%d to C%d,", g.at, c.place, g.describe(k),
			g.describe(c.parent), c.from, c.to)
		child, known := chem.SugarByCode(c.code)
		parent, both := chem.SugarByCode(g.sugars[c.parent].code)
		switch {
		case !known || !both:
			return pleat.Invalidf("%s cannot be checked: the sugars whose atoms are known here are %s; give others as "+
				"ligands with bonds", link, strings.Join(chem.SugarCodes(), ", "))
		case c.to != child.Carbon:
			return pleat.Invalidf("%s is not glycosidic: the anomeric carbon of %s is C%d", link, child.Code,
				child.Carbon)
		case !parent.Binds(c.from):
			return pleat.Invalidf("%s is not possible: %s has hydroxyl groups for it at the carbons %s", link,
				parent.Code, strings.Join(strings.Split(parent.Hydroxyls, ""), ", "))
		case taken[[2]int{c.parent, c.from}]:
			return pleat.Invalidf("%s is not possible: another sugar is at that oxygen", link)
		}
		taken[[2]int{c.parent, c.from}] = true
	}
	return nil
}

// addSugars adds the sugars of a glycan. Their bonds follow when the chains have their names.
func (d *draft) addSugars(g *glycan, label string) error {
	var codes []string
	for _, s := range g.sugars {
		codes = append(codes, s.code)
	}
	for _, id := range g.ids {
		if err := d.addPartsOf(g.at, codes, id, label); err != nil {
			return err
		}
	}
	return nil
}

// bondGlycans adds the bonds of the glycans, once the chains have their names.
func (d *draft) bondGlycans() error {
	for _, g := range d.glycans {
		for i, id := range g.ids {
			var names, bonds []string
			for k, s := range g.sugars {
				own, err := d.residue(g.at, id, k+1)
				if err != nil {
					return err
				}
				names = append(names, fmt.Sprintf("%s (%s)", own.Chain, s.code))
				to, found, err := g.target(d, i, k)
				if err != nil {
					return err
				}
				if found {
					known, _ := chem.SugarByCode(s.code)
					from := pleat.AtomRef{Chain: own.Chain, Residue: 1, Atom: known.AnomericAtom()}
					d.job.Constraints.Bond = append(d.job.Constraints.Bond, pleat.Bond{Atom1: to, Atom2: from})
					bonds = append(bonds, fmt.Sprintf("%s %d %s to %s %s", to.Chain, to.Residue, to.Atom, from.Chain,
						from.Atom))
				}
			}
			d.noteGlycan(&g, names, bonds)
		}
	}
	if len(d.job.Constraints.Bond) > 0 && len(d.glycans) > 0 {
		d.addNote("A sugar loses the oxygen of its anomeric carbon, such as O1, in a bond; some models keep that " +
			"atom in their structures")
	}
	return nil
}

// target returns the atom that sugar k of copy i is bonded to; false: none.
func (g *glycan) target(d *draft, i, k int) (pleat.AtomRef, bool, error) {
	id, index, atom := "", 0, ""
	switch s := &g.sugars[k]; {
	case s.parent >= 0:
		id, index, atom = g.ids[i], s.parent+1, fmt.Sprint("O", s.from)
	case g.on == nil:
		return pleat.AtomRef{}, false, nil
	default:
		id, index, atom = g.on[i], g.residue, g.atom
	}
	r, err := d.residue(g.at, id, index)
	return pleat.AtomRef{Chain: r.Chain, Residue: r.Residue, Atom: atom}, true, err
}

// noteGlycan says what one copy of a glycan became.
func (d *draft) noteGlycan(g *glycan, names, bonds []string) {
	with := ""
	if len(bonds) > 0 {
		with = " with the bonds " + pleat.ListNames(bonds, 20)
	}
	if g.on == nil {
		with += "; the file bonds it to no chain: if it is on one, add that bond to constraints.bond"
	}
	d.addNote("%s: the glycan became the ligands %s%s", g.at, pleat.ListNames(names, 20), with)
}

// glycosylated are the atoms by which residues of a protein are bonded to sugars in files of the AlphaFold Server:
// nitrogen of asparagine, and oxygen of serine and threonine.
var glycosylated = map[byte]string{'N': "ND2", 'S': "OG", 'T': "OG1"}

// addServerGlycans reads the glycans of a protein, whose copies have the given ids.
//
// The server chooses the atoms of a bond between two sugars: those that are the most frequent «in similar bonds from
// the PDB», which are not published (https://alphafoldserver.com/faq). Here they are those of the core that all
// N-glycans of eukaryotes have (Essentials of Glycobiology, 4th edition, chapter 9), and other trees are refused.
func (d *draft) addServerGlycans(at string, q *pleat.Sequence, list []serverGlycan, ids []string) error {
	if len(list)*len(ids) > pleat.MaxItems {
		return pleat.Invalidf("%s.glycans holds %d glycans on each of %d copies; a job has at most %d items", at,
			len(list), len(ids), pleat.MaxItems)
	}
	if q.Kind != pleat.Protein {
		return pleat.Invalidf("%s.glycans is on %s; glycans are on proteins: leave it out", at, article(q.Kind))
	}
	for k := range ids {
		ids[k] = fmt.Sprintf("%s%s.%d", madeID, at, k+1) // the service chooses the names all the same
	}
	seen := map[int]bool{}
	for i, l := range list {
		at := fmt.Sprintf("%s.glycans[%d]", at, i)
		g := glycan{at: at + ".residues", on: ids, residue: l.Position}
		switch modified := func(m pleat.Modification) bool { return m.Residue == l.Position }; {
		case l.Position < 1 || l.Position > len(q.Text):
			return pleat.Invalidf("%s.position is %d; the chain has residues 1 to %d", at, l.Position, len(q.Text))
		case seen[l.Position]:
			return pleat.Invalidf("%s.position is %d, which has a glycan already", at, l.Position)
		case slices.ContainsFunc(q.Modifications, modified):
			return pleat.Invalidf("%s.position is %d, which is a modified residue; the atom that a sugar is bonded to "+
				"is known of N, S and T alone", at, l.Position)
		case glycosylated[q.Text[l.Position-1]] == "":
			return pleat.Invalidf("%s.position is %d, which is %c; glycans are on N, S or T", at, l.Position,
				q.Text[l.Position-1])
		}
		seen[l.Position], g.atom = true, glycosylated[q.Text[l.Position-1]]
		var err error
		if g.sugars, err = readSugars(g.at, l.Residues, false); err != nil {
			return err
		}
		if err := g.linkCore(); err != nil {
			return err
		}
		for k := range ids {
			g.ids = append(g.ids, fmt.Sprintf("%s%s.%d", madeID, at, k+1))
		}
		d.glycans = append(d.glycans, g)
	}
	return nil
}

// nGlycanCore are the linkages of the core of N-glycans, by the codes from the first sugar on: the carbons of the
// parent whose oxygens the sugars of that code are on. Two equal mannoses need no order.
var nGlycanCore = map[string][]int{"NAG NAG": {4}, "NAG NAG BMA": {4}, "NAG NAG BMA MAN": {3, 6}}

// linkCore sets the atoms of the bonds between the sugars of a tree that has only those of the core of N-glycans.
func (g *glycan) linkCore() error {
	if first, known := chem.SugarByCode(g.sugars[0].code); !known || first.Carbon != 1 {
		return pleat.Invalidf("%s is %q on residue %d; sugars that are bonded by C1 are known here, such as NAG, BMA, "+
			"MAN, BGC, GLC and FUC: give another as a ligand with a bond, in AlphaFold 3 JSON", g.at,
			pleat.Clip(g.sugars[0].code), g.residue)
	}
	paths, children := make([]string, len(g.sugars)), make([]int, len(g.sugars))
	for k := range g.sugars {
		s := &g.sugars[k]
		if paths[k] = s.code; s.parent >= 0 {
			paths[k] = paths[s.parent] + " " + s.code
			children[s.parent]++
		}
	}
	nth := make([]int, len(g.sugars))
	for k := range g.sugars {
		s := &g.sugars[k]
		if s.parent < 0 {
			continue
		}
		carbons := nGlycanCore[paths[k]]
		if g.atom != "ND2" || len(carbons) != children[s.parent] {
			return pleat.Invalidf("%s, character %d: the format does not say by which atoms %s is bonded to %s, on "+
				"residue %d; they are certain only in the core of N-glycans, NAG(NAG(BMA(MAN)(MAN))) on N: write "+
				"AlphaFold 3 JSON with each sugar as a ligand and bondedAtomPairs", g.at, s.place, g.describe(k),
				g.describe(s.parent), g.residue)
		}
		s.from, s.to = carbons[nth[s.parent]], 1
		nth[s.parent]++
	}
	return nil
}

// addGlycanRecord adds the glycan of a FASTA record, in the notation of Chai, by CCD codes with capitals alone, or in
// that of IUPAC.
func (d *draft) addGlycanRecord(r *record, label string) error {
	read := readIUPAC
	if strings.ToUpper(r.ligand) == r.ligand {
		read = func(at, text string) ([]sugar, error) { return readSugars(at, text, true) }
	}
	sugars, err := read(r.place(), r.ligand)
	if err != nil {
		return err
	}
	id := r.chain
	if id == "" {
		id = fmt.Sprint(madeID, r.line)
	}
	if d.parts[id] != nil {
		return pleat.Invalidf("%s has the id %q, which another glycan has already", r.place(), pleat.Clip(id))
	}
	g := glycan{at: r.place(), sugars: sugars, ids: []string{id}}
	if err := g.checkLinks(); err != nil {
		return err
	}
	d.glycans = append(d.glycans, g)
	return d.addSugars(&g, label)
}
