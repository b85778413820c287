package pleat

import (
	"cmp"
	"strings"

	"pleat/internal/chem"
)

// modifications checks the modified residues of a polymer, each of which may be modified once.
func (v *validation) modifications(i int, path string) {
	s := &v.job.Sequences[i]
	seen := map[int]bool{}
	for k := range s.Modifications {
		mod := &s.Modifications[k]
		mod.CCD = strings.ToUpper(strings.TrimSpace(mod.CCD))
		if v.faults.full() {
			return
		}
		at := indexed(path+".modifications", k)
		switch {
		case !v.faulty[i] && (mod.Residue < 1 || mod.Residue > len(s.Text)):
			v.fault(at+".res_idx", " is %d; the chain has residues 1 to %d", mod.Residue, len(s.Text))
		case !IsCCD(mod.CCD):
			v.fault(at+".ccd", " is %q; a CCD code has 1 to 5 letters and digits", Clip(mod.CCD))
		case seen[mod.Residue]:
			v.fault(at+".res_idx", " %d is modified twice", mod.Residue)
		case !v.faulty[i] && !v.job.Constraints.has(mod.CCD):
			v.parent(at+".ccd", s, mod)
		}
		seen[mod.Residue] = true
	}
}

// otherOrigins are the amino acids that a modified residue is made of besides its parent in the Chemical Component
// Dictionary: the list of modifications of UniProt (ptmlist.txt).
var otherOrigins = map[string]string{"PCA": "E", "FGL": "CS", "DHA": "C"}

// parent checks that a modified residue of a sequence is a form of the residue that its letter names. Documents of
// other programs have modified nucleotides at other bases, as the example of AlphaFold 3 has 5MC at U.
func (v *validation) parent(field string, s *Sequence, m *Modification) {
	code, letter := chem.Parent(m.CCD), s.Text[m.Residue-1]
	right := letterOf(s.Kind, code)
	switch {
	case code == "":
	case right == 0:
		v.fault(field, " is %s, a form of %s, but the chain is %s", m.CCD, code, s.Kind)
	case letter == right:
	case code == m.CCD && chem.IsResidueCode(string(s.Kind), code):
		v.fault(field, " is %s, a standard residue, but residue %d is %c; change the letter in sequence", m.CCD,
			m.Residue, letter)
	case s.Kind == Protein && letter != 'X' && strings.IndexByte(otherOrigins[m.CCD], letter) < 0:
		letters := strings.Join(strings.Split(string(right)+otherOrigins[m.CCD], ""), ", ")
		v.fault(field, " is %s, a form of %s (%c), but residue %d is %c; residues count from 1, and the letter must "+
			"be %s or X", m.CCD, code, right, m.Residue, letter, letters)
	}
}

// ParentLetter returns the letter that a modified residue stands at in a chain of a kind; 0: the Chemical Component
// Dictionary names no parent of it, or one of another kind of chain.
func ParentLetter(k EntityKind, ccd string) byte { return letterOf(k, chem.Parent(ccd)) }

// letterOf returns the letter of a standard residue in a chain of a kind; 0: the chain cannot have it. The dictionary
// derives some nucleotides of DNA from those of RNA, which have the same bases but for U and T.
func letterOf(k EntityKind, code string) byte {
	other := map[EntityKind]EntityKind{RNA: DNA, DNA: RNA}[k]
	letter := cmp.Or(chem.ResidueLetter(string(k), code), chem.ResidueLetter(string(other), code))
	switch {
	case k == DNA && letter == 'U':
		return 'T'
	case k == RNA && letter == 'T':
		return 'U'
	}
	return letter
}
