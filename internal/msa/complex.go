package msa

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// complexHeader matches the first line of ColabFold's alignments of a complex: the lengths of its different chains, and
// how often each occurs. https://github.com/sokrypton/ColabFold/blob/main/colabfold/batch.py (msa_to_str)
var complexHeader = regexp.MustCompile(`^#([0-9]{1,7}(?:,[0-9]{1,7})+)\t[0-9]+(?:,[0-9]+)*$`)

// maxComplex bounds the chains of such an alignment.
const maxComplex = 256

// complexReader reads an alignment of a complex: every row has the columns of all chains, one after the other, with
// gaps for the chains that it does not align. A row of several chains is paired.
type complexReader struct {
	ends    []int    // of the chains, in columns
	queries []string // empty: not read yet
	missing int      // queries that are empty
	rows    []Row    // unless they are dropped
}

// complexOf returns a reader if a line begins an alignment of a complex; nil: it does not.
func complexOf(line string) *complexReader {
	m := complexHeader.FindStringSubmatch(line)
	if m == nil || strings.Count(m[1], ",") >= maxComplex {
		return nil
	}
	var lengths []int
	for text := range strings.SplitSeq(m[1], ",") {
		n, _ := strconv.Atoi(text)
		if n == 0 {
			return nil
		}
		lengths = append(lengths, n)
	}
	return chainsOf(lengths)
}

// chainsOf returns a reader of an alignment of chains with these lengths, which are above 0.
func chainsOf(lengths []int) *complexReader {
	c := &complexReader{queries: make([]string, len(lengths)), missing: len(lengths)}
	end := 0
	for _, n := range lengths {
		end += n
		c.ends = append(c.ends, end)
	}
	return c
}

// readPairs returns the paired rows of an alignment of sequences, for each of them.
func readPairs(r io.Reader, sequences []string) ([]*Alignment, error) {
	var lengths []int
	for _, s := range sequences {
		lengths = append(lengths, len(s))
	}
	b := builder{complex: chainsOf(lengths)}
	if err := b.read(r); err != nil {
		return nil, err
	}
	var out []*Alignment
	for i, s := range sequences {
		if b.complex.queries[i] != s {
			return nil, errors.New("it " + Mismatch(b.complex.queries[i:i+1], s))
		}
		a := b.complex.split(i)
		if a.Pairs == nil {
			a.Pairs = &Alignment{Rows: a.Rows[:1]}
		}
		out = append(out, a.Pairs)
	}
	return out, nil
}

// parts splits a row into those of the chains. Insertions between two chains belong to the second.
func (c *complexReader) parts(text string) []string {
	out := make([]string, len(c.ends))
	from, column, i := 0, 0, 0
	for at := range len(text) {
		if l := text[at]; l >= 'a' && l <= 'z' {
			continue
		}
		if column++; column == c.ends[i] && i < len(c.ends)-1 {
			out[i], from = text[from:at+1], at+1
			i++
		}
	}
	out[i] = text[from:]
	return out
}

// add checks row n and adds it unless rows are dropped.
func (c *complexReader) add(n int, row Row, drop bool) error {
	if got, want := columns(row.Text), c.ends[len(c.ends)-1]; got != want {
		return fmt.Errorf("row %d has %d columns; by the first line, the chains of the complex have %d", n, got, want)
	}
	if c.missing > 0 {
		if err := c.readQueries(n, c.parts(row.Text)); err != nil {
			return err
		}
	}
	if !drop {
		c.rows = append(c.rows, row)
	}
	return nil
}

// readQueries takes the chains that row n is the first to align as their queries.
func (c *complexReader) readQueries(n int, parts []string) error {
	for i, part := range parts {
		if c.queries[i] != "" || !aligns(part) {
			continue
		}
		if at := notCapital(part); at >= 0 {
			return fmt.Errorf("row %d is the first of chain %d and has %q at its position %d; it must be the chain "+
				"itself, in capitals without gaps", n, i+1, part[at], at+1)
		}
		c.queries[i] = part
		c.missing--
	}
	return nil
}

// aligns reports whether a part of a row has a residue.
func aligns(part string) bool { return strings.Trim(part, "-") != "" }

// end checks that every chain has a row.
func (c *complexReader) end() error {
	for i, q := range c.queries {
		if q == "" {
			return fmt.Errorf("it has no row of chain %d", i+1)
		}
	}
	return nil
}

// alignment returns the alignment of the chain with a sequence. Rows of that chain alone are its rows, and the chain's
// parts of paired rows its Pairs, as ColabFold itself reads the file (unserialize_msa).
func (c *complexReader) alignment(query string) (*Alignment, error) {
	for i, q := range c.queries {
		if q == query {
			return c.split(i), nil
		}
	}
	return nil, errors.New(Mismatch(c.queries, query))
}

// split returns the alignment of chain i.
func (c *complexReader) split(i int) *Alignment {
	self := strconv.Itoa(firstID + i)
	first := Row{self, c.queries[i]}
	out, pairs := &Alignment{Rows: []Row{first}}, &Alignment{Rows: []Row{first}}
	for n, row := range c.rows {
		parts := c.parts(row.Text)
		part := parts[i]
		covered := aligned(parts)
		switch {
		case n == 0 && covered > 0, covered == 1 && part == first.Text && row.Name == self: // the query itself
		case covered > 1: // here and in the pairs of all other chains
			pairs.Rows = append(pairs.Rows, Row{row.Name, part})
		case aligns(part):
			out.Rows = append(out.Rows, Row{row.Name, part})
		}
	}
	if len(pairs.Rows) > 1 {
		out.Pairs = pairs
	}
	return out
}

// Unpair makes the Pairs that align the query rows like others, where they cannot be paired.
func (a *Alignment) Unpair() {
	if a.Pairs == nil {
		return
	}
	rows := a.Rows[:1:1]
	for _, r := range a.Pairs.Rows[1:] {
		if aligns(r.Text) {
			rows = append(rows, r)
		}
	}
	a.Rows, a.Pairs = append(rows, a.Rows[1:]...), nil
}

// aligned counts the chains that a row aligns by its parts.
func aligned(parts []string) int {
	n := 0
	for _, p := range parts {
		if aligns(p) {
			n++
		}
	}
	return n
}

// Mismatch says that none of the sequences with which an alignment begins is a query, which a caller puts behind «the
// alignment».
func Mismatch(begins []string, query string) string {
	if len(begins) == 1 {
		return "begins with another sequence; its first row must be the sequence itself" + difference(begins[0], query)
	}
	var lengths []string
	why := ""
	for _, b := range begins {
		lengths = append(lengths, strconv.Itoa(len(b)))
		if len(b) == len(query) && why == "" {
			why = difference(b, query)
		}
	}
	return fmt.Sprintf("is ColabFold's of a complex, whose chains have %s residues; none of them is the sequence%s",
		words.Join(lengths, 10), why)
}

// difference says in what a sequence of an alignment differs from a query, as the rest of a sentence.
func difference(begins, query string) string {
	out := ""
	if len(begins) != len(query) {
		out = fmt.Sprintf("; it has %d residues, and the sequence %d", len(begins), len(query))
	}
	for i := range min(len(begins), len(query)) {
		if begins[i] != query[i] {
			return out + fmt.Sprintf("; residue %d is %s in the sequence and %s in the alignment", i+1,
				words.Clip(query[i:i+1]), words.Clip(begins[i:i+1]))
		}
	}
	return out
}
