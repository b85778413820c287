package pleat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pleat/internal/chem"
)

// ModelLimits are the limits of a model besides its features and its largest number of tokens: what its engine refuses,
// so that a request is refused before it waits. A zero field states no limit. The names in JSON are those of manifests.
type ModelLimits struct {
	Chains    int `json:"chains,omitempty"`     // of one structure, copies and ligands counted
	Polymers  int `json:"polymers,omitempty"`   // chains of residues in one structure
	Ligands   int `json:"ligands,omitempty"`    // copies of ligands in one structure
	Residues  int `json:"residues,omitempty"`   // of one chain
	MinChains int `json:"min_chains,omitempty"` // chains of residues that one structure needs
	MinTokens int `json:"min_tokens,omitempty"` // that one structure needs
	MinAtoms  int `json:"min_atoms,omitempty"`  // other than hydrogen that one structure needs

	// VariableDomains: the model folds variable domains of antibodies only, one, or a heavy and a light one.
	// Chains are cut to them.
	VariableDomains bool `json:"variable_domains,omitempty"`

	LigandForms []string `json:"ligand_forms,omitempty"` // of FormSMILES and FormCCD; empty: both
	SMILES      int      `json:"smiles,omitempty"`       // ligands of a SMILES, copies not counted
	// Dictionary is a date, as 2006-01-02, after which the model's dictionary of components has no entries; empty: not
	// known.
	Dictionary string `json:"dictionary,omitempty"`

	Affinities    int `json:"affinities,omitempty"`     // ligands whose affinity is predicted, copies included
	AffinityAtoms int `json:"affinity_atoms,omitempty"` // of such a ligand, other than hydrogen

	// AsParents has, by the code of a modified residue, that of the standard residue that the model folds in its place.
	AsParents map[string]string `json:"as_parents,omitempty"`
	// Backbone has, by the kind of the chain, the atoms that a modified residue needs.
	Backbone map[EntityKind][]string `json:"backbone,omitempty"`
	// WithoutLeaving: modified residues lose all atoms that the dictionary calls leaving, also at the ends of chains.
	WithoutLeaving bool `json:"without_leaving,omitempty"`
	// Confuses lists what the model cannot tell apart in two sequences of one kind with the same text: of
	// ConfusesForms, ConfusesCyclic and ConfusesModifications.
	Confuses []string `json:"confuses,omitempty"`

	Constraints   []string     `json:"constraints,omitempty"`    // the kinds: pocket, bond, contact; empty: all
	Pockets       int          `json:"pockets,omitempty"`        // entries of constraints.pocket
	PocketBinders []EntityKind `json:"pocket_binders,omitempty"` // kinds of chains that may be the binder; empty: all
	// PocketResidues are the kinds of chains whose residues pockets and contacts may name; empty: all. Without ligands,
	// a contact may have one at one end.
	PocketResidues []EntityKind `json:"pocket_residues,omitempty"`
	Unmodified     bool         `json:"unmodified,omitempty"`   // these residues may not be modified
	MinDistance    float64      `json:"min_distance,omitempty"` // of a contact, in Å
	MaxDistance    float64      `json:"max_distance,omitempty"`
}

// The forms of ligands.
const (
	FormSMILES = "smiles"
	FormCCD    = "ccd"
)

// The values of ModelLimits.Confuses: a SMILES and a code that are written alike; a cyclic chain and one that is not,
// both without modified residues; and chains with different modified residues.
const (
	ConfusesForms         = "is_ccd"
	ConfusesCyclic        = "cyclic"
	ConfusesModifications = "modifications"
)

// Check returns the first value that has no meaning, with the name of its field in JSON.
func (l *ModelLimits) Check() error {
	for _, list := range []struct {
		field         string
		values, known []string
	}{
		{"ligand_forms", l.LigandForms, []string{FormSMILES, FormCCD}},
		{"confuses", l.Confuses, []string{ConfusesForms, ConfusesCyclic, ConfusesModifications}},
		{"constraints", l.Constraints, []string{"pocket", "bond", "contact"}},
	} {
		for _, value := range list.values {
			if !slices.Contains(list.known, value) {
				return fmt.Errorf("limits.%s has %q; it may have %s", list.field, Clip(value),
					strings.Join(list.known, ", "))
			}
		}
	}
	for _, kind := range slices.Concat(l.PocketBinders, l.PocketResidues, slices.Collect(maps.Keys(l.Backbone))) {
		if kind.ItemKey() == "" {
			return fmt.Errorf("limits names the kind %q; it must be protein, rna, dna or ligand", Clip(string(kind)))
		}
	}
	for code, parent := range l.AsParents {
		standard := func(kind EntityKind) bool { return chem.IsResidueCode(string(kind), parent) }
		if !slices.ContainsFunc([]EntityKind{Protein, RNA, DNA}, standard) {
			return fmt.Errorf("limits.as_parents folds %s as %s, which is no standard residue", Clip(code),
				Clip(parent))
		}
	}
	if _, err := time.Parse(time.DateOnly, l.Dictionary); l.Dictionary != "" && err != nil {
		return fmt.Errorf("limits.dictionary is %q; it must be a date such as 2026-01-16", Clip(l.Dictionary))
	}
	for _, n := range []int{
		l.Chains, l.Polymers, l.Ligands, l.Residues, l.MinChains, l.MinTokens, l.MinAtoms, l.SMILES, l.Affinities,
		l.AffinityAtoms, l.Pockets,
	} {
		if n < 0 {
			return fmt.Errorf("limits has %d; a limit is 0 or more", n)
		}
	}
	if l.MinDistance < 0 || l.MaxDistance < l.MinDistance {
		return fmt.Errorf("limits has distances from %g to %g Å; they must ascend from 0", l.MinDistance, l.MaxDistance)
	}
	return nil
}

// sequenceLimits checks each sequence that has no fault yet.
func (v *validation) sequenceLimits() {
	for i := range v.job.Sequences {
		if v.faulty[i] || v.faults.full() {
			continue
		}
		if s := &v.job.Sequences[i]; s.Polymer() {
			v.chainLimit(i)
			v.modificationLimits(i)
		} else {
			v.ligandLimits(i)
		}
		v.confusion(i)
	}
}

// chainLimit checks a polymer against the longest chain that the model folds.
func (v *validation) chainLimit(i int) {
	most, s := v.model.Limits.Residues, &v.job.Sequences[i]
	if n := len(s.Text); most > 0 && n > most {
		v.fault(s.Path(i)+".sequence", " has %d residues; the model %q folds at most %d in a chain",
			n, v.model.Name, most)
	}
}

// modificationLimits checks the components that replace residues of a chain.
func (v *validation) modificationLimits(i int) {
	s := &v.job.Sequences[i]
	needed := v.model.Limits.Backbone[s.Kind]
	lacks := map[string]string{} // by code: reading a component takes longer than looking it up
	for k, m := range s.Modifications {
		if v.faults.full() {
			return
		}
		at := indexed(s.Path(i)+".modifications", k) + ".ccd"
		if !v.dictionary(at, m.CCD) || len(needed) == 0 {
			continue
		}
		name, found := lacks[m.CCD]
		if !found {
			if e, known := v.job.Constraints.definition(m.CCD); known && e.Atoms != nil {
				name = lacking(needed, e.Atoms)
			}
			lacks[m.CCD] = name
		}
		if name != "" {
			v.fault(at, " is %s, a component without an atom %s; the model %q needs the atoms %s in a modified "+
				"residue of a %s", m.CCD, name, v.model.Name, ListNames(needed, 10), s.Kind)
		}
	}
}

// dictionary checks that the model can have a component: that it is one of the job, or that the dictionary here has it,
// unless the model's may be newer.
func (v *validation) dictionary(field, code string) bool {
	newest := v.model.Limits.Dictionary
	if newest == "" || newest > chem.DictionaryDate() || v.job.Constraints.has(code) || !IsCCD(code) {
		return true
	}
	if _, known := chem.LookUp(code); known {
		return true
	}
	v.fault(field, " is %s, which is not in the Chemical Component Dictionary as the model %q has it", code,
		v.model.Name)
	return false
}

// ligandLimits checks a ligand, and its affinity.
func (v *validation) ligandLimits(i int) {
	s, l := &v.job.Sequences[i], &v.model.Limits
	path := s.Path(i)
	if s.CCD && !v.dictionary(path+".sequence", s.Text) || s.PropertyType != "affinity" {
		return
	}
	if !slices.ContainsFunc(v.job.Sequences, func(o Sequence) bool { return o.Kind == Protein }) {
		v.fault(path+".property_type", ": an affinity is that of a ligand for a protein, and the job has no protein")
	}
	if !s.CCD && strings.Contains(s.Text, ".") {
		v.fault(path+".sequence", " is a SMILES of several molecules, with '.' between them; an affinity is that of "+
			"one molecule")
	}
	same := func(o Sequence) bool { return o.Kind == Ligand && o.Text == s.Text && o.CCD == s.CCD }
	for k := range v.job.Sequences {
		if k != i && same(v.job.Sequences[k]) {
			v.fault(path+".property_type", ": %s is the same ligand; an affinity is predicted for a single copy",
				itemPath(k))
			break
		}
	}
	if size := v.job.ligandSize(s); l.AffinityAtoms > 0 && size.unknown == "" && size.atoms > l.AffinityAtoms {
		v.fault(path+".property_type", ": the ligand has %d atoms besides hydrogen; the model %q predicts the "+
			"affinity of a ligand of at most %d", size.atoms, v.model.Name, l.AffinityAtoms)
	}
}

// confusion checks that the model can tell sequence i from those before it.
func (v *validation) confusion(i int) {
	s := &v.job.Sequences[i]
	for _, what := range v.model.Limits.Confuses {
		for k := range v.job.Sequences[:i] {
			o := &v.job.Sequences[k]
			if o.Kind != s.Kind || o.Text != s.Text {
				continue
			}
			if !differ(o, s, what) {
				if what == ConfusesModifications {
					break // those between are like the first
				}
				continue
			}
			words := map[string]string{
				ConfusesForms:         "is written alike, one as a SMILES and one as a CCD code",
				ConfusesCyclic:        "has the same residues, and one of the two is cyclic",
				ConfusesModifications: "has the same residues with other modifications",
			}[what]
			v.fault(s.Path(i)+".sequence", ": %s %s; the model %q cannot tell them apart", itemPath(k), words,
				v.model.Name)
			return
		}
	}
}

// differ reports whether two sequences of one kind and text differ in a value of ModelLimits.Confuses.
func differ(a, b *Sequence, what string) bool {
	switch what {
	case ConfusesForms:
		return a.CCD != b.CCD
	case ConfusesCyclic:
		return a.Cyclic != b.Cyclic && len(a.Modifications)+len(b.Modifications) == 0
	}
	byResidue := func(x, y Modification) int { return x.Residue - y.Residue }
	return !slices.Equal(slices.SortedFunc(slices.Values(a.Modifications), byResidue),
		slices.SortedFunc(slices.Values(b.Modifications), byResidue))
}

// totalLimits checks how many chains, ligands and affinities the job asks for. Every count must be valid.
func (v *validation) totalLimits() {
	l, j, m := &v.model.Limits, v.job, v.model
	polymers, ligands, affinities, smiles := 0, 0, 0, 0
	for i := range j.Sequences {
		s := &j.Sequences[i]
		if s.PropertyType == "affinity" {
			affinities += s.Count
		}
		switch {
		case s.Polymer():
			polymers += s.Count
			continue
		case !s.CCD:
			smiles++
		}
		ligands += s.Count
	}
	for _, total := range []struct {
		got, most int
		what      string
	}{
		{polymers + ligands, l.Chains, "chains, ligands and copies counted"},
		{polymers, l.Polymers, "chains of residues, copies counted"},
		{ligands, l.Ligands, "ligands, copies counted"},
		{smiles, l.SMILES, "ligands of a SMILES, copies not counted"},
		{affinities, l.Affinities, "ligands that ask for an affinity, copies counted"},
	} {
		if total.most > 0 && total.got > total.most {
			v.fault("sequences", ": the job has %d %s; the model %q takes at most %d",
				total.got, total.what, m.Name, total.most)
		}
	}
	if polymers < l.MinChains {
		v.fault("sequences", ": the job has %d chains of residues; the model %q needs %d", polymers, m.Name,
			l.MinChains)
	}
}

// leastSize checks a job that may be too small.
func (v *validation) leastSize() {
	l, j := &v.model.Limits, v.job
	if l.MinTokens+l.MinAtoms == 0 {
		return
	}
	var all entitySize
	for i := range j.Sequences {
		one := j.sizeOf(&j.Sequences[i], l)
		all.tokens += one.tokens * j.Sequences[i].Count
		all.atoms += one.atoms * j.Sequences[i].Count
	}
	if all.tokens < l.MinTokens {
		v.fault("sequences", ": the job has %d %s; the model %q needs %d", all.tokens, j.unit(), v.model.Name,
			l.MinTokens)
	}
	if all.atoms < l.MinAtoms {
		v.fault("sequences", ": the job has %d atoms besides hydrogen; the model %q needs %d", all.atoms, v.model.Name,
			l.MinAtoms)
	}
}

// upperBound says, for a message about the size of the job, which of its components counts as an upper bound; empty:
// none.
func (v *validation) upperBound() string {
	for i := range v.job.Sequences {
		if code := v.job.sizeOf(&v.job.Sequences[i], &v.model.Limits).unknown; code != "" {
			return fmt.Sprintf("; the definition of %s is not known here, so that it counts as %d atoms", code,
				unknownAtoms)
		}
	}
	return ""
}

// constraintLimits checks the kinds of the constraints, of which the model may accept some only.
func (v *validation) constraintLimits() {
	l, c, m := &v.model.Limits, &v.job.Constraints, v.model
	for _, of := range []struct {
		n    int
		kind string
	}{
		{len(c.Pocket), "pocket"},
		{len(c.Bond), "bond"},
		{len(c.Contact), "contact"},
	} {
		if of.n > 0 && len(l.Constraints) > 0 && !slices.Contains(l.Constraints, of.kind) {
			v.fault("constraints."+of.kind, ": the model %q accepts no %s constraints; it accepts %s",
				m.Name, of.kind, ListNames(l.Constraints, len(l.Constraints)))
		}
	}
	if n := len(c.Pocket); l.Pockets > 0 && n > l.Pockets {
		v.fault("constraints.pocket", " has %d entries; the model %q accepts at most %d", n, m.Name, l.Pockets)
	}
}
