package analyst

import (
	"math"
	"strings"

	"pleat/internal/structure"
)

// item is one thing in a question: a concept of the vocabulary, or an entity, whose concept starts with @.
type item struct {
	concept string // ? for a word that is not known
	text    string // as the question has it
	names   []string
	mention mention // of @residue
	// value is a radius in Å, a pH, a bound of pLDDT or predicted RMSD, or an ordinal (-1: the last).
	value float64
	above bool // value is the least, not the most
	// unclear says in a sentence why it cannot be told what the item means; empty where it can.
	unclear string
}

// kind is the kind of polymer that an item of another concept means; empty where it means none.
func (it item) kind() string {
	switch {
	case it.is("rna dna nucleic"):
		return it.concept
	case len(it.names) > 0 && it.is("protein residue chain composition") && kinds[it.names[0]].name != "":
		return it.names[0]
	}
	return ""
}

// is reports whether the item is one of some concepts, written as one string.
func (it item) is(concepts string) bool { return oneOf(it.concept, concepts) }

// These are the kinds of items and words that vocabulary.txt describes.
func (it item) isSoft() bool         { return listed(it.concept, "soft") }
func (it item) isQuestionWord() bool { return listed(it.concept, "question") }
func (it item) isVerb() bool         { return listed(strings.ToLower(it.text), "verb") }
func (it item) isOutside() bool      { return strings.HasPrefix(it.concept, "!") }
func (it item) isUnknown() bool      { return it.concept == "?" }

// isMeaningful reports whether an item says more than please, and, or it.
func (it item) isMeaningful() bool { return !it.is("filler & ask in but it") }

// asks reports whether an item makes what it stands in a question.
func (it item) asks() bool {
	return it.isQuestionWord() || it.concept == "ask" || it.isVerb() ||
		!it.isSoft() && !it.is("not interface @radius contact around")
}

// textOf returns the words of items as the question has them, once where one phrase became several items.
func textOf(items []item) string { return strings.Join(texts(items), " ") }

func texts(items []item) (out []string) {
	for _, it := range items {
		if it.text != "" && (len(out) == 0 || out[len(out)-1] != it.text) {
			out = append(out, it.text)
		}
	}
	return out
}

// mention is a residue or a range of residues as a question names it.
type mention struct {
	chain  string                  // empty where the question does not name one
	kind   string                  // of polymer, by its concept; empty: any
	lo, hi structure.ResidueNumber // both the same for one residue; of no meaning if first is set
	names  []string                // component codes of which the residue, or the first of a range, is one; nil: any
	last   []string                // the same for the last of a range
	// first is so many residues from the beginning of the chain or, if negative, from its end.
	first int
}

// single reports whether the mention means one residue.
func (m mention) single() bool { return m.first == 0 && m.lo == m.hi || m.first == 1 || m.first == -1 }

// beginning stands for the number of the first residue of a chain, whatever it is.
const beginning = math.MinInt

// numberText returns the number of a mention as files show it: -3, 82, 82A.
func numberText(n structure.ResidueNumber) string {
	if n.Value == beginning {
		return "the beginning"
	}
	return n.String()
}

// parseNumber reads a number with or without an insertion code.
func parseNumber(text string) structure.ResidueNumber {
	n, _ := structure.ParseResidueNumber(text) // patterns let nothing else pass
	return n
}
