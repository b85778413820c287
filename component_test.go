package pleat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/chem"
)

var withComponents = Model{Name: "own", Kind: TaskFold, Entities: []EntityKind{Protein, RNA, DNA, Ligand},
	Features: []Feature{FeatureComponents, FeatureConstraints, FeatureModifications, FeatureComplex}, MaxTokens: 100}

// ownJob has a protein with a modified residue and a ligand, both of them components.
func ownJob(all ...Component) Job {
	return Job{
		Name: "x",
		Sequences: []Sequence{
			{Kind: Protein, Text: "GCHM", Modifications: []Modification{{Residue: 3, CCD: "RES"}}},
			{Kind: Ligand, Text: "LG1", CCD: true},
		},
		Params:      Params{Model: "own"},
		Constraints: Constraints{Components: all},
	}
}

func TestValidateComponents(t *testing.T) {
	residue := Component{Code: " res", SMILES: " NC(CF)C(=O)O |$N;CA;CB;FG;C;O;OXT$|"}
	ligand := Component{Code: "LG1", SMILES: "CCO |$CB1;CA1;OA$|"}
	bond := func(first, second AtomRef) []Bond { return []Bond{{first, second}} }
	j := ownJob(residue, ligand)
	j.Constraints.Bond = bond(AtomRef{"A", 3, "FG"}, AtomRef{"B", 1, "OA"})
	if err := j.Validate(withComponents); err != nil {
		t.Fatal(err)
	}
	if c := j.Constraints.Components[0]; c.Code != "RES" || c.SMILES != residue.SMILES[1:] {
		t.Errorf("%+v is not in canonical form", c)
	}
	if n := j.Tokens(ModelLimits{}); n != 3+6+3 {
		t.Errorf("%d tokens; want 3 residues, 6 atoms of another without the one that leaves and 3 of the ligand", n)
	}
	text, atoms := j.Constraints.Components[1].Molecule()
	want := []chem.Atom{{Name: "CB1", Element: "C"}, {Name: "CA1", Element: "C"}, {Name: "OA", Element: "O"}}
	if d := cmp.Diff(want, atoms); d != "" || text != "CCO" {
		t.Errorf("%q %s", text, d)
	}
	without := withComponents
	without.Features = without.Features[1:]
	for want, c := range map[string]struct {
		job   Job
		model Model
	}{
		`constraints.components: the model "own" takes no components`: {ownJob(residue, ligand), without},
		"constraints.components[1].code is LG1, which an earlier component has": {
			ownJob(ligand, Component{Code: "lg1", SMILES: "C"}), withComponents},
		"constraints.components[0].code is OTHER, which the job does not use; use it as a ligand with is_ccd true or " +
			"as a modified residue, or leave the component out": {
			ownJob(Component{Code: "OTHER", SMILES: "C"}), withComponents},
		"constraints.components[0].code is ALA, the code of a standard or unknown residue or of water; choose another": {
			ownJob(Component{Code: "ALA", SMILES: "C"}), withComponents},
		"constraints.components[0].code is UNL, the code of a standard or unknown residue or of water; choose another": {
			ownJob(Component{Code: "UNL", SMILES: "C"}), withComponents},
		`constraints.components[0].code is "LG-1"; it must have 1 to 5 letters and digits`: {
			ownJob(Component{Code: "LG-1", SMILES: "C"}), withComponents},
		"constraints.components[0].smiles is required, unless libraryItemId names a file; it must be a SMILES such as " +
			"CCO, or CCO |$C1;C2;O1$| with the names of the atoms": {ownJob(Component{Code: "LG1"}), withComponents},
		"constraints.components[0].smiles must have printable ASCII only": {
			ownJob(Component{Code: "LG1", SMILES: "C\x00"}), withComponents},
		"constraints.components[0].smiles has 4001 letters; a SMILES of a component may have 4000": {
			ownJob(Component{Code: "LG1", SMILES: strings.Repeat("C", 4001)}), withComponents},
		"constraints.components[0].smiles at position 2: a component is one molecule, without '.'": {
			ownJob(Component{Code: "LG1", SMILES: "C.C"}), withComponents},
		"constraints.components[0].smiles has two atoms C1": {
			ownJob(Component{Code: "LG1", SMILES: "CC |$C1;C1$|"}), withComponents},
		"sequences[0].proteinChain.modifications[0].ccd is RES, a component without an atom N; a modified residue of a " +
			"protein has the atoms N, CA, C, O": {ownJob(Component{Code: "RES", SMILES: "CCO"}), withComponents},
		"constraints.components has 21 entries; at most 20 are allowed": {
			ownJob(make([]Component, 21)...), withComponents},
	} {
		if err := c.job.Validate(c.model); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for want, ends := range map[string][]Bond{
		`constraints.bond[0].atom2.atom_name is "C1"; the component LG1 has the atoms CB1, CA1, OA`: bond(
			AtomRef{"A", 2, "SG"}, AtomRef{"B", 1, "C1"}),
		`constraints.bond[0].atom1.atom_name is "OXT"; the component RES has the atoms N, CA, CB, FG, C, O`: bond(
			AtomRef{"A", 3, "OXT"}, AtomRef{"B", 1, "OA"}),
	} {
		j := ownJob(residue, ligand)
		j.Constraints.Bond = ends
		if err := j.Validate(withComponents); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
