package structure

import (
	"bufio"
	"bytes"
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
	Format string // mmCIF, PDB or FASTA; empty where it could not be recognised
	Line   int    // 1-based; 0: the file as a whole
	Reason string
	Limit  bool // the file is larger than the Limits allow
}

// Error returns one sentence with the format, the line where it is known, and the reason. Where no format is known, the
// reason is a sentence about "it".
func (e *ParseError) Error() string {
	switch {
	case e.Format == "":
		return e.Reason
	case e.Line == 0:
		return fmt.Sprintf("%s file: %s", e.Format, e.Reason)
	}
	return fmt.Sprintf("%s file, line %d: %s", e.Format, e.Line, e.Reason)
}

// lines reads a file line by line, within the limits. LF, CRLF and CR end a line, also in one file; the last line may
// lack an end.
type lines struct {
	format string
	r      *bufio.Reader
	lim    Limits
	// read is the number of bytes read so far, compared with Limits.Bytes.
	read   int64
	number int // of the line last handed out
	// open says that the line last handed out is the last one and has no end.
	open bool
	// text is what has been read up to an LF, if whole, or else up to the end of the reader's buffer, without the lines
	// handed out. bare says that the file ends there without an LF.
	text        []byte
	whole, bare bool
	// long collects a text that is longer than the reader's buffer.
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
	for {
		i := bytes.IndexByte(l.text, '\r')
		switch {
		case i >= 0 && (l.whole || i+1 < len(l.text)): // an LF may follow a CR at the end of the buffer
			line := l.text[:i]
			l.text = l.text[i+1:]
			return l.count(line), nil
		case l.whole:
			line := l.text
			l.text, l.whole, l.open = nil, false, l.bare
			return l.count(line), nil
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// count counts a line, and removes a byte order mark from the first one.
func (l *lines) count(line []byte) []byte {
	if l.number++; l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// fill reads on, up to the next LF or as far as the reader's buffer reaches.
func (l *lines) fill() error {
	l.long = append(l.long[:0], l.text...)
	part, err := l.r.ReadSlice('\n')
	l.read += int64(len(part))
	switch {
	case l.read > l.lim.Bytes:
		l.number++
		return l.limit("the file is larger than the %d bytes allowed", l.lim.Bytes)
	case len(l.long)+len(part) > l.lim.Line+2 && bytes.IndexByte(part, '\r') < 0:
		l.number++
		return l.limit("the line is longer than the %d bytes allowed", l.lim.Line)
	case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
		return fmt.Errorf("read %s file: %w", l.format, err)
	case len(l.long) > 0:
		l.long = append(l.long, part...)
		part = l.long
	}
	if errors.Is(err, io.EOF) && len(part) == 0 {
		return io.EOF
	}
	l.text, l.whole = part, !errors.Is(err, bufio.ErrBufferFull)
	if l.whole {
		l.bare = errors.Is(err, io.EOF) && part[len(part)-1] != '\r'
		l.text = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
	}
	return nil
}

// excerpt returns a value for an error message: quoted and at most 40 bytes long.
func excerpt[T string | []byte](v T) string {
	if len(v) > 40 {
		return fmt.Sprintf("%q…", string(v[:40]))
	}
	return fmt.Sprintf("%q", string(v))
}
