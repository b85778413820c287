package structure

import (
	"slices"
	"testing"
)

// Residues are not located where that takes too many comparisons, which a sequence of one kind of residue can need.
func TestLocateIsBounded(t *testing.T) {
	for n, want := range map[int]bool{500: true, 5000: false} {
		comps := append(slices.Repeat([]string{"ALA"}, 2*n), "GLY")
		residues := make([]Residue, n)
		for i := range residues {
			residues[i] = Residue{Comp: comps[len(comps)-n+i], Auth: i}
		}
		left := maxCompared
		if fits, only := locate(Protein, residues, comps, &left); fits != want || only != want {
			t.Errorf("%d residues: %v, %v", n, fits, only)
		}
	}
}
