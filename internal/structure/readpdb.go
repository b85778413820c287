package structure

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// ReadPDB reads the first model of a PDB file. Polymers, ligands and waters that share a chain letter become separate
// chains, and two polymers of one letter have different ids, A and A-2; the residues of a polymer are numbered from 1
// in the order listed. A blank chain letter is replaced by the segment id, if the file has several, or else by a free
// letter, a new one after each TER that ends a molecule. It keeps one alternative location per residue, that of the
// highest occupancy. docs/structures.md has the rules for what files contain in addition to the format. The error is a
// [*ParseError], or one from r.
//
// Source: wwPDB Contents Guide 3.3, with hybrid-36 residue numbers.
func ReadPDB(r io.Reader, lim Limits) (*Structure, error) {
	s, _, err := readPDB(r, lim)
	return s, err
}

// readPDB is ReadPDB, and returns also the reader with what it knows of the file.
func readPDB(r io.Reader, lim Limits) (*Structure, *pdbReader, error) {
	in := newLines("PDB", r, lim.defaults())
	p := &pdbReader{
		in: in, build: newBuilder(in), sequences: map[string][]string{}, pairs: map[string]*chainPair{},
	}
	for !p.done {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.record(line)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, nil, err
	}
	s, err := p.build.structure(entities{})
	return s, p, err
}

// pdbReader reads the records of a PDB file into a builder. Only the first model of several is kept.
type pdbReader struct {
	in     *lines
	build  *builder
	blanks int // TER records of the chain without a letter
	// sequences are the whole sequences (SEQRES) by chain letter; all together have at most Limits.Residues residues.
	sequences map[string][]string
	listed    int
	title     strings.Builder
	method    strings.Builder
	// pairs are the chains that columns 21–22 name with two letters.
	pairs map[string]*chainPair
	// ended and later say that the first model has ended and that the second has begun, of which only the chains are
	// looked at. done says that it has ended too.
	ended, later, done bool

	// scratch holds the current record with its values in the columns of the format, if the line has them elsewhere,
	// and shifted is by how many columns the last of them stand further right.
	scratch []byte
	shifted int
	// blankID is the temporary id of chains without a letter whose atoms have the segment id blankSegment.
	blankID, blankSegment string
}

// chainPair is a chain with an id of two letters. Its residues may as well be of a chain with one letter and have names
// of four, such as LYSH.
type chainPair struct {
	certain bool // a residue cannot have a name of four letters
	example string
}

// record reads one record.
func (p *pdbReader) record(line []byte) error {
	if isAtom(line) {
		if p.ended {
			return p.laterModel(line)
		}
		return p.atom(line)
	}
	record := bytes.TrimRight(line[:min(6, len(line))], " ")
	switch name := strings.ToUpper(string(record)); {
	case name == "END" || name == "ENDMDL":
		p.done = p.later
		p.ended = p.ended || p.build.atoms > 0
	case !p.ended:
		return p.described(name, line)
	}
	return nil
}

// described reads a record of the first model that has no atom.
func (p *pdbReader) described(name string, line []byte) error {
	switch name {
	case "TITLE":
		p.text(&p.title, line)
	case "EXPDTA":
		p.text(&p.method, line)
	case "REMARK":
		p.remark(line)
	case "SEQRES":
		p.sequence(line)
	case "CRYST1":
		p.cell(line)
	case "TER":
		return p.ter()
	default:
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && isAtom(rest) {
			return p.in.errorf("column %d: the record %s starts here, want it in column 1", len(line)-len(rest)+1,
				excerpt(bytes.TrimRight(rest[:min(6, len(rest))], " ")))
		}
	}
	return nil
}

// isAtom reports whether a line is an ATOM or HETATM record, in upper or lower case. A long serial number may begin in
// the record's name: ATOM 100000, ATOM1000000.
func isAtom(line []byte) bool {
	if len(line) < 4 {
		return false
	}
	switch line[0] | 0x20 {
	case 'a':
		return line[1]|0x20 == 't' && line[2]|0x20 == 'o' && line[3]|0x20 == 'm' &&
			(len(line) == 4 || line[4] == ' ' || line[4] == '\t' || digit(line[4]))
	case 'h':
		return foldPrefix(line, "HETATM")
	}
	return false
}

// digit reports whether b is a decimal digit.
func digit(b byte) bool { return b >= '0' && b <= '9' }

// text appends the text of a record, columns 11–80, as far as a line may be long.
func (p *pdbReader) text(to *strings.Builder, line []byte) {
	if len(line) > 10 && to.Len() < p.in.lim.Line {
		to.Write(line[10:min(80, len(line))])
		to.WriteByte(' ')
	}
}

// remark reads what a remark says of the B-factors: this package writes that they are pLDDT or predicted RMSD, and
// others write the former, too.
func (p *pdbReader) remark(line []byte) {
	text := strings.ToUpper(string(line))
	if strings.Contains(text, "PLDDT") && strings.Contains(text, "B-FACTOR") {
		p.build.statesPLDDT = true
	}
	if strings.Contains(text, "PREDICTED RMSD") && strings.Contains(text, "B-FACTOR") {
		p.build.statesRMSD = true
	}
}

// cell reads a CRYST1 record. One without six numbers states no cell.
func (p *pdbReader) cell(line []byte) {
	var v [6]float64
	for k, columns := range [...][2]int{{7, 15}, {16, 24}, {25, 33}, {34, 40}, {41, 47}, {48, 54}} {
		v[k], _ = parseFloat(field(line, columns[0], columns[1])) // 0 makes no cell
	}
	p.build.cell = newCell(v)
}

// sequence reads a SEQRES record.
func (p *pdbReader) sequence(line []byte) {
	chain := p.build.intern(field(line, 11, 12))
	for _, comp := range bytes.Fields(field(line, 20, 70)) {
		if p.listed++; p.listed > p.in.lim.Residues || !printable(comp) {
			return
		}
		p.sequences[chain] = append(p.sequences[chain], standardCode(p.build.intern(comp)))
	}
}

// laterModel refuses a model that has a chain which the first does not have: the file splits one structure. It looks
// for a copy of the first model, too.
func (p *pdbReader) laterModel(line []byte) error {
	p.later = true
	line, number, unclear := p.columns(line)
	id := field(line, 22, 22)
	if unclear != nil {
		return nil
	}
	key, errKey := p.key(line, number)
	name, errName := p.shortName(line, "the atom name", 13, 16)
	if errKey == nil && errName == nil {
		p.build.pair(atomKey{string(id), key, name}, func() (Vec, error) { return p.position(line) })
	}
	if len(id) == 0 || p.build.byID[string(id)] != nil || p.build.byID[string(field(line, 21, 22))] != nil {
		return nil
	}
	return p.in.errorf("columns 21–22: chain %s is not in the first model, the only one that is read; "+
		"want all chains of a structure in one model", excerpt(id))
}

// finish completes the chains once all records are read.
func (p *pdbReader) finish() error {
	p.build.title = oneLine(p.title.String())
	p.build.method = oneLine(p.method.String())
	if err := p.build.flush(); err != nil {
		return err
	}
	for id, pair := range p.pairs {
		if whole := p.build.byID[id[1:]]; !pair.certain && whole != nil && !p.absorb(whole, p.build.byID[id]) {
			return &ParseError{Format: "PDB", Reason: "columns 18–22: " + pair.example + " may be residue " +
				pair.example[:3] + " of chain " + id + " or residue " + pair.example[:4] + " of chain " + id[1:] +
				"; want names of three letters in columns 18–20, or mmCIF"}
		}
	}
	p.joinBlank()
	p.nameBlank()
	for _, c := range p.build.chains {
		c.listed = map[string]bool{}
		for _, comp := range p.sequences[c.id] {
			c.listed[comp] = true
		}
	}
	return nil
}

// field returns the columns from … to of a line, 1-based and inclusive, without surrounding spaces.
func field(line []byte, from, to int) []byte {
	if len(line) < from {
		return nil
	}
	return bytes.TrimSpace(line[from-1 : min(to, len(line))])
}

// atom reads an ATOM or HETATM record, by its columns. Missing occupancies and B-factors have defaults.
func (p *pdbReader) atom(line []byte) error {
	line, number, err := p.columns(line)
	if err != nil {
		return err
	}
	a := pendingAtom{het: line[0]|0x20 == 'h'}
	if a.Name, err = p.shortName(line, "the atom name", 13, 16); err != nil {
		return err
	}
	if a.Name == "" {
		return p.errorf(13, 16, "the atom has no name")
	}
	id, err := p.residue(line, &a)
	if err != nil {
		return err
	}
	if a.alt, err = p.shortName(line, "the alternative location", 17, 17); err != nil {
		return err
	}
	key, err := p.key(line, number)
	if err != nil {
		return err
	}
	if err := p.values(line, &a); err != nil {
		return err
	}
	chain, err := p.build.chain(id, "", "")
	if err != nil {
		return err
	}
	return p.build.atom(chain, key, a)
}

// key returns what identifies a residue; number is that of columns.
func (p *pdbReader) key(line []byte, number int) (key residueKey, err error) {
	if number == unnumbered {
		key.auth, key.ins, err = p.number(line)
		return key, err
	}
	key.auth = number
	key.ins, err = p.shortName(line, "the insertion code", 27, 27)
	return key, err
}

// position reads the coordinates of an atom.
func (p *pdbReader) position(line []byte) (pos Vec, err error) {
	for k := range pos {
		if pos[k], err = p.float(line, [...]string{"x", "y", "z"}[k], 31+8*k, 38+8*k, math.NaN()); err != nil {
			return pos, err
		}
	}
	return pos, nil
}

// values reads the coordinates and what follows them.
func (p *pdbReader) values(line []byte, a *pendingAtom) (err error) {
	if a.Pos, err = p.position(line); err != nil {
		return err
	}
	if len(line) < 54 && decimals(field(line, 47, 54)) < decimals(field(line, 31, 38)) {
		return p.errorf(47, 54, "the line ends within the z coordinate; the file may be cut off")
	}
	if a.Occupancy, err = p.float(line, "the occupancy", 55, 60, 1); err != nil {
		return err
	}
	if a.B, err = p.float(line, "the B-factor", 61, 66, 0); err != nil {
		return err
	}
	if n := len(line); p.in.open && (n > 54 && n < 60 || n > 60 && n < 66) {
		return p.errorf(n+1, n+1, "the last line ends within a number; the file may be cut off")
	}
	if len(line) > 78 {
		a.Charge = pdbCharge(field(line, 79, 80))
	}
	a.Element = p.build.intern([]byte(p.element(line, a)))
	return nil
}

// decimals returns the number of digits after the decimal point.
func decimals(v []byte) int {
	_, after, _ := bytes.Cut(v, []byte("."))
	return len(after)
}

// blankChain is the prefix of the temporary ids of chains without a letter.
const blankChain = "\x00"

// shortName reads a short name of printable ASCII and drops spaces inside it. what names the field in errors.
func (p *pdbReader) shortName(line []byte, what string, from, to int) (string, error) {
	v := field(line, from, to)
	if len(v) == 0 {
		return "", nil
	}
	if bytes.IndexByte(v, ' ') >= 0 {
		v = bytes.ReplaceAll(v, []byte(" "), nil)
	}
	if !printable(v) {
		return "", p.errorf(from, to, "%s is %s, want printable ASCII", what, excerpt(v))
	}
	return p.build.intern(v), nil
}

// float reads a number. A blank field gives missing, or an error where missing is NaN.
func (p *pdbReader) float(line []byte, what string, from, to int, missing float64) (float64, error) {
	v := field(line, from, to)
	if len(v) == 0 {
		if math.IsNaN(missing) {
			return 0, p.errorf(from, to, "the atom has no %s coordinate", what)
		}
		return missing, nil
	}
	f, err := parseFloat(v)
	if err != nil {
		return 0, p.errorf(from, to, "%s is %s, want a number between −1,000,000 and 1,000,000", what, excerpt(v))
	}
	return f, nil
}

// number reads the residue number and the insertion code: decimal, of four or five digits, or hybrid-36 above 9999.
func (p *pdbReader) number(line []byte) (n int, ins string, err error) {
	if len(line) > 26 && digit(line[26]) && digit(line[22]) && digit(line[25]) {
		if n, err := strconv.Atoi(string(line[22:27])); err == nil { // an insertion code is a letter
			return n, "", nil
		}
	}
	if ins, err = p.shortName(line, "the insertion code", 27, 27); err != nil {
		return 0, "", err
	}
	v := string(field(line, 23, 26))
	if n, err := strconv.Atoi(v); err == nil {
		return n, ins, nil
	}
	if len(v) == 4 {
		upper, lower := strings.ToUpper(v) == v, strings.ToLower(v) == v
		if n, err := strconv.ParseInt(v, 36, 32); err == nil && n >= 10*36*36*36 && upper != lower {
			if upper {
				return int(n) - 10*36*36*36 + 10000, ins, nil
			}
			return int(n) + 16*36*36*36 + 10000, ins, nil
		}
	}
	if _, err := strconv.ParseUint(v, 16, 32); err == nil {
		return 0, "", p.errorf(23, 26, "the residue number is %s, which seems to be hexadecimal as VMD writes it; "+
			"want a decimal number, or hybrid-36 (A000) from 10000", excerpt(v))
	}
	return 0, "", p.errorf(23, 26, "the residue number is %s, want a whole number", excerpt(v))
}

// element returns columns 77–78 or, where they hold no symbol, the element of the atom's name: the name starts one
// column further left where the symbol has two letters.
func (p *pdbReader) element(line []byte, a *pendingAtom) string {
	if symbol := ionElement(a.comp, a.Name); symbol != "" {
		return symbol
	}
	if symbol := strings.ToUpper(string(field(line, 77, 78))); symbol != "" {
		if _, ok := masses[symbol]; ok || symbol == "X" {
			return symbol
		}
	}
	if len(line) > 14 && line[12] == ' ' {
		if one := strings.ToUpper(string(line[13])); masses[one] > 0 {
			return one
		}
	}
	if len(a.Name) == 4 && polymerKind(a.comp) != "" && a.Name[0] == 'H' {
		return "H"
	}
	if two := strings.ToUpper(string(field(line, 13, 14))); len(two) == 2 && masses[two] > 0 &&
		polymerKind(a.comp) == "" {
		return two
	}
	return elementOf("", a.Name, a.comp)
}

// pdbCharge reads a charge such as 2+ or +2; anything else is 0.
func pdbCharge(v []byte) int {
	if len(v) != 2 {
		return 0
	}
	number, sign := v[0], v[1]
	if number == '+' || number == '-' {
		number, sign = sign, number
	}
	switch {
	case !digit(number):
		return 0
	case sign == '+':
		return int(number - '0')
	case sign == '-':
		return -int(number - '0')
	}
	return 0
}

// ter ends the current chain segment at a TER record: atoms with the same chain id after it are another molecule,
// unless they continue it (see continues).
func (p *pdbReader) ter() error {
	if err := p.build.flush(); err != nil {
		return err
	}
	if c := p.build.last; c != nil {
		c.ters++
		if strings.HasPrefix(c.id, blankChain) {
			p.blanks++
			p.blankID = ""
		}
	}
	return nil
}

// joinBlank joins chains without a letter that only a TER separates, where the second continues the first.
func (p *pdbReader) joinBlank() {
	var open *rawChain
	p.build.chains = slices.DeleteFunc(p.build.chains, func(c *rawChain) bool {
		if !strings.HasPrefix(c.id, blankChain) || len(c.residues) == 0 {
			open = nil
			return false
		}
		if open == nil || segmentOf(open.id) != segmentOf(c.id) ||
			!continues(&open.residues[len(open.residues)-1], &c.residues[0], true) {
			open = c
			return false
		}
		for i := range c.residues {
			open.residues = append(open.residues, c.residues[i])
			open.segment = append(open.segment, open.segment[len(open.segment)-1])
		}
		delete(p.build.byID, c.name)
		return true
	})
}

// segmentOf returns the segment id in a temporary id, which ends with the number of TER records before it.
func segmentOf(id string) string {
	return id[len(blankChain):strings.LastIndexByte(id, blankChain[0])]
}

// nameBlank names the chains without a letter: by their segment ids, if the file has several, or else by the next free
// letters.
func (p *pdbReader) nameBlank() {
	segments := map[string]bool{}
	for _, c := range p.build.chains {
		if strings.HasPrefix(c.id, blankChain) {
			segments[segmentOf(c.id)] = true
		}
	}
	next := 0
	for _, c := range p.build.chains {
		if !strings.HasPrefix(c.id, blankChain) {
			continue
		}
		if name := segmentOf(c.id); name != "" && len(segments) > 1 {
			c.id = name
			continue
		}
		for c.id = words.LetterName(next); p.build.byID[c.id] != nil || segments[c.id]; c.id = words.LetterName(next) {
			next++
		}
		next++
	}
}
