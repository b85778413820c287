package structure

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary is a line per chain: id, kind, and residues as component and number.
func summary(s *Structure) []string {
	var out []string
	for i := range s.Chains {
		c := &s.Chains[i]
		line := c.ID + " " + string(c.Kind)
		for _, r := range c.Residues {
			line += fmt.Sprintf(" %s%d%s", r.Comp, r.Auth, r.Ins)
		}
		out = append(out, line)
	}
	return out
}

// checkRead reads a file and compares its summary; nil: it cannot be read.
func checkRead(t *testing.T, name, text, want string) *Structure {
	t.Helper()
	s, err := Read(strings.NewReader(text), Limits{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	if got := strings.Join(summary(s), "; "); got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
	return s
}

func TestReadPDBOdd(t *testing.T) {
	s, err := Read(strings.NewReader(`HEADER    TEST
TITLE     ONE LINE
TITLE    2 AND ANOTHER
MODEL        1
ATOM      1  CA AALA A  -1       1.000   2.000   3.000  0.30 10.00           C
ATOM      2  CA BALA A  -1       1.500   2.000   3.000  0.70 10.00           C
ATOM      3  N   GLY A   5A      1.000   2.000   3.000
HETATM    4 SE   MSE A   5B      1.000   2.000   3.000  1.00 10.00
ANISOU    4 SE   MSE A   5B     1000   1000   1000      0      0      0
TER       5      MSE A   5B
HETATM    6  N   GLU A 200       1.000   2.000   3.000  1.00 10.00           N1+
HETATM    7  CA  GLU A 200       1.000   2.000   3.000  1.00 10.00           C
HETATM    8 CA    CA A 201       1.000   2.000   3.000  1.00 10.00
HETATM    9  O   HOH A 301       1.000   2.000   3.000  1.00 10.00
HETATM   10  O   HOH A 302       1.000   2.000   3.000  1.00 10.00
ATOM     11  P    DA B   1       1.000   2.000   3.000  1.00 10.00
ATOM     12  C1'  DA B   1       1.000   2.000   3.000  1.00 10.00
ATOM     13  C1'   U C   1       1.000   2.000   3.000  1.00 10.00
HETATM   14  C1  LIG D   1       1.000   2.000   3.000  1.00 10.00
ENDMDL
MODEL        2
ATOM      1  CA  ALA A  -1       9.000   2.000   3.000  0.30 10.00           C
`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A protein ALA-1 GLY5A MSE5B", "B dna DA1", "C rna U1", "A ligand GLU200", "A ion CA201",
		"D ligand LIG1", "A water HOH301 HOH302"}
	if diff := cmp.Diff(want, summary(s)); diff != "" {
		t.Error(diff)
	}
	if s.Title != "ONE LINE AND ANOTHER" {
		t.Errorf("title %q", s.Title)
	}
	if got := s.Chains[0].Residues[0].Atoms; len(got) != 1 || got[0].Pos[0] != 1.5 {
		t.Errorf("alternative: %+v", got)
	}
	for name, got := range map[string]string{"SE": s.Chains[0].Residues[2].Atoms[0].Element,
		"CA": s.Chains[4].Residues[0].Atoms[0].Element,
		"C":  s.Chains[5].Residues[0].Atoms[0].Element} {
		if got != name {
			t.Errorf("element %s, want %s", got, name)
		}
	}
	if got := s.Chains[3].Residues[0].Atoms[0].Charge; got != 1 {
		t.Errorf("charge %d", got)
	}
	if got := s.Chains[0].Sequence(); got != "AGM" {
		t.Errorf("sequence %s", got)
	}
}

// Molecular dynamics programs leave the chain letter blank, and count past 9999.
func TestReadPDBBlank(t *testing.T) {
	s, err := ReadPDB(strings.NewReader(strings.ReplaceAll(`ATOM      1  CA  ALA     1       1.000   2.000   3.000
TER
ATOM      1  CA  GLY     1       1.000   2.000   3.000
TER
ATOM      1  CA  TRP A   1       1.000   2.000   3.000
ATOM      1  OW  SOL  A000       1.000   2.000   3.000
ATOM      1  OW  SOL  a000       1.000   2.000   3.000
`, "\n", "\r\n")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"B protein ALA1", "C protein GLY1", "A protein TRP1", "D water SOL10000 SOL1223056"}
	if diff := cmp.Diff(want, summary(s)); diff != "" {
		t.Error(diff)
	}
}

func TestReadPDBErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"END", "PDB file: there are no atoms"},
		{"ATOM", "PDB file, line 2: columns 13–16: the atom has no name"},
		{"ATOM      1  CA  ALA A", "PDB file, line 2: columns 23–26: the residue number is \"\", want a whole number"},
		{"ATOM      1  CA  ALA A271a      1.000   2.000   3.000  1.00  0.00", "PDB file, line 2: columns 23–26: the " +
			"residue number is \"271a\", which seems to be hexadecimal as VMD writes it; want a decimal number, or hybrid-36 " +
			"(A000) from 10000"},
		{"ATOM      1  CA  ALA A  1.",
			"PDB file, line 2: columns 23–26: the residue number is \"1.\", want a whole number"},
		{"ATOM      1  CA  ALA A   1       1.000   2.000",
			"PDB file, line 2: columns 47–54: the atom has no z coordinate"},
		{"ATOM      1  CA  ALA A   1       1.000   2.x00   3.000",
			"PDB file, line 2: columns 39–46: y is \"2.x00\", want a number between −1,000,000 and 1,000,000"},
		{"ATOM      1  CA  ALA A   1       1.000   2.000   3.000  ****", "PDB file, line 2: columns 55–60: the " +
			"occupancy is \"****\", want a number between −1,000,000 and 1,000,000"},
		{"ATOM      1  C\x01  ALA A   1       1.000   2.000   3.000",
			"PDB file, line 2: columns 13–16: the atom name is \"C\\x01\", want printable ASCII"},
	} {
		if _, err := ReadPDB(strings.NewReader("REMARK\n"+test.line+"\n"), Limits{}); err == nil ||
			err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.line, err, test.want)
		}
	}
}

func TestLetters(t *testing.T) {
	for _, kind := range []Kind{Protein, RNA, DNA} {
		for b := range 256 {
			comp, ok := Component(kind, byte(b))
			if ok && Letter(kind, comp) != byte(b) && b != 'N' {
				t.Errorf("%s %c becomes %s becomes %c", kind, b, comp, Letter(kind, comp))
			}
		}
	}
	for comp, want := range map[string]byte{"MSE": 'M', "SEP": 'S', "HSD": 'H', "XYZ": 'X', "HOH": 'X'} {
		if got := Letter(Protein, comp); got != want {
			t.Errorf("%s is %c, want %c", comp, got, want)
		}
	}
	if got := Letter(Ligand, "ALA"); got != Unknown {
		t.Errorf("a ligand has the letter %c", got)
	}
}

func TestReadFASTA(t *testing.T) {
	got, err := ReadFASTA(strings.NewReader("; old comment\r\n>sp|P1|A  first \r\nmkv LLA\r\n\r\nGG*\r\n>\nACGU\n"),
		Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Record{{"sp|P1|A  first", "MKVLLAGG"}, {"", "ACGU"}}, got); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct{ text, want string }{
		{"", "FASTA file: there is no sequence"},
		{"MKV", `FASTA file, line 1: want a header that starts with ">", not "MKV"`},
		{">a\n>b\nM", `FASTA file, line 1: no sequence follows the header "a"`},
		{">a\nM\n>b\n*\n", `FASTA file, line 3: no sequence follows the header "b"`},
		{">a\nMK-V", `FASTA file, line 2: column 3: "-" is not a letter of a sequence`},
		{">a\nMK*\nV", `FASTA file, line 3: column 1: the sequence has data after its end sign "*"`},
		{">a\nM\xff", `FASTA file, line 2: column 2: "\xff" is not a letter of a sequence`},
	} {
		if _, err := ReadFASTA(strings.NewReader(test.text), Limits{}); err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func BenchmarkReadPDB(b *testing.B) {
	file, err := os.ReadFile("testdata/1ubi.pdb")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadPDB(bytes.NewReader(file), Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
