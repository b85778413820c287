package structure

import (
	"fmt"
	"strings"
	"testing"
)

// Names of force fields stand for standard residues where these have the same heavy atoms, and for no others.
func TestForceFieldNames(t *testing.T) {
	for name, want := range map[string]string{
		"HIE": "HIS", "HSD": "HIS", "HIH": "HIS", "LYSH": "LYS", "ASPP": "ASP", "NALA": "ALA", "CHIE": "HIS",
		"NCYM": "CYS", "CLYN": "LYS", "DA5": "DA", "RU3": "U",
		"CYF": "CYF", "CYSP": "CYSP", "LYP": "LYP", "NHSE": "NHSE", "CAR0": "CAR0", "MSE": "MSE",
	} {
		if got := CanonicalComponent(Protein, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Names of ions and waters are those of several programs, in column 13 or 14 and without an element. Some are codes of
// other molecules in the dictionary of components.
func TestNamesOfIonsAndWaters(t *testing.T) {
	const line = "HETATM    1 %-4s %-4s%s   1       1.000   2.000   3.000\n"
	for _, test := range []struct{ names, comp, want string }{
		{"CLA ", "CLA", "ion CL"}, {" SOD", "SOD", "ion NA"}, {" CAL", "CAL", "ion CA"}, {" BAR", "BAR", "ion BA"},
		{" CD ", "CD2", "ion CD"}, {" ZN ", "ZN2", "ion ZN"}, {" FE ", "FE2", "ion FE"}, {" FE ", " FE", "ion FE"},
		{" CA ", " CA", "ion CA"}, {"CA  ", " CA", "ion CA"}, {" BR ", " BR", "ion BR"}, {" Na+", "Na+", "ion NA"}, {" Na ", " NA", "ion NA"},
		{"NA  ", "NA+", "ion NA"}, {" CL ", "CL-", "ion CL"},
		{"FE2P", "FE2P", "ion FE"}, {" K  ", "  K", "ion K"}, {" OH2", "TIP3", "water O"}, {" O  ", "HOH", "water O"},
		{" OW ", "SOL", "water O"}, {" O  ", "T4P", "water O"}, {" C1 ", "SOL", "ligand C"}, {" C1 ", "T3P", "ligand C"},
		{" C1 ", "CLA", "ligand C"},
	} {
		s, err := ReadPDB(strings.NewReader(fmt.Sprintf(line, test.names, test.comp, "A")), Limits{})
		if err != nil {
			t.Errorf("%s of %s: %v", test.names, test.comp, err)
			continue
		}
		c := s.Chains[0]
		if got := string(c.Kind) + " " + c.Residues[0].Atoms[0].Element; got != test.want {
			t.Errorf("%s of %s is %s, want %s", test.names, test.comp, got, test.want)
		}
	}
}
