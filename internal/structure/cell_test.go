package structure

import (
	"fmt"
	"strings"
	"testing"
)

// The edges are those that gemmi computes. Files without a cell, or with none that is one, have none.
func TestCell(t *testing.T) {
	const atom = "ATOM      1  CA  ALA A   1       1.000   2.000   3.000  1.00 10.00           C\n"
	const items = "data_a\n_cell.length_a 50\n_cell.length_b 60\n_cell.length_c 70\n_cell.angle_alpha 80\n" +
		"_cell.angle_beta 95\n_cell.angle_gamma 110\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n" +
		"_atom_site.label_asym_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\nCA ALA A 1 2 3\n"
	const skewed = "[[50.000 0.000 0.000] [-20.521 56.382 0.000] [-6.101 10.715 68.906]]"
	const none = "[[0.000 0.000 0.000] [0.000 0.000 0.000] [0.000 0.000 0.000]]"
	for text, want := range map[string]string{
		"CRYST1   80.017   80.017   80.017  60.00  60.00  90.00 P 1           1\n" + atom: "[[80.017 0.000 0.000] " +
			"[0.000 80.017 0.000] [40.009 40.009 56.581]]",
		"CRYST1   50.000   60.000   70.000  80.00  95.00 110.00 P 1           1\n" + atom: skewed,
		items: skewed,
		"CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n" + atom: none,
		"CRYST1   50.000   60.000   70.000   0.00   0.00   0.00 P 1           1\n" + atom: none,
		"CRYST1   50.000   60.000\n" + atom:                                               none,
	} {
		s, err := Read(strings.NewReader(text), Limits{})
		if err != nil {
			t.Errorf("%v of\n%s", err, text)
			continue
		}
		if got := fmt.Sprintf("%.3f", s.Cell); got != want {
			t.Errorf("got %s, want %s of\n%s", got, want, text)
		}
	}
}

// Programs that move single atoms into the box divide residues too.
func TestCellDividesResidues(t *testing.T) {
	box := Cell{{50, 0, 0}, {0, 50, 0}, {0, 0, 50}}
	for _, test := range []struct {
		c    float64
		want bool
	}{{1.5, false}, {-48.5, true}, {51.5, true}, {25, false}} {
		r := &Residue{Comp: "ALA", Atoms: []Atom{{Name: "N", Pos: Vec{-1.4, 0, 0}}, {Name: "CA"},
			{Name: "C", Pos: Vec{test.c, 0, 0}}}}
		if got := box.Divides(Protein, r); got != test.want || (Cell{}).Divides(Protein, r) {
			t.Errorf("C at %g: %v", test.c, got)
		}
	}
}

// A periodic box divides a chain where its ends meet again once one of them is moved by an edge.
func TestLinksAcrossCell(t *testing.T) {
	box := newCell([6]float64{80, 80, 80, 60, 60, 90})
	residue := func(name string, pos Vec) *Residue {
		return &Residue{Comp: "ALA", Atoms: []Atom{{Name: name, Element: name[:1], Pos: pos}}}
	}
	for _, test := range []struct {
		name, first, second string
		to                  Vec
		cell                Cell
		want                bool
	}{
		{"one edge", "C", "N", Vec{81.3, 0, 0}, box, true},
		{"one edge back", "C", "N", Vec{-78.7, 0, 0}, box, true},
		{"two edges", "C", "N", Vec{box[1][0] - box[2][0], box[1][1] - box[2][1], 1.3 - box[2][2]}, box, true},
		{"no edge", "C", "N", Vec{1.3, 0, 0}, box, false},
		{"beside the edge", "C", "N", Vec{75, 0, 0}, box, false},
		{"twice an edge", "C", "N", Vec{161.3, 0, 0}, box, false},
		{"CA alone", "CA", "CA", Vec{83.8, 0, 0}, box, true},
		{"old names", "O3*", "P", Vec{81.6, 0, 0}, box, true},
		{"no cell", "C", "N", Vec{81.3, 0, 0}, Cell{}, false},
	} {
		kind := Protein
		if test.second == "P" {
			kind = RNA
		}
		got := test.cell.Links(kind, residue(test.first, Vec{}), residue(test.second, test.to))
		if got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
