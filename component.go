package pleat

import (
	"slices"
	"strings"

	"pleat/internal/chem"
)

// Limits of the components of a job.
const (
	MaxComponents      = 20
	MaxComponentSMILES = 4_000 // letters, with the names of the atoms
)

// Component is a molecule of one's own with a code, which a job uses as one of the Chemical Component Dictionary: as a
// ligand, or as a modified residue. Exactly one of SMILES and Item says what it is. The names in JSON are those of
// requests.
type Component struct {
	Code   string `json:"code"`
	SMILES string `json:"smiles,omitempty"` // with the names of its atoms, as in ChemAxon extended SMILES
	Item   ItemID `json:"libraryItemId,omitempty"`
	File   string `json:"fileName,omitempty"` // of the item; empty: its first file of a component
}

// ComponentPath is the path of component i in a creation request.
func ComponentPath(i int) string { return indexed("constraints.components", i) }

// ComponentEndings are the endings of the names of files of components, in lower case.
var ComponentEndings = []string{".sdf", ".mol", ".cif", ".mmcif"}

// Private returns the component without where it comes from.
func (c Component) Private() Component {
	c.Item, c.File = "", ""
	return c
}

// Molecule returns the SMILES of a valid component that has one, without the names of the atoms, and its atoms in that
// order.
func (c *Component) Molecule() (text string, atoms []chem.Atom) {
	read, _ := chem.ParseSMILES(c.SMILES) // it was checked when the job was created
	return read.SMILES, read.Atoms
}

// reservedCodes are codes that engines and files give a meaning of their own: the standard residues, with
// selenomethionine, which models fold as methionine, the unknown ones, and water.
var reservedCodes = strings.Fields(`ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL MSE
	SEC PYL ASX GLX A C G U I N DA DC DG DT DU DI DN UNK UNX UNL HOH DOD WAT`)

// components checks the components of the job. All chains must have their names.
func (v *validation) components() {
	all := v.job.Constraints.Components
	if len(all) > MaxComponents {
		v.fault("constraints.components", " has %d entries; at most %d are allowed", len(all), MaxComponents)
		return
	}
	seen := map[string]bool{}
	for i := range all {
		c, at := &all[i], ComponentPath(i)
		c.Code = strings.ToUpper(strings.TrimSpace(c.Code))
		switch {
		case !IsCCD(c.Code):
			v.fault(at+".code", " is %q; it must have 1 to 5 letters and digits", Clip(c.Code))
			continue
		case slices.Contains(reservedCodes, c.Code):
			v.fault(at+".code", " is %s, the code of a standard or unknown residue or of water; choose another", c.Code)
			continue
		case seen[c.Code]:
			v.fault(at+".code", " is %s, which an earlier component has", c.Code)
			continue
		}
		seen[c.Code] = true
		if !v.job.uses(c.Code) {
			v.fault(at+".code", " is %s, which the job does not use; use it as a ligand with is_ccd true or as a "+
				"modified residue, or leave the component out", c.Code)
			continue
		}
		v.componentSource(i)
	}
}

// componentSource checks where component i comes from. Its file is checked when the job is created.
func (v *validation) componentSource(i int) {
	c, at := &v.job.Constraints.Components[i], ComponentPath(i)
	switch {
	case c.Item == "" && c.File != "":
		v.fault(at+".fileName", " has no effect without libraryItemId; leave it out, or set both")
	case c.Item == "":
		v.componentSMILES(i)
	case c.SMILES != "":
		v.fault(at, " has both smiles and libraryItemId; it must have one")
	case !IsUUID(string(c.Item)):
		v.fault(at+".libraryItemId", " is %q; it must be the UUID of a library item", Clip(string(c.Item)))
	case c.File != "" && !isStoredName(c.File):
		v.fault(at+".fileName", " is %q; it must be the plain name of a file", Clip(c.File))
	}
	c.Item = ItemID(strings.ToLower(string(c.Item)))
}

// componentSMILES checks the SMILES of component i and what the job does with its atoms.
func (v *validation) componentSMILES(i int) {
	c, field := &v.job.Constraints.Components[i], ComponentPath(i)+".smiles"
	c.SMILES = strings.TrimSpace(c.SMILES)
	switch {
	case c.SMILES == "":
		v.fault(field, " is required, unless libraryItemId names a file; it must be a SMILES such as CCO, or CCO "+
			"|$C1;C2;O1$| with the names of the atoms")
		return
	case len(c.SMILES) > MaxComponentSMILES:
		v.fault(field, " has %d letters; a SMILES of a component may have %d", len(c.SMILES), MaxComponentSMILES)
		return
	case !isPrintable(c.SMILES):
		v.fault(field, " must have printable ASCII only")
		return
	}
	read, err := chem.ParseSMILES(c.SMILES)
	if err == nil {
		err = chem.CheckAtoms(read.Atoms)
	}
	if err == nil {
		_, err = chem.CheckSMILES(read.SMILES)
	}
	if err != nil {
		v.fault(field, " %s", err)
		return
	}
	v.add(v.job.CheckComponent(i, read.Atoms))
}

// uses reports whether a ligand or a modified residue of the job has a code.
func (j *Job) uses(code string) bool {
	for i := range j.Sequences {
		s := &j.Sequences[i]
		modified := func(m Modification) bool { return m.CCD == code }
		if s.Kind == Ligand && s.CCD && s.Text == code || slices.ContainsFunc(s.Modifications, modified) {
			return true
		}
	}
	return false
}

// backbone are the atoms by which a residue is part of a chain.
var backbone = map[EntityKind][]string{
	Protein: {"N", "CA", "C", "O"},
	RNA:     {"P", "O5'", "C5'", "C4'", "C3'", "O3'", "C1'"},
	DNA:     {"P", "O5'", "C5'", "C4'", "C3'", "O3'", "C1'"},
}

// CheckComponent checks what the job does with the atoms of component i: a modified residue must have the atoms of the
// chain, and bonds must be of atoms that are there. All chains must have their names.
func (j *Job) CheckComponent(i int, atoms []chem.Atom) error {
	var faults Errors
	code := j.Constraints.Components[i].Code
	for k := range j.Sequences {
		s := &j.Sequences[k]
		at := slices.IndexFunc(s.Modifications, func(m Modification) bool { return m.CCD == code })
		if at < 0 {
			continue
		}
		if name := lacking(backbone[s.Kind], atoms); name != "" {
			_ = faults.Add(InvalidField(indexed(s.Path(k)+".modifications", at)+".ccd", " is %s, a component "+
				"without an atom %s; a modified residue of a %s has the atoms %s", code, name, s.Kind,
				ListNames(backbone[s.Kind], 10))) // a fault of the request
		}
	}
	for k := range j.Constraints.Bond {
		b, at := &j.Constraints.Bond[k], indexed("constraints.bond", k)
		_ = faults.Add(j.checkComponentAtom(at+".atom1", &b.Atom1, code, atoms)) // faults of the request
		_ = faults.Add(j.checkComponentAtom(at+".atom2", &b.Atom2, code, atoms))
	}
	return faults.Err()
}

// lacking returns the first of some names that none of the atoms which stay in a chain has; empty: they have all.
func lacking(names []string, atoms []chem.Atom) string {
	for _, name := range names {
		if !slices.ContainsFunc(atoms, func(a chem.Atom) bool { return a.Name == name && !a.Leaving }) {
			return name
		}
	}
	return ""
}

// checkComponentAtom checks an end of a bond, if it is in a residue with a code, whose atoms are given.
func (j *Job) checkComponentAtom(field string, a *AtomRef, code string, atoms []chem.Atom) error {
	of := j.sequenceOf(a.Chain)
	if of == nil {
		return nil // a fault already
	}
	in := of.Kind == Ligand && of.CCD && of.Text == code
	for _, m := range of.Modifications {
		in = in || m.Residue == a.Residue && m.CCD == code
	}
	if !in {
		return nil
	}
	return checkAtom(field+".atom_name", a.Atom, "the component "+code, atoms, of.Polymer())
}

// sequenceOf returns the sequence that a chain belongs to; nil: none.
func (j *Job) sequenceOf(chain string) *Sequence {
	i := slices.IndexFunc(j.Sequences, func(s Sequence) bool { return slices.Contains(s.Chains, chain) })
	if i < 0 {
		return nil
	}
	return &j.Sequences[i]
}

// componentsTaken checks whether the model takes components at all.
func (v *validation) componentsTaken() bool {
	if len(v.job.Constraints.Components) == 0 || v.model.Has(FeatureComponents) {
		return true
	}
	v.fault("constraints.components", ": the model %q takes no components", v.model.Name)
	return false
}
