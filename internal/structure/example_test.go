package structure_test

import (
	"fmt"
	"os"

	"pleat/internal/structure"
)

// Read detects mmCIF and PDB files. The zero Limits are the defaults.
func ExampleRead() {
	file, err := os.Open("testdata/1crn.pdb")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	s, err := structure.Read(file, structure.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	chain := s.Chain("A")
	fmt.Println(chain.Kind, len(chain.Residues), chain.Sequence())
	// Output: protein 46 TTCCPSIVARSNFNVCRLPGTPEAICATYTGCIIIPGATCPGDYAN
}
