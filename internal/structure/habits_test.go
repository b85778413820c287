package structure

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peptide has two residues with serial numbers from 99,998 on, as the format has them.
const peptide = `ATOM  99998  N   GLY A   1      35.365  22.342 -11.980  1.00 22.28           N
ATOM  99999  CA  GLY A   1      35.892  21.073 -11.427  1.00 21.12           C
ATOM  00000  N   ALA A   2     -34.741 120.264-110.844  1.00 16.85           N
HETATM00001  CA  ALA A   2    -134.741 120.264-110.844  1.00 16.85           C
`

// The habits of programs whose numbers outgrow their columns, and of files that people edit: each is the same peptide.
func TestHabitsOfPDBFiles(t *testing.T) {
	want, err := ReadPDB(strings.NewReader(peptide), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	widened := strings.NewReplacer("ATOM  00000 ", "ATOM  100000 ", "HETATM00001 ", "HETATM100001 ")
	for name, text := range map[string]string{
		"serial from column 6":       strings.ReplaceAll(peptide, "ATOM  00000", "ATOM 100000"),
		"serial up to column 12":     strings.ReplaceAll(peptide, "HETATM00001 ", "HETATM100001"),
		"serial pushes all columns":  widened.Replace(peptide),
		"seven digits":               strings.ReplaceAll(peptide, "ATOM  00000 ", "ATOM  1000000 "),
		"seven digits from column 5": strings.ReplaceAll(peptide, "ATOM  00000", "ATOM1000000"),
		"asterisks":                  strings.ReplaceAll(peptide, "ATOM  00000", "ATOM  *****"),
		"hybrid-36 serials":          strings.ReplaceAll(peptide, "ATOM  00000", "ATOM  A0000"),
		"CR":                         strings.ReplaceAll(peptide, "\n", "\r"),
		"CRLF":                       strings.ReplaceAll(peptide, "\n", "\r\n"),
		"CR and LF mixed":            strings.Replace(peptide, "\n", "\r", 2),
		"lower case":                 strings.NewReplacer("ATOM", "atom", "HETATM", "hetatm").Replace(peptide),
		"no line end":                strings.TrimSuffix(peptide, "\n"),
		"with a byte order mark":     "\xef\xbb\xbf" + peptide,
		"TER inside":                 strings.Replace(peptide, "ATOM  00000", "TER\nATOM  00000", 1),
	} {
		got, err := Read(strings.NewReader(text), Limits{})
		if name == "TER inside" { // its residues are 200 Å apart
			if err != nil || len(got.Chains) != 2 || got.Chains[1].ID != "A-2" {
				t.Errorf("%s: %v, %v", name, summary(got), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// record returns an ATOM record with what stands in columns 13 to 27.
func record(names string, x float64) string {
	return fmt.Sprintf("ATOM      1 %-15s   %8.3f   0.000   0.000  1.00 10.00\n", names, x)
}

func TestNamesInPDBFiles(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"two-letter chains", record(" CA  LYSAB   1", 0) + record(" CA  GLYAB   2", 3.8) + record("ZN    ZNAB   3",
			9) +
			record(" C1  LIGAB   4", 20), "AB protein LYS1 GLY2; AB ion ZN3; AB ligand LIG4"},
		{"names of four letters", record(" OH2 TIP3W   1", 0) + record(" C1  POPCM   2", 9) + record(" OH2 TIP3    3",
			20),
			"M ligand POPC2; W water TIP31; A water TIP33"},
		{"names of force fields with a chain", record(" CA  ALA A   1", 0) + record(" CA  ASPPA   2", 3.8) +
			record(" CA  GLY A   3", 7.6) + record(" CA  LYSHA   4", 11.4), "A protein ALA1 ASPP2 GLY3 LYSH4"},
		{"ions with their names in column 14", record(" CLA CLA A   1", 0) + record(" CL  CL  A   2", 9),
			"A ion CLA1; A ion CL2"},
		{"names in columns 19–21", record(" CA   ALAA   1", 0) + record(" P     DAB   1", 9),
			"A protein ALA1; B dna DA1"},
		{"GROMOS names without a chain", record(" CA  LYSH    1", 0) + record(" CA  GLY     2", 3.8),
			"A protein LYSH1 GLY2"},
		{"residue numbers of five columns", record(" CA  ALA A10000", 0) + record(" CA  GLY A10001", 3.8),
			"A protein ALA10000 GLY10001"},
		{"residue numbers that push columns", strings.Replace(record(" CA  ALA A10000", 0), "0     ", "0      ", 1),
			"A protein ALA10000"},
		{"segment ids name chains without a letter",
			strings.Replace(record(" CA  ALA     1", 0), "10.00\n", "10.00      PROA\n", 1) +
				strings.Replace(record(" CA  ALA     1", 0), "10.00\n", "10.00      PROB\n", 1),
			"PROA protein ALA1; PROB protein ALA1"},
		{"one segment id names nothing", strings.Replace(record(" CA  ALA     1", 0), "10.00\n", "10.00      1CRN\n",
			1),
			"A protein ALA1"},
		{"late atoms", record(" CA  ALA A   1", 0) + record(" CA  GLY A   2", 3.8) + "TER\n" +
			record(" HA  ALA A   1", 1),
			"A protein ALA1 GLY2"},
		{"waters of one number", record(" O   HOH A   1", 0) + record(" O   HOH A   1", 5) + record(" O   HOH A   1",
			9),
			"A water HOH1 HOH2 HOH3"},
		{"atoms of a ligand with one name", record(" C   UNL A   1", 0) + record(" C   UNL A   1", 5), "A ligand UNL1"},
		{"another residue of the same number", record(" CA  ALA A   1", 0) + record(" CA  GLY A   2", 3.8) +
			record(" CA  ALA A   1", 7.6), "A protein ALA1 GLY2 ALA1"},
		{"an atom listed twice", record(" CA  ALA A   1", 0) + record(" CA  ALA A   1", 0) + record(" CB  ALA A   1",
			1) +
			record(" CB  ALA A   1", 1), "A protein ALA1"},
		{"alternatives without labels", strings.ReplaceAll(record(" CA  ALA A   1", 0)+record(" CA  ALA A   1", 1),
			"1.00 ",
			"0.50 "), "A protein ALA1"},
		{"numbers that fall, far away", record(" CA  ALA A   1", 0) + record(" CA  GLY A   2", 3.8) +
			record(" CA  ALA A   1", 30), "A protein ALA1 GLY2; A-2 protein ALA1"},
		{"a late alternative", record(" CA AALA A   1", 0) + record(" CA  GLY A   2", 3.8) +
			strings.Replace(record(" CA BSER A   1", 0), "1.00 10", "1.50 10", 1), "A protein SER1 GLY2"},
		{"only the second alternative has a label", record(" CA  ALA A   1", 0) + record(" CA BALA A   1", 1),
			"A protein ALA1"},
		{"the first of two models", "MODEL        1\n" + record(" CA  ALA A   1", 0) + "ENDMDL\nMODEL        2\n" +
			record(" CA  ALA A   1", 5) + "ENDMDL\n" + record(" CA  ALA B   1", 5), "A protein ALA1"},
	} {
		s := checkRead(t, test.name, test.text, test.want)
		if s == nil {
			continue
		}
		for i := range s.Chains[0].Residues {
			if n := len(s.Chains[0].Residues[i].Atoms); strings.Contains(test.name, "alternative") && n != 1 {
				t.Errorf("%s: %d atoms", test.name, n)
			}
		}
	}
}

// What cannot be read with certainty is refused.
func TestUncertainPDBFiles(t *testing.T) {
	ca := record(" CA  ALA A   1", 0)
	for _, test := range []struct{ text, want string }{
		{strings.Replace(ca, "    0.000", "\t0.000", 1),
			"line 1: column 30: there is a tab; want spaces, because the " +
				"columns of a PDB file count"},
		{" " + ca, "line 1: column 2: the record \"ATOM\" starts here, want it in column 1"},
		{ca[:46] + "\n", "line 1: columns 47–54: the atom has no z coordinate"},
		{ca[:52] + "\n", "line 1: columns 47–54: the line ends within the z coordinate; the file may be cut off"},
		{ca[:64], "line 1: column 65: the last line ends within a number; the file may be cut off"},
		{strings.Replace(ca, "   0.000   0.000   0.000", "10000.0001234.567   0.000", 1),
			"line 1: columns 31–54: the " +
				"coordinates \"10000.0001234.567   0.00\" run into each other, want x in columns 31–38, y in 39–46 and z in 47–54"},
		{"ATOM  1000000" + ca[12:30] + strings.Repeat("1234.56789", 3) + "\n",
			"line 1: columns 7–13: the serial number is " +
				"longer than its columns, and the decimal points of x, y and z stand neither in columns 35, 43 and 51 nor as " +
				"many further right"},
		{record(" CA  LYSHA   1", 0) + record(" CA  GLY A   2", 14),
			"columns 18–22: LYSHA may be residue LYS of chain HA or " +
				"residue LYSH of chain A; want names of three letters in columns 18–20, or mmCIF"},
		{record(" CA  GLYA    1", 0),
			"line 1: columns 21–22: they are \"A \", want the letter of the chain in column 22"},
		{ca + record(" CB  ALA A   1", 1) + record(" CB  ALA A   1", 2),
			"line 3: the residue ALA 1 before this line has " +
				"the atom CB at two places; want each atom once, or alternative locations"},
		{"MODEL        1\n" + ca + "ENDMDL\nMODEL        2\n" + record(" CA  ALA B   1", 5),
			"line 5: columns 21–22: chain " +
				"\"B\" is not in the first model, the only one that is read; want all chains of a structure in one model"},
		{ca + "END\n" + record(" CA  ALA B   1", 5) + "END\n",
			"line 3: columns 21–22: chain \"B\" is not in the first " +
				"model, the only one that is read; want all chains of a structure in one model"},
	} {
		s, err := Read(strings.NewReader(test.text), Limits{})
		if err == nil || err.Error() != "PDB file, "+test.want && err.Error() != "PDB file: "+test.want {
			t.Errorf("%.80q:\n got %v\nwant %s", test.text, err, test.want)
			if err == nil {
				t.Error(summary(s))
			}
		}
	}
}

// TER records and numbers: where a molecule ends. Cut from PDB entry 1UBI.
func TestTERInPDBFiles(t *testing.T) {
	whole, err := os.ReadFile("testdata/1ubi.pdb")
	if err != nil {
		t.Fatal(err)
	}
	var residues [9]string // by number, from 1
	for line := range strings.Lines(string(whole)) {
		var n int
		if strings.HasPrefix(line, "ATOM") {
			if _, err := fmt.Sscan(line[22:26], &n); err == nil && n < len(residues) {
				residues[n] += line
			}
		}
	}
	join := func(numbers ...int) (out string) {
		for _, n := range numbers {
			if n == 0 {
				out += "TER\n"
				continue
			}
			out += residues[n]
		}
		return out
	}
	pair := join(1, 2, 0)
	shifted := func(by float64) (out string) { // the pair, by Å along x
		for line := range strings.Lines(pair) {
			var x float64
			if _, err := fmt.Sscan(line[min(30, len(line)):min(38, len(line))], &x); err == nil {
				line = fmt.Sprintf("%s%8.3f%s", line[:30], x+by, line[38:])
			}
			out += line
		}
		return out
	}
	moved := strings.NewReplacer(" A   7 ", " A   9 ").Replace(residues[7])
	for _, test := range []struct{ name, text, want string }{
		{"inside", join(1, 2, 0, 3, 4, 0), "A protein MET1 GLN2 ILE3 PHE4"},
		{"at a gap", join(1, 2, 0, 5, 6, 0), "A protein MET1 GLN2 VAL5 LYS6"},
		{"after a whole molecule", join(1, 2) + strings.Replace(residues[2][:81], " N   GLN", " OXT GLN", 1) + join(0,
			5, 6, 0),
			"A protein MET1 GLN2; A-2 protein VAL5 LYS6"},
		{"before a copy", pair + shifted(30), "A protein MET1 GLN2; A-2 protein MET1 GLN2"},
		{"three copies", pair + shifted(30) + shifted(60),
			"A protein MET1 GLN2; A-2 protein MET1 GLN2; A-3 protein MET1 GLN2"},
		{"numbers that go on far away", join(1, 2, 0) + strings.ReplaceAll(residues[8], " A   8 ", " A   3 "),
			"A protein MET1 GLN2; A-2 protein LEU3"},
		{"too few numbers for the distance", join(1, 2, 3, 0) + strings.ReplaceAll(moved, " A   9 ", " A   5 "),
			"A protein MET1 GLN2 ILE3; A-2 protein THR5"},
	} {
		checkRead(t, test.name, test.text, test.want)
	}
	const want = "PDB file: chain A is there twice in the same place; want it once"
	for name, text := range map[string]string{"appended": pair + pair, "between others": pair + shifted(30) + pair} {
		if _, err := ReadPDB(strings.NewReader(text), Limits{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// Work for atoms that are not together is bounded.
func TestScatteredAtoms(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		for _, number := range []int{1, 2} {
			fmt.Fprintf(&text, "HETATM    1 %-4s LIG A%4d       0.000   0.000   0.000\n", fmt.Sprintf("%04d", i),
				number)
		}
	}
	if s, err := ReadPDB(strings.NewReader(text.String()), Limits{}); err != nil || s.Atoms() != 1_000 {
		t.Fatalf("%v", err)
	}
	_, err := ReadPDB(strings.NewReader(text.String()), Limits{Atoms: 1_000})
	const want = "PDB file, line 285: the atoms of residues are not together in the file, in too many places"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
