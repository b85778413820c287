package structure

import (
	"fmt"
	"strings"
	"testing"
)

// monomer returns the PDB records of an amino acid whose N is at x; that of the next one is at x + 3.7. tail are names
// of further atoms.
func monomer(record, comp, place string, x float64, tail ...string) string {
	var out strings.Builder
	for i, name := range append([]string{"N", "CA", "C"}, tail...) {
		fmt.Fprintf(&out, "%-6s%5d  %-3s %3s %s    %8.3f%8.3f%8.3f  1.00 10.00           %s\n", record, i+1, name, comp,
			place, x+1.2*float64(i), 0.0, 0.0, name[:1])
	}
	return out.String()
}

// nucleoside returns the PDB records of a molecule with the names of a nucleotide's sugar.
func nucleoside(record, comp, place string, x float64) string {
	var out strings.Builder
	for i, name := range []string{"PA", "C1'", "C3'", "O3'", "O2'", "C4'"} {
		fmt.Fprintf(&out, "%-6s%5d  %-3s %3s %s    %8.3f%8.3f%8.3f  1.00 10.00           %s\n", record, i+1, name, comp,
			place, x+1.2*float64(i), 4.0, 0.0, name[:1])
	}
	return out.String()
}

// A bond to the chain, or the whole sequence, makes a residue one of a polymer. Its name and its record do not.
func TestMembersOfPolymers(t *testing.T) {
	pair := monomer("ATOM", "ALA", "A   1", 0) + monomer("ATOM", "GLY", "A   2", 3.7)
	for _, test := range []struct{ name, text, want string }{
		{"ATP as HETATM", pair + nucleoside("HETATM", "ATP", "A   3", 9), "A protein ALA1 GLY2; A ligand ATP3"},
		{"ATP as ATOM", pair + nucleoside("ATOM", "ATP", "A   3", 9), "A protein ALA1 GLY2; A ligand ATP3"},
		{"ATP as ATOM in a chain of its own", pair + "TER\n" + nucleoside("ATOM", "ATP", "B   1", 9) + "TER\n",
			"A protein ALA1 GLY2; B ligand ATP1"},
		{"two ATP side by side", nucleoside("ATOM", "ATP", "A   1", 0) + nucleoside("ATOM", "ATP", "A   2", 1),
			"A ligand ATP1; A ligand ATP2"},
		{"a ligand with the names of an amino acid", pair + monomer("ATOM", "SAM", "A   3", 20, "O"),
			"A protein ALA1 GLY2; A ligand SAM3"},
		{"a free amino acid as HETATM", pair + monomer("HETATM", "GLY", "A 301", 20, "O") + "TER\n",
			"A protein ALA1 GLY2; A ligand GLY301"},
		{"a free amino acid as ATOM", monomer("ATOM", "ALA", "A   1", 0) + monomer("ATOM", "GLY", "A   2", 3.7, "O", "OXT") +
			monomer("ATOM", "GLU", "A   3", 20, "O", "OXT"), "A protein ALA1 GLY2; A ligand GLU3"},
		{"one with the oxygens of CHARMM", monomer("ATOM", "ALA", "A   1", 0) + monomer("ATOM", "GLY", "A   2", 3.7, "OT1",
			"OT2") + monomer("ATOM", "GLU", "A   3", 20, "OT1", "OT2"), "A protein ALA1 GLY2; A ligand GLU3"},
		{"a residue between gaps", pair + monomer("HETATM", "MSE", "A   5", 14) + monomer("ATOM", "ALA", "A   8", 25),
			"A protein ALA1 GLY2 MSE5 ALA8"},
		{"the last residue after a gap", pair + monomer("ATOM", "GLU", "A   6", 20, "O", "OXT"),
			"A protein ALA1 GLY2 GLU6"},
		{"the last residue after a gap, as HETATM in SEQRES", "SEQRES   1 A    6  ALA GLY SER SER SER MSE\n" + pair +
			monomer("HETATM", "MSE", "A   6", 20) + "TER\n", "A protein ALA1 GLY2 MSE6"},
		{"a protein that is HETATM", strings.ReplaceAll(pair, "ATOM  ", "HETATM"), "A protein ALA1 GLY2"},
		{"names in lower case", strings.NewReplacer("ALA", "ala", "GLY", "gly", " CA ", " ca ").Replace(pair) +
			strings.ToLower(monomer("HETATM", "LIG", "A   3", 20)) + "TER\nHETATM    1  O   hoh A   4      20.0" +
			"00  20.000  20.000\n", "A protein ALA1 GLY2; a ligand lig3; A water HOH4"},
		{"a residue with a name that no table has", pair + monomer("HETATM", "QQQ", "A   3", 7.4),
			"A protein ALA1 GLY2 QQQ3"},
	} {
		checkRead(t, test.name, test.text, test.want)
	}
}

// Programs write label_seq_id for every residue of a chain. Only where waters and ions have none it says what is in the
// sequence.
func TestNumbersOfWaters(t *testing.T) {
	const head = "data_a\nloop_\n_atom_site.group_PDB\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n" +
		"_atom_site.label_asym_id\n_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
	const chain = "ATOM N ALA A 1 0 0 0\nATOM CA ALA A 1 1.2 0 0\nATOM C ALA A 1 2.4 0 0\nATOM N GLY A 2 3.7 0 0\n" +
		"ATOM CA GLY A 2 4.9 0 0\nATOM C GLY A 2 6.1 0 0\n"
	const modified = "HETATM C1 QQQ A 5 20 0 0\n"
	for _, test := range []struct{ name, rows, want string }{
		{"all have numbers", modified + "HETATM ZN ZN A 6 9 9 9\nHETATM O HOH A 7 20 9 0\nHETATM O HOH A 8 25 9 0\n",
			"A protein ALA1 GLY2; A ligand QQQ5; A ion ZN6; A water HOH7 HOH8"},
		{"only the polymer has", modified + "HETATM ZN ZN A . 9 9 9\nHETATM O HOH A . 20 9 0\n",
			"A protein ALA1 GLY2 QQQ5; A ion ZN0; A water HOH0"},
	} {
		checkRead(t, test.name, head+chain+test.rows, test.want)
	}
}
