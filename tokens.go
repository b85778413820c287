package pleat

import (
	"slices"
	"strings"
	"sync"

	"pleat/internal/chem"
)

const (
	// unknownAtoms is how many atoms count for a component whose definition is not known here: the most that one of a
	// job's own may have. One of the 49,195 entries of the dictionary has more.
	unknownAtoms = chem.MaxAtoms
	// unknownResidue is how many atoms count for an unknown residue: no standard one has more.
	unknownResidue = 23
)

// definition returns what is known of the component with a code: of the job's own, or of the Chemical Component
// Dictionary. If the definition is not known here, its number of atoms is an upper bound.
func (c *Constraints) definition(code string) (e chem.Entry, known bool) {
	i := c.index(code)
	switch {
	case i < 0:
		if e, known = chem.LookUp(code); !known {
			e.Heavy = unknownAtoms
		}
		return e, known
	case c.Components[i].Item != "":
		return chem.Entry{Heavy: unknownAtoms}, false // its file is read later
	case len(c.Components[i].SMILES) > MaxComponentSMILES:
		return chem.Entry{}, true // a fault of its own
	}
	_, atoms := c.Components[i].Molecule()
	return chem.NewEntry(atoms), true
}

// index returns the index of the component of the job with a code; -1: there is none.
func (c *Constraints) index(code string) int {
	return slices.IndexFunc(c.Components, func(own Component) bool { return strings.EqualFold(own.Code, code) })
}

// has reports whether a component of the job has a code.
func (c *Constraints) has(code string) bool { return c.index(code) >= 0 }

// entitySize is the size of one copy of a sequence for a model.
type entitySize struct {
	tokens  int
	atoms   int    // other than hydrogen; unknown residues count as the largest
	unknown string // code of a component that counts as an upper bound; empty: none
}

// sizeOf returns the size of one copy of a sequence of the job for a model with limits l. The text of the sequence may
// be at fault.
func (j *Job) sizeOf(s *Sequence, l *ModelLimits) entitySize {
	if s.Kind == Ligand {
		return j.ligandSize(s)
	}
	out, atoms := entitySize{tokens: len(s.Text)}, residueAtoms()[s.Kind]
	for i := range len(s.Text) {
		out.atoms += int(atoms[s.Text[i]])
	}
	seen := map[string]chem.Entry{} // finding a definition takes longer than looking it up
	for _, m := range s.Modifications {
		if m.Residue < 1 || m.Residue > len(s.Text) {
			continue // a fault of its own
		}
		out.atoms -= int(atoms[s.Text[m.Residue-1]])
		if code := l.parent(s.Kind, m.CCD); code != "" {
			parent, _ := chem.LookUp(code)
			out.atoms += parent.Heavy - parent.Leaving
			continue
		}
		e, found := seen[m.CCD]
		if !found {
			var known bool
			if e, known = j.Constraints.definition(m.CCD); !known {
				out.unknown = m.CCD
			}
			seen[m.CCD] = e
		}
		n := max(1, e.Heavy-e.Leaving)
		if e.Leaving > 0 && s.keepsLeaving(m.Residue, l) {
			n++
		}
		out.tokens += n - 1
		out.atoms += n
	}
	return out
}

// ligandSize returns the size of a ligand: each of its atoms is a token.
func (j *Job) ligandSize(s *Sequence) entitySize {
	if s.CCD {
		e, known := j.Constraints.definition(s.Text)
		out := entitySize{tokens: max(1, e.Heavy), atoms: max(1, e.Heavy)}
		if !known {
			out.unknown = s.Text
		}
		return out
	}
	heavy := max(1, chem.HeavyAtoms(s.Text)) // a text that is no SMILES is a fault of its own
	return entitySize{tokens: heavy, atoms: heavy}
}

// residueAtoms returns how many atoms other than hydrogen residues have within a chain, by their letters. Looking one
// up in the dictionary for each residue of a job takes milliseconds.
var residueAtoms = sync.OnceValue(func() map[EntityKind][256]uint8 {
	out := map[EntityKind][256]uint8{}
	for _, kind := range []EntityKind{Protein, RNA, DNA} {
		var atoms [256]uint8
		for letter := range atoms {
			atoms[letter] = unknownResidue
			if e, known := chem.LookUp(chem.ResidueCode(string(kind), byte(letter))); known {
				atoms[letter] = uint8(e.Heavy - e.Leaving)
			}
		}
		out[kind] = atoms
	}
	return out
})

// parent returns the code of the standard residue that a model folds in place of a modified one; empty: it folds the
// modified one.
func (l *ModelLimits) parent(kind EntityKind, code string) string {
	if chem.IsResidueCode(string(kind), code) {
		return code
	}
	return l.AsParents[code]
}

// keepsLeaving reports whether a residue keeps the atom that others lose to the bond with the next one: OXT at the end
// of a protein, OP3 at the beginning of a nucleic acid.
func (s *Sequence) keepsLeaving(residue int, l *ModelLimits) bool {
	if l.WithoutLeaving {
		return false
	}
	return s.Kind == Protein && residue == len(s.Text) || s.Kind != Protein && residue == 1
}

// Tokens returns the tokens of the job for a model with limits l: the sum over its chains. The zero value of the limits
// stands for any model.
func (j *Job) Tokens(l ModelLimits) int {
	n := 0
	for i := range j.Sequences {
		n += j.sizeOf(&j.Sequences[i], &l).tokens * j.Sequences[i].Count
	}
	return n
}

// TokensOf returns the tokens of one copy of a sequence of the job, as models of the kind of AlphaFold 3 count them:
// one for each residue, and one for each atom other than hydrogen of a ligand and of a modified residue (Abramson et
// al. 2024, doi:10.1038/s41586-024-07487-w, supplementary information 2.6). A component whose definition is not known
// here counts as its upper bound. A bond may take further atoms away, which count.
func (j *Job) TokensOf(s *Sequence, l ModelLimits) int { return j.sizeOf(s, &l).tokens }
