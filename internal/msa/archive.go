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

// Bounds of what a server sends.
const (
	maxArchive  = 256 << 20 // bytes of the archive
	maxUnpacked = 512 << 20 // bytes of all that is in it
	maxEntries  = 64
)

var errArchive = errors.New("the archive is broken")

// unpack reads the alignments, files that end in .a3m, out of a gzipped tar archive. Nothing is written to disk. A
// name that leads out of the archive's folder, a file larger than max bytes together with the others, and more than
// maxEntries entries are refused; an archive that ends early is errArchive.
func unpack(r io.Reader, most int64) (map[string][]byte, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArchive, err)
	}
	bounded := &io.LimitedReader{R: zipped, N: most + 1}
	in := tar.NewReader(bounded)
	out, held := map[string][]byte{}, int64(0)
	for n := 0; ; n++ {
		head, err := in.Next()
		switch {
		case bounded.N <= 0:
			return nil, fmt.Errorf("the archive holds more than %d MiB", most>>20)
		case errors.Is(err, io.EOF):
			if _, err := io.Copy(io.Discard, bounded); err != nil { // to the checksum
				return nil, fmt.Errorf("%w: %w", errArchive, err)
			}
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errArchive, err)
		case n >= maxEntries:
			return nil, fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		name := strings.TrimPrefix(head.Name, "./")
		if name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, "/../") || path.IsAbs(name) ||
			strings.ContainsAny(name, "\\\x00") {
			return nil, errors.New("the archive names a file outside of its folder")
		}
		if head.Typeflag != tar.TypeReg || !strings.HasSuffix(name, ".a3m") {
			continue
		}
		if _, twice := out[name]; twice {
			return nil, errors.New("the archive has two files of one name")
		}
		body, err := io.ReadAll(io.LimitReader(in, most-held+1)) // a sparse file is larger than what was sent of it
		held += int64(len(body))
		switch {
		case bounded.N <= 0 || held > most:
			return nil, fmt.Errorf("the archive holds more than %d MiB", most>>20)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errArchive, err)
		}
		out[name] = body
	}
}
