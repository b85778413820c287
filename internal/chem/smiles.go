// Package chem reads the chemistry that a request spells out: the SMILES of a molecule, and its atoms with their names.
//
// It owns the grammar of SMILES, and which names and how many atoms a molecule may have. It is below the domain: it
// must not know of jobs, models or errors with codes. Its errors are sentences without their subject, which a caller
// puts before them.
package chem

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// elements are the symbols of the chemical elements.
var elements = func() map[string]bool {
	out := map[string]bool{}
	for symbol := range strings.FieldsSeq(`H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu
		Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy
		Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr
		Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og`) {
		out[symbol] = true
	}
	return out
}()

// Molecule is what a SMILES says about one molecule.
type Molecule struct {
	SMILES string // without the names of the atoms
	Atoms  []Atom // in the order of the SMILES, all of them with names
}

// ParseSMILES reads a SMILES of one molecule, after which the names of the atoms may stand as in ChemAxon extended
// SMILES: CCO |$C1;C2;O1$|. An atom without a name is called by its element and its number among the atoms of that
// element. It checks the grammar alone. The error is a sentence without its subject.
func ParseSMILES(s string) (Molecule, error) {
	text, names, extended := strings.Cut(strings.TrimSpace(s), " ")
	p := newParser(text, false)
	if err := p.run(); err != nil {
		return Molecule{}, err
	}
	if extended {
		if err := readAtomNames(p.atoms, strings.TrimSpace(names)); err != nil {
			return Molecule{}, err
		}
	}
	NameAtoms(p.atoms, true)
	return Molecule{SMILES: text, Atoms: p.atoms}, nil
}

// CheckSMILES checks a SMILES, which may be of several molecules: its grammar, and the chemistry that does not depend
// on a toolkit (see checkChemistry). It returns the number of atoms other than hydrogen. The error is a sentence
// without its subject.
func CheckSMILES(s string) (heavy int, err error) {
	p := newParser(s, true)
	if err := p.run(); err != nil {
		return 0, err
	}
	return CountHeavy(p.atoms), checkChemistry(p)
}

// HeavyAtoms returns the number of atoms other than hydrogen of a SMILES that [CheckSMILES] has accepted; 0 if it
// cannot be read. It leaves out the chemistry, which takes most of the time.
func HeavyAtoms(s string) int {
	p := newParser(s, true)
	if p.run() != nil {
		return 0
	}
	return CountHeavy(p.atoms)
}

// FirstWhole returns the index of the first of some places in a text, which ascend, before which the text is a SMILES
// by itself; -1: it is none before any of them.
func FirstWhole(s string, places []int) int {
	p := newParser(s, true)
	for i, place := range places {
		for p.at < place {
			if p.symbol() != nil {
				return -1
			}
		}
		if p.at == place && len(p.atoms) > 0 && !p.pending && len(p.open)+len(p.rings) == 0 {
			return i
		}
	}
	return -1
}

// readAtomNames reads the names of atoms as in ChemAxon extended SMILES: |$C1;C2;O1$|.
func readAtomNames(atoms []Atom, s string) error {
	inner, ok := strings.CutPrefix(s, "|$")
	inner, closed := strings.CutSuffix(inner, "$|")
	if !ok || !closed || strings.ContainsAny(inner, "|$,") {
		return fmt.Errorf("has %q after the SMILES; names of atoms have the form |$C1;C2;O1$|", words.Clip(s))
	}
	labels := strings.Split(inner, ";")
	if len(labels) != len(atoms) {
		return fmt.Errorf("names %d atoms between $ and $; the SMILES has %d", len(labels), len(atoms))
	}
	for i, label := range labels {
		atoms[i].Name = strings.TrimSpace(label)
	}
	return nil
}

// smilesParser reads a SMILES by the grammar of OpenSMILES 1.0, without wildcards and with RDKit's dative bonds.
type smilesParser struct {
	text    string
	several bool // molecules, joined by dots, may stand there
	at      int
	atoms   []Atom
	graph   []vertex        // of the atoms
	bonds   []bond          // in the order of the string
	open    []branch        // those that are not closed
	rings   map[string]ring // the ring closures that are not closed, by their number
	last    int             // the atom to which the next one is bonded; -1: none
	pending bool            // the last symbol is a bond or a dot, which an atom or a ring closure must follow
	order   bondOrder       // of that bond
}

// vertex is an atom in the graph of a molecule.
type vertex struct {
	at        int // where it stands in the text
	aromatic  bool
	bracket   bool
	hydrogens int // that brackets state
	charge    int
	bonds     []int // indexes
}

// bond joins two atoms.
type bond struct {
	a, b   int
	order  bondOrder
	cyclic bool // it is part of a ring; set by findRings
}

// bondOrder is the order of a bond: the number of its electron pairs, or one of the values below.
type bondOrder int8

const (
	unspecified   bondOrder = 0 // single, or aromatic between aromatic atoms
	aromaticOrder bondOrder = 5
	dative        bondOrder = 6 // it does not count as a valence
)

// branch is an open bracket, and the atom before it.
type branch struct{ at, atom int }

// ring is an open ring closure.
type ring struct {
	at, atom int
	order    bondOrder
}

// fault returns an error about the position that the parser has reached.
func (p *smilesParser) fault(format string, args ...any) error { return fault(p.at, format, args...) }

// fault returns an error about a position, counted from 0.
func fault(at int, format string, args ...any) error {
	return fmt.Errorf("at position %d: %s", at+1, fmt.Sprintf(format, args...))
}

// newParser returns a parser of a text, of several molecules or of one.
func newParser(text string, several bool) *smilesParser {
	return &smilesParser{
		text:    text,
		several: several,
		rings:   map[string]ring{},
		last:    -1,
	}
}

func (p *smilesParser) run() error {
	for p.at < len(p.text) {
		if err := p.symbol(); err != nil {
			return err
		}
	}
	switch {
	case len(p.atoms) == 0:
		return errors.New("has no atom")
	case p.pending:
		return fmt.Errorf("ends with %q, after which an atom must follow", p.text[p.at-1:])
	case len(p.open) > 0:
		return fault(p.open[len(p.open)-1].at, "the branch is not closed")
	case len(p.rings) > 0:
		first := p.at
		for _, r := range p.rings {
			first = min(first, r.at)
		}
		return fault(first, "the ring is not closed")
	}
	return nil
}

// orders are the bonds of one letter.
var orders = map[byte]bondOrder{
	'-': 1, '=': 2, '#': 3, '$': 4, ':': aromaticOrder, '/': unspecified, '\\': unspecified,
}

// symbol reads an atom, a bond, a ring closure, or an end of a branch.
func (p *smilesParser) symbol() error {
	c := p.text[p.at]
	order, isBond := orders[c]
	first := len(p.atoms) == 0
	bonds := !first && !p.pending // a bond may stand here
	opened := p.at > 0 && p.text[p.at-1] == '('
	rest := p.text[p.at:]
	switch {
	case c == '[':
		return p.bracket()
	case c == '(' && bonds && !opened:
		p.open = append(p.open, branch{p.at, p.last})
	case c == ')' && len(p.open) > 0 && bonds && !opened:
		p.last = p.open[len(p.open)-1].atom
		p.open = p.open[:len(p.open)-1]
	case bonds && (strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "<-")):
		p.pending, p.order = true, dative
		p.at++
	case isBond && bonds:
		p.pending, p.order = true, order
	case c >= '0' && c <= '9' && !first:
		return p.ring(rest[:1], 1)
	case c == '%' && !first:
		if len(rest) < 3 || !digits(rest[1:3]) {
			return p.fault("two digits must follow %%")
		}
		return p.ring(rest[1:3], 3)
	case c == '.' && p.several && bonds && !opened:
		p.pending, p.last = true, -1
	case c == '.' && !p.several:
		return p.fault("a component is one molecule, without '.'")
	case c == '*':
		return p.fault("'*' is no element")
	default:
		return p.organic()
	}
	p.at++
	return nil
}

// ring opens or closes a ring by a number of so many letters. 1 and %01 are one number.
func (p *smilesParser) ring(number string, letters int) error {
	number = strings.TrimLeft(number, "0")
	r, closes := p.rings[number]
	switch {
	case p.last < 0:
		return p.fault("an atom must stand before the number of a ring")
	case !closes:
		p.rings[number] = ring{p.at, p.last, p.order}
	case r.atom == p.last:
		return p.fault("the ring closes at the atom where it begins")
	case slices.ContainsFunc(p.graph[p.last].bonds, func(i int) bool { return p.bonds[i].joins(r.atom, p.last) }):
		return p.fault("the ring closes between two atoms that are bonded")
	default:
		delete(p.rings, number)
		p.connect(r.atom, p.last, max(r.order, p.order))
	}
	p.pending, p.order = false, unspecified
	p.at += letters
	return nil
}

// joins reports whether a bond is that of two atoms.
func (b bond) joins(x, y int) bool { return b.a == x && b.b == y || b.a == y && b.b == x }

// connect adds a bond.
func (p *smilesParser) connect(a, b int, order bondOrder) {
	for _, i := range []int{a, b} {
		p.graph[i].bonds = append(p.graph[i].bonds, len(p.bonds))
	}
	p.bonds = append(p.bonds, bond{a: a, b: b, order: order})
}

// organic reads an atom outside brackets.
func (p *smilesParser) organic() error {
	rest := p.text[p.at:]
	for _, symbol := range []string{"Cl", "Br", "B", "C", "N", "O", "P", "S", "F", "I", "b", "c", "n", "o", "p", "s"} {
		if strings.HasPrefix(rest, symbol) {
			p.add(strings.ToUpper(symbol[:1])+symbol[1:], vertex{at: p.at, aromatic: symbol[0] >= 'a'})
			p.at += len(symbol)
			return nil
		}
	}
	return p.fault("%q cannot stand here", rest[:1])
}

// add adds an atom.
func (p *smilesParser) add(element string, v vertex) {
	p.atoms, p.graph = append(p.atoms, Atom{Element: element}), append(p.graph, v)
	if i := len(p.atoms) - 1; p.last >= 0 {
		p.connect(p.last, i, p.order)
	}
	p.last, p.pending, p.order = len(p.atoms)-1, false, unspecified
}

// inBrackets is an atom in brackets: an isotope, the element, its chirality, hydrogens, charge and class.
var inBrackets = regexp.MustCompile(`^[0-9]*([A-Z][a-z]?|[bcnops]|se|as|te|si)` +
	`(?:@@?|@(?:TH|AL|SP|TB|OH)[0-9]{1,2})?(H[0-9]?)?(\+{1,4}|-{1,4}|[+-][0-9]{1,2})?(?::[0-9]+)?$`)

// bracket reads an atom in brackets.
func (p *smilesParser) bracket() error {
	end := strings.IndexByte(p.text[p.at:], ']')
	if end < 0 {
		return p.fault("the bracket is not closed")
	}
	text := p.text[p.at : p.at+end+1]
	parts := inBrackets.FindStringSubmatch(text[1:end])
	if parts == nil {
		return p.fault("%q is no atom", words.Clip(text))
	}
	symbol, v := parts[1], vertex{at: p.at, bracket: true, aromatic: parts[1][0] >= 'a'}
	if symbol = strings.ToUpper(symbol[:1]) + symbol[1:]; !elements[symbol] {
		return p.fault("%q is no atom", words.Clip(text))
	}
	if parts[2] != "" {
		v.hydrogens = numberOr(parts[2][1:], 1)
	}
	if sign := parts[3]; sign != "" {
		v.charge = numberOr(strings.TrimLeft(sign, "+-"), strings.Count(sign, sign[:1]))
		if sign[0] == '-' {
			v.charge = -v.charge
		}
	}
	p.add(symbol, v)
	p.at += end + 1
	return nil
}

// numberOr returns the number in a text; absent if there is none.
func numberOr(text string, absent int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return absent
	}
	return n
}

// digits reports whether s has digits only.
func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
