package analyst

import (
	"strings"
	"unicode"
)

// word is one token of a question.
type word struct {
	raw string // as written
	low string // lower case
}

var spellings = strings.NewReplacer(
	"α", " alpha ", "β", " beta ", "π", " pi ", "Å", "Å", "å", "Å", "–", "-", "—", "-", "−", "-", "‑", "-", "’", "'", "‘", "'", "´", "'",
	"≤", " at most ", "≥", " at least ", "<=", " at most ", ">=", " at least ", "<", " below ", ">", " above ", "%", " percent ",
	"→", " mutation ", "->", " mutation ", "…", " ", "“", " ", "”", " ", `"`, " ", "&", " and ", "₃₁₀", " 3-10 ", "Cα", "CA", "Cβ", "CB",
)

// sentences splits a question into sentences of words. Punctuation that means something stays as a word of its own: , - / :
func sentences(text string) [][]word {
	text = spellings.Replace(strings.NewReplacer("Cα", "CA", "Cβ", "CB").Replace(text))
	var out [][]word
	var cur []word
	end := func() {
		if len(cur) > 0 {
			out, cur = append(out, cur), nil
		}
	}
	runes := []rune(text)
	for i := 0; i < len(runes); {
		c := runes[i]
		switch {
		case inWord(c):
			j := i
			for j < len(runes) && (inWord(runes[j]) || decimal(runes, j)) {
				j++
			}
			cur = append(cur, wordsOf(string(runes[i:j]))...)
			i = j
			continue
		case c == '?' || c == ';' || c == '!' || c == '\n':
			end()
		case c == '.' && (i+1 == len(runes) || unicode.IsSpace(runes[i+1])):
			end()
		case c == ',' || c == ':' || c == '/':
			cur = append(cur, word{string(c), string(c)})
		case c == '-' && hyphenCounts(runes, i):
			cur = append(cur, word{"-", "-"})
		}
		i++
	}
	end()
	return out
}

func inWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '\'' || c == '*' || c == '+'
}

// decimal says whether a point stands between two digits.
func decimal(r []rune, i int) bool {
	return r[i] == '.' && i > 0 && i+1 < len(r) && unicode.IsDigit(r[i-1]) && unicode.IsDigit(r[i+1])
}

// hyphenCounts drops the hyphens inside plain words (alpha-helix) and keeps those beside figures, between single capitals and
// between blanks (8-12, Lys-8, A-B, 3 - 9).
func hyphenCounts(r []rune, i int) bool {
	if i == 0 || i+1 >= len(r) {
		return false
	}
	single := func(j, beyond int) bool {
		return unicode.IsUpper(r[j]) && (beyond < 0 || beyond >= len(r) || !unicode.IsLetter(r[beyond]))
	}
	return unicode.IsDigit(r[i-1]) || unicode.IsDigit(r[i+1]) || unicode.IsSpace(r[i-1]) && unicode.IsSpace(r[i+1]) ||
		single(i-1, i-2) && single(i+1, i+2)
}

// wordsOf undoes contractions: isn't → is not, what's → what, chain A's → chain A.
func wordsOf(raw string) []word {
	raw = strings.TrimLeft(raw, "'")
	low := strings.ToLower(raw)
	cut := func(n int) string { return raw[:max(0, len(raw)-n)] }
	switch {
	case low == "can't" || low == "cannot":
		return []word{{"can", "can"}, {"not", "not"}}
	case strings.HasSuffix(low, "n't"):
		return []word{{cut(3), low[:len(low)-3]}, {"not", "not"}}
	case strings.HasSuffix(low, "'s"):
		raw = cut(2)
	case strings.HasSuffix(low, "'m"), strings.HasSuffix(low, "'d"):
		raw = cut(2)
	case strings.HasSuffix(low, "'re"), strings.HasSuffix(low, "'ve"), strings.HasSuffix(low, "'ll"):
		raw = cut(3)
	case strings.HasSuffix(low, "s'"):
		raw = cut(1)
	}
	if raw == "" {
		return nil
	}
	return []word{{raw, strings.ToLower(raw)}}
}

// typo finds the one word of the lexicon that is one slip away (a letter wrong, missing, too many, or two swapped), for
// words of at least six letters; empty where there is none or more than one meaning.
func typo(low string) string {
	if len(low) < 6 || len(low) > 24 {
		return ""
	}
	best := ""
	for _, w := range lexicon.words {
		if len(w) < 6 || !oneSlip(low, w) {
			continue
		}
		if best != "" && lexicon.entry[best] != lexicon.entry[w] {
			return ""
		}
		best = w
	}
	return best
}

func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) != len(b) {
		return a[i:] == b[i+1:]
	}
	if i >= len(a)-1 {
		return true
	}
	return a[i+1:] == b[i+1:] || a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
