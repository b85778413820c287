// Package component reads the molecules that users give as components of a job: a file of a chemical component in
// mmCIF, an SD file or a molfile. The result has names of all atoms and is written in one form for every engine.
//
// It owns which files are components. It is pure, and must not know where files come from or who may read them.
package component

import (
	"errors"
	"io"
	"path"
	"strings"

	"pleat"
	"pleat/internal/chem"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// MaxBytes bounds the file of a component.
const MaxBytes = 1 << 20

// limits bound the files that are read.
var limits = structure.Limits{Bytes: MaxBytes, Line: 64 << 10}

// Read reads the file of a component, whose name says its format. It returns the molecule and its atoms. An error has
// pleat.CodeInvalid and is a sentence without its subject, the file, unless it is one of r.
func Read(name string, r io.Reader) (*structure.Molecule, []chem.Atom, error) {
	read := structure.ReadComponentCIF
	if ending := strings.ToLower(path.Ext(name)); ending == ".sdf" || ending == ".mol" {
		read = structure.ReadSDF
	}
	m, err := read(r, limits)
	var parse *structure.ParseError
	if errors.As(err, &parse) {
		return nil, nil, pleat.Invalidf("cannot be read: %s", words.Shorten(parse.Error(), 200))
	}
	if err != nil {
		return nil, nil, err
	}
	atoms := make([]chem.Atom, len(m.Atoms))
	for i := range m.Atoms {
		a := &m.Atoms[i]
		atoms[i] = chem.Atom{Name: a.Name, Element: a.Element, Leaving: a.Leaves}
	}
	chem.NameAtoms(atoms, !m.Leaving)
	for i := range m.Atoms {
		m.Atoms[i].Name, m.Atoms[i].Leaves = atoms[i].Name, atoms[i].Leaving
	}
	if err := chem.CheckAtoms(atoms); err != nil {
		return nil, nil, pleat.Invalidf("%s", err)
	}
	return m, atoms, nil
}
