package structure

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// Limits bounds what a reader accepts. A field of 0 means its default.
type Limits struct {
	Bytes    int64 // of the file; default 128 MiB
	Line     int   // bytes of a line, or of one text value of a CIF; default 1 MiB
	Atoms    int   // of the first model, alternatives included; default 1,000,000
	Residues int   // of the structure, or letters of a FASTA file; default 500,000
	Chains   int   // of the structure, or records of a FASTA file; default 5,000
}

// defaults returns the limits with defaults in place of zero fields.
func (l Limits) defaults() Limits {
	set := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	if l.Bytes <= 0 {
		l.Bytes = 128 << 20
	}
	set(&l.Line, 1<<20)
	set(&l.Atoms, 1_000_000)
	set(&l.Residues, 500_000)
	set(&l.Chains, 5_000)
	return l
}

// ParseError reports what is wrong with a file, and in which line. Its text is one sentence that a user can act on.
type ParseError struct {
	// Format is mmCIF, PDB or FASTA, or empty where the format could not be recognised.
	Format string // "mmCIF", "PDB", "FASTA"; empty where it could not be told
	Line   int    // 1-based; 0: the file as a whole
	Reason string
	Limit  bool // the file is larger than the Limits allow
}

// Error returns one sentence with the format, the line where it is known, and the reason.
func (e *ParseError) Error() string {
	format := cmp.Or(e.Format, "structure")
	if e.Line == 0 {
		return fmt.Sprintf("%s file: %s", format, e.Reason)
	}
	return fmt.Sprintf("%s file, line %d: %s", format, e.Line, e.Reason)
}

// lines reads a file line by line, within the limits. LF and CRLF end a line; the last line may lack both.
type lines struct {
	format string
	r      *bufio.Reader
	lim    Limits
	// read is the number of bytes read so far, compared with Limits.Bytes.
	read   int64
	number int // of the line last handed out
	// long collects a line that is longer than the reader's buffer.
	long []byte
}

// newLines returns a reader of the lines of r. format is the name used in errors.
func newLines(format string, r io.Reader, lim Limits) *lines {
	return &lines{format: format, r: bufio.NewReaderSize(r, 64<<10), lim: lim}
}

// errorf returns a ParseError at the current line.
func (l *lines) errorf(format string, args ...any) *ParseError {
	return &ParseError{Format: l.format, Line: l.number, Reason: fmt.Sprintf(format, args...)}
}

// limit returns a ParseError at the current line with Limit set.
func (l *lines) limit(format string, args ...any) *ParseError {
	e := l.errorf(format, args...)
	e.Limit = true
	return e
}

// next returns the next line without its end, valid until the next call, and io.EOF after the last. It drops a byte
// order mark at the start.
func (l *lines) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		if len(l.long) == 0 && len(part) > 0 {
			l.number++
		}
		if l.read > l.lim.Bytes {
			return nil, l.limit("the file is larger than the %d bytes allowed", l.lim.Bytes)
		}
		if len(l.long)+len(part) > l.lim.Line+2 {
			return nil, l.limit("the line is longer than the %d bytes allowed", l.lim.Line)
		}
		switch {
		case err == nil && len(l.long) == 0:
			return l.trim(part), nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s file: %w", l.format, err)
		}
		l.long = append(l.long, part...)
		if err != nil && len(l.long) == 0 {
			return nil, io.EOF
		}
		return l.trim(l.long), nil
	}
}

// trim removes the end of a line, and a byte order mark from the first one.
func (l *lines) trim(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	b = bytes.TrimSuffix(b, []byte("\r"))
	if l.number == 1 {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	return b
}

// excerpt returns a value for an error message: quoted and at most 40 bytes long.
func excerpt[T string | []byte](v T) string {
	if len(v) > 40 {
		return fmt.Sprintf("%q…", string(v[:40]))
	}
	return fmt.Sprintf("%q", string(v))
}
