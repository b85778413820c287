package report

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pleat"
	"pleat/api"
)

// folder is the folder of a run, and the artifacts that were written into it so far, in the order in which the user
// sees them.
type folder struct {
	dir      string
	sequence pleat.SequenceID // that the next files belong to; empty: the run as a whole
	files    []pleat.File
}

// file writes one artifact and adds it to the files of the folder. fill writes its content.
func (d *folder) file(kind pleat.ArtifactKind, name, contentType string, fill func(io.Writer) error) error {
	f := pleat.File{
		Kind:        kind,
		Name:        name,
		Path:        filepath.Join(d.dir, name),
		ContentType: contentType,
		Sequence:    d.sequence,
	}
	if err := WriteFile(f.Path, fill); err != nil {
		return err
	}
	d.files = append(d.files, f)
	return nil
}

// WriteFile creates a file that only this user can access, and fills it. It replaces an existing file of that name;
// other hard links to the existing file keep their content.
func WriteFile(path string, fill func(io.Writer) error) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fill(out), out.Close())
}

// content returns a function that writes b.
func content(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// json writes v as an indented JSON document.
func (d *folder) json(kind pleat.ArtifactKind, name string, v any) error {
	b, err := api.EncodeIndent(v)
	if err != nil {
		return err
	}
	return d.file(kind, name, "application/json", content(b))
}

// zip packs files into an archive, in their order, see pack.
func (d *folder) zip(kind pleat.ArtifactKind, name string, files []pleat.File) error {
	return d.file(kind, name, "application/zip", func(w io.Writer) error { return pack(w, files) })
}

// citations writes citations.bib: what a run of the engine has to cite, with a first line that names the engine.
func (d *folder) citations(engine string, all []pleat.Citation) error {
	text := fmt.Appendf(nil, "%% What this run used: %s.\n", engine)
	for _, c := range all {
		text = append(text, "\n"+c.BibTeX+"\n"...)
	}
	return d.file(pleat.ArtifactCitations, "citations.bib", "application/x-bibtex", content(text))
}

// remove deletes a file that could not be completed. It is best effort: the folder of a run is removed after it.
func (d *folder) remove(name string) { _ = os.Remove(filepath.Join(d.dir, name)) }

// packed is the time of all entries of a zip, the first that the format can express: without one it has no valid date.
var packed = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack writes files into a zip whose bytes depend on nothing but their names and contents: entries have one time and no
// modes. PNG files are stored, because they are compressed already.
func pack(w io.Writer, files []pleat.File) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		method := zip.Deflate
		if strings.HasSuffix(f.Name, ".png") {
			method = zip.Store
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: method, Modified: packed})
		if err != nil {
			return err
		}
		in, err := os.Open(f.Path)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return z.Close()
}

// HashFile returns the SHA-256 of a file in hexadecimal digits, and its size in bytes. It reads the file once, whatever
// its size.
func HashFile(path string) (sum string, size int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, in)
	return hex.EncodeToString(h.Sum(nil)), size, errors.Join(err, in.Close())
}
