package facts

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pleat/internal/structure"
)

// Broken links, jumps of the numbers and links that cannot be told are different things.
func TestLinks(t *testing.T) {
	gap := func(s *structure.Structure, from int) *structure.Structure { // 20 Å wider before a residue
		for i := from; i < len(s.Chains[0].Residues); i++ {
			s.Chains[0].Residues[i].Atoms[0].Pos[0] += 20
		}
		return s
	}
	chain := func() *structure.Structure { return chainOf(structure.Protein, "ALA", "GLY", "SER", "VAL") }
	numbered := func(s *structure.Structure, numbers ...int) *structure.Structure {
		for i, n := range numbers {
			s.Chains[0].Residues[i].Auth = n
		}
		return s
	}
	inserted := chain()
	inserted.Chains[0].Residues[2].Auth, inserted.Chains[0].Residues[2].Ins = 2, "A"
	inserted.Chains[0].Residues[3].Auth = 3
	untold := chain()
	untold.Chains[0].Residues[2].Atoms[0].Name = "CB"
	whole := gap(chain(), 2)
	r := whole.Chains[0].Residues
	whole.Chains[0].Whole = true
	whole.Chains[0].Residues = append(append([]structure.Residue{{Comp: "MET"}}, r[:2]...),
		append([]structure.Residue{{Comp: "TRP"}, {Comp: "TRP"}}, r[2:]...)...)
	for _, c := range []struct {
		name string
		s    *structure.Structure
		want string
	}{
		{"complete", chain(), ""},
		{"broken", gap(chain(), 2), "Between GLY 2 (chain A) and SER 3 (chain A) the chain is broken (23.80 Å " +
			"apart), and nothing tells how many residues are missing"},
		{"by the numbers", numbered(gap(chain(), 2), 1, 2, 5, 6), "Between GLY 2 (chain A) and SER 5 (chain A) 2 " +
			"residues are missing by the numbers (3 to 4)"},
		{"by the sequence", whole, "Between GLY 2 (chain A) and SER 3 (chain A) 2 residues are missing by the whole " +
			"sequence of the file 1 before, 0 after"},
		{"jump", numbered(chain(), 98, 101, 102, 103), "jump 98 101"},
		{"backwards", numbered(chain(), 8, 9, 3, 4), "jump 9 3"},
		{"insertion code", inserted, ""},
		{"not known", untold, "untold 2 3 untold 3 4"},
	} {
		l := digestOf(t, c.s, Extra{}).Chains[0].Links
		got := ""
		for _, g := range l.Gaps {
			got += " " + g.String()
		}
		for _, j := range l.Jumps {
			got += fmt.Sprintf(" jump %d %d", j.After.Number, j.Before.Number)
		}
		for _, j := range l.Untold {
			got += fmt.Sprintf(" untold %d %d", j.After.Number, j.Before.Number)
		}
		if l.Before != nil {
			got += fmt.Sprintf(" %d before, %d after", *l.Before, *l.After)
		}
		if c.want != "" {
			c.want = " " + c.want
		}
		if got != c.want || l.Circular {
			t.Errorf("%s:%s; want%s", c.name, got, c.want)
		}
	}
}

// A circular chain has neither the water nor the charges of ends.
func TestCircularChain(t *testing.T) {
	s := chainOf(structure.Protein, "ALA", "GLY", "SER", "VAL")
	r := s.Chains[0].Residues
	r[0].Atoms = append(r[0].Atoms, structure.Atom{Name: "N", Element: "N"})
	r[3].Atoms = append(r[3].Atoms, structure.Atom{Name: "C", Element: "C", Pos: structure.Vec{0, 1.33}})
	c := digestOf(t, s, Extra{}).Chains[0]
	if !c.Circular || *c.Charge != 0 || c.Isoelectric != nil || c.FreeEnds {
		t.Errorf("circular %v, charge %v, isoelectric point %v", c.Circular, *c.Charge, c.Isoelectric)
	}
	if open := digestOf(t, chainOf(structure.Protein, "ALA", "GLY", "SER", "VAL"), Extra{}).Chains[0]; open.Circular ||
		math.Abs(*open.Mass-*c.Mass-18.015) > 0.11 { // rounded to 0.1
		t.Errorf("circular %v, %.1f and %.1f Da", open.Circular, *open.Mass, *c.Mass)
	}
}

// A chain that the periodic box of the file divides is said to be so, and its size not to be that of the molecule.
func TestChainAcrossBox(t *testing.T) {
	s := chainOf(structure.Protein, "ALA", "GLY", "SER", "VAL")
	for i := 2; i < 4; i++ {
		s.Chains[0].Residues[i].Atoms[0].Pos[0] -= 50
	}
	if f := digestOf(t, s, Extra{}); f.Divided() != "" || f.Chains[0].Gaps[0].AcrossBox {
		t.Errorf("a chain with a gap and without a box: %s", f.Divided())
	}
	s.Cell = structure.Cell{{50, 0, 0}, {0, 50, 0}, {0, 0, 50}}
	f := digestOf(t, s, Extra{})
	if !f.Chains[0].Gaps[0].AcrossBox || !slices.Contains(f.Notes, f.Divided()) {
		t.Errorf("a chain across a box: %v, %q", f.Chains[0].Gaps, f.Notes)
	}
}
