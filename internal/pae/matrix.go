package pae

import (
	"fmt"
	"strconv"

	"pleat"
	"pleat/internal/structure"
)

// Matrix is a PAE as rows of numbers in JSON. Decoding fails, with CodeInvalid, if a value is missing or no number from
// 0, or if there are not as many rows as columns. Anything but a list of lists leaves it empty.
type Matrix struct {
	structure.Matrix
}

// UnmarshalJSON reads the rows.
func (m *Matrix) UnmarshalJSON(text []byte) error {
	s := scanner{text: text}
	if s.next() != '[' || s.peek() != '[' {
		return nil
	}
	if m.N > 0 {
		return pleat.Invalidf("the PAE has the same name twice; it must have one PAE")
	}
	var rows structure.Matrix
	for i := 1; ; i++ {
		if c := s.next(); c != '[' {
			return pleat.Invalidf("the PAE has no list as row %d", i)
		}
		at := len(rows.V)
		place := func(column int) string { return fmt.Sprintf("row %d, column %d", i, column) }
		v, err := s.row(rows.V, inAngstrom, place)
		if err != nil {
			return err
		}
		if i == 1 {
			if rows.N = len(v); rows.N == 0 || rows.N > MaxRows {
				return errSize(rows.N)
			}
			v = append(make([]float32, 0, min(rows.N*rows.N, len(text)/2)), v...)
		}
		if rows.V = v; len(v)-at != rows.N {
			return pleat.Invalidf("row %d of the PAE has %d values; it must have %d", i, len(v)-at, rows.N)
		}
		if s.next() == ']' {
			break
		}
		if i == rows.N {
			return pleat.Invalidf("the PAE has more than the %d rows that its columns need", rows.N)
		}
	}
	if got := len(rows.V) / rows.N; got != rows.N {
		return pleat.Invalidf("the PAE has %d rows of %d values; it must have as many rows as columns", got, rows.N)
	}
	m.Matrix = rows
	return nil
}

// errSize returns an error for a number of rows that is not allowed.
func errSize(n int) error {
	return pleat.Invalidf("the PAE has %d rows; 1 to %d are allowed", n, MaxRows)
}

// scanner reads the lists of numbers of a valid JSON text.
type scanner struct {
	text []byte
	at   int
}

// peek returns the next byte that is no white space; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// next is peek, and passes over the byte.
func (s *scanner) next() byte {
	c := s.peek()
	s.at++
	return c
}

// row appends the numbers of a list, whose bracket was read. Name says in messages which number of the list, counted
// from 1, is wrong.
func (s *scanner) row(out []float32, kind numberKind, name func(column int) string) ([]float32, error) {
	if s.peek() == ']' {
		s.at++
		return out, nil
	}
	for column := 1; ; column++ {
		word := s.word()
		v, err := strconv.ParseFloat(string(word), 32)
		if err != nil || !kind.valid(float32(v)) {
			return out, kind.refuse(name(column), string(word))
		}
		out = append(out, float32(v))
		if s.next() == ']' {
			return out, nil
		}
	}
}

// word returns the next value up to its end, as far as it is no list or object.
func (s *scanner) word() []byte {
	s.peek()
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ',', ']', ' ', '\t', '\r', '\n':
			word := s.text[start:s.at]
			s.peek()
			return word
		}
	}
	return s.text[start:]
}

// maxError is above every error that a model can state, in Å. AlphaFold's are at most 31.75.
const maxError = 1000

// numberKind is a kind of numbers in a file.
type numberKind struct {
	valid func(v float32) bool
	what  string // in messages
}

// The kinds: errors, and residues counted from 1.
var (
	inAngstrom = numberKind{
		func(v float32) bool { return v >= 0 && v < maxError }, fmt.Sprintf("number of Å from 0 to %d", maxError),
	}
	ofResidue = numberKind{
		func(v float32) bool { return v >= 1 && v <= MaxRows && v == float32(int(v)) },
		fmt.Sprintf("residue from 1 to %d", MaxRows),
	}
)

// refuse returns an error for a value that is no such number.
func (k numberKind) refuse(place, text string) error {
	return pleat.Invalidf("the PAE has %s in %s; it must be a %s", pleat.Clip(text), place, k.what)
}
