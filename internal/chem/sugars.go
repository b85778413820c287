package chem

import (
	"fmt"
	"slices"
	"strings"
)

// Sugar is a monosaccharide of the Chemical Component Dictionary (CCD) whose linkages are known here.
type Sugar struct {
	Code string
	// Name is that of the condensed IUPAC notation, in which D or L and the size of the ring have no place: they are
	// those of the Symbol Nomenclature for Glycans (SNFG, Glycobiology 25:1323, 2015).
	Name string
	// Anomer is a for alpha and b for beta.
	Anomer byte
	// Carbon is the number of the anomeric carbon, whose hydroxyl group leaves in a bond.
	Carbon int
	// Hydroxyls are the numbers of the other carbons with a hydroxyl group, in order. A carboxyl group has none.
	Hydroxyls string
}

// sugars have the names, types and leaving atoms of the CCD of the wwPDB. A test of runners/openfold3 holds the table
// against biotite's copy.
var sugars = []Sugar{
	{"GLC", "Glc", 'a', 1, "2346"},
	{"BGC", "Glc", 'b', 1, "2346"},
	{"GLA", "Gal", 'a', 1, "2346"},
	{"GAL", "Gal", 'b', 1, "2346"},
	{"MAN", "Man", 'a', 1, "2346"},
	{"BMA", "Man", 'b', 1, "2346"},
	{"NDG", "GlcNAc", 'a', 1, "346"},
	{"NAG", "GlcNAc", 'b', 1, "346"},
	{"A2G", "GalNAc", 'a', 1, "346"},
	{"NGA", "GalNAc", 'b', 1, "346"},
	{"BM3", "ManNAc", 'a', 1, "346"},
	{"BM7", "ManNAc", 'b', 1, "346"},
	{"PA1", "GlcN", 'a', 1, "346"},
	{"GCS", "GlcN", 'b', 1, "346"},
	{"X6X", "GalN", 'a', 1, "346"},
	{"1GN", "GalN", 'b', 1, "346"},
	{"GCU", "GlcA", 'a', 1, "234"},
	{"BDP", "GlcA", 'b', 1, "234"},
	{"ADA", "GalA", 'a', 1, "234"},
	{"GTR", "GalA", 'b', 1, "234"},
	{"IDR", "IdoA", 'a', 1, "234"},
	{"FUC", "Fuc", 'a', 1, "234"},
	{"FUL", "Fuc", 'b', 1, "234"},
	{"RAM", "Rha", 'a', 1, "234"},
	{"RM4", "Rha", 'b', 1, "234"},
	{"XYS", "Xyl", 'a', 1, "234"},
	{"XYP", "Xyl", 'b', 1, "234"},
	{"SIA", "Neu5Ac", 'a', 2, "4789"},
	{"SLB", "Neu5Ac", 'b', 2, "4789"},
	{"NGC", "Neu5Gc", 'a', 2, "4789"},
	{"NGE", "Neu5Gc", 'b', 2, "4789"},
	{"KDM", "Kdn", 'a', 2, "45789"},
	{"KDN", "Kdn", 'b', 2, "45789"},
	{"KDO", "Kdo", 'a', 2, "4578"},
}

// SugarByCode returns the sugar with a code of the CCD in capitals; false if its linkages are not known here.
func SugarByCode(code string) (Sugar, bool) {
	return findSugar(func(s Sugar) bool { return s.Code == code })
}

// SugarByName returns the sugar with a name of the condensed IUPAC notation and an anomer, a or b; false if there is
// none here.
func SugarByName(name string, anomer byte) (Sugar, bool) {
	return findSugar(func(s Sugar) bool { return s.Name == name && s.Anomer == anomer })
}

func findSugar(is func(Sugar) bool) (Sugar, bool) {
	i := slices.IndexFunc(sugars, is)
	if i < 0 {
		return Sugar{}, false
	}
	return sugars[i], true
}

// SugarCodes returns the codes of the sugars in order.
func SugarCodes() []string {
	var out []string
	for _, s := range sugars {
		out = append(out, s.Code)
	}
	slices.Sort(out)
	return out
}

// SugarNames returns the names of the sugars, each once.
func SugarNames() []string {
	var out []string
	for _, s := range sugars {
		if !slices.Contains(out, s.Name) {
			out = append(out, s.Name)
		}
	}
	return out
}

// AnomericAtom is the name of the anomeric carbon.
func (s *Sugar) AnomericAtom() string { return fmt.Sprint("C", s.Carbon) }

// Binds reports whether a carbon other than the anomeric one has a hydroxyl group, whose oxygen has the number of
// the carbon.
func (s *Sugar) Binds(carbon int) bool {
	return carbon > 0 && carbon < 10 && strings.Contains(s.Hydroxyls, fmt.Sprint(carbon))
}
