package structure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Positions and letters in PDB files of many habits.
func TestPositions(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "positions.json"))
	if err != nil {
		t.Fatal(err)
	}
	type protein struct {
		Chain    string   `json:"chain"`
		Residues [][3]any `json:"residues"` // position, component, letter
	}
	var vectors []struct {
		Name     string    `json:"name"`
		File     []string  `json:"file"`
		Proteins []protein `json:"proteins"`
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		s, err := ReadWhole(strings.NewReader(strings.Join(v.File, "\n")+"\n"), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		var got []protein
		for i := range s.Chains {
			c := &s.Chains[i]
			if c.Kind != Protein {
				continue
			}
			one := protein{Chain: c.ID}
			for j := range c.Residues {
				if r := &c.Residues[j]; len(r.Atoms) > 0 {
					one.Residues = append(one.Residues, [3]any{float64(r.Seq), r.Comp, Letters(c)[j : j+1]})
				}
			}
			got = append(got, one)
		}
		if diff := cmp.Diff(v.Proteins, got); diff != "" {
			t.Errorf("%s:\n%s", v.Name, diff)
		}
	}
}
