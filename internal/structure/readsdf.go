package structure

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

// ReadSDF reads an SD file of one record, or a molfile: a connection table of the version V2000 or V3000. Its atoms
// have no names. The error is a [*ParseError], or one from r.
//
// Source: BIOVIA, CTFile Formats (2020).
func ReadSDF(r io.Reader, lim Limits) (*Molecule, error) {
	s := &sdfReader{in: newLines("SDF", r, lim.defaults())}
	if err := s.run(); err != nil {
		if errors.Is(err, io.EOF) {
			err = s.in.errorf("it ends within its first record")
		}
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	s.in.number = 0 // the file as a whole
	if s.stereo && s.flat {
		return nil, s.in.errorf("it draws stereochemistry in two dimensions; give three-dimensional coordinates, " +
			"from which it is read")
	}
	return &s.m, s.m.check(s.in)
}

// sdfReader reads a record.
type sdfReader struct {
	in     *lines
	m      Molecule
	stereo bool // a bond is drawn up or down, or an atom has a parity
	flat   bool // every atom has z 0
}

// column returns the text from column from up to, not including, column to, without white space.
func column(line string, from, to int) string {
	if len(line) <= from {
		return ""
	}
	return strings.TrimSpace(line[from:min(to, len(line))])
}

// next returns the next line.
func (s *sdfReader) next() (string, error) {
	b, err := s.in.next()
	return string(b), err
}

// count reads a number from 0 to most.
func (s *sdfReader) count(text, what string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, s.in.errorf("%s is no number of %s", excerpt(text), what)
	}
	if n > most {
		return 0, s.in.limit("the molecule has more than the %d %s allowed", most, what)
	}
	return n, nil
}

// run reads the record.
func (s *sdfReader) run() error {
	var line string
	var err error
	for range 4 { // three lines of header, and the counts
		if line, err = s.next(); err != nil {
			return err
		}
	}
	switch version := column(line, 33, 39); version {
	case "V2000":
	case "V3000":
		return s.extended()
	default:
		return s.in.errorf("want \"V2000\" or \"V3000\" in columns 35 to 39 of the counts, not %s", excerpt(version))
	}
	atoms, err := s.count(column(line, 0, 3), "atoms", maxMoleculeAtoms)
	if err != nil {
		return err
	}
	bonds, err := s.count(column(line, 3, 6), "bonds", maxMoleculeBonds)
	if err != nil {
		return err
	}
	if atoms == 0 {
		return s.in.errorf("the molecule has no atoms")
	}
	s.flat = true
	for range atoms {
		if line, err = s.next(); err == nil {
			err = s.atom(line)
		}
		if err != nil {
			return err
		}
	}
	for range bonds {
		if line, err = s.next(); err == nil {
			err = s.bond(line)
		}
		if err != nil {
			return err
		}
	}
	return s.properties()
}

// end reads the data behind the connection table, and returns an error for a second record.
func (s *sdfReader) end() error {
	ended := false
	for {
		line, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(line, "$$$$"):
			ended = true
		case ended && strings.TrimSpace(line) != "":
			return s.in.errorf("a second record begins here; a component is one molecule, in a file of its own")
		}
	}
}

// sdfCharges are the charges of an atom's line, by their code. 4 is a radical.
var sdfCharges = map[string]int{"": 0, "0": 0, "1": 3, "2": 2, "3": 1, "5": -1, "6": -2, "7": -3}

// atom reads the line of an atom.
func (s *sdfReader) atom(line string) error {
	var a MoleculeAtom
	for k := range 3 {
		text := column(line, 10*k, 10*k+10)
		x, err := coordinate(text)
		if err != nil {
			return s.in.errorf("%s is no coordinate in Å", excerpt(text))
		}
		a.Pos[k] = x
	}
	s.flat = s.flat && a.Pos[2] == 0
	symbol, ok := symbolOf(column(line, 31, 34))
	if !ok {
		return s.in.errorf("%s is no element", excerpt(column(line, 31, 34)))
	}
	a.Element = symbol
	if a.Charge, ok = sdfCharges[column(line, 36, 39)]; !ok {
		return s.in.errorf("%s is no charge that is read", excerpt(column(line, 36, 39)))
	}
	if parity := column(line, 39, 42); parity == "1" || parity == "2" {
		s.stereo = true
	}
	s.m.Atoms = append(s.m.Atoms, a)
	return nil
}

// bondTypes are the orders of bonds, by their type in a file. Type 9 is from the donor to the acceptor; RDKit reads it
// in V2000, too.
var bondTypes = map[string]string{"1": "SING", "2": "DOUB", "3": "TRIP", "4": "AROM", "9": Dative}

// bond reads the line of a bond.
func (s *sdfReader) bond(line string) error {
	a, err := s.count(column(line, 0, 3), "atoms", len(s.m.Atoms))
	if err != nil {
		return err
	}
	b, err := s.count(column(line, 3, 6), "atoms", len(s.m.Atoms))
	if err != nil {
		return err
	}
	order, ok := bondTypes[column(line, 6, 9)]
	if a == 0 || b == 0 || !ok {
		return s.in.errorf("want two atoms from 1 and a bond of the type 1 to 4 or 9, not %s", excerpt(line))
	}
	if stereo := column(line, 9, 12); stereo == "1" || stereo == "6" {
		s.stereo = true
	}
	s.m.Bonds = append(s.m.Bonds, MoleculeBond{a - 1, b - 1, order})
	return nil
}

// properties reads the charges after the bonds, which replace those of the atoms' lines, up to the end of the record.
func (s *sdfReader) properties() error {
	charged := false
	for {
		line, err := s.next()
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "M  END"):
			return nil
		case strings.HasPrefix(line, "M  RAD"):
			return s.in.errorf("radicals are not read")
		case !strings.HasPrefix(line, "M  CHG"):
			continue
		}
		if !charged {
			charged = true
			for i := range s.m.Atoms {
				s.m.Atoms[i].Charge = 0
			}
		}
		n, err := s.count(column(line, 6, 9), "charges", 8)
		if err != nil {
			return err
		}
		for k := range n {
			atom, err := s.count(column(line, 9+8*k, 13+8*k), "atoms", len(s.m.Atoms))
			if err != nil {
				return err
			}
			charge, err := strconv.Atoi(column(line, 13+8*k, 17+8*k))
			if err != nil || atom == 0 || charge < -9 || charge > 9 {
				return s.in.errorf("want an atom from 1 and its charge from -9 to 9, not %s", excerpt(line))
			}
			s.m.Atoms[atom-1].Charge = charge
		}
	}
}
