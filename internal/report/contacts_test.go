package report

import (
	"bytes"
	"strings"
	"testing"

	"pleat/internal/structure"
)

// The matrix of errors has a row for each residue, and for a ligand one by atom, one, or none. Nothing is read from a
// matrix of another size, or from one that is cut off.
func TestContactErrors(t *testing.T) {
	s := viewed([3]string{"A", "B", "L"}, [3]string{}) // 7 and 2 residues, and 2 atoms
	matrix := func(n int) string {
		m := structure.Matrix{N: n}
		for i := range n {
			for j := range n {
				m.V = append(m.V, float32(i)+float32(j)/100)
			}
		}
		var out bytes.Buffer
		if err := writePAE(&out, &m, 31.75); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	none := []float64{-1, -1}
	for name, test := range map[string]struct {
		pae             string
		polymer, ligand []float64 // of residue 1 of A with residue 1 of B, and of residue 7 of A with L; -1: null
	}{
		"by atom":     {matrix(11), []float64{0.07, 7}, []float64{6.1, 9.56}}, // A 0 to 6, B 7 and 8, L 9 and 10
		"by molecule": {matrix(10), []float64{0.07, 7}, []float64{6.09, 9.06}},
		"polymers":    {matrix(9), []float64{0.07, 7}, none},
		"another":     {matrix(12), none, none},
		"empty":       {`[{"predicted_aligned_error":[],"max_predicted_aligned_error":1}]`, none, none},
		"few rows":    {`[{"predicted_aligned_error":[[` + strings.Repeat("1,", 10) + `1]]}]`, none, none},
		"no matrix":   {`{"pae":[]}`, none, none},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Contacts(t.Context(), s, ContactOptions{Limit: 100, PAE: strings.NewReader(test.pae)})
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, c := range out.Data {
				want := test.polymer
				switch {
				case c.A.Residue == 1 && c.B.Chain == "B" && c.B.Residue == 1:
				case c.A.Residue == 7 && c.B.Chain == "L":
					want = test.ligand
				default:
					continue
				}
				seen++
				for k, got := range []*float64{c.PAEAB, c.PAEBA} {
					if got == nil && want[k] >= 0 || got != nil && *got != want[k] {
						t.Errorf("%v %d: %v, want %v", c, k, got, want[k])
					}
				}
			}
			if seen != 2 {
				t.Errorf("%d of the contacts are there: %v", seen, out.Data)
			}
		})
	}
	cut := strings.NewReader(`[{"predicted_aligned_error":[[1,`)
	if _, err := Contacts(t.Context(), s, ContactOptions{Limit: 100, PAE: cut}); err == nil {
		t.Error("a file that ends in a row is accepted")
	}
}
