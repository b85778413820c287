package analyst

import (
	"slices"
	"strings"
	"testing"
)

// A qualifier put into a question changes the answer or makes it an abstention: none is passed over in silence.
func TestNoQualifierIsIgnored(t *testing.T) {
	qualifiers := []struct{ text, stems string }{ // a question that has a stem says it already
		{"in residues 5 to 8", ""}, {"in the first three residues", ""}, {"after residue 6", ""}, {"in the second half of the chain", "half"},
		{"between positions 3 and 9", ""}, {"besides prolines", "prol"}, {"other than residue 3", ""}, {"without the glycines", "glyc"},
		{"of the aromatic residues", "aromatic"}, {"that are not charged", "charged"}, {"in a helix", "heli alpha strand"}, {"outside strands", "heli strand"},
		{"in the second helix", "heli"}, {"within 3 Å of residue 4", ""}, {"touching residue 9", ""}, {"at least 12 Å from residue 1", ""},
		{"with a pLDDT below 60", ""}, {"that are buried", "buried"}, {"on the surface", "surface"}, {"of each glorb", ""}, {"at pH 3", ""},
		{"in chain Q", ""}, {"in the longest helix", "heli"}, {"but only the two largest", "largest"}, {"per helix", "alpha"},
		{"in the other chain", ""}, {"compared to lysines", "lysin"}, {"that bind the benzene", "benz bnz"},
	}
	tried, kept := 0, 0
	for _, path := range tables {
		for _, a := range questionsOf(t, path) {
			plain := Answer(digest(t, a.structure), a.question)
			if plain.Abstained {
				continue
			}
			for _, q := range qualifiers {
				if slices.ContainsFunc(strings.Fields(q.stems), func(s string) bool { return strings.Contains(strings.ToLower(a.question), s) }) {
					continue
				}
				asked := strings.TrimRight(a.question, "?. ") + " " + q.text + "?"
				r := Answer(digest(t, a.structure), asked)
				tried++
				if r.Abstained {
					kept++
				} else if r.Text == plain.Text {
					t.Errorf("%s: %q is answered as without %q:\n%s", a.structure, asked, q.text, r.Text)
				}
			}
		}
	}
	t.Logf("%d questions with a qualifier, of which %d were not answered", tried, kept)
}
