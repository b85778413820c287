package chem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// MaxAtoms is the largest number of atoms of a molecule, hydrogens not counted.
const MaxAtoms = 200

// Atom is an atom of a molecule.
type Atom struct {
	Name    string
	Element string // its symbol
	Leaving bool   // it is absent from a residue within a chain
}

// Heavy reports whether an atom is no hydrogen. Readers take deuterium for it.
func (a *Atom) Heavy() bool { return a.Element != "H" }

// CountHeavy returns the number of atoms other than hydrogen.
func CountHeavy(atoms []Atom) (heavy int) {
	for i := range atoms {
		if atoms[i].Heavy() {
			heavy++
		}
	}
	return heavy
}

// NameAtoms gives the atoms without a name that of their element and their number among the atoms of that element. With
// leaving, atoms with the names of those that leave when a chain forms do.
func NameAtoms(atoms []Atom, leaving bool) {
	count := map[string]int{}
	for i := range atoms {
		a := &atoms[i]
		symbol := strings.ToUpper(a.Element)
		count[symbol]++
		if a.Name == "" {
			a.Name = symbol + strconv.Itoa(count[symbol])
		}
		if leaving {
			a.Leaving = a.Name == "OXT" || a.Name == "OP3"
		}
	}
}

// CheckAtoms checks how many atoms a molecule has, and their names. The error is a sentence without its subject.
func CheckAtoms(atoms []Atom) error {
	seen, heavy := map[string]bool{}, 0
	for i, a := range atoms {
		if a.Heavy() {
			heavy++
		}
		switch {
		case heavy > MaxAtoms:
			return fmt.Errorf("has more than %d atoms, hydrogens not counted", MaxAtoms)
		case !IsAtomName(a.Name):
			return fmt.Errorf("names atom %d %q; a name has 1 to 4 letters and digits, ' and *", i+1,
				words.Clip(a.Name))
		case seen[a.Name]:
			return fmt.Errorf("has two atoms %s", a.Name)
		}
		seen[a.Name] = true
	}
	if heavy == 0 {
		return errors.New("has no atom besides hydrogen")
	}
	return nil
}

// IsAtomName reports whether s has the form of an atom's name in the Chemical Component Dictionary, such as CA, O5' or
// H2*.
func IsAtomName(s string) bool {
	if len(s) < 1 || len(s) > 4 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '\'' && c != '*' {
			return false
		}
	}
	return true
}
