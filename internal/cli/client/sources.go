package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/cli"
	"pleat/internal/component"
	"pleat/internal/compressed"
	"pleat/internal/format"
	"pleat/internal/msa"
	"pleat/internal/submit"
)

// sources finds on this machine the files that an input names: below the folder of the input, and below those that the
// user gave with --files. Nothing else is read: no name and no symbolic link leads out of these folders.
type sources struct {
	folders []sourceFolder
	format  format.Name // of the inputs, by --format; empty: it is detected
	// found are the files by their names in the input, in the order of first use.
	found map[string]*sourceFile
	order []string
	// inside are the structures and components that inputs hold, by the names that detach gave them.
	inside map[string]string
}

// sourceFolder is a folder whose files may be read.
type sourceFolder struct {
	root *os.Root
	dir  string // absolute
}

// sourceFile is a file on this machine that an input names, or a text inside the input.
type sourceFile struct {
	folder sourceFolder
	path   string // below the folder
	inside bool   // the input holds it: text is its content, and it has no folder
	text   string
	sha256 string
	kind   sourceKind
}

// sourceKind is what an input names a file as.
type sourceKind int

const (
	sourceText      sourceKind = iota // a FASTA file, which the reader of the input needs
	sourceAlignment                   // an alignment, to which the job refers
	sourceStructure                   // a structure, to which the job refers
	sourceComponent                   // a component, to which the job refers
)

// addFilesFlag adds the flag with further folders of sources.
func addFilesFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("files", nil, "folder with files that the input names, besides the folder of the input; "+
		"may be repeated")
}

// openSources returns the files below a folder, if it is not empty, and those of --files. The caller must close it.
func openSources(cmd *cobra.Command, dir string) (*sources, error) {
	more, _ := cmd.Flags().GetStringArray("files")
	s := &sources{format: format.Name(cli.FlagText(cmd, "format")), found: map[string]*sourceFile{}}
	if dir != "" {
		more = append([]string{dir}, more...)
	}
	for _, d := range more {
		full, err := filepath.Abs(d)
		if err == nil {
			full, err = filepath.EvalSymlinks(full)
		}
		if err != nil {
			s.close()
			return nil, err
		}
		root, err := os.OpenRoot(full)
		if err != nil {
			s.close()
			return nil, err
		}
		s.folders = append(s.folders, sourceFolder{root, full})
	}
	return s, nil
}

// close closes the folders.
func (s *sources) close() {
	for _, f := range s.folders {
		f.root.Close()
	}
}

// maxInside bounds the structures inside the files of one command together, in bytes: they are held in memory.
const maxInside = 256 << 20

// detach takes the structures out of the text of an input: the text that is returned names them as files.
func (s *sources) detach(text string) (string, error) {
	text, inside, err := format.Detach(text, s.format)
	if err != nil {
		return "", err
	}
	bytes := 0
	for _, held := range s.inside {
		bytes += len(held)
	}
	for name, held := range inside {
		if s.inside == nil {
			s.inside = map[string]string{}
		}
		if _, twice := s.inside[name]; !twice {
			bytes += len(held)
		}
		if bytes > maxInside {
			return "", pleat.Invalidf("the structures inside the files up to this one have more than %d bytes; "+
				"fold fewer files at once", maxInside)
		}
		s.inside[name] = held
	}
	return text, nil
}

// locate returns the file that a name of an input means. An error is a pleat.Error that says where it was looked for.
func (s *sources) locate(name string) (*sourceFile, error) {
	if text, ok := s.inside[name]; ok {
		return &sourceFile{path: "template.cif", inside: true, text: text}, nil
	}
	if strings.Contains(name, "://") {
		return nil, pleat.Invalidf("%q is an address; only files of this machine are brought along", pleat.Clip(name))
	}
	var dirs []string
	for _, f := range s.folders {
		dirs = append(dirs, f.dir)
		for _, path := range s.candidates(f, filepath.FromSlash(name)) {
			info, err := f.root.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return &sourceFile{folder: f, path: path}, nil
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, pleat.Invalidf("%q cannot be read below %s, which no file may lead out of: %s",
					pleat.Clip(name), f.dir, pleat.Clip(err.Error()))
			}
		}
	}
	return nil, pleat.Invalidf("%q is no file below %s; name the folder that has it with --files", pleat.Clip(name),
		strings.Join(dirs, " or "))
}

// candidates returns the paths in a folder that a name may mean: that from the folder of the input, and that from the
// folder itself.
func (s *sources) candidates(f sourceFolder, name string) []string {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(s.folders[0].dir, name)
	}
	var out []string
	if rel, err := filepath.Rel(f.dir, full); err == nil && filepath.IsLocal(rel) {
		out = append(out, rel)
	}
	if clean := filepath.Clean(name); filepath.IsLocal(clean) && !slices.Contains(out, clean) {
		out = append(out, clean)
	}
	return out
}

// open opens the file, as a library stores it: decompressed, and mmCIF for BinaryCIF.
func (f *sourceFile) open() (io.ReadCloser, error) {
	if f.inside {
		return io.NopCloser(strings.NewReader(f.text)), nil
	}
	in, err := f.folder.root.Open(f.path)
	if err != nil {
		return nil, err
	}
	plain, err := compressed.Reader(f.path, in)
	if err == nil && f.kind == sourceStructure {
		plain, err = f.converted(plain)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return readCloser{plain, in}, nil
}

// converted returns the text of a structure.
func (f *sourceFile) converted(in io.Reader) (io.Reader, error) {
	kind, err := submit.KindOfFile(filepath.Base(f.path))
	if err != nil {
		return nil, err
	}
	text, rest, err := kind.Convert(in)
	if text != nil {
		rest = bytes.NewReader(text)
	}
	return rest, err
}

// readCloser reads one thing and closes another, from which it comes.
type readCloser struct {
	io.Reader
	io.Closer
}

// size returns the bytes of the file.
func (f *sourceFile) size() (int64, error) {
	if f.inside {
		return int64(len(f.text)), nil
	}
	info, err := f.folder.root.Stat(f.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// read returns the text of the file, at most format.MaxBytes.
func (f *sourceFile) read() (string, error) {
	in, err := f.open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	return readText(in, f.path, format.MaxBytes)
}

// readInput reads the text of a path, of at most so many bytes, and returns the folder that the path is in. The path -
// is standard input, which is in none. Messages call the text by a name.
func readInput(cmd *cobra.Command, path, name string, most int) (text, dir string, err error) {
	in, err := openInput(cmd, path)
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	if path != "-" {
		dir = filepath.Dir(path)
	}
	text, err = readText(in, name, most)
	return text, dir, err
}

// openInput opens the file of a path; - is standard input.
func openInput(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return os.Open(path)
}

// readText reads a text of 1 to most bytes, in UTF-8 or what format.Decode takes, which may be compressed. Name is that
// of messages.
func readText(in io.Reader, name string, most int) (string, error) {
	plain, err := compressed.Reader(name, in)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(plain, int64(most)+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case len(b) > most:
		return "", fmt.Errorf("%s is larger than %d bytes", name, most)
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty", name)
	}
	text, err := format.Decode(b)
	if err != nil {
		return "", fmt.Errorf("%s %w", name, err)
	}
	return text, nil
}

// unknownItem stands for the library item of a file that is not uploaded yet.
const unknownItem = "00000000-0000-0000-0000-000000000000"

// files returns the sources for a first reading, which finds what an input names: alignments and structures are
// checked, and stand for themselves until they are uploaded.
func (s *sources) files() format.Files {
	return format.Files{
		Alignment: func(name string) (pleat.FileRef, error) {
			return pleat.FileRef{Item: unknownItem, Name: filepath.Base(name)}, s.add(name, sourceAlignment)
		},
		Structure: func(name string) (pleat.FileRef, error) {
			return pleat.FileRef{Item: unknownItem, Name: filepath.Base(name)}, s.add(name, sourceStructure)
		},
		Components: s.components,
		Text: func(name string) (string, error) {
			if err := s.add(name, sourceText); err != nil {
				return "", err
			}
			text, err := s.found[name].read()
			if err != nil {
				return "", pleat.Invalidf("%s", err)
			}
			return text, nil
		},
	}
}

// components finds the file of components, and adds those that are wanted, each as a file of its own.
func (s *sources) components(name string, wanted []string) ([]pleat.Component, error) {
	f, err := s.locate(name)
	if err != nil {
		return nil, err
	}
	text, err := f.read()
	if err != nil {
		return nil, pleat.Invalidf("%s", err)
	}
	blocks, err := component.Split(text)
	if err != nil {
		return nil, pleat.Invalidf("it %s", err)
	}
	var out []pleat.Component
	for _, b := range blocks {
		if !slices.Contains(wanted, b.Code) {
			continue
		}
		file := &sourceFile{path: b.Code + ".cif", inside: true, text: b.Text}
		if err := s.addFile(format.ComponentPath(name, b.Code), file, sourceComponent); err != nil {
			return nil, err
		}
		out = append(out, pleat.Component{Code: b.Code, Item: unknownItem, File: "component.cif"})
	}
	return out, nil
}

// referred reports whether the input names a file to which its jobs refer.
func (s *sources) referred() bool {
	for _, f := range s.found {
		if f.kind != sourceText {
			return true
		}
	}
	return false
}

// add finds a file and checks it.
func (s *sources) add(name string, kind sourceKind) error {
	if f := s.found[name]; f != nil && f.kind == kind {
		return nil
	}
	f, err := s.locate(name)
	if err != nil {
		return err
	}
	return s.addFile(name, f, kind)
}

// addFile checks a file and adds it.
func (s *sources) addFile(name string, f *sourceFile, kind sourceKind) (err error) {
	if s.found[name] != nil && s.found[name].kind == kind {
		return nil
	}
	switch f.kind = kind; kind {
	case sourceComponent:
		err = f.check(func(r io.Reader) error {
			_, _, err := component.Read(f.path, r)
			return err
		})
	case sourceAlignment:
		err = f.check(msa.Check)
	case sourceStructure:
		var as submit.FileKind
		if as, err = submit.KindOfFile(filepath.Base(f.path)); err == nil {
			err = f.check(as.Check)
		}
	default:
		err = f.check(func(io.Reader) error { return nil })
	}
	if err != nil {
		return pleat.Invalidf("%q cannot be used: %s", pleat.Clip(name), err)
	}
	s.found[name] = f
	s.order = append(s.order, name)
	return nil
}

// check checks the content and the size of the file, and computes its SHA-256.
func (f *sourceFile) check(content func(io.Reader) error) error {
	if size, err := f.size(); err != nil {
		return err
	} else if size > submit.MaxFile {
		return fmt.Errorf("it has %d bytes; at most %d are allowed", size, submit.MaxFile)
	}
	in, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	plain := &io.LimitedReader{R: io.TeeReader(in, sum), N: submit.MaxFile + 1}
	if err := content(plain); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, plain); err != nil { // what the check has not read
		return err
	}
	if plain.N == 0 {
		return fmt.Errorf("it has more than the %d bytes that are allowed, decompressed", submit.MaxFile)
	}
	f.sha256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}
