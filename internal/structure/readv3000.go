package structure

import (
	"strconv"
	"strings"
)

// extended reads the connection table of a record of the version V3000, which follows its counts.
func (s *sdfReader) extended() error {
	s.flat = true
	index := map[string]int{} // of atoms, by their number in the file
	block, begun := "", false
	for {
		words, err := s.entry()
		switch {
		case err != nil:
			return err
		case words == nil: // M  END
			return s.counted(begun)
		case len(words) == 0:
			continue
		}
		switch kind := strings.ToUpper(words[0]); {
		case kind == "BEGIN" && len(words) > 1:
			block = strings.ToUpper(words[1])
			begun = begun || block == "CTAB"
		case kind == "END":
			block = ""
		case block == "ATOM":
			if err := s.extendedAtom(words, index); err != nil {
				return err
			}
		case block == "BOND":
			if err := s.extendedBond(words, index); err != nil {
				return err
			}
		}
	}
}

// counted returns an error for a record that has ended without atoms.
func (s *sdfReader) counted(begun bool) error {
	if !begun {
		return s.in.errorf("the record has no connection table (BEGIN CTAB)")
	}
	if len(s.m.Atoms) == 0 {
		return s.in.errorf("the molecule has no atoms")
	}
	return nil
}

// entry returns the words of the next entry, which a hyphen at the end of a line continues in the next one; nil: the
// record ends.
func (s *sdfReader) entry() ([]string, error) {
	text := ""
	for {
		line, err := s.next()
		if err != nil {
			return nil, err
		}
		part, ok := strings.CutPrefix(line, "M  V30")
		switch {
		case strings.HasPrefix(line, "M  END") && text == "":
			return nil, nil
		case !ok:
			return nil, s.in.errorf("want a line of \"M  V30\", not %s", excerpt(line))
		}
		rest, continued := strings.CutSuffix(strings.TrimRight(part, " \r"), "-")
		if text += strings.TrimPrefix(rest, " "); !continued {
			return append([]string{}, strings.Fields(text)...), nil
		}
		if len(text) > s.in.lim.Line {
			return nil, s.in.limit("the entry has more than the %d letters allowed", s.in.lim.Line)
		}
	}
}

// extendedAtom reads an entry of an atom: number, element, coordinates, mapping, and values such as CHG=1.
func (s *sdfReader) extendedAtom(words []string, index map[string]int) error {
	if len(words) < 6 {
		return s.in.errorf("want an atom with its number, element, three coordinates and mapping")
	}
	if len(s.m.Atoms) == maxMoleculeAtoms {
		return s.in.limit("the molecule has more than the %d atoms allowed", maxMoleculeAtoms)
	}
	if _, twice := index[words[0]]; twice {
		return s.in.errorf("two atoms have the number %s", excerpt(words[0]))
	}
	symbol, ok := symbolOf(words[1])
	if !ok {
		return s.in.errorf("%s is no element", excerpt(words[1]))
	}
	a := MoleculeAtom{Element: symbol}
	for k := range a.Pos {
		x, err := coordinate(words[2+k])
		if err != nil {
			return s.in.errorf("%s is no coordinate in Å", excerpt(words[2+k]))
		}
		a.Pos[k] = x
	}
	s.flat = s.flat && a.Pos[2] == 0
	for _, value := range words[6:] {
		switch name, text, _ := strings.Cut(value, "="); strings.ToUpper(name) {
		case "CHG":
			charge, err := strconv.Atoi(text)
			if err != nil || charge < -9 || charge > 9 {
				return s.in.errorf("want a charge from -9 to 9, not %s", excerpt(text))
			}
			a.Charge = charge
		case "RAD":
			if text != "0" {
				return s.in.errorf("radicals are not read")
			}
		case "CFG":
			s.stereo = s.stereo || text == "1" || text == "2"
		}
	}
	index[words[0]] = len(s.m.Atoms)
	s.m.Atoms = append(s.m.Atoms, a)
	return nil
}

// extendedBond reads an entry of a bond: number, type, two atoms, and values such as CFG=1.
func (s *sdfReader) extendedBond(words []string, index map[string]int) error {
	if len(words) < 4 {
		return s.in.errorf("want a bond with its number, type and two atoms")
	}
	if len(s.m.Bonds) == maxMoleculeBonds {
		return s.in.limit("the molecule has more than the %d bonds allowed", maxMoleculeBonds)
	}
	order, ok := bondTypes[words[1]]
	a, okA := index[words[2]]
	b, okB := index[words[3]]
	if !ok || !okA || !okB {
		return s.in.errorf("want a bond of the type 1 to 4 or 9 and two atoms that are there, not %s",
			excerpt(strings.Join(words[1:4], " ")))
	}
	for _, value := range words[4:] {
		if name, text, _ := strings.Cut(value, "="); strings.EqualFold(name, "CFG") && (text == "1" || text == "3") {
			s.stereo = true
		}
	}
	s.m.Bonds = append(s.m.Bonds, MoleculeBond{a, b, order})
	return nil
}
