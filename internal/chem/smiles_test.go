package chem

import (
	"fmt"
	"strings"
	"testing"
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
		"[H]Oc1ccc[se]1":                       "H1 O1 C1 C2 C3 C4 SE1",
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
		read, err := ParseSMILES(text)
		if err == nil {
			err = CheckAtoms(read.Atoms)
		}
		got := fmt.Sprint(err)
		if err == nil {
			var names []string
			for _, a := range read.Atoms {
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

// Whatever the text is, it is read or refused, and what is read has an atom for each name.
func FuzzSMILES(f *testing.F) {
	for _, text := range []string{"CCO |$C1;C2;O1$|", "[13C@@H2+]%10CC%10", "c1ccccc1(", "c1ccc2[nH]ccc2c1", "C |$", "[", "%", ")("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if heavy, err := CheckSMILES(text); err == nil && heavy != HeavyAtoms(text) {
			t.Errorf("%q has %d atoms and %d", text, heavy, HeavyAtoms(text))
		}
		read, err := ParseSMILES(text)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("%q is refused without a reason", text)
			}
			return
		}
		if len(read.Atoms) == 0 || len(read.Atoms) > len(read.SMILES) {
			t.Errorf("%q has %d atoms", read.SMILES, len(read.Atoms))
		}
		again, err := ParseSMILES(read.SMILES)
		if err != nil || len(again.Atoms) != len(read.Atoms) {
			t.Errorf("%q is read another way: %v", read.SMILES, err)
		}
	})
}

// A place is one before which nothing is open, and that is within no atom.
func TestFirstWhole(t *testing.T) {
	for _, c := range []struct {
		text   string
		places []int
		want   int
	}{
		{"C1CC1C", []int{2, 4, 5, 6}, 2},
		{"CC(Cl)C[NH3+]", []int{3, 4, 6, 9}, 2},
		{"C=O.", []int{2, 4}, -1},
		{"ClC", []int{1, 2}, 1},
		{"C(!C)C", []int{2, 3, 6}, -1},
		{"", []int{0}, -1},
	} {
		if got := FirstWhole(c.text, c.places); got != c.want {
			t.Errorf("%s: %d; want %d", c.text, got, c.want)
		}
	}
}
