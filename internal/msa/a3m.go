package msa

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"pleat/internal/words"
)

// Limits of one alignment. Read returns an error beyond them.
const (
	MaxBytes = 256 << 20
	maxRows  = 500_000
	maxName  = 1 << 10 // bytes of a row's name; the rest is cut off
	maxLine  = 1 << 20 // bytes of a line, and of a row
)

// Alignment is a multiple sequence alignment of a query in the form of A3M.
type Alignment struct {
	Rows []Row // the first is the query itself, without gaps or insertions

	// Pairs are the rows of an alignment of a complex that align several of its chains; nil: there are none. Rows with
	// the same index belong together in the Pairs of all chains.
	Pairs *Alignment
}

// Row is one aligned sequence. Text has one upper-case letter or hyphen for each residue of the query; lower-case
// letters between them are insertions.
type Row struct {
	Name string
	Text string
}

// Query returns the sequence to which the rows are aligned.
func (a *Alignment) Query() string { return a.Rows[0].Text }

// Read parses an A3M file. Its first row must equal query; if query is empty, it must have no gaps and no insertions.
// ColabFold's alignment of a complex is read as that of the chain which is the query. Comments (#), empty lines and
// dots are ignored, and an asterisk becomes X. The error is one sentence that names the row or line.
func Read(r io.Reader, query string) (*Alignment, error) {
	b := builder{query: query}
	if err := b.read(r); err != nil {
		return nil, err
	}
	if b.complex != nil {
		return b.complex.alignment(query)
	}
	return &Alignment{Rows: b.rows}, nil
}

// Check validates an A3M file as Read does, without keeping the rows in memory.
func Check(r io.Reader) error {
	return (&builder{drop: true}).read(r)
}

// ReadQueries returns the sequences that an A3M file aligns: its first row, or the chains of a complex. It reads no
// more of the file than it needs.
func ReadQueries(r io.Reader) ([]string, error) {
	b := builder{drop: true, first: true}
	err := b.read(r)
	if b.complex != nil {
		return b.complex.queries, err
	}
	return []string{b.query}, err
}

// read reads the whole file, or its first row if first is set.
func (b *builder) read(r io.Reader) error {
	bounded := &io.LimitedReader{R: r, N: MaxBytes + 1}
	lines := bufio.NewScanner(bounded)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	lines.Split(splitLines)
	n := 0
	for lines.Scan() {
		line := lines.Bytes()
		if n++; n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			if name := otherFormat.Find(line); name != nil {
				return fmt.Errorf("it is in the format %s; convert it to A3M, for example with reformat.pl of HH-suite",
					bytes.TrimPrefix(name, []byte("# ")))
			}
			if b.complex == nil {
				b.complex = complexOf(string(bytes.TrimRight(line, "\r \t")))
			}
		}
		if err := b.line(line); err != nil {
			return fmt.Errorf("line %d %w", n, err)
		}
		if b.first && b.known() {
			return nil
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d is longer than %d bytes", n+1, maxLine)
	case err != nil:
		return err
	case bounded.N <= 0:
		return fmt.Errorf("it has more than %d MiB", MaxBytes>>20)
	}
	if err := b.end(); err != nil {
		return err
	}
	if b.n == 0 {
		return errors.New("it has no sequence")
	}
	if b.complex != nil {
		return b.complex.end()
	}
	return nil
}

// otherFormat matches the beginning of alignments in other formats.
var otherFormat = regexp.MustCompile(`^(?:# STOCKHOLM|CLUSTAL)`)

// known reports whether the sequences that the file aligns are known.
func (b *builder) known() bool {
	if b.complex != nil {
		return b.complex.missing == 0
	}
	return b.n > 0
}

// splitLines is a bufio.SplitFunc for lines that end with LF, CR LF or, as those of old Macs, CR.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	at := bytes.IndexAny(data, "\r\n")
	switch {
	case at < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case at < 0, data[at] == '\r' && at == len(data)-1 && !atEOF:
		return 0, nil, nil
	case data[at] == '\r' && at+1 < len(data) && data[at+1] == '\n':
		return at + 2, data[:at], nil
	}
	return at + 1, data[:at], nil
}

// builder collects rows. A row may span several lines.
type builder struct {
	query string // the first row; empty until it is read if any is allowed
	drop  bool   // keep no rows
	first bool   // end when the sequences that the file aligns are known

	complex *complexReader // nil: the alignment is of one sequence

	n    int   // complete rows
	rows []Row // unless drop is set

	// open: the lines of a row are being collected, in name and text.
	open bool
	name string
	text strings.Builder
}

// line adds one line of the file. The error continues a sentence that begins with «line N».
func (b *builder) line(line []byte) error {
	line = bytes.TrimRight(line, "\r \t")
	switch {
	case len(line) == 0 || line[0] == '#':
		return nil
	case line[0] == '>':
		if err := b.end(); err != nil {
			return fmt.Errorf("begins a row after a bad one: %w", err)
		}
		b.open, b.name = true, cleanName(string(line[1:min(len(line), maxName)]))
		return nil
	case !b.open:
		return errors.New("comes before the first name, which begins with >")
	case b.text.Len()+len(line) > maxLine:
		return fmt.Errorf("makes a row of more than %d letters", maxLine)
	}
	for i, c := range line {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-':
			b.text.WriteByte(c)
		case c == '.':
		case c == '*':
			b.text.WriteByte('X')
		default:
			r, _ := utf8.DecodeRune(line[i:])
			return fmt.Errorf("has %s at position %d; an alignment has letters, hyphens and dots", words.Character(r),
				utf8.RuneCount(line[:i])+1)
		}
	}
	return nil
}

// cleanName returns a name as one printable line without blanks at its end.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return '\t' // separates the fields that search programs write
		case r < ' ' || r == 0x7f || r == '\ufffd':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.TrimRight(s, " \t")
}

// end validates the current row and adds it.
func (b *builder) end() error {
	if !b.open {
		return nil
	}
	text, n := b.text.String(), b.n+1
	b.text.Reset()
	b.open = false
	switch {
	case n > maxRows:
		return fmt.Errorf("it has more than %d rows", maxRows)
	case b.complex != nil:
		b.n = n
		return b.complex.add(n, Row{b.name, text}, b.drop)
	case n == 1:
		if at := notCapital(text); at >= 0 {
			return fmt.Errorf("row 1 has %q at position %d; it must be the sequence itself, in capitals without gaps",
				text[at], at+1)
		}
		switch {
		case text == "":
			return errors.New("row 1 is empty; it must be the sequence itself")
		case b.query == "":
			b.query = text
		case text != b.query:
			return errors.New("row 1 is not the sequence itself" + difference(text, b.query))
		}
	case columns(text) != len(b.query):
		return fmt.Errorf("row %d has %d columns; the sequence has %d residues", n, columns(text), len(b.query))
	}
	b.n = n
	if !b.drop {
		b.rows = append(b.rows, Row{b.name, text})
	}
	return nil
}

// notCapital returns the index of the first character of a row that is no capital; -1: there is none.
func notCapital(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// columns counts the letters and gaps that are aligned to residues of the query.
func columns(text string) int {
	n := 0
	for i := range len(text) {
		if c := text[i]; c < 'a' || c > 'z' {
			n++
		}
	}
	return n
}

// Aligned returns the row without its insertions: one letter or hyphen for each residue of the query.
func (r Row) Aligned() string {
	if columns(r.Text) == len(r.Text) {
		return r.Text
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return -1
		}
		return c
	}, r.Text)
}

// Identity returns the fraction of the query's residues that are equal in an aligned row, 0 to 1. Gaps and unknown
// residues (X) count as different.
func Identity(query, aligned string) float64 {
	alike := 0
	for i := range len(query) {
		if query[i] == aligned[i] && query[i] != 'X' {
			alike++
		}
	}
	return float64(alike) / float64(len(query))
}

// WriteTo writes the alignment as A3M with two lines for each row.
func (a *Alignment) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriter(w)
	n := int64(0)
	for _, r := range a.Rows {
		k, _ := fmt.Fprintf(out, ">%s\n%s\n", r.Name, r.Text)
		n += int64(k)
	}
	return n, out.Flush()
}
