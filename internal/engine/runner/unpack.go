package runner

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// unpacking is held while archives are unpacked: the processes of several slots may start at once.
var unpacking sync.Mutex

// unpackWeights unpacks the archives among the weights that were not unpacked yet, since a runner cannot write there.
// An archive that does not exist is left out.
func (m *Manifest) unpackWeights(dir string) error {
	unpacking.Lock()
	defer unpacking.Unlock()
	for _, w := range m.Weights {
		archive := filepath.Join(dir, w.File)
		if w.Unpack == nil {
			continue
		}
		if _, err := os.Stat(archive + unpackedSuffix); err == nil {
			continue
		}
		if _, err := os.Stat(archive); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := unpack(archive, dir, *w.Unpack); err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
	}
	return nil
}

// unpackedSuffix ends the name of an empty file beside an archive that says that it was unpacked.
const unpackedSuffix = ".unpacked"

// unpack writes the regular files of a tar archive that match into a folder. Each appears under its name when it is
// complete. Names that lead out of the folder are left out.
func unpack(archive, dir string, what Unpack) error {
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close()
	to := filepath.Join(dir, what.To)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(in); ; {
		entry, err := files.Next()
		if errors.Is(err, io.EOF) {
			return os.WriteFile(archive+unpackedSuffix, nil, 0o644)
		}
		if err != nil {
			return err
		}
		name := path.Clean(entry.Name)
		if matches, _ := path.Match(what.Only, name); !matches || entry.Typeflag != tar.TypeReg || !local(name) {
			continue // the pattern was checked with the manifest
		}
		if err := writeEntry(root, name, files); err != nil {
			return err
		}
	}
}

// writeEntry writes one file of an archive.
func writeEntry(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return root.Rename(name+".part", name)
}
