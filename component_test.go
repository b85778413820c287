package pleat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Names stand in the order of the string; what has none is called by its element and a number.
func TestSMILESNames(t *testing.T) {
	for text, want := range map[string]string{
		"CCO":                                  "C1 C2 O1",
		"CCO |$C1;C2;O1$|":                     "C1 C2 O1",
		"CCO   |$CA; ;OXT$|":                   "CA C2 OXT-",
		"[13CH3][C@@H](Cl)Br":                  "C1 C2 CL1 BR1",
		"c1cc[nH]c1":                           "C1 C2 C3 N1 C4",
		"[Zn+2]":                               "ZN1",
		"[H]O[se]":                             "H1 O1 SE1",
		"C%01CC1":                              "C1 C2 C3",
		"C/C=C\\C#N":                           "C1 C2 C3 C4 N1",
		"P(O)(=O)O |$P;OP1;OP2;OP3$|":          "P OP1 OP2 OP3-",
		"CC(=O)N[C@H](C)C(=O)O":                "C1 C2 O1 N1 C3 C4 C5 O2 O3",
		"":                                     "has no atom",
		"C.C":                                  "at position 2: a component is one molecule, without '.'",
		"C1CC":                                 "at position 2: the ring is not closed",
		"C(C":                                  "at position 2: the branch is not closed",
		"C()C":                                 `at position 3: ")" cannot stand here`,
		"C=":                                   `ends with "=", after which an atom must follow`,
		"C==C":                                 `at position 3: "=" cannot stand here`,
		"=C":                                   `at position 1: "=" cannot stand here`,
		"CX":                                   `at position 2: "X" cannot stand here`,
		"*C":                                   "at position 1: '*' is no element",
		"[Xx]":                                 `at position 1: "[Xx]" is no atom`,
		"[C":                                   "at position 1: the bracket is not closed",
		"C%1":                                  "at position 2: two digits must follow %",
		"CCO |$C1;C2$|":                        "names 2 atoms between $ and $; the SMILES has 3",
		"CCO |c:1|":                            `has "|c:1|" after the SMILES; names of atoms have the form |$C1;C2;O1$|`,
		"CCO ethanol":                          `has "ethanol" after the SMILES; names of atoms have the form |$C1;C2;O1$|`,
		"CCO |$C1;C1;O1$|":                     "has two atoms C1",
		"CCO |$C1;C2;HYDRO$|":                  `names atom 3 "HYDRO"; a name has 1 to 4 letters and digits, ' and *`,
		"[H][H]":                               "has no atom besides hydrogen",
		"CO |$;O1;$|":                          "names 3 atoms between $ and $; the SMILES has 2",
		strings.Repeat("C", 201):               "has more than 200 atoms, hydrogens not counted",
		"OCC |$C1;;$|":                         "has two atoms C1",
		"C |$C1$| |$C2$|":                      `has "|$C1$| |$C2$|" after the SMILES; names of atoms have the form |$C1;C2;O1$|`,
		"CC(C)(C)c1ccc(cc1)C(=O)N[C@@H](CS)C":  "C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 O1 N1 C12 C13 S1 C14",
		"C[N+](C)(C)CCO |$C1;N1;C2;C3;;;OH1$|": "C1 N1 C2 C3 C4 C5 OH1",
	} {
		read, err := parseSMILES(text)
		if err == nil {
			err = CheckAtoms(read.atoms)
		}
		got := fmt.Sprint(err)
		if err == nil {
			var names []string
			for _, a := range read.atoms {
				if a.Leaving {
					a.Name += "-"
				}
				names = append(names, a.Name)
			}
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// A ligand may be a salt; a component may not.
func TestCheckSMILES(t *testing.T) {
	for text, want := range map[string]string{
		"CC(=O)[O-].[Na+]": "5 <nil>",
		"[2H]C":            "1 <nil>",
		"C1.C1":            "2 <nil>",
		"C(C.C)":           "3 <nil>",
		"":                 "0 has no atom",
		".C":               `0 at position 1: "." cannot stand here`,
		"C..C":             `0 at position 3: "." cannot stand here`,
		"C(.C)":            `0 at position 3: "." cannot stand here`,
		"C.":               `0 ends with ".", after which an atom must follow`,
		"C2C1CC":           "0 at position 2: the ring is not closed",
		"C(C(C":            "0 at position 4: the branch is not closed",
	} {
		heavy, err := CheckSMILES(text)
		if got := fmt.Sprint(heavy, " ", err); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

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
	if n := j.Tokens(); n != 3+7+3 {
		t.Errorf("%d tokens; want 3 residues, 7 atoms of another and 3 of the ligand", n)
	}
	text, atoms := j.Constraints.Components[1].Molecule()
	if d := cmp.Diff([]ComponentAtom{{"CB1", "C", false}, {"CA1", "C", false}, {"OA", "O", false}}, atoms); d != "" ||
		text != "CCO" {
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

// Whatever the text is, it is read or refused, and what is read has an atom for each name.
func FuzzSMILES(f *testing.F) {
	for _, text := range []string{"CCO |$C1;C2;O1$|", "[13C@@H2+]%10CC%10", "c1ccccc1(", "C |$", "[", "%", ")("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parseSMILES(text)
		if err != nil {
			if CodeOf(err) != CodeInvalid || err.Error() == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if len(read.atoms) == 0 || len(read.atoms) > len(read.text) {
			t.Errorf("%q has %d atoms", read.text, len(read.atoms))
		}
		again, err := parseSMILES(read.text)
		if err != nil || len(again.atoms) != len(read.atoms) {
			t.Errorf("%q is read another way: %v", read.text, err)
		}
	})
}
