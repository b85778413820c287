package structure

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// v3000 is a record of the version V3000 with some entries of its connection table.
func v3000(entries ...string) string {
	return "glycinate\n  by hand\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\nM  V30 " +
		strings.Join(entries, "\nM  V30 ") + "\nM  V30 END CTAB\nM  END\n> <data>\nof the record\n\n$$$$\n"
}

var v3000Atoms = []string{"COUNTS 3 2 0 0 0", "BEGIN ATOM", "10 C 0 0.5 -1.25 0", "7 N 1.5 0 -", "0 0 CHG=-1 -",
	"MASS=15", "8 cl 0 0 1 0", "END ATOM"}

func TestReadSDFV3000(t *testing.T) {
	text := v3000(append(v3000Atoms, "BEGIN BOND", "1 1 10 7", "2 2 10 8 CFG=2", "END BOND", "BEGIN SGROUP",
		"1 DAT 0 ATOMS=(1 7)", "END SGROUP")...)
	m, err := ReadSDF(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Molecule{
		Atoms: []MoleculeAtom{
			{Element: "C", Pos: Vec{0, 0.5, -1.25}},
			{Element: "N", Pos: Vec{1.5, 0, 0}, Charge: -1},
			{Element: "Cl", Pos: Vec{0, 0, 1}},
		},
		Bonds: []MoleculeBond{{0, 1, "SING"}, {0, 2, "DOUB"}},
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
}

func TestReadSDFV3000Faults(t *testing.T) {
	with := func(entries ...string) string {
		return v3000(append(v3000Atoms[:len(v3000Atoms):len(v3000Atoms)], entries...)...)
	}
	for want, text := range map[string]string{
		`line 7: "Xx" is no element`:                        v3000("BEGIN ATOM", "1 Xx 0 0 0 0"),
		`line 7: "1e9" is no coordinate in Å`:               v3000("BEGIN ATOM", "1 C 0 1e9 0 0"),
		"line 8: two atoms have the number \"1\"":           v3000("BEGIN ATOM", "1 C 0 0 0 0", "1 C 0 0 1 0"),
		"line 7: want a charge from -9 to 9, not \"12\"":    v3000("BEGIN ATOM", "1 C 0 0 0 0 CHG=12"),
		"line 7: radicals are not read":                     v3000("BEGIN ATOM", "1 C 0 0 0 0 RAD=2"),
		"line 7: want an atom with its number, element":     v3000("BEGIN ATOM", "1 C 0 0"),
		"line 15: want a bond with its number, type":        with("BEGIN BOND", "1 1 10"),
		"want a bond of the type 1 to 4 or 9 and two atoms": with("BEGIN BOND", "1 8 10 7"),
		"line 22: a second record begins here":              with("BEGIN BOND", "1 1 10 7") + "name\n",
		"that are there, not \"1 10 9\"":                    with("BEGIN BOND", "1 1 10 9"),
		"the molecule has no atoms":                         v3000("BEGIN ATOM", "END ATOM"),
		"it ends within its first record":                   strings.Split(with(), "M  V30 END CTAB")[0],
		"want a line of \"M  V30\", not \"M  CHG  1\"":      strings.ReplaceAll(with(), "M  V30 END CTAB", "M  CHG  1"),
		"has no connection table":                           strings.Split(with(), "M  V30")[0] + "M  END\n",
		"want \"V2000\" or \"V3000\" in columns 35 to 39":   strings.ReplaceAll(with(), "V3000", "V4000"),
		"stereochemistry in two dimensions": v3000("BEGIN ATOM", "1 C 0 0 0 0", "2 N 1 0 0 0", "END ATOM",
			"BEGIN BOND", "1 1 1 2 CFG=3"),
	} {
		_, err := ReadSDF(strings.NewReader(text), Limits{})
		var parse *ParseError
		if !errors.As(err, &parse) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// Whatever an SD file is, it is read or refused; what is read is one molecule whose bonds join its atoms, and is read
// back from the file that it is written to.
func FuzzReadSDF(f *testing.F) {
	f.Add(v3000(append(v3000Atoms, "BEGIN BOND", "1 1 10 7", "2 2 10 8", "END BOND")...))
	f.Add("\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n" +
		"    1.2000    0.0000    0.5000 O   0  5\n  1  2  1  0\nM  CHG  1   2  -1\nM  END\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadSDF(strings.NewReader(text), fuzzLimits)
		if err != nil {
			checkError(t, err)
			return
		}
		for i := range m.Atoms {
			m.Atoms[i].Name = "A" + strings.Repeat("I", i)
		}
		r, w := io.Pipe()
		go func() { w.CloseWithError(m.WriteComponentCIF(w, "OWN")) }()
		again, err := ReadComponentCIF(r, Limits{})
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if len(again.Atoms) != len(m.Atoms) || cmp.Diff(m.Bonds, again.Bonds) != "" {
			t.Errorf("%d atoms are read as %d", len(m.Atoms), len(again.Atoms))
		}
	})
}
