// Package compressed reads files that may be compressed with gzip, in one member or many, as bgzip writes them.
//
// It owns how a compressed file is recognised: by its content. It is pure; its callers bound what they read.
package compressed

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"pleat"
)

// Reader returns the content of a file: decompressed, if it is compressed, or as it is. Reading fails with CodeInvalid
// where a compressed file is damaged or incomplete, and otherwise with the errors of r. The content may be a thousand
// times as long as the file, so that the caller must bound what it reads. Messages call the file by its name.
func Reader(name string, r io.Reader) (io.Reader, error) {
	in := &source{r: r}
	buffered := bufio.NewReaderSize(in, 32<<10)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte("\x1f\x8b")) {
		return buffered, nil // which meets an error of r again
	}
	unzip, err := gzip.NewReader(buffered)
	out := &content{name: name, in: in, unzip: unzip}
	return out, out.fault(err)
}

// source remembers an error of the reader.
type source struct {
	r   io.Reader
	err error
}

// Read reads from the reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// content is what a compressed file holds.
type content struct {
	name  string
	in    *source
	unzip *gzip.Reader
}

// Read reads the next part of the content.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.unzip.Read(p)
	return n, c.fault(err)
}

// fault returns an error of decompression as one of the file, unless it is one of the reader.
func (c *content) fault(err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case c.in.err != nil:
		return c.in.err
	}
	return pleat.Invalidf("the compressed file %q is damaged or incomplete (%s)", pleat.Clip(c.name), err)
}
