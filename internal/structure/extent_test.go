package structure

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unresolved is a chain whose first and last residues have no atoms, with a zinc ion.
const unresolved = `data_x
loop_
_entity.id
_entity.type
1 polymer
2 non-polymer
loop_
_entity_poly.entity_id
_entity_poly.type
1 polypeptide(L)
loop_
_entity_poly_seq.entity_id
_entity_poly_seq.num
_entity_poly_seq.mon_id
1 1 ALA
1 2 GLY
1 3 GLY
1 4 SER
loop_
_struct_asym.id
_struct_asym.entity_id
A 1
B 2
loop_
_atom_site.group_PDB
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.auth_asym_id
_atom_site.label_seq_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
ATOM C CA GLY A H 2 102 0 0 0
ATOM H HA GLY A H 2 102 0 1 0
ATOM C CA GLY A H 3 103 3 0 0
HETATM ZN ZN ZN B H . 200 9 0 0
`

// A chain has the residues of its whole sequence, numbered on from those with atoms, and keeps them when it is written
// and read again.
func TestReadWhole(t *testing.T) {
	s, err := ReadWhole(strings.NewReader(unresolved), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got []Residue
		for _, r := range s.Chains[0].Residues {
			r.Atoms = nil
			got = append(got, r)
		}
		want := []Residue{{Comp: "ALA", Seq: 1, Auth: 101}, {Comp: "GLY", Seq: 2, Auth: 102},
			{Comp: "GLY", Seq: 3, Auth: 103}, {Comp: "SER", Seq: 4, Auth: 104}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		var b bytes.Buffer
		if err := WriteCIF(&b, s, Meta{ID: "x"}); err != nil {
			t.Fatal(err)
		}
		if s, err = ReadWhole(&b, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	var parse *ParseError
	if _, err := ReadWhole(strings.NewReader(unresolved), Limits{Residues: 4}); !errors.As(err, &parse) {
		t.Errorf("with room for 4 of 5 residues: %v", err)
	}
}

// Positions in a PDB file count in SEQRES, by the numbers of the authors or, where these jump, by the residues.
func TestReadWholePDB(t *testing.T) {
	const seqres = "SEQRES   1 A    7  MET ALA GLY GLY SER ALA TRP\n"
	atom := func(comp string, n int) string {
		return fmt.Sprintf("ATOM      1  CA  %s A%4d    %8.3f   0.000   0.000  1.00  0.00           C\n", comp, n,
			3.8*float64(n))
	}
	for _, c := range []struct{ name, text, want string }{
		{"numbers along the sequence", seqres + atom("ALA", 12) + atom("GLY", 14) + atom("ALA", 16),
			"1:11- 2:12 3:13- 4:14 5:15- 6:16 7:17-"},
		{"numbers that jump", seqres + atom("ALA", 2) + atom("GLY", 3) + atom("ALA", 50) + atom("TRP", 51),
			"1:1- 2:2 3:3 4:4- 5:5- 6:50 7:51"},
		{"another sequence", seqres + atom("TRP", 1) + atom("TRP", 2), "1:1 2:2"},
		{"no sequence", atom("ALA", 2) + atom("GLY", 9), "1:2 2:9"},
	} {
		s, err := ReadWhole(strings.NewReader(c.text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range s.Chains[0].Residues {
			one := fmt.Sprintf("%d:%d", r.Seq, r.Auth)
			if len(r.Atoms) == 0 {
				one += "-"
			}
			got = append(got, one)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s; want %s", c.name, s, c.want)
		}
	}
}

// Chains go by label_asym_id and have the length of the whole sequence, although two residues have no atoms and the
// authors count otherwise.
func TestReadExtents(t *testing.T) {
	got, err := ReadExtents(strings.NewReader(unresolved), false, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Extent{{ID: "A", Kind: Protein, Length: 4, Resolved: 2, Atoms: 2}, {ID: "B", Kind: Ion, Length: 1,
		Resolved: 1, Atoms: 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("mmCIF (-want +got):\n%s", d)
	}

	pdb := "SEQRES   1 H    4  ALA GLY GLY SER\n" +
		"ATOM      1  CA  GLY H 102       0.000   0.000   0.000  1.00  0.00           C\n" +
		"ATOM      2  CA  GLY H 103       3.800   0.000   0.000  1.00  0.00           C\n" +
		"HETATM    3 ZN    ZN H 200       9.000   0.000   0.000  1.00  0.00          ZN\n"
	if got, err = ReadExtents(strings.NewReader(pdb), true, Limits{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Extent{{ID: "H", Kind: Protein, Length: 4, Resolved: 2, Atoms: 2}}, got); d != "" {
		t.Errorf("PDB (-want +got):\n%s", d)
	}
}
