package structure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// odd shows what deposited files do: quotes, texts over lines, comments, a second
// model, alternative locations, two residues in one place, an insertion code, a
// modified residue, numbers with uncertainties, single items and values in a row of
// several lines.
const odd = "# a comment\r\n" + `data_ODD
_struct.entry_id ODD
_struct.title
;The structure of
 a dog's "tail"
;
loop_
_entity.id
_entity.type
_entity.pdbx_description
1 polymer 'a dog's tail'
2 non-polymer "ZINC ION"
3 water water
_entity_poly.entity_id 1
_entity_poly.type 'polypeptide(L)' # one item, not a loop
loop_
_struct_asym.id
_struct_asym.entity_id
A 1 B 2 C 3
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_entity_id
_atom_site.label_seq_id
_atom_site.pdbx_PDB_ins_code
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.B_iso_or_equiv
_atom_site.auth_seq_id
_atom_site.auth_asym_id
_atom_site.pdbx_PDB_model_num
_atom_site.pdbx_formal_charge
ATOM 1 N N . GLY A 1 3 ? 1.000(5) 2 3. 1.0 10 -1 H 1 ?
ATOM 2 C CA . GLY A 1 3 ? 1.5e0 2 3 ? .
  -1 H 1 ?
HETATM 3 SE SE . MSE A 1 4 ? 4 4 4 1 20 0 H 1 .
ATOM 4 C CA A SER A 1 5 A 5 5 5 0.4 20 0 H 1 .
ATOM 5 C CB A SER A 1 5 A 5 5 6 0.4 20 0 H 1 .
ATOM 6 C CA B PRO A 1 5 A 6 5 5 0.6 21 0 H 1 .
ATOM 7 C CA A LEU A 1 6 ? 7 7 7 0.5 20 1 H 1 .
ATOM 8 C CA B LEU A 1 6 ? 7 7 8 0.5 20 1 H 1 .
ATOM 9 C CB B LEU A 1 6 ? 7 7 9 0.5 20 1 H 1 .
HETATM 10 ZN ZN . ZN B 2 . ? 9 9 9 1 30 901 H 1 2
HETATM 11 O O . HOH C 3 . ? 1 1 1 1 30 1001 H 1 .
HETATM 12 O O . HOH C 3 . ? 2 1 1 1 30 1002 H 1 .
ATOM 13 N N . GLY A 1 3 ? 100 2 3. 1.0 10 -1 H 2 ?
data_second
_struct.title other
`

func TestReadCIFOdd(t *testing.T) {
	want := &Structure{Title: `The structure of a dog's "tail"`, Chains: []Chain{
		{
			ID:     "H",
			Label:  "A",
			Kind:   Protein,
			Entity: 1,
			Name:   "a dog's tail",
			Residues: []Residue{
				{Comp: "GLY", Seq: 3, Auth: -1, Atoms: []Atom{
					{Name: "N", Element: "N", Pos: Vec{1, 2, 3}, B: 10, Occupancy: 1},
					{Name: "CA", Element: "C", Pos: Vec{1.5, 2, 3}, Occupancy: 1}}},
				{Comp: "MSE", Seq: 4, Het: true, Atoms: []Atom{
					{Name: "SE", Element: "SE", Pos: Vec{4, 4, 4}, B: 20, Occupancy: 1},
				}},
				{Comp: "PRO", Seq: 5, Ins: "A", Atoms: []Atom{
					{Name: "CA", Element: "C", Pos: Vec{6, 5, 5}, B: 21, Occupancy: 0.6},
				}},
				{Comp: "LEU", Seq: 6, Auth: 1, Atoms: []Atom{
					{Name: "CA", Element: "C", Pos: Vec{7, 7, 7}, B: 20, Occupancy: 0.5},
					{Name: "CB", Element: "C", Pos: Vec{7, 7, 9}, B: 20, Occupancy: 0.5}}},
			},
		},
		{
			ID:     "H",
			Label:  "B",
			Kind:   Ion,
			Entity: 2,
			Name:   "ZINC ION",
			Residues: []Residue{
				{Comp: "ZN", Auth: 901, Het: true, Atoms: []Atom{
					{Name: "ZN", Element: "ZN", Pos: Vec{9, 9, 9}, B: 30, Occupancy: 1, Charge: 2},
				}}},
		},
		{
			ID:     "H",
			Label:  "C",
			Kind:   Water,
			Entity: 3,
			Name:   "water",
			Residues: []Residue{
				{Comp: "HOH", Auth: 1001, Het: true, Atoms: []Atom{
					{Name: "O", Element: "O", Pos: Vec{1, 1, 1}, B: 30, Occupancy: 1},
				}},
				{Comp: "HOH", Auth: 1002, Het: true, Atoms: []Atom{
					{Name: "O", Element: "O", Pos: Vec{2, 1, 1}, B: 30, Occupancy: 1},
				}}},
		},
	}}
	for name, text := range map[string]string{
		"LF": odd, "CRLF": strings.ReplaceAll(odd, "\n", "\r\n"), "BOM": "\ufeff" + odd,
	} {
		got, err := Read(strings.NewReader(text), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := want.Chains[0].Sequence(); got != "GMPL" {
		t.Errorf("sequence %s", got)
	}
}

// A file without tables of molecules, as small programs write it.
func TestReadCIFBare(t *testing.T) {
	s, err := ReadCIF(strings.NewReader(`data_x
loop_
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.auth_asym_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
N ALA A 7 0 0 0
CA ALA A 7 1 0 0
C ALA A 7 2 0 0
CA CA A 201 9 0 0
O HOH A 301 5 5 5
"C1'" DA B 1 0 0 0
`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Chains {
		got = append(got, fmt.Sprintf("%s/%s %s %d %s", c.ID, c.Label, c.Kind, c.Entity,
			c.Residues[0].Atoms[0].Element))
	}
	want := []string{"A/ protein 1 N", "B/ dna 2 C", "A/C ion 3 CA", "A/D water 4 O"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const site = "data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n" +
	"_atom_site.label_seq_id\n" +
	"_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"

func TestReadCIFErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "mmCIF file: there are no atoms"},
		{"no data", "hello", `mmCIF file, line 1: want "data_" at the start, not "hello"`},
		{"no atoms", "data_x\n_struct.title t\n", "mmCIF file: there are no atoms"},
		{"number", site + "CA ALA A 1 0 zero 0\n",
			`mmCIF file, line 10: Cartn_y is "zero", want a number between −1,000,000 and 1,000,000`},
		{"not finite", site + "CA ALA A 1 0 nan 0\n",
			`mmCIF file, line 10: Cartn_y is "nan", want a number between −1,000,000 and 1,000,000`},
		{"no coordinate", site + "CA ALA A 1 0 0 ?\n", "mmCIF file, line 10: the atom has no Cartn_z"},
		{"sequence", site + "CA ALA A one 0 0 0\n", `mmCIF file, line 10: label_seq_id is "one", want a whole number`},
		{"no chain", site + "CA ALA . 1 0 0 0\n",
			"mmCIF file, line 10: the atom has neither label_asym_id nor auth_asym_id"},
		{"no name", site + ". ALA A 1 0 0 0\n",
			"mmCIF file, line 10: the atom has no name or no component (label_atom_id, label_comp_id)"},
		{"spaces", site + "'C A' ALA A 1 0 0 0\n",
			`mmCIF file, line 10: label_atom_id is "C A", want 1 to 32 printable ASCII characters without spaces`},
		{"torn row", site + "CA ALA A 1 0 0\n_x.y z\n",
			"mmCIF file, line 11: the loop ends within a row: 6 of 7 values"},
		{"no items", "data_x\nloop_\n1 2 3", "mmCIF file, line 3: the loop names no items"},
		{"no value", "data_x\n_a.b\n_c.d 1\n", "mmCIF file, line 2: the item named here has no value"},
		{"stray", "data_x\n_a.b 1 2\n", `mmCIF file, line 2: the value "2" belongs to no item`},
		{"quote", "data_x\n_a.b 'open\n", `mmCIF file, line 2: the quote before "open" is not closed on its line`},
		{"text", "data_x\n_a.b\n;open\nand on\n", `mmCIF file, line 3: the text that starts here with ";" has no end`},
	} {
		_, err := ReadCIF(strings.NewReader(test.text), Limits{})
		var parse *ParseError
		if !errors.As(err, &parse) || err.Error() != test.want || parse.Limit {
			t.Errorf("%s:\n got %v\nwant %s", test.name, err, test.want)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := ReadCIF(iotest.ErrReader(broken), Limits{}); !errors.Is(err, broken) {
		t.Errorf("a reader's error becomes %v", err)
	}
}

func TestReadLimits(t *testing.T) {
	cif := func(text string) func(Limits) error {
		return func(l Limits) error { _, err := ReadCIF(strings.NewReader(text), l); return err }
	}
	pdb := func(text string) func(Limits) error {
		return func(l Limits) error { _, err := ReadPDB(strings.NewReader(text), l); return err }
	}
	fasta := func(text string) func(Limits) error {
		return func(l Limits) error { _, err := ReadFASTA(strings.NewReader(text), l); return err }
	}
	atoms := "ATOM      1  CA  ALA A   1       0.000   0.000   0.000\nATOM      2  CA  ALA B   2       0.000   0.000 " +
		"  0.000\n"
	for _, test := range []struct {
		name string
		read func(Limits) error
		lim  Limits
		want string
	}{
		{"bytes", cif(odd), Limits{Bytes: 100}, "mmCIF file, line 9: the file is larger than the 100 bytes allowed"},
		{"line", cif("data_x " + strings.Repeat("y", 100_000)), Limits{Line: 70_000},
			"mmCIF file, line 1: the line is longer than the 70000 bytes allowed"},
		{"text", cif("data_x\n_a.b\n;" + strings.Repeat("y\n", 100)), Limits{Line: 50},
			"mmCIF file, line 28: the text is longer than the 50 bytes allowed"},
		{"atoms", cif(odd), Limits{Atoms: 3}, "mmCIF file, line 45: there are more than the 3 atoms allowed"},
		{"chains", cif(odd), Limits{Chains: 2}, "mmCIF file, line 14: there are more than the 2 entities allowed"},
		{"residues", cif(odd), Limits{Residues: 2}, "mmCIF file, line 48: there are more than the 2 residues allowed"},
		{"columns", cif("data_x\nloop_\n" + strings.Repeat("_a.b\n", 2000)), Limits{},
			"mmCIF file, line 1003: the loop has more than the 1000 columns allowed"},
		{"PDB atoms", pdb(atoms), Limits{Atoms: 1}, "PDB file, line 2: there are more than the 1 atoms allowed"},
		{"PDB chains", pdb(atoms), Limits{Chains: 1}, "PDB file, line 2: there are more than the 1 chains allowed"},
		{"PDB residues", pdb(atoms), Limits{Residues: 1},
			"PDB file, line 2: there are more than the 1 residues allowed"},
		{"FASTA records", fasta(">a\nA\n>b\nA\n"), Limits{Chains: 1},
			"FASTA file, line 3: there are more than the 1 sequences allowed"},
		{"FASTA residues", fasta(">a\nAAA\nAA\n"), Limits{Residues: 4},
			"FASTA file, line 3: the sequences are longer than the 4 residues allowed"},
	} {
		err := test.read(test.lim)
		var parse *ParseError
		if !errors.As(err, &parse) || err.Error() != test.want || !parse.Limit {
			t.Errorf("%s:\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}

// Time grows with the size of a file, whatever it holds.
func TestReadLarge(t *testing.T) {
	var chains, alternatives, ligands bytes.Buffer
	chains.WriteString(site)
	alternatives.WriteString(strings.Replace(site, "_atom_site.Cartn_x", "_atom_site.label_alt_id\n_atom_site.Cartn_x",
		1))
	for i := range 4000 {
		fmt.Fprintf(&chains, "CA ALA c%d 1 0 0 0\n", i)
	}
	for i := range 50_000 {
		fmt.Fprintf(&alternatives, "C%d ALA A 1 a%d 0 0 0\n", i, i)
	}
	for i := range 4999 {
		fmt.Fprintf(&ligands, "HETATM    1 NA    NA A%4d       0.000   0.000   0.000\n", i)
	}
	for name, b := range map[string]*bytes.Buffer{
		"chains": &chains, "alternatives": &alternatives, "ligands": &ligands,
	} {
		start := time.Now()
		s, err := Read(b, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := WriteCIF(io.Discard, s, Meta{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(start); d > 60*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func TestReadSniffs(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "it is empty"},
		{"\n \n", "it is empty"},
		{">a\nMKV", "it is a FASTA file of sequences; want a structure in mmCIF or PDB format"},
		{"\x1f\x8b\x08", "it is compressed with gzip; decompress it first"},
		{"{}", `it is neither mmCIF nor PDB: it starts with "{}"`},
		{"HEADER\n", "PDB file: there are no atoms"},
		{"# c\n\n  data_x\n", "mmCIF file: there are no atoms"},
	} {
		if _, err := Read(strings.NewReader(test.text), Limits{}); err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func BenchmarkReadCIF(b *testing.B) {
	var file bytes.Buffer
	if err := WriteCIF(&file, load(b, "1ubi"), Meta{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadCIF(bytes.NewReader(file.Bytes()), Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
