package chem

import (
	"os"
	"strings"
	"testing"
)

// The numbers are those of gemmi and RDKit for the definitions at https://www.rcsb.org/ligand/CODE. A test of the
// runner openfold3 holds the whole file against biotite.
func TestDictionary(t *testing.T) {
	for code, want := range map[string][2]int{
		"ZN": {1, 0}, "CA": {1, 0}, "HOH": {1, 0}, "SO4": {5, 0}, "GOL": {6, 0}, "ATP": {31, 0}, "ADP": {27, 0},
		"NAD": {44, 0}, "NAP": {48, 0}, "FAD": {53, 0}, "FMN": {31, 0}, "HEM": {43, 0}, "SAM": {27, 0},
		"COA": {48, 0}, "NAG": {15, 1}, "SEP": {11, 1}, "TPO": {12, 1}, "PTR": {17, 1}, "MSE": {9, 1}, "5MC": {22, 1},
		"A1A00": {27, 0}, "000": {5, 1}, "H": {0, 0}, "ALA": {6, 1}, "DA": {22, 1},
	} {
		if e, ok := LookUp(code); !ok || e.Heavy != want[0] || e.Leaving != want[1] {
			t.Errorf("%s has %d atoms, of which %d leave (%t); want %v", code, e.Heavy, e.Leaving, ok, want)
		}
	}
	for _, code := range []string{"", "ATPX", "zn", "UNL", "ZZZZZ"} {
		if e, ok := LookUp(code); ok {
			t.Errorf("%q is there: %+v", code, e)
		}
	}
	d := readDictionary()
	if n := len(d.codes) / codeWidth; n != 49195 || len(d.heavy) != n || len(d.leaving) != n || len(d.names) != 4403 {
		t.Errorf("%d codes with %d and %d numbers, and %d with names", n, len(d.heavy), len(d.leaving), len(d.names))
	}
}

// The parents are those of mon_nstd_parent_comp_id at https://www.rcsb.org/ligand/CODE.
func TestParent(t *testing.T) {
	for code, want := range map[string]string{
		"SEP": "SER", "TPO": "THR", "PTR": "TYR", "MSE": "MET", "HYP": "PRO", "NEP": "HIS", "M3L": "LYS", "PCA": "GLN",
		"5MC": "C", "PSU": "U", "6OG": "DG", "ALA": "ALA", "U": "U", "DT": "DT",
		"CRO": "", "ATP": "", "UNK": "", "NAG": "", "": "", "QQQ": "",
	} {
		if got := Parent(code); got != want {
			t.Errorf("the parent of %s is %q; want %q", code, got, want)
		}
	}
	for kind, codes := range residueCodes {
		for _, code := range codes {
			if Parent(code) != code {
				t.Errorf("%s of %s has the parent %q", code, kind, Parent(code))
			}
		}
	}
}

func TestDictionaryNames(t *testing.T) {
	for code, want := range map[string]string{
		"CYS": "N CA C O CB SG OXT-",
		"SEP": "N CA CB OG C O OXT- P O1P O2P O3P",
		"NAG": "C1 C2 C3 C4 C5 C6 C7 C8 N2 O1- O3 O4 O5 O6 O7",
		"U":   "OP3- P OP1 OP2 O5' C5' C4' O4' C3' O3' C2' O2' C1' N1 C2 O2 N3 C4 O4 C5 C6",
		"ATP": "",
	} {
		e, _ := LookUp(code)
		var names []string
		for _, a := range e.Atoms {
			if a.Leaving {
				a.Name += "-"
			}
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has %s; want %s", code, got, want)
		}
	}
	for kind, letters := range map[string]string{"protein": "ACDEFGHIKLMNPQRSTVWY", "rna": "ACGU", "dna": "ACGT"} {
		for i := range letters {
			if e, _ := LookUp(ResidueCode(kind, letters[i])); len(e.Atoms) == 0 {
				t.Errorf("no atoms of %c in %s", letters[i], kind)
			}
		}
	}
	if got := ResidueCode("protein", 'X') + ResidueCode("rna", 'N') + ResidueCode("ligand", 'A'); got != "" {
		t.Errorf("an unknown residue is %s", got)
	}
}

// The documentation names the date of the embedded dictionary.
func TestDictionaryDateInDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	if date := DictionaryDate(); !strings.Contains(string(text), "changes up to "+date) {
		t.Errorf("docs/interface.md does not name the date %s of the dictionary", date)
	}
}
