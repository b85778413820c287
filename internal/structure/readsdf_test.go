package structure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cisplatin is what RDKit 2026.9 writes of [NH3]->[Pt](Cl)(Cl)<-[NH3] without hydrogens, with type 9 in V3000.
const cisplatin = `
     RDKit          3D

  0  0  0  0  0  0  0  0  0  0999 V3000
M  V30 BEGIN CTAB
M  V30 COUNTS 5 4 0 0 0
M  V30 BEGIN ATOM
M  V30 1 N 2.027025 0.128126 -0.518805 0
M  V30 2 Pt -0.122108 0.035670 0.255113 0 VAL=4
M  V30 3 Cl -0.401992 -0.146159 -2.256044 0
M  V30 4 Cl -2.332873 1.064935 0.589988 0
M  V30 5 N 0.801213 0.572898 2.082113 0
M  V30 END ATOM
M  V30 BEGIN BOND
M  V30 1 9 1 2
M  V30 2 1 2 3
M  V30 3 1 2 4
M  V30 4 9 5 2
M  V30 END BOND
M  V30 END CTAB
M  END
`

// A bond to a metal goes from the donor to it, and stays so in the file that is written; RDKit reads both alike.
func TestDativeBonds(t *testing.T) {
	want := []MoleculeBond{{0, 1, Dative}, {1, 2, "SING"}, {1, 3, "SING"}, {4, 1, Dative}}
	m, err := ReadSDF(strings.NewReader(cisplatin), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, m.Bonds); d != "" {
		t.Error(d)
	}
	cr, err := ReadSDF(strings.NewReader(strings.ReplaceAll(cisplatin, "\n", "\r")), Limits{})
	if d := cmp.Diff(m, cr); err != nil || d != "" {
		t.Errorf("lines that end with CR: %v %s", err, d)
	}
	for i, name := range []string{"N1", "PT1", "CL1", "CL2", "N2"} {
		m.Atoms[i].Name = name
	}
	var out strings.Builder
	if err := m.WriteComponentCIF(&out, "CPT"); err != nil {
		t.Fatal(err)
	}
	again, err := ReadComponentCIF(strings.NewReader(out.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, again.Bonds); d != "" {
		t.Error(d)
	}
}

// v2000 is a record of the version V2000 of two atoms and a bond, with ends of their lines and what follows the bond.
func v2000(z, atom, bond, rest string) string {
	return "\n  p\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 N   0  0\n" +
		"    2.0000    0.0000" + z + " " + atom + "\n  1  2" + bond + "\n" + rest
}

func TestReadSDF(t *testing.T) {
	const place = "    0.1000"
	for _, c := range []struct{ text, want string }{
		{v2000(place, "Pt  0  0", "  9  0", "M  END\n"), "N Pt DATI"}, // as RDKit has it
		{v2000(place, "D   0  0", "  1  0", "M  END\n"), "N H SING"},
		{v2000(place, "C   0  0", "  4  0", "M  END\n> <note>\nM  END\n\n$$$$\n\n"), "N C AROM"},
		{v2000(place, "C   0  0", "  2  0", "M  CHG  1   1   1\r\nM  END\r\n"), "N+1 C DOUB"},
		{v2000(place, "C   0  3", "  1  0", "M  END\n"), "N C+1 SING"},
		{v2000(place, "C   0  0  1", "  1  0", "M  END\n"), "N C SING"},

		{v2000(place, "C   0  0", "  8  0", "M  END\n"), "SDF file, line 7: want two atoms from 1 and a bond of the type " +
			"1 to 4 or 9, not \"  1  2  8  0\""},
		{v2000(place, "C   0  0", "  1  0", "M  END\n$$$$\nname\n"), "SDF file, line 10: a second record begins here; a " +
			"component is one molecule, in a file of its own"},
		{v2000(place, "A   0  0", "  1  0", "M  END\n"), `SDF file, line 6: "A" is no element`},
		{v2000(place, "R1  0  0", "  1  0", "M  END\n"), `SDF file, line 6: "R1" is no element`},
		{v2000(place, "C   0  4", "  1  0", "M  END\n"), `SDF file, line 6: "4" is no charge that is read`},
		{v2000(place, "C   0  0", "  1  0", "M  RAD  1   2   2\nM  END\n"), "SDF file, line 8: radicals are not read"},
		{v2000("    0.0000", "C   0  0  2", "  1  0", "M  END\n"), "SDF file: it draws stereochemistry in two dimensions; " +
			"give three-dimensional coordinates, from which it is read"},
		{strings.ReplaceAll(v2000("    0.0000", "C   0  0", "  1  0", "M  END\n"), "2.0", "0.0"), "SDF file: its atoms " +
			"are all at one place; give three-dimensional coordinates, which say the stereochemistry"},
	} {
		m, err := ReadSDF(strings.NewReader(c.text), Limits{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = described(m)
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// described returns the atoms and bonds of a molecule in a line.
func described(m *Molecule) string {
	var words []string
	for _, a := range m.Atoms {
		word := a.Element
		if a.Charge != 0 {
			word += fmt.Sprintf("%+d", a.Charge)
		}
		words = append(words, word)
	}
	for _, b := range m.Bonds {
		words = append(words, b.Order)
	}
	return strings.Join(words, " ")
}

// A file of a component has one, whose atoms all have coordinates of one kind.
func TestReadComponentCIF(t *testing.T) {
	const header = "loop_\n_chem_comp_atom.comp_id\n_chem_comp_atom.atom_id\n_chem_comp_atom.type_symbol\n" +
		"_chem_comp_atom.model_Cartn_x\n_chem_comp_atom.model_Cartn_y\n_chem_comp_atom.model_Cartn_z\n" +
		"_chem_comp_atom.pdbx_model_Cartn_x_ideal\n_chem_comp_atom.pdbx_model_Cartn_y_ideal\n" +
		"_chem_comp_atom.pdbx_model_Cartn_z_ideal\n"
	const bond = "loop_\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\n_chem_comp_bond.value_order\n" +
		"C1 O1 SING\n"
	const second = "a second component begins here; a component is one molecule, in a file of its own"
	const places = "mmCIF file: it has no coordinates of every atom, which give the stereochemistry"
	for _, c := range []struct{ text, want string }{
		{"data_A\n" + header + "A C1 C 0 0 0 9 9 9\nA O1 O 1 0 0 8 9 9\n" + bond, "C (9) O (8)"},
		{"data_A\n" + header + "A C1 C 0 0 0 9 9 9\nA O1 O 1 0 0 ? ? ?\n" + bond, "C (0) O (1)"},
		{"data_A\n" + header + "A C1 C 0 ? 0 9 9 9\nA O1 O 1 0 0 8 9 9\n" + bond, "C (9) O (8)"},
		{"data_list\n_chem_comp.id A\ndata_A\n" + header + "A C1 C 0 0 0 9 9 9\nA O1 O 1 0 0 8 9 9\n" + bond, "C (9) O (8)"},
		{"data_A\n" + header + "A C1 C ? 0 0 9 9 9\nA O1 O 1 0 0 ? ? ?\n" + bond, places},
		{"data_A\n" + header + "A C1 C 0 0 0 9 9 9\nB O1 O 1 0 0 8 9 9\n" + bond, "mmCIF file, line 13: " + second},
		{"data_A\n" + header + "A C1 C 0 0 0 9 9 9\ndata_B\n" + header + "A O1 O 1 0 0 8 9 9\n",
			"mmCIF file, line 24: " + second},
	} {
		m, err := ReadComponentCIF(strings.NewReader(c.text), Limits{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%s (%v) %s (%v)", m.Atoms[0].Element, m.Atoms[0].Pos[0], m.Atoms[1].Element,
				m.Atoms[1].Pos[0])
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
