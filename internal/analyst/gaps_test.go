package analyst

import (
	"strings"
	"testing"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// What an answer leaves out of its lists is counted nevertheless.
func TestGapsAreCounted(t *testing.T) {
	trace := structure.Chain{ID: "A", Kind: structure.Protein}
	for i := range 300 {
		trace.Residues = append(trace.Residues, structure.Residue{
			Comp:  "ALA",
			Seq:   3*i + 1,
			Auth:  3*i + 1,
			Atoms: []structure.Atom{{Name: "CA", Element: "C", Pos: structure.Vec{10 * float64(i), 0, 0}}},
		})
	}
	says := func(c structure.Chain, want ...string) {
		t.Helper()
		f := mustDigest(t, &structure.Structure{Chains: []structure.Chain{c}}, facts.Extra{})
		text := Answer(f, "Are there gaps?").Text
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s; want %q", text, w)
			}
		}
		if len(text) > 5_000 {
			t.Errorf("%d bytes", len(text))
		}
	}
	says(trace, "Chain A has 279 more broken links.", "Together 598 are missing by the numbers.")
	for i := range trace.Residues {
		r := &trace.Residues[i]
		r.Seq, r.Auth, r.Atoms[0].Name = i+1, i+1, "CB"
	}
	says(trace, "Whether the links of chain A are broken cannot be told")
}
