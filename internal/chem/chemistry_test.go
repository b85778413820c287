package chem

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The verdicts are those of RDKit 2025.9.6, by MolFromSmiles and DetectChemistryProblems. It was asked about 41,000
// strings too: SMILES of entries of the Chemical Component Dictionary, and those with a letter changed.
func TestChemistry(t *testing.T) {
	for text, want := range map[string]string{
		"c1ccc1c":                                "at position 7: C in small letters is aromatic, but in no ring",
		"cc":                                     "at position 1: C in small letters is aromatic, but in no ring",
		"c1cccc1":                                "at position 1: the aromatic system has no structure",
		"c1ccnc1":                                "at position 1: the aromatic system has no structure",
		"CC(C)(C)(C)C":                           "at position 2: C has 5 bonds, hydrogens counted; it takes at most 4",
		"CO(C)C":                                 "at position 2: O has 3 bonds, hydrogens counted; it takes at most 2",
		"CN(C)(C)C":                              "at position 2: N has 4 bonds, hydrogens counted; it takes at most 3",
		"CF=C":                                   "at position 2: F has 3 bonds, hydrogens counted; it takes at most 1",
		"[CH3](C)C":                              "at position 1: C has 5 bonds, hydrogens counted; it takes at most 4",
		"CC(O=O)C":                               "at position 4: O has 3 bonds, hydrogens counted; it takes at most 2",
		"C[N](=O)[O-]":                           "at position 2: N has 4 bonds, hydrogens counted; without a charge it",
		"CN=[N]=[N-]":                            "at position 4: N has 4 bonds",
		"CN(O)(=O)=O":                            "at position 2: N has 6 bonds, hydrogens counted; it takes at most 5",
		"C[N+](C)(C)(C)C":                        "at position 2: N+ has 5 bonds, hydrogens counted; it takes at most 4",
		"C[Si](C)(C)(C)C":                        "at position 2: Si has 5 bonds, hydrogens counted; it takes at most 4",
		"C[O-]C":                                 "at position 2: O- has 2 bonds, hydrogens counted; it takes at most 1",
		"[CH5+]":                                 "at position 1: C+ has 5 bonds",
		"[H](C)C":                                "at position 1: H has 2 bonds",
		"CN(C)(C)=O":                             "5",
		"C=[N](=O)C":                             "4",
		"c1ccn(=O)cc1":                           "7",
		"[C-]#[O+]":                              "2",
		"C[B-](F)(F)F":                           "5",
		"[Cu]N(C)(C)C":                           "5",
		"C11":                                    "at position 3: the ring closes at the atom where it begins",
		"C12CC12":                                "at position 7: the ring closes between two atoms that are bonded",
		"C((C))C":                                `at position 3: "(" cannot stand here`,
		"[CH3@]":                                 `at position 1: "[CH3@]" is no atom`,
		"[C++++++]":                              `at position 1: "[C++++++]" is no atom`,
		"c1cc[nH]c1":                             "5",
		"c1ccoc1":                                "5",
		"c1ccsc1":                                "5",
		"[O-][n+]1ccccc1":                        "7",
		"O=c1cc[nH]cc1":                          "7",
		"Cn1c(=O)c2c(ncn2C)n(C)c1=O":             "14",
		"c1ccc2c(c1)c1ccccc12":                   "12",
		"c1ccc(cc1)c1ccccc1":                     "12",
		"c1ccc2[nH]ccc2c1":                       "9",
		"[cH-]1cccc1.[cH-]1cccc1.[Fe+2]":         "11",
		"C[N+](C)(C)CCO":                         "7",
		"CN(=O)=O":                               "4",
		"CN=[N+]=[N-]":                           "4",
		"OCl(=O)(=O)=O":                          "5",
		"CS(=O)(=O)O":                            "5",
		"OP(O)(=O)O":                             "5",
		"FS(F)(F)(F)(F)F":                        "7",
		"[NH3]->[Pt](Cl)(Cl)<-[NH3]":             "5",
		"B(O)(O)c1ccccc1":                        "9",
		"CC[C@@H](C)[C@H](N)C(=O)O":              "9",
		"C1CC2CCC1CC2":                           "8",
		"n1c[nH]c2c1c(=O)[nH]c(N)n2":             "11",
		"[2H]C([2H])([2H])O":                     "2",
		"c1cc2ccc3cccc4ccc(c1)c2c34":             "16",
		"O=c1[nH]c(=O)n(C)cc1":                   "9",
		"Cc1cn(C)=c(=O)[nH]c1=O":                 "10",
		"O=C1C=CC(=O)C=C1":                       "8",
		"N[C@@H](Cc1c[nH]cn1)C(=O)O":             "11",
		"C%12CCCCC%12":                           "6",
		"[Na+].[Cl-]":                            "2",
		"C1=CC2=CC3=CC=C(N3)C=C4C=CC(=N4)C=C1N2": "18",
	} {
		heavy, err := CheckSMILES(text)
		got := fmt.Sprint(heavy)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// The longest SMILES that a job may have are checked within a moment, whatever they are.
func TestChemistryIsQuick(t *testing.T) {
	began := time.Now()
	for _, text := range []string{
		strings.Repeat("c1ccccc1", 250),
		"c1" + strings.Repeat("c2ccccc2c", 200) + "c1",
		"c1" + strings.Repeat("cc", 990) + "c1",
		strings.Repeat("C(", 900) + "C" + strings.Repeat(")", 900),
	} {
		_, _ = CheckSMILES(text)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	}
}

// Large aromatic systems are left to the engine, since their structure would take long to find.
func TestLargeAromaticSystems(t *testing.T) {
	for n, refused := range map[int]bool{MaxAtoms - 1: true, MaxAtoms + 1: false} {
		_, err := CheckSMILES("c1" + strings.Repeat("c", n-2) + "c1")
		if (err != nil) != refused {
			t.Errorf("a ring of %d atoms: %v", n, err)
		}
	}
}
