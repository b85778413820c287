package msa

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Limits of a server's archive.
const (
	maxArchive  = 256 << 20 // bytes of the archive
	maxUnpacked = 512 << 20 // bytes of all its files
	maxEntries  = 64
)

// gzipMagic begins every gzip file; peeked is how many bytes of another answer are looked at.
var gzipMagic = []byte{0x1f, 0x8b}

const peeked = 64

// errArchive is the error for an archive that is truncated or corrupt: another download may be whole.
var errArchive = errors.New("the archive is broken")

// unpack reads the files that end in .a3m from a gzipped tar archive, without writing to disk. It returns an error for
// a name outside of the archive's folder, for files of more than most bytes in total, and for more than maxEntries
// entries. The error is errArchive if the archive is truncated or corrupt.
func unpack(r io.Reader, most int64) (map[string][]byte, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArchive, err)
	}
	bounded := &io.LimitedReader{R: zipped, N: most + 1}
	in := tar.NewReader(bounded)
	out, total := map[string][]byte{}, int64(0)
	for n := 0; ; n++ {
		head, err := in.Next()
		switch {
		case bounded.N <= 0:
			return nil, fmt.Errorf("the archive holds more than %d MiB", most>>20)
		case errors.Is(err, io.EOF):
			if _, err := io.Copy(io.Discard, bounded); err != nil { // reads the checksum
				return nil, fmt.Errorf("%w: %w", errArchive, err)
			}
			return out, nil
		case errors.Is(err, tar.ErrHeader):
			if _, broken := io.Copy(io.Discard, bounded); broken == nil { // and the checksum is right
				return nil, errors.New("the gzip file holds no tar archive")
			}
			return nil, fmt.Errorf("%w: %w", errArchive, err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errArchive, err)
		case n >= maxEntries:
			return nil, fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		name := strings.TrimPrefix(head.Name, "./")
		if name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, "/../") || path.IsAbs(name) ||
			strings.ContainsAny(name, "\\\x00") {
			return nil, errors.New("the archive contains a file name outside of its folder")
		}
		if head.Typeflag != tar.TypeReg || !strings.HasSuffix(name, ".a3m") {
			continue
		}
		if _, twice := out[name]; twice {
			return nil, errors.New("the archive has two files of the same name")
		}
		body, err := io.ReadAll(io.LimitReader(in, most-total+1)) // a sparse file is larger than its entry
		total += int64(len(body))
		switch {
		case bounded.N <= 0 || total > most:
			return nil, fmt.Errorf("the archive holds more than %d MiB", most>>20)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errArchive, err)
		}
		out[name] = body
	}
}
