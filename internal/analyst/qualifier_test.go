package analyst

import (
	"slices"
	"strings"
	"testing"
)

// A qualifier put into a question changes the answer or makes it an abstention: none is passed over in silence.
func TestNoQualifierIsIgnored(t *testing.T) {
	qualifiers := []struct{ text, stems string }{ // a question that has a stem says it already
		{"in residues 5 to 8", ""}, {"in the first three residues", ""}, {"after residue 6",
			""}, {"in the second half of the chain", "half"},
		{"between positions 3 and 9", ""}, {"besides prolines", "prol"}, {"other than residue 3",
			""}, {"without the glycines", "glyc"},
		{"of the aromatic residues", "aromatic"}, {"that are not charged", "charged"}, {"in a helix",
			"heli alpha strand"}, {"outside strands", "heli strand"},
		{"in the second helix", "heli"}, {"within 3 Å of residue 4", ""}, {"touching residue 9",
			""}, {"at least 12 Å from residue 1", ""},
		{"with a pLDDT below 60", ""}, {"that are buried", "buried"}, {"on the surface", "surface"}, {"of each glorb",
			""}, {"at pH 3", ""},
		{"in chain Q", ""}, {"in the longest helix", "heli"}, {"but only the two largest", "largest"}, {"per helix",
			"alpha"},
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
				if slices.ContainsFunc(strings.Fields(q.stems),
					func(s string) bool { return strings.Contains(strings.ToLower(a.question), s) }) {
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

// How far a qualifier, a negation or a question before reaches; where that is not clear, no answer.
func TestReach(t *testing.T) {
	hold(t, []reading{
		{"1ubi", "How many lysines in helices and how many prolines in strands?", "residues",
			"3 of 76 residues (3.9 %) are LYS and in a helix"},
		{"1ubi", "Which lysines, apart from K48 and K63, are on the surface?", "residues",
			"LYS 6, LYS 11, LYS 29, LYS 33 (chain A)"},
		{"1ubi", "Which residues are not lysine, arginine or glutamate?", "residues", "59 of 76"},
		{"1ubi", "How many lysines are there? Count only those in helices.", "residues", "3 of 76"},
		{"1ubi", "Look at residues 20 to 40. How many lysines are there?", "", "This sentence asks nothing"},
		{"1crn", "How many threonines are there, and how many are in helices?", "residues",
			"it is not clear what it is about"},
		{"1ubi", "Which lysines are in helices? How many are buried?", "residues", "I did not understand “How many " +
			"are buried”"},
		{"1ubi", "How many lysines are in helices, and how many arginines?", "residues", "please ask it by itself"},
		{"1ubi", "How many helices contain a lysine?", "", "I did not understand"},
		{"1ubi", "What is the charge of the helix?", "charge", "α-helix ILE 23 to GLU 34 (chain A) with 12 residues " +
			"has a net charge of"},
		{"nucleic", "How many DA are there?", "residues", "1 of 14 residues (7.1 %) are DA: DA 5 (chain D)"},
		{"nucleic", "How many Da is chain D?", "weight", "1887.2 Da"},
		{"modified", "Is there a phosphoserine?", "residues", "1 of 20 residues (5.0 %) are SEP: SEP 13 (chain A)"},
		{"dimer", "What is the distance between CA of residue 5 and CA of residue 20 in chain A?", "distance",
			"CA of VAL 5 (chain A) and atom CA of SER 20 (chain A)"},
		{"dimer", "Which helix is the longest?", "secondary structure", "The longest helix of each chain: α-helix ILE 23"},
		{"dimer", "Which strand of chain A is the shortest?", "secondary structure", "The shortest strand: β-strand LYS 48"},
		{"dimer", "What could I mutate to alanine?", "", "what a mutation would do"},
		{"dimer", "Can I mutate residue 6 of chain A to a cysteine?", "", "what a mutation would do"},
		{"dimer", "Which alanines could I mutate?", "candidates", "ALA 28 (chain A) is not a candidate"},
		{"dimer", "What is the mass of the complex?", "weight", "Together these chains weigh 12103.9 Da."},
		{"dimer", "Where are the loops?", "secondary structure", "Chain A has 8 loops: MET 1 (1 residue), LEU 8 to LYS 11"},
		{"dimer", "What is the length of the loops and helices of chain B?", "length",
			"Loop ARG 13 to ASN 14 (chain B) with 2 residues has 2 residues with coordinates, ARG 13 to ASN 14 (chain B). " +
				"α-helix GLU 15 to LYS 24"},
		{"dimer", "Where are the loops of chain B?", "secondary structure", "Chain B has 4 loops: GLU 1 to THR 4 (4 residues)"},
		{"dimer", "How many turns are there?", "secondary structure", "Chain A has 6 turns: LEU 8 to THR 9 (2 residues)"},
		{"dimer", "Which bends are there?", "secondary structure", "Chain B has 1 bend: TYR 7 to GLY 9 (3 residues)"},
		{"dimer", "Where is the second loop of chain B?", "secondary structure", "TYR 7 to ARG 10 (chain B)"},
		{"dimer", "What are the C-termini?", "residue", "GLY 76 (chain A)"},
		{"1ubi", "Which residues in the loop between the helix and the third strand are charged?", "",
			"“between” and “third”"},
		{"1ubi", "Which acidic residues are near Lys27 but not Asp52?", "",
			"leaves that residue out or what is near it"},
		{"1ubi", "Which lysines are in the second helix?", "residues", "the second helix (3-10 helix PRO 38 to GLN " +
			"40 (chain A), counting α-, 3-10 and π-helices"},
		{"1ubi", "Which residues in 5-20 of the first half are charged?", "", "“half”"},
		{"1ubi", "Which residues are within 25 Å of Lys27?", "", "up to 20 Å"},
		{"dimer", "Which residues of chain A contact Lys6 of chain B?", "residues", "ALA 28, GLN 31, ASP 32 (chain A)"},
		{"dimer", "In chain B, what does residue 7 touch in chain A?", "", "one chain at a time"},
		{"dimer", "List the lysines of chain A and the arginines of chain B.", "",
			"one chain at a time"},
		{"dimer", "Are all charged residues of chain B exposed?", "residues",
			"Yes: 14 of 14 residues that are charged"},
		{"predicted", "Which region outside residues 60-76 is least confident?", "confidence", "not at 60 to 76"},
		{"1ubi", "Which lysines have a pLDDT below 70?", "", "No confidence of a model is known"},
		{"nucleic", "How many hydrophobic residues are there?", "", "These classes are of amino acids"},
		{"gapped", "What share of the residues is missing?", "", "share of"},
		{"1crn", "Which residues are not on the chain?", "", "I did not understand"},
		{"1crn", "Which charged residues are there, and are any of them buried?", "residues",
			"Yes, 1 of 4: of the 4 residues that are charged"},
		{"1ubi", "Which residues are at the end of the helix?", "", "how to take “end of” here"},
		{"1ubi", "Which residues lie on one side of the helix?", "", "I did not understand"},
		{"1ubi", "Which residues have zero accessibility?", "", "“zero”"},
		{"1ubi", "Is every lysine exposed?", "residues", "No: 6 of 7 residues that are LYS (85.7 %) are exposed"},
		{"dimer", "Which residues touch only chain B?", "", "“only”"},
		{"1ubi", "Which prolines lie next to a glutamine?", "", "next to it in the chain or in space"},
	})
}
