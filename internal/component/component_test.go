package component

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// sdf returns a record with lines of atoms, bonds and properties.
func sdf(counts string, lines ...string) string {
	return "name\n  program\n\n" + counts + "  0  0  0  0  0  0  0  0999 V2000\n" + strings.Join(lines, "\n") + "\n"
}

const (
	atomC = "    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0"
	atomO = "    1.4000    0.0000    0.0000 O   0  5  0  0  0  0  0  0  0  0  0  0"
	atomX = "    1.4000    0.0000    0.0000 R#  0  0"
	end   = "M  END"
)

// cif returns a component with rows of atoms and bonds.
func cif(atoms, bonds string) string {
	return "data_X\nloop_\n_chem_comp_atom.atom_id\n_chem_comp_atom.type_symbol\n_chem_comp_atom.charge\n" +
		"_chem_comp_atom.pdbx_leaving_atom_flag\n_chem_comp_atom.model_Cartn_x\n_chem_comp_atom.model_Cartn_y\n" +
		"_chem_comp_atom.model_Cartn_z\n" + atoms + "\nloop_\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\n" +
		"_chem_comp_bond.value_order\n" + bonds + "\n"
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.sdf", sdf("  2  1", atomC, atomO, "  1  2  1  0", end), "C1 C 0, O1 O -1; 0-1 SING"},
		{"a.SDF", sdf("  2  1", atomC, atomO, "  1  2  2  0", "M  CHG  1   1   1", end), "C1 C 1, O1 O 0; 0-1 DOUB"},
		{"a.sdf", sdf("  2  1", atomC, atomO, "  1  2  1  1", end),
			"cannot be read: SDF file: it draws stereochemistry in two dimensions; give three-dimensional coordinates, " +
				"from which it is read"},
		{"a.sdf", sdf("  2  1", atomC, atomX, "  1  2  1", end), `cannot be read: SDF file, line 6: "R#" is no element`},
		{"a.sdf", sdf("  2  0", atomC, atomO, end),
			"cannot be read: SDF file: its bonds leave 2 molecules apart; a component is one molecule"},
		{"a.sdf", sdf("  2  2", atomC, atomO, "  1  2  1", "  2  1  1", end),
			"cannot be read: SDF file: its bond of the atoms 2 and 1 is there twice, or joins an atom with itself"},
		{"a.sdf", sdf("  2  1", atomC), "cannot be read: SDF file, line 5: it ends within its first record"},
		{"a.sdf", sdf("999  1", atomC),
			"cannot be read: SDF file, line 4: the molecule has more than the 600 atoms allowed"},
		{"a.sdf", sdf("  2  1", atomC, atomO, "  1  3  1", end),
			"cannot be read: SDF file, line 7: the molecule has more than the 2 atoms allowed"},
		{"a.sdf", "a\nb\nc\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\nM  V30 BEGIN ATOM\n" +
			"M  V30 1 Na 0 0 0 0 CHG=1\nM  END\n", "NA1 Na 1; "},
		{"a.sdf", "a\nb\nc\n  0  0  0     0  0            999 V4000\n", "cannot be read: SDF file, line 4: want " +
			`"V2000" or "V3000" in columns 35 to 39 of the counts, not "V4000"`},
		{"a.cif", cif("\"C1'\" c 1 N 0 0 0\nOXT O . Y 1 2 3", "\"C1'\" OXT sing"), "C1' C 1, OXT O 0 leaves; 0-1 SING"},
		{"a.cif", cif("C1 C 0 . 0 0 0\nOXT O 0 . 1 2 3", "C1 OXT DOUB"), "C1 C 0, OXT O 0 leaves; 0-1 DOUB"},
		{"a.cif", cif("C1 C 0 N 0 0 0\nOXT O 0 N 1 2 3", "C1 OXT AROM"), "C1 C 0, OXT O 0; 0-1 AROM"},
		{"a.cif", cif("C1 C 0 N ? 0 0", "C1 C1 SING"),
			"cannot be read: mmCIF file: it has no coordinates of every atom, which give the stereochemistry"},
		{"a.cif", cif("C1 C 0 N 0 0 0\nC1 C 0 N 0 0 0", "C1 C1 SING"),
			`cannot be read: mmCIF file, line 11: two atoms are called "C1"`},
		{"a.cif", cif("C1 C 0 N 0 0 0", "C1 C2 SING"), "cannot be read: mmCIF file: it has a bond of the atoms \"C1\" " +
			"and \"C2\", which are not both there"},
		{"a.cif", cif("C1 C 0 N 0 0 0\nC2 C 0 N 0 0 0", "C1 C2 QUAD"),
			"cannot be read: mmCIF file: it has a bond of the order \"QUAD\"; orders are SING, DOUB, TRIP and AROM"},
		{"a.cif", cif("CARBON C 0 N 0 0 0", ""), `names atom 1 "CARBON"; a name has 1 to 4 letters and digits, ' and *`},
		{"a.cif", "data_X\n_cell.length_a 1\n",
			"cannot be read: mmCIF file: it has no chem_comp_atom, as a file of a chemical component must have"},
		{"a.cif", "# " + strings.Repeat("x", MaxBytes), "cannot be read: mmCIF file, line 1: the line is longer than the " +
			"65536 bytes allowed"},
	} {
		if got := described(c.name, c.text); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text[:min(len(c.text), 400)], got, c.want)
		}
	}
}

// described returns what a file has, or what is wrong with it.
func described(name, text string) string {
	m, _, err := Read(name, strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	var atoms, bonds []string
	for _, a := range m.Atoms {
		s := fmt.Sprint(a.Name, " ", a.Element, " ", a.Charge)
		if a.Leaves {
			s += " leaves"
		}
		atoms = append(atoms, s)
	}
	for _, b := range m.Bonds {
		bonds = append(bonds, fmt.Sprint(b.A, "-", b.B, " ", b.Order))
	}
	return strings.Join(atoms, ", ") + "; " + strings.Join(bonds, ", ")
}

// Whatever a file holds, it is read or refused with a sentence; what is read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add(true, []byte(sdf("  2  1", atomC, atomO, "  1  2  1  0", "M  CHG  1   1   1", end)))
	f.Add(false, []byte(cif("\"C1'\" c 1 N 0 0 0\nOXT O . Y 1 2 3", "\"C1'\" OXT sing")))
	f.Fuzz(func(t *testing.T, isSDF bool, text []byte) {
		name := "a.cif"
		if isSDF {
			name = "a.sdf"
		}
		m, atoms, err := Read(name, bytes.NewReader(text))
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() == "" {
				t.Errorf("%v", err)
			}
			return
		}
		var out bytes.Buffer
		if err := m.WriteComponentCIF(&out, "X"); err != nil {
			t.Fatal(err)
		}
		again, same, err := Read("a.cif", &out)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(atoms, same) + cmp.Diff(m.Bonds, again.Bonds); d != "" {
			t.Error(d)
		}
	})
}
