package structure

import (
	"fmt"
	"testing"
)

// Caps are residues of the chain that they are bonded to, wherever the file lists them.
func TestCaps(t *testing.T) {
	one := func(name, comp, place string, x float64) string {
		return fmt.Sprintf("HETATM    1  %-3s %3s %s    %8.3f   0.000   0.000  1.00 10.00           %s\n", name, comp,
			place, x, name[:1])
	}
	pair := monomer("ATOM", "ALA", "A   1", 0) + monomer("ATOM", "GLY", "A   2", 3.7)
	before, behind := one("C", "ACE", "A   0", -1.3), one("N", "NH2", "A   3", 7.4)
	for _, test := range []struct{ name, text, want string }{
		{"in their places", before + pair + behind + "TER\n", "A protein ACE0 ALA1 GLY2 NH23"},
		{"behind the chain", pair + "TER\n" + before + behind, "A protein ACE0 ALA1 GLY2 NH23"},
		{"in another order", behind + pair + before, "A protein ACE0 ALA1 GLY2 NH23"},
		{"formyl and ethanolamine", pair + "TER\n" + one("C", "FOR", "A   9", -1.3) + one("N", "ETA", "A   8", 7.4),
			"A protein FOR9 ALA1 GLY2 ETA8"},
		{"caps of AMBER", before + pair + one("N", "NHE", "A   3", 7.4), "A protein ACE0 ALA1 GLY2 NHE3"},
		{"two in front", one("N", "NME", "A   9", 57.4) + behind + pair + monomer("ATOM", "ALA", "A   7", 50) +
			monomer("ATOM", "GLY", "A   8", 53.7), "A protein ALA1 GLY2 NH23 ALA7 GLY8 NME9"},
		{"small letters", one("C", "ace", "A   0", -1.3) + pair + one("N", "nme", "A   3", 7.4),
			"A protein ACE0 ALA1 GLY2 NME3"},
		{"no bond", pair + "TER\n" + one("C", "ACE", "A   0", -9) + one("N", "NH2", "A   3", 17),
			"A protein ALA1 GLY2; A ligand ACE0; A ion NH23"},
	} {
		checkRead(t, test.name, test.text, test.want)
	}
}
