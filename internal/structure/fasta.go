package structure

import (
	"errors"
	"io"
	"strings"
)

// Record is one sequence of a FASTA file.
type Record struct {
	Name     string // the header without its '>' and the spaces around it; may be empty
	Sequence string // letters A to Z only
}

// ReadFASTA reads one or more sequences, each under a header that starts with '>'. It converts letters to upper case
// and drops spaces within a sequence, empty lines, lines that start with ';', and one '*' at a sequence's end. It does
// not check that the letters belong to a polymer's alphabet: internal/format, which makes jobs of FASTA files, does.
//
// lim bounds the records (Chains), the letters of all (Residues) and the bytes of the file. The error is a
// [*ParseError] with line and column, or one from r.
func ReadFASTA(r io.Reader, lim Limits) ([]Record, error) {
	lim = lim.defaults()
	f := &fastaReader{in: newLines("FASTA", r, lim)}
	for {
		line, err := f.in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case len(line) > 0 && line[0] == '>':
			err = f.start(line[1:])
		case len(line) > 0 && line[0] == ';':
		default:
			err = f.letters(line)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	if len(f.records) == 0 {
		return nil, &ParseError{Format: "FASTA", Reason: "there is no sequence"}
	}
	return f.records, nil
}

// fastaReader holds the records read so far and the sequence of the last one.
type fastaReader struct {
	in      *lines
	records []Record // the last one's sequence is still in seq
	seq     strings.Builder
	header  int // line of the last header
	total   int // letters so far
	// ended reports that the sequence ended with '*'; only white space may follow.
	ended bool
}

// start begins a record under the given header. It fails beyond Limits.Chains.
func (f *fastaReader) start(header []byte) error {
	if err := f.finish(); err != nil {
		return err
	}
	if len(f.records) == f.in.lim.Chains {
		return f.in.limit("there are more than the %d sequences allowed", f.in.lim.Chains)
	}
	f.records = append(f.records, Record{Name: strings.TrimSpace(strings.ToValidUTF8(string(header), "?"))})
	f.header = f.in.number
	return nil
}

// finish closes the record being read. A record without a sequence is an error.
func (f *fastaReader) finish() error {
	if len(f.records) == 0 {
		return nil
	}
	last := &f.records[len(f.records)-1]
	if f.seq.Len() == 0 {
		return &ParseError{
			Format: "FASTA", Line: f.header, Reason: "no sequence follows the header " + excerpt(last.Name),
		}
	}
	last.Sequence = f.seq.String()
	f.seq.Reset()
	f.ended = false
	return nil
}

// letters adds one line to the sequence being read. It fails beyond Limits.Residues, and for anything but letters with
// its column.
func (f *fastaReader) letters(line []byte) error {
	for col, b := range line {
		switch {
		case b == ' ' || b == '\t':
			continue
		case len(f.records) == 0:
			return f.in.errorf("want a header that starts with \">\", not %s", excerpt(line))
		case f.ended:
			return f.in.errorf("column %d: the sequence has data after its end sign \"*\"", col+1)
		case b == '*':
			f.ended = true
			continue
		case b >= 'a' && b <= 'z':
			b -= 'a' - 'A'
		case b < 'A' || b > 'Z':
			return f.in.errorf("column %d: %s is not a letter of a sequence", col+1, excerpt(line[col:col+1]))
		}
		if f.total++; f.total > f.in.lim.Residues {
			return f.in.limit("the sequences are longer than the %d residues allowed", f.in.lim.Residues)
		}
		f.seq.WriteByte(b)
	}
	return nil
}
