package facts

import (
	"slices"
	"strings"

	"pleat/internal/structure"
)

// baseDonors and baseAcceptors are the atoms of the standard bases that donate and accept hydrogen bonds, each name
// with a space on either side: Saenger, Principles of Nucleic Acid Structure (1984). The Chemical Component Dictionary
// has the hydrogens of the same donors. The nitrogen of the glycosidic bond (N9, N1) does neither.
var (
	baseDonors = map[byte]string{
		'A': " N6 ", 'C': " N4 ", 'G': " N1 N2 ", 'I': " N1 ", 'T': " N3 ", 'U': " N3 ",
	}
	baseAcceptors = map[byte]string{
		'A': " N1 N3 N7 ", 'C': " O2 N3 ", 'G': " O6 N3 N7 ", 'I': " O6 N3 N7 ", 'T': " O2 O4 ", 'U': " O2 O4 ",
	}
)

// phosphates are the oxygens of the phosphate of a nucleotide, by their names of today and of files before 2008.
var phosphates = []string{"OP1", "OP2", "OP3", "O1P", "O2P", "O3P"}

// mayBond reports whether one of two atoms is a donor and the other one an acceptor.
func (x *Index) mayBond(p, q int) bool {
	donorP, acceptorP := x.roles(p)
	donorQ, acceptorQ := x.roles(q)
	return donorP && acceptorQ || donorQ && acceptorP
}

// roles reports whether an atom can donate and accept a hydrogen bond. Where the chemistry is unknown (modified bases,
// ligands), N and O can do both.
func (x *Index) roles(p int) (donates, accepts bool) {
	s, a := &x.Sites[x.Owner[p]], x.Atoms[p]
	el := a.Element
	if el == "" {
		el = a.Name[:min(1, len(a.Name))]
	}
	switch {
	case el != "N" && el != "O":
		return false, false
	case s.Kind == structure.RNA || s.Kind == structure.DNA:
		return x.nucleotideRoles(p)
	case s.Kind != structure.Protein:
		return true, true
	case el == "N":
		ring := s.Letter == 'H' && a.Name != "N"
		return a.Name != "N" || s.Letter != 'P', ring
	}
	return a.Name == "OG" || a.Name == "OG1" || a.Name == "OH", true
}

// nucleotideRoles is roles for N and O of nucleotides.
func (x *Index) nucleotideRoles(p int) (donates, accepts bool) {
	s, name := &x.Sites[x.Owner[p]], strings.ReplaceAll(x.Atoms[p].Name, "*", "'")
	switch {
	case name == "O2'":
		return true, true
	case name == "O3'" || name == "O5'":
		return x.freeHydroxyl(p, name == "O3'"), true
	case name == "O4'" || slices.Contains(phosphates, name):
		return false, true
	}
	code, letter := s.Canonical(), string(s.Letter)
	if code != letter && code != "D"+letter {
		return true, true
	}
	name = " " + name + " "
	return strings.Contains(baseDonors[s.Letter], name), strings.Contains(baseAcceptors[s.Letter], name)
}

// freeHydroxyl reports whether O3' (last) or O5' of a nucleotide is the hydroxyl of an end of its chain: no residue
// goes on there, not even one without atoms, and it is bonded to nothing outside the sugar.
func (x *Index) freeHydroxyl(p int, last bool) bool {
	i := int(x.Owner[p])
	absent := x.absent[x.Sites[i].Chain]
	switch {
	case last && (!x.finishes(i) || len(absent) > 0 && absent[len(absent)-1] > 0):
		return false
	case !last && (!x.begins(i) || len(absent) > 0 && absent[0] > 0):
		return false
	}
	bonded := x.grid.Near(nil, x.Points[p], structure.BondLimit)
	return !slices.ContainsFunc(bonded, func(q int) bool {
		return x.Owner[q] != x.Owner[p] || x.Atoms[q].Element == "P"
	})
}

// begins and finishes report whether a site is the first and the last one of its chain.
func (x *Index) begins(i int) bool { return i == 0 || x.Sites[i-1].Chain != x.Sites[i].Chain }
func (x *Index) finishes(i int) bool {
	return i+1 == len(x.Sites) || x.Sites[i+1].Chain != x.Sites[i].Chain
}
