package structure

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// ErrNotWritten is returned by [RetitleCIF] for a file that [WriteCIF] did not write.
var ErrNotWritten = errors.New("the file was not written by this package")

// methodologyItem is the last item of the categories that RetitleCIF replaces.
const methodologyItem = "_struct.pdbx_structure_determination_methodology "

// maxHead bounds what RetitleCIF reads before it gives a file up, in bytes.
const maxHead = 64 << 10

// RetitleCIF copies a computed structure that [WriteCIF] wrote, with the ID and Title of m instead of its own. The copy
// has the bytes that WriteCIF would have written with them. Errors are those of r and w, and [ErrNotWritten]; nothing
// has been written then.
func RetitleCIF(w io.Writer, r io.Reader, m Meta) error {
	in := bufio.NewReaderSize(r, maxHead)
	head, err := in.Peek(maxHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.Index(head, []byte("\n"+methodologyItem))
	if at < 0 || !bytes.HasPrefix(head, []byte("data_")) {
		return ErrNotWritten
	}
	if _, err := in.Discard(at + 1 + bytes.IndexByte(head[at+1:], '\n') + 1); err != nil {
		return err
	}
	m.PAEFile = paeFileOf(head[:at])
	c := &cifWriter{w: bufio.NewWriterSize(w, 64<<10), s: &Structure{}, m: &m}
	c.entry()
	_, err = in.WriteTo(c.w)
	return errors.Join(err, c.w.Flush())
}

// paeFileOf returns the PAEFile that the head of a file names.
func paeFileOf(head []byte) string {
	_, rest, found := bytes.Cut(head, []byte("\n_ma_entry_associated_files."+paeFileItem+" "))
	if !found {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.Trim(string(line), `'"`)
}

// RetitlePDB copies a computed structure that [WritePDB] wrote, with the Title of m instead of its own. The copy has
// the bytes that WritePDB would have written with it. Errors are those of r and w.
func RetitlePDB(w io.Writer, r io.Reader, m Meta) error {
	in := bufio.NewReaderSize(r, 64<<10)
	out := bufio.NewWriterSize(w, 64<<10)
	p := &pdbWriter{s: &Structure{}, m: &m}
	p.title()
	titled := false
	for {
		line, err := in.ReadString('\n')
		if !titled && !strings.HasPrefix(line, "HEADER") {
			_, _ = out.Write(p.out.Bytes()) // Flush returns the error
			titled = true
		}
		if strings.HasPrefix(line, "EXPDTA") || errors.Is(err, io.EOF) {
			_, _ = out.WriteString(line)
			_, err := in.WriteTo(out)
			return errors.Join(err, out.Flush())
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(line, "TITLE") {
			_, _ = out.WriteString(line)
		}
	}
}
