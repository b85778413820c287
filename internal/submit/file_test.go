package submit

import (
	"cmp"
	"strings"
	"testing"
)

// The check of a large JSON file does no work for each of its values but to read it.
func TestLargeJSONIsCheckedAtOnce(t *testing.T) {
	kind, err := KindOfFile("pae.json")
	if err != nil {
		t.Fatal(err)
	}
	const values = 400_000
	text := `{"values":[[` + strings.Repeat("1,", values) + `0]]}`
	n := testing.AllocsPerRun(2, func() {
		if err := kind.Check(strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
	if n > 1000 {
		t.Errorf("%.0f allocations for %d values", n, values)
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	text := `[` + strings.Repeat("1.25,", 12<<20/5) + `0]`
	kind, _ := KindOfFile("a.json")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := kind.Check(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// A structure under the ending of another format is refused with its own, since readers go by the content.
func TestStructuresUnderOtherEndings(t *testing.T) {
	const pdb = "ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00 50.00           C\n"
	const cif = "# a comment\ndata_X\nloop_\n_atom_site.id\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n" +
		"_atom_site.label_asym_id\n_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n" +
		"_atom_site.Cartn_z\n1 CA ALA A 1 0 0 0\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.pdb", pdb, ""},
		{"a.pdb", "PFRMAT TS\nTARGET T0001\nMODEL 1\n" + pdb, ""},
		{"a.cif", cif, ""},
		{"a.pdb", cif, "it is an mmCIF file; give it a name that ends in .cif"},
		{"a.ent", cif, "it is an mmCIF file; give it a name that ends in .cif"},
		{"a.cif", pdb, "it is a PDB file; give it a name that ends in .pdb"},
		{"a.pdb", ">a\nMKT\n", "it is a FASTA file of sequences; want a structure in mmCIF or PDB format"},
		{"a.pdb", "<html>", `it is neither mmCIF nor PDB: it starts with "<html>"`},
		{"a.pdb", "REMARK 1\n", "PDB file: there are no atoms"},
		{"a.cif", "", "it is empty"},
	} {
		kind, err := KindOfFile(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if err := kind.Check(strings.NewReader(c.text)); err == nil && c.want != "" || err != nil &&
			!strings.HasSuffix(err.Error(), cmp.Or(c.want, "no error")) {
			t.Errorf("%s %.20q: %v; want %s", c.name, c.text, err, c.want)
		}
	}
}

// A file in mmCIF may be a structure or a chemical component.
func TestComponentFiles(t *testing.T) {
	component := "data_X\nloop_\n_chem_comp_atom.atom_id\n_chem_comp_atom.type_symbol\n" +
		"_chem_comp_atom.model_Cartn_x\n_chem_comp_atom.model_Cartn_y\n_chem_comp_atom.model_Cartn_z\nC1 C 0 0 0\n"
	atoms := "loop_\n_atom_site.id\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n" +
		"_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n1 CA ALA A 1 0 0 0\n"
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"a.cif", component, true},
		{"a.cif", "data_X\n" + strings.Repeat("# a comment\n", 200_000) + atoms, true},
		{"a.cif", "data_X\n_cell.length_a 1\n", false},
		{"a.sdf", "a\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0       0.0       0.0    C   0\nM  END\n", true},
		{"a.sdf", component, false},
	} {
		kind, err := KindOfFile(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if err := kind.Check(strings.NewReader(c.text)); (err == nil) != c.ok {
			t.Errorf("%s %q: %v", c.name, c.text[:20], err)
		}
	}
}
