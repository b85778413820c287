package structure

import (
	"strconv"
	"strings"
)

// ResidueNumber is the number by which the authors of a structure name a residue: of any sign, and with an insertion
// code, which may be empty.
type ResidueNumber struct {
	Value int
	Ins   string
}

// String returns the number as files show it: -3, 82, 82A.
func (n ResidueNumber) String() string { return strconv.Itoa(n.Value) + n.Ins }

// AuthorNumber returns the number that the authors give the residue.
func (r *Residue) AuthorNumber() ResidueNumber { return ResidueNumber{r.Auth, r.Ins} }

// maxDigits is the most digits of a number that people write. The numbers of mmCIF files fit into nine.
const maxDigits = 9

// ParseResidueNumber reads a number as String writes it, with or without an insertion code; false: the text is none.
func ParseResidueNumber(text string) (ResidueNumber, bool) {
	digits, ins := text, ""
	if k := len(text) - 1; k > 0 && isLetter(text[k]) {
		digits, ins = text[:k], text[k:]
	}
	plain := strings.TrimPrefix(digits, "-")
	if plain == "" || len(plain) > maxDigits || strings.Trim(plain, "0123456789") != "" {
		return ResidueNumber{}, false
	}
	value, err := strconv.Atoi(digits)
	return ResidueNumber{value, ins}, err == nil
}

func isLetter(c byte) bool { return c|' ' >= 'a' && c|' ' <= 'z' }
