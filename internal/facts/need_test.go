package facts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pleat/internal/structure"
)

// keeping returns ubiquitin with the atoms of each residue that pass.
func keeping(t *testing.T, pass func(residue int, atom string) bool) *structure.Structure {
	s := load(t, "1ubi")
	s.Chains = s.Chains[:1]
	for i := range s.Chains[0].Residues {
		r := &s.Chains[0].Residues[i]
		r.Atoms = slices.DeleteFunc(r.Atoms, func(a structure.Atom) bool { return !pass(i, a.Name) })
	}
	return s
}

// oneOf passes atoms by their names.
func oneOf(names ...string) func(int, string) bool {
	return func(_ int, atom string) bool { return slices.Contains(names, atom) }
}

// What needs atoms that are not there is null or absent, with a note; it is never 0.
func TestFactsWithoutAtoms(t *testing.T) {
	main := []string{"N", "CA", "C", "O"}
	glycine := keeping(t, oneOf(main...))
	for i := range glycine.Chains[0].Residues {
		glycine.Chains[0].Residues[i].Comp = "GLY"
	}
	for _, c := range []struct {
		name      string
		s         *structure.Structure
		secondary bool
		note      string // of what needs all atoms
	}{
		{"CA", keeping(t, oneOf("CA")), false, "76 of the 76 residues of chain A have only CA"},
		{"main chain", keeping(t, oneOf(main...)), true, "70 of the 76 residues of chain A have only N, CA, C, O"},
		{"CB", keeping(t, oneOf(append(main, "CB")...)), true, "68 of the 76 residues of chain A have only N, CA, C, O, CB"},
		{"a third", keeping(t, func(i int, atom string) bool { return i%3 > 0 || atom == "CA" }), false, "26 of the 76"},
		{"glycines", glycine, true, "76 of the 76 residues of chain A are GLY in runs of ten or more"},
		{"no atom", keeping(t, oneOf("H")), false, ""},
	} {
		f := digestOf(t, c.s, Extra{})
		if c.note == "" {
			if len(f.Chains) != 0 || f.Residues != 0 {
				t.Errorf("%s: %d chains", c.name, len(f.Chains))
			}
			continue
		}
		if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
			t.Errorf("%s: no note says %q: %q", c.name, c.note, f.Notes)
		}
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, null := range []string{`"salt_bridge_count":null`, `"hydrogen_bond_candidates":null`,
			`"accessible_area_A2":null`, `"buried_residues":null`, `"exposed_residues":null`} {
			if null == `"salt_bridge_count":null` && c.name == "a third" {
				continue // the others have their charged atoms
			}
			if !strings.Contains(string(raw), null) {
				t.Errorf("%s: the facts have not %s", c.name, null)
			}
		}
		if (f.Chains[0].Secondary != nil) != c.secondary || f.Pockets != nil || f.Patches != nil || f.FreeCys != nil {
			t.Errorf("%s: secondary structure %v, pockets %v, patches %v", c.name, f.Chains[0].Secondary, f.Pockets,
				f.Patches)
		}
	}
}

// A few residues without atoms do not keep the others from being told.
func TestFewResiduesWithoutAtoms(t *testing.T) {
	s := keeping(t, func(i int, atom string) bool {
		return i != 5 && i != 40 || slices.Contains([]string{"N", "CA", "C", "O"}, atom)
	})
	x := digestOf(t, s, Extra{}).Index()
	all := x.Residues()
	lack := x.Lacks(AllAtoms, all)
	want := "It cannot be told of 2 of these 76 residues: it needs all heavy atoms, side chains included, and LYS 6, " +
		"GLN 41 (chain A) have only N, CA, C, O."
	if lack.Refusal() != "" || lack.Remark() != want {
		t.Errorf("%q %q", lack.Refusal(), lack.Remark())
	}
	if _, ok := x.Sites[5].Accessible(); ok {
		t.Error("the exposure of a residue without a side chain is told")
	}
	if why := x.Lacks(AllAtoms, all[5:6]).Refusal(); !strings.HasPrefix(why, "This cannot be told: it needs all") {
		t.Errorf("%q", why)
	}
}
