package pleat

import (
	"strings"
	"testing"
)

// Whatever name the library takes can be a template's, and nothing that is no plain name.
func TestTemplateFileName(t *testing.T) {
	for name, ok := range map[string]bool{
		"one.pdb": true, "Protéine 2.cif": true, "../one.pdb": false, "a\nb.pdb": false, "\xff.pdb": false,
		strings.Repeat("a", maxTemplateName+1): false,
	} {
		j := Job{
			Name:        "x",
			Sequences:   []Sequence{{Kind: Protein, Text: "GYDPETGTWG", Chains: []string{"A"}, Count: 1}},
			Constraints: Constraints{Templates: []Template{{Item: "0197e1e0-0000-7000-8000-000000000001", File: name}}},
		}
		v := validation{job: &j, model: &Model{Features: []Feature{FeatureTemplates}}}
		v.templates()
		if got := len(v.faults) == 0; got != ok {
			t.Errorf("%q: %v", name, v.faults)
		}
	}
}
