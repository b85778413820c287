// Package chem reads the chemistry that a request spells out: the SMILES of a molecule, and its atoms with their names.
//
// It owns the grammar of SMILES, and which names and how many atoms a molecule may have. It is below the domain: it
// must not know of jobs, models or errors with codes. Its errors are sentences without their subject, which a caller
// puts before them.
package chem

import (
	"errors"
	"fmt"
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
// element. It checks the grammar of OpenSMILES, not the chemistry. The error is a sentence without its subject.
func ParseSMILES(s string) (Molecule, error) {
	text, names, extended := strings.Cut(strings.TrimSpace(s), " ")
	p := smilesParser{text: text}
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

// CheckSMILES checks the grammar of a SMILES, which may be of several molecules, not the chemistry. It returns the
// number of atoms other than hydrogen. The error is a sentence without its subject.
func CheckSMILES(s string) (heavy int, err error) {
	p := smilesParser{text: s, several: true}
	if err := p.run(); err != nil {
		return 0, err
	}
	return CountHeavy(p.atoms), nil
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

// smilesParser reads a SMILES by the grammar of OpenSMILES 1.0, without wildcards.
type smilesParser struct {
	text    string
	several bool // molecules, joined by dots, may stand there
	at      int
	atoms   []Atom
	open    []int          // where the open branches begin
	rings   map[string]int // where the open ring closures stand, by their number
	bond    bool           // the last symbol is a bond or a dot, which an atom or a ring closure must follow
}

// fault returns an error about the position that the parser has reached.
func (p *smilesParser) fault(format string, args ...any) error {
	return fmt.Errorf("at position %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

func (p *smilesParser) run() error {
	p.rings = map[string]int{}
	for p.at < len(p.text) {
		if err := p.symbol(); err != nil {
			return err
		}
	}
	switch {
	case len(p.atoms) == 0:
		return errors.New("has no atom")
	case p.bond:
		return fmt.Errorf("ends with %q, after which an atom must follow", p.text[p.at-1:])
	case len(p.open) > 0:
		p.at = p.open[len(p.open)-1]
		return p.fault("the branch is not closed")
	case len(p.rings) > 0:
		p.at = len(p.text)
		for _, at := range p.rings {
			p.at = min(p.at, at)
		}
		return p.fault("the ring is not closed")
	}
	return nil
}

// symbol reads an atom, a bond, a ring closure, or an end of a branch.
func (p *smilesParser) symbol() error {
	c := p.text[p.at]
	first := len(p.atoms) == 0
	switch {
	case c == '[':
		return p.bracket()
	case c == '(' && !first && !p.bond:
		p.open = append(p.open, p.at)
	case c == ')' && len(p.open) > 0 && !p.bond && p.text[p.at-1] != '(':
		p.open = p.open[:len(p.open)-1]
	case strings.IndexByte(`-=#$:/\`, c) >= 0 && !first && !p.bond:
		p.bond = true
	case c >= '0' && c <= '9' && !first:
		p.ring(p.text[p.at : p.at+1])
	case c == '%' && !first:
		if len(p.text) < p.at+3 || !digits(p.text[p.at+1:p.at+3]) {
			return p.fault("two digits must follow %%")
		}
		p.ring(p.text[p.at+1 : p.at+3])
		p.at += 2
	case c == '.' && p.several && !first && !p.bond && p.text[p.at-1] != '(':
		p.bond = true
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

// ring opens or closes a ring. 1 and %01 are one number.
func (p *smilesParser) ring(number string) {
	number = strings.TrimLeft(number, "0")
	if _, open := p.rings[number]; open {
		delete(p.rings, number)
	} else {
		p.rings[number] = p.at
	}
	p.bond = false
}

// organic reads an atom outside brackets.
func (p *smilesParser) organic() error {
	rest := p.text[p.at:]
	for _, symbol := range []string{"Cl", "Br", "B", "C", "N", "O", "P", "S", "F", "I", "b", "c", "n", "o", "p", "s"} {
		if strings.HasPrefix(rest, symbol) {
			p.add(strings.ToUpper(symbol[:1]) + symbol[1:])
			p.at += len(symbol)
			return nil
		}
	}
	return p.fault("%q cannot stand here", rest[:1])
}

// add adds an atom.
func (p *smilesParser) add(element string) {
	p.atoms = append(p.atoms, Atom{Element: element})
	p.bond = false
}

// bracket reads an atom in brackets: an isotope, the element, and what is known of it, which the engine reads.
func (p *smilesParser) bracket() error {
	end := strings.IndexByte(p.text[p.at:], ']')
	if end < 0 {
		return p.fault("the bracket is not closed")
	}
	inner := strings.TrimLeft(p.text[p.at+1:p.at+end], "0123456789")
	for n := min(2, len(inner)); n > 0; n-- {
		symbol := strings.ToUpper(inner[:1]) + inner[1:n]
		if elements[symbol] && (symbol == inner[:n] || aromatic[inner[:n]]) {
			if strings.IndexFunc(inner[n:], func(r rune) bool { return !strings.ContainsRune(bracketed, r) }) >= 0 {
				break
			}
			p.add(symbol)
			p.at += end + 1
			return nil
		}
	}
	return p.fault("%q is no atom", words.Clip(p.text[p.at:p.at+end+1]))
}

// aromatic are the elements that may be written in small letters within brackets.
var aromatic = map[string]bool{"b": true, "c": true, "n": true, "o": true, "p": true, "s": true, "se": true, "as": true}

// bracketed are the characters that may follow the element within brackets: chirality, hydrogens, charge, class.
const bracketed = "@THSPALBO0123456789+-:"

// digits reports whether s has digits only.
func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
