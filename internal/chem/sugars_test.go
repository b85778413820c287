package chem

import (
	"fmt"
	"slices"
	"testing"
)

// The dictionary has the atoms of the table, and the oxygen of the anomeric carbon is the one that leaves.
func TestSugarsAreThoseOfTheDictionary(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sugars {
		e, found := LookUp(s.Code)
		if !found || seen[s.Code] || seen[s.Name+string(s.Anomer)] {
			t.Errorf("%s is unknown or there twice", s.Code)
		}
		seen[s.Code], seen[s.Name+string(s.Anomer)] = true, true
		atom := func(name string, leaving bool) {
			if !slices.Contains(e.Atoms, Atom{Name: name, Leaving: leaving}) {
				t.Errorf("%s has no atom %s that leaves %t", s.Code, name, leaving)
			}
		}
		atom(s.AnomericAtom(), false)
		atom(fmt.Sprint("O", s.Carbon), true)
		for _, n := range s.Hydroxyls {
			atom("C"+string(n), false)
			atom("O"+string(n), false)
		}
		if e.Leaving != 1 || s.Binds(s.Carbon) || s.Binds(10) {
			t.Errorf("%s: %d atoms leave", s.Code, e.Leaving)
		}
	}
}
