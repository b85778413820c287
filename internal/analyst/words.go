package analyst

import (
	"regexp"
	"strings"
	"unicode"
)

// word is one token of a question.
type word struct {
	raw string // as written
	low string // lower case
}

func asWritten(words []word) string {
	var list []string
	for _, w := range words {
		list = append(list, w.raw)
	}
	return strings.Join(list, " ")
}

// spellings brings symbols and typographic signs to the words and signs that the vocabulary has.
var spellings = strings.NewReplacer(
	"Cα", "CA", "Cβ", "CB", "α", " alpha ", "β", " beta ", "π", " pi ", "₃₁₀", " 3-10 ",
	"\u212b", "Å", "A\u030a", "Å", "å", "Å",
	"–", "-", "—", "-", "−", "-", "‑", "-", "’", "'", "‘", "'", "´", "'", "…", " ", "“", " ", "”", " ", `"`, " ",
	"≤", " at most ", "≥", " at least ", "<=", " at most ", ">=", " at least ", "<", " below ", "->", " mutation ",
	"→", " mutation ", ">", " above ", "%", " percent ", "&", " and ",
	"can't", "can not", "Can't", "Can not", "cannot", "can not", "i.e.", " ", "e.g.", " ",
)

// sentences splits a question into sentences of words. The signs , - / : stay as words of their own where they have a
// meaning.
func sentences(text string) (out [][]word) {
	var current []word
	end := func() {
		if len(current) > 0 {
			out, current = append(out, current), nil
		}
	}
	runes := []rune(spellings.Replace(text))
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case inWord(c):
			j := i
			for j < len(runes) && (inWord(runes[j]) || decimalPoint(runes, j)) {
				j++
			}
			current = append(current, expand(string(runes[i:j]))...)
			i = j - 1
		case strings.ContainsRune("?;!\n", c), c == '.' && (i+1 == len(runes) || unicode.IsSpace(runes[i+1])):
			end()
		case strings.ContainsRune(",:/", c), c == '-' && hyphenCounts(runes, i):
			current = append(current, word{string(c), string(c)})
		}
	}
	end()
	return out
}

// inWord reports whether a character belongs to a word: primes and signs of charge do.
func inWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("'*+", c)
}

func decimalPoint(r []rune, i int) bool {
	return r[i] == '.' && i > 0 && i+1 < len(r) && unicode.IsDigit(r[i-1]) && unicode.IsDigit(r[i+1])
}

// hyphenCounts drops the hyphens inside plain words (alpha-helix) and keeps those next to digits and between blanks
// (8-12, Lys-8, 3 - 9).
func hyphenCounts(r []rune, i int) bool {
	if i == 0 || i+1 >= len(r) {
		return false
	}
	return unicode.IsDigit(r[i-1]) || unicode.IsDigit(r[i+1]) || unicode.IsSpace(r[i-1]) && unicode.IsSpace(r[i+1])
}

// contraction is the end of a contracted word, which says nothing: what's, chain A's.
var contraction = regexp.MustCompile(`(?i)'(s|m|d|re|ve|ll)$`)

// expand resolves contractions: isn't is is not, what's is what, chain A's is chain A.
func expand(raw string) []word {
	if strings.HasSuffix(strings.ToLower(raw), "n't") {
		stem := raw[:len(raw)-len("n't")] // some letters have another length in lower case
		return []word{{stem, strings.ToLower(stem)}, {"not", "not"}}
	}
	raw = contraction.ReplaceAllString(strings.TrimLeft(raw, "'"), "")
	if raw == "" {
		return nil
	}
	return []word{{raw, strings.ToLower(raw)}}
}
