package structure

import (
	"bytes"
	"slices"
	"strconv"
)

// coordinateDots are the indices of the decimal points of x, y and z in the columns of the format (%8.3f).
var coordinateDots = [3]int{34, 42, 50}

// unnumbered says that the residue number is in its columns.
const unnumbered = -1 << 31

// errorf returns a ParseError for columns of the format, counted as the line has them.
func (p *pdbReader) errorf(from, to int, format string, args ...any) *ParseError {
	if from > 11 {
		from, to = from+p.shifted, to+p.shifted
	}
	where := "columns " + strconv.Itoa(from) + "–" + strconv.Itoa(to) + ": "
	if from == to {
		where = "column " + strconv.Itoa(from) + ": "
	}
	return p.in.errorf(where+format, args...)
}

// columns returns a record with its values in the columns of the format. Programs that widen a field for a long serial
// number, or a long residue number, push all columns behind it to the right; others let the serial number run into the
// blank column before or behind it. The decimal points of the coordinates tell them apart. number is the residue
// number of a widened field, else unnumbered.
func (p *pdbReader) columns(line []byte) (out []byte, number int, err error) {
	p.shifted = 0
	if bytes.IndexByte(line[:min(len(line), 66)], '\t') >= 0 {
		return nil, 0, p.in.errorf("column %d: there is a tab; want spaces, because the columns of a PDB file count",
			bytes.IndexByte(line, '\t')+1)
	}
	if dotsAt(line, 0) {
		return line, unnumbered, nil
	}
	serial := 0 // digits behind the five columns of the serial number
	for len(line) > 11+serial && digit(line[6]) && digit(line[10]) && digit(line[11+serial]) {
		serial++
	}
	for shift := 1; shift <= 4; shift++ {
		if !dotsAt(line, shift) {
			continue
		}
		if serial == shift {
			return p.narrowed(line, serial, 0)
		}
		for _, before := range [...]int{serial, 0} {
			if wide := shift - before; wide > 0 && wideNumber(line, before, wide) {
				return p.narrowed(line, before, wide)
			}
		}
	}
	if err := p.checkFields(line, serial); err != nil {
		return nil, 0, err
	}
	return line, unnumbered, nil
}

// dotsAt reports whether the decimal points of the coordinates stand shift columns right of those of the format.
func dotsAt(line []byte, shift int) bool {
	if len(line) <= coordinateDots[2]+shift {
		return false
	}
	for _, i := range coordinateDots {
		if line[i+shift] != '.' {
			return false
		}
	}
	return true
}

// wideNumber reports whether a residue number takes extra columns more than the four of the format.
func wideNumber(line []byte, shift, extra int) bool {
	from, to := 22+shift, 26+shift+extra
	if len(line) < to {
		return false
	}
	for _, b := range line[from+1 : to] {
		if !digit(b) {
			return false
		}
	}
	return digit(line[from]) || line[from] == '-'
}

// narrowed returns a line without the serial digits and residue digits that exceed their fields.
func (p *pdbReader) narrowed(line []byte, serial, wide int) (out []byte, number int, err error) {
	p.shifted = serial
	p.scratch = append(append(p.scratch[:0], line[:11]...), line[11+serial:]...)
	number = unnumbered
	if wide > 0 {
		if number, err = strconv.Atoi(string(p.scratch[22 : 26+wide])); err != nil {
			return nil, 0, p.errorf(23, 26+wide, "the residue number is %s, want a whole number",
				excerpt(p.scratch[22:26+wide]))
		}
		p.scratch = append(p.scratch[:26], p.scratch[26+wide:]...)
		p.shifted += wide
	}
	return p.scratch, number, nil
}

// checkFields refuses a line whose coordinates run into each other, or whose serial number runs into the atom name,
// since nothing tells then where its columns are. Coordinates with another number of decimals have no such columns.
func (p *pdbReader) checkFields(line []byte, serial int) error {
	if serial > 1 {
		return p.in.errorf("columns 7–%d: the serial number is longer than its columns, and the decimal points of x, "+
			"y and z stand neither in columns 35, 43 and 51 nor as many further right", 11+serial)
	}
	for _, from := range [...]int{39, 47} {
		if len(line) >= from && numeral(line[from-2]) && (digit(line[from-1]) || line[from-1] == '.') {
			return p.in.errorf("columns 31–54: the coordinates %s run into each other, want x in columns 31–38, y in "+
				"39–46 and z in 47–54", excerpt(field(line, 31, 54)))
		}
	}
	return nil
}

// numeral reports whether b is part of a number.
func numeral(b byte) bool { return digit(b) || b == '.' || b == '-' }

// fourLetters reports whether a residue name has four letters of which the first three are one too: LYSH.
func fourLetters(comp []byte) bool {
	return len(comp) == 4 && polymerKind(string(comp)) != "" && polymerKind(string(comp[:3])) != ""
}

// residue reads the names of the residue and of its chain. The format has the former in columns 18–20 and the latter in
// column 22. Names of residues may have a fourth letter in column 21, and names of chains a first one there.
func (p *pdbReader) residue(line []byte, a *pendingAtom) (chain string, err error) {
	wide := len(line) > 20 && line[20] != ' '
	comp, id := field(line, 18, 21), field(line, 22, 22)
	if wide && len(id) > 0 && p.isPair(line) {
		comp, id = field(line, 18, 20), line[20:22]
	} else if wide && len(id) == 0 && !knownComp(comp) && knownComp(field(line, 18, 20)) {
		return "", p.errorf(21, 22, "they are %s, want the letter of the chain in column 22", excerpt(line[20:22]))
	}
	if b := p.build; len(b.pending) > 0 && b.pending[0].comp == string(comp) && b.last.id == string(id) {
		a.comp = b.pending[0].comp
		return b.last.id, nil // as for most atoms
	}
	if bytes.IndexByte(comp, ' ') >= 0 {
		comp = bytes.ReplaceAll(comp, []byte(" "), nil)
	}
	if !printable(comp) {
		return "", p.errorf(18, 21, "the residue name is %s, want printable ASCII", excerpt(comp))
	}
	if !printable(id) {
		return "", p.errorf(22, 22, "the chain letter is %s, want printable ASCII", excerpt(id))
	}
	if a.comp = p.build.intern(comp); a.comp == "" {
		a.comp = "UNK"
	}
	a.upperCase()
	if len(id) > 0 {
		return p.build.intern(id), nil
	}
	return p.blank(field(line, 73, 76)), nil
}

// blank returns the temporary id of a chain without a letter, by the segment id of its atoms.
func (p *pdbReader) blank(segment []byte) string {
	if !printable(segment) {
		segment = nil
	}
	if p.blankID == "" || p.blankSegment != string(segment) {
		p.blankSegment = string(segment)
		p.blankID = blankChain + p.blankSegment + blankChain + strconv.Itoa(p.blanks)
	}
	return p.blankID
}

// isPair reports whether columns 21 and 22 are the id of a chain: where columns 18–20 have a known residue, or where
// the chain is known already. It keeps in mind what may be a name of four letters.
func (p *pdbReader) isPair(line []byte) bool {
	id, four := string(line[20:22]), field(line, 18, 21)
	pair := p.pairs[id]
	if pair == nil {
		if knownComp(four) && !fourLetters(four) || !knownComp(field(line, 18, 20)) || len(p.pairs) >= p.in.lim.Chains {
			return false
		}
		pair = &chainPair{example: string(bytes.TrimSpace(line[17:22]))}
		p.pairs[id] = pair
	}
	pair.certain = pair.certain || !fourLetters(four)
	return true
}

// maxAbsorbed bounds the work of absorb, as a number of pairs of residues.
const maxAbsorbed = 1 << 22

// absorb gives the residues of a chain with an id of two letters to the chain that the second letter names, where the
// first one ends their names: LYSH of chain A and not LYS of chain HA. It reports whether bonds to that chain and its
// free numbers show this of all.
func (p *pdbReader) absorb(whole, pair *rawChain) bool {
	if len(whole.residues)*len(pair.residues) > maxAbsorbed {
		return false
	}
	residues, segment := slices.Clone(whole.residues), slices.Clone(whole.segment)
	for _, r := range pair.residues {
		at := slices.IndexFunc(residues, func(o Residue) bool { return o.Auth >= r.Auth })
		if at < 0 {
			at = len(residues)
		}
		before := at > 0 && neighbours(&residues[at-1], &r) == LinkIntact
		if at < len(residues) &&
			(residues[at].Auth == r.Auth || !before && neighbours(&r, &residues[at]) != LinkIntact) ||
			at == len(residues) && !before {
			return false
		}
		r.Comp += pair.id[:1]
		segment = slices.Insert(segment, at, segment[min(at, len(segment)-1)])
		residues = slices.Insert(residues, at, r)
	}
	whole.residues, whole.segment = residues, segment
	p.build.chains = slices.DeleteFunc(p.build.chains, func(c *rawChain) bool { return c == pair })
	delete(p.build.byID, pair.name)
	return true
}

// knownComp reports whether a residue has a name that this package knows.
func knownComp(comp []byte) bool {
	return polymerKind(string(comp)) != "" || waters[string(comp)]
}
