package words

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// LineAndColumn returns the line and the column, in characters, of a byte of a text, both counted from 1.
func LineAndColumn(text []byte, at int) (line, column int) {
	before := text[:min(at, len(text))]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// Character describes a character for a message. One that is invisible, or that a reader would take for a character of
// ASCII, has its code point and what it is: 'А' (U+0410, a Cyrillic letter that looks like A).
func Character(r rune) string {
	what := invisible[r]
	switch {
	case what != "":
		return fmt.Sprintf("%U (%s)", r, what)
	case r < 0x80:
		return fmt.Sprintf("%q", r)
	case lookAlikes[r] != 0:
		what = fmt.Sprintf("a %s that looks like %c", family(r), lookAlikes[r])
	case r >= firstFullWidth && r <= lastFullWidth:
		what = fmt.Sprintf("a full-width form of %c", r-firstFullWidth+'!')
	case family(r) == "":
		return fmt.Sprintf("%q", r)
	default:
		what = "a " + family(r)
	}
	return fmt.Sprintf("'%c' (%U, %s)", r, r, what)
}

// The full-width forms of the printable characters of ASCII, in their order.
const (
	firstFullWidth = '\uff01'
	lastFullWidth  = '\uff5e'
)

// invisible names characters that cannot be seen, or not be told from a space.
var invisible = map[rune]string{
	'\u00a0': "a no-break space",
	'\u00ad': "a soft hyphen",
	'\u200b': "a zero-width space",
	'\u200c': "a zero-width non-joiner",
	'\u200d': "a zero-width joiner",
	'\u200e': "a left-to-right mark",
	'\u200f': "a right-to-left mark",
	'\u202f': "a narrow no-break space",
	'\u2060': "a word joiner",
	'\ufeff': "a byte order mark",
	'\ufffd': "a character that was lost when the text was converted",
}

// lookAlikes maps characters to the one of ASCII that each is easily taken for: Unicode Technical Standard 39,
// confusables.txt, for the letters of sequences and the signs of SMILES.
var lookAlikes = func() map[rune]rune {
	out := map[rune]rune{}
	for _, pair := range []struct{ of, ascii string }{
		{"АВЕЅІЈКМНОРСТХУаеіјорсхуѕԁһԛԝ", "ABESIJKMHOPCTXYaeijopcxysdhqw"},
		{"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ", "ABEZHIKMNOPTYXovp"},
		{"‐‑‒–—−‘’“”⁄∕", "------''\"\"//"},
	} {
		ascii := []rune(pair.ascii)
		for i, r := range []rune(pair.of) {
			out[r] = ascii[i]
		}
	}
	return out
}()

// family says what kind of character r is; empty: a letter or sign of a kind that is not taken for another.
func family(r rune) string {
	switch {
	case unicode.Is(unicode.Cyrillic, r):
		return "Cyrillic letter"
	case unicode.Is(unicode.Greek, r):
		return "Greek letter"
	case unicode.Is(unicode.Pd, r), r == '−':
		return "dash"
	case unicode.Is(unicode.Pi, r), unicode.Is(unicode.Pf, r):
		return "quotation mark"
	case r >= 0x1d400 && r <= 0x1d7ff:
		return "mathematical letter"
	case unicode.IsSpace(r):
		return "space"
	case r == '⁄', r == '∕':
		return "slash"
	case unicode.Is(unicode.Cf, r):
		return "character that cannot be seen"
	}
	return ""
}
