package pleat

import (
	"fmt"
	"strings"

	"pleat/internal/chem"
)

// atom checks an end of a bond: that the chain has the residue, and the residue the atom, as far as its definition is
// known here.
func (r *references) atom(path string, a *AtomRef) {
	i := r.residue(a.Chain, a.Residue, path+"chain_id", path+"res_idx")
	field := path + "atom_name"
	switch {
	case !chem.IsAtomName(a.Atom):
		r.fault(field, " is %q; it must be an atom name of 1 to 4 letters and digits", Clip(a.Atom))
	case i < 0:
	case r.job.Sequences[i].Kind == Ligand && !r.job.Sequences[i].CCD:
		r.fault(field, " is %q, but chain %s is a SMILES, whose atoms have no names; describe the ligand in "+
			"constraints.components, or name its CCD code with is_ccd true", a.Atom, Clip(a.Chain))
	default:
		r.atomOf(field, a, &r.job.Sequences[i])
	}
}

// atomOf checks that a residue of a sequence has an atom. The atoms of the job's own components are checked with these.
func (r *references) atomOf(field string, a *AtomRef, s *Sequence) {
	code := s.residueCode(a.Residue, &r.model.Limits)
	if r.job.Constraints.has(code) {
		return
	}
	e, _ := chem.LookUp(code)
	if len(e.Atoms) == 0 {
		return // not known
	}
	what := fmt.Sprintf("residue %d of chain %s is %s, which", a.Residue, Clip(a.Chain), code)
	linked := s.Polymer() && !s.keepsLeaving(a.Residue, &r.model.Limits)
	r.add(checkAtom(field, a.Atom, what, e.Atoms, linked))
}

// checkAtom returns an error unless one of the atoms of a residue has a name. A residue that is linked in a chain has
// lost its leaving atoms. what is the residue in the message.
func checkAtom(field, name, what string, atoms []chem.Atom, linked bool) error {
	var names []string
	hint := "; "
	for _, has := range atoms {
		if !has.Heavy() || linked && has.Leaving {
			continue
		}
		if has.Name == name {
			return nil
		}
		if strings.EqualFold(has.Name, name) {
			hint, what = fmt.Sprintf("; did you mean %q? ", has.Name), strings.ToUpper(what[:1])+what[1:]
		}
		names = append(names, has.Name)
	}
	return InvalidField(field, " is %q%s%s has the atoms %s", Clip(name), hint, what, ListNames(names, 40))
}

// residueCode returns the code of a residue of the sequence as a model with limits l folds it; empty: it is unknown, or
// a SMILES.
func (s *Sequence) residueCode(residue int, l *ModelLimits) string {
	if s.Kind == Ligand {
		if s.CCD {
			return s.Text
		}
		return ""
	}
	for _, m := range s.Modifications {
		if m.Residue != residue {
			continue
		}
		if parent := l.parent(s.Kind, m.CCD); parent != "" {
			return parent
		}
		return m.CCD
	}
	return chem.ResidueCode(string(s.Kind), s.Text[residue-1])
}
