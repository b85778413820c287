package analyst

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spellings brings symbols and typographic signs to the words and signs that the vocabulary has.
var spellings = strings.NewReplacer(
	"Cα", "CA", "Cβ", "CB", "α", " alpha ", "β", " beta ", "π", " pi ", "₃₁₀", " 3-10 ", "3₁₀", " 3-10 ",
	"\u212b", "Å", "A\u030a", "Å", "å", "Å",
	"–", "-", "—", "-", "−", "-", "‑", "-", "’", "'", "‘", "'", "´", "'", "…", " ", "“", " ", "”", " ", `"`, " ",
	"≠", " not ", "!=", " not ",
	"≤", " at most ", "≥", " at least ", "<=", " at most ", ">=", " at least ", "<", " below ", "->", " mutation ",
	"→", " mutation ", ">", " above ", "%", " percent ", "&", " and ",
	"can't", "can not", "Can't", "Can not", "cannot", "can not", "i.e.", " ", "e.g.", " ",
)

// token is a word or a sign. Primes and signs of charge belong to words, and so do decimal points between digits. A
// sign that says something, such as ±, is a word of its own; blanks, brackets and quotation marks say nothing.
var token = regexp.MustCompile(`(?:[\pL'*+]|\p{Nd}+(?:\.\p{Nd}+)*)+|[-?;!\n,:/.]|[\p{Sm}\p{N}_#@\\^‰]`)

var (
	// dots is a range of residues as databases write it: 5..9; 5, …, 9.
	dots = regexp.MustCompile(`(\d[A-Za-z]?),? ?(?:\.\.+=?|…),? ?(-?\d)`)
	// thousands is a number such as 1,000, and no list: no number in it begins with 0.
	thousands = regexp.MustCompile(`(^|[^\d,])(\d{1,3}),(0\d\d)(?:\b|$)`)
	// minus is a spoken minus sign, and abbreviation that of number with its point.
	minus        = regexp.MustCompile(`(?i)\bminus (\d)`)
	abbreviation = regexp.MustCompile(`(?i)\b(nos?|nr)\. ?\b`)
	// comma is a decimal comma before a unit of length; 1,000 Å would be something else.
	comma = regexp.MustCompile(`(^|[^\d,.])(\d{1,3}),(\d{1,2} ?(?:Å|[aA]ngstr))`)
)

// sentences splits a question into sentences of words. The signs , - / : stay as words of their own where they have a
// meaning: - next to digits and between blanks (8-12, Lys-8, 3 - 9), and not inside plain words (alpha-helix). In front
// of a number that nothing joins to what stands before, it is a minus and part of the number: -3, -3--1. Names are
// those of chains that are several words by these rules, such as A-2, and stay whole.
func sentences(text string, names names) [][]string {
	text = spellings.Replace(dots.ReplaceAllString(text, "$1 through $2"))
	text = minus.ReplaceAllString(abbreviation.ReplaceAllString(text, "$1 "), "-$1")
	text = thousands.ReplaceAllString(comma.ReplaceAllString(text, "$1$2.$3"), "$1$2$3")
	r := tokenReader{text: text}
	for from := 0; ; {
		at := token.FindStringIndex(text[from:])
		if at == nil {
			break
		}
		start, end := from+at[0], from+at[1]
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		if name := names.at(text[start:]); name != "" && !isWordRune(before) {
			r.words, from = append(r.words, name), start+len(name)
			continue
		}
		r.token(start, end)
		from = end
	}
	r.endSentence()
	return r.sentences
}

// tokenReader puts the tokens of a text together to sentences.
type tokenReader struct {
	text      string
	sentences [][]string
	words     []string // of the sentence that is read
	minus     string   // in front of the next word
}

func (r *tokenReader) endSentence() {
	if len(r.words) > 0 {
		r.sentences, r.words = append(r.sentences, r.words), nil
	}
}

// token reads the token from start to before end.
func (r *tokenReader) token(start, end int) {
	before, _ := utf8.DecodeLastRuneInString(r.text[:start])
	after, _ := utf8.DecodeRuneInString(r.text[end:])
	first, last := start == 0, end == len(r.text)
	switch t := r.text[start:end]; t {
	case "?", ";", "!", "\n", ".":
		if t != "." || last || unicode.IsSpace(after) {
			r.endSentence()
		}
	case "-":
		joins := unicode.IsDigit(before) || unicode.IsDigit(after) || r.endsInCode() ||
			unicode.IsSpace(before) && unicode.IsSpace(after)
		switch {
		case unicode.IsDigit(after) && !isWordRune(before):
			r.minus = t
		case !first && !last && joins:
			r.words = append(r.words, t)
		}
	case ",", ":", "/":
		r.words = append(r.words, t)
	default:
		r.words, r.minus = append(r.words, expand(r.minus+t)...), ""
	}
}

// endsInCode reports whether the last word ends in a number with an insertion code: H82A-H84.
func (r *tokenReader) endsInCode() bool {
	return len(r.words) > 0 && insertionCode.MatchString(r.words[len(r.words)-1])
}

var insertionCode = regexp.MustCompile(`\d[A-Za-z]$`)

// isWordRune reports whether a hyphen or a name behind a character goes on with its word.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("')]", r)
}

// names are names of chains that a question may have in the midst of its words.
type names map[string]bool

// at returns the longest name at the beginning of a text that ends there; empty: none.
func (n names) at(text string) (longest string) {
	for name := range n {
		rest, ok := strings.CutPrefix(text, name)
		if !ok || len(name) <= len(longest) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(rest); rest == "" || !isWordRune(next) || next == '\'' {
			longest = name
		}
	}
	return longest
}

// contraction is the end of a contracted word, which says nothing: what's, chain A's.
var contraction = regexp.MustCompile(`(?i)'(s|m|d|re|ve|ll)$`)

// expand resolves contractions: isn't is is not, what's is what, chain A's is chain A.
func expand(word string) []string {
	if strings.HasSuffix(strings.ToLower(word), "n't") {
		return []string{word[:len(word)-len("n't")], "not"} // some letters have another length in lower case
	}
	word = contraction.ReplaceAllString(strings.TrimLeft(word, "'"), "")
	if word == "" {
		return nil
	}
	return []string{word}
}
