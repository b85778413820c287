package analyst

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spellings brings symbols and typographic signs to the words and signs that the vocabulary has.
var spellings = strings.NewReplacer(
	"Cα", "CA", "Cβ", "CB", "α", " alpha ", "β", " beta ", "π", " pi ", "₃₁₀", " 3-10 ",
	"\u212b", "Å", "A\u030a", "Å", "å", "Å",
	"–", "-", "—", "-", "−", "-", "‑", "-", "’", "'", "‘", "'", "´", "'", "…", " ", "“", " ", "”", " ", `"`, " ",
	"≤", " at most ", "≥", " at least ", "<=", " at most ", ">=", " at least ", "<", " below ", "->", " mutation ",
	"→", " mutation ", ">", " above ", "%", " percent ", "&", " and ",
	"can't", "can not", "Can't", "Can not", "cannot", "can not", "i.e.", " ", "e.g.", " ",
)

// token is a word or a sign. Primes and signs of charge belong to words, and so do decimal points between digits.
var token = regexp.MustCompile(`(?:[\pL'*+]|\p{Nd}+(?:\.\p{Nd}+)*)+|[-?;!\n,:/.]`)

// sentences splits a question into sentences of words. The signs , - / : stay as words of their own where they have a
// meaning: - next to digits and between blanks (8-12, Lys-8, 3 - 9), and not inside plain words (alpha-helix).
func sentences(text string) (out [][]string) {
	var current []string
	text = spellings.Replace(text)
	for _, at := range token.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		after, _ := utf8.DecodeRuneInString(text[at[1]:])
		first, last := at[0] == 0, at[1] == len(text)
		switch t := text[at[0]:at[1]]; t {
		case "?", ";", "!", "\n", ".":
			if len(current) > 0 && (t != "." || last || unicode.IsSpace(after)) {
				out, current = append(out, current), nil
			}
		case "-":
			digit := unicode.IsDigit(before) || unicode.IsDigit(after)
			if !first && !last && (digit || unicode.IsSpace(before) && unicode.IsSpace(after)) {
				current = append(current, t)
			}
		case ",", ":", "/":
			current = append(current, t)
		default:
			current = append(current, expand(t)...)
		}
	}
	if len(current) > 0 {
		out = append(out, current)
	}
	return out
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
