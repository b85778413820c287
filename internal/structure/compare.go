package structure

import (
	"fmt"
	"math"
)

// Comparison compares one chain, or a whole structure, with its counterpart in a second structure.
type Comparison struct {
	Chain    string // identifier of the chain; empty: the whole structure
	Residues int    // of the first structure

	// RMSD is in Å after superposition, over CA atoms of proteins, C1' atoms of nucleic acids and all heavy atoms of
	// anything else. It is nil where the two cannot be compared; Reason says why.
	RMSD   *float64
	Reason string

	// MeanPLDDT and MaxPLDDT are the mean difference (second minus first) and the largest absolute difference of the
	// confidence of a residue. They are nil where not both structures have any, and for whole structures.
	MeanPLDDT, MaxPLDDT *float64
}

// Compare compares two structures chain by chain and, if there are several chains, as a whole, which comes last. Each
// comparison has a superposition of its own. Chains correspond by identifier and must have the same sequence.
func Compare(a, b *Structure) []Comparison {
	var out []Comparison
	var allA, allB []Vec
	total := Comparison{}
	for i := range a.Chains {
		c, atomsA, atomsB := compareChain(&a.Chains[i], b.Chain(a.Chains[i].ID))
		if c.Reason != "" {
			total.Reason = "the chains are not the same"
		}
		total.Residues += c.Residues
		allA, allB = append(allA, atomsA...), append(allB, atomsB...)
		out = append(out, c)
	}
	if len(b.Chains) != len(a.Chains) {
		total.Reason = fmt.Sprintf("the second structure has %d chains", len(b.Chains))
	}
	if len(a.Chains) == 1 && total.Reason == "" {
		return out
	}
	if total.Reason == "" {
		total.RMSD = rmsdOf(allA, allB)
	}
	return append(out, total)
}

// compareChain compares a chain with its counterpart, which may be nil. It returns the positions that it compared too.
func compareChain(a, b *Chain) (c Comparison, atomsA, atomsB []Vec) {
	c = Comparison{Chain: a.ID, Residues: len(a.Residues)}
	if b == nil {
		c.Reason = "the second structure has no such chain"
		return c, nil, nil
	}
	if b.Sequence() != a.Sequence() || len(b.Residues) != len(a.Residues) {
		c.Reason = fmt.Sprintf("the second structure has %d residues, or others", len(b.Residues))
		return c, nil, nil
	}
	atomsA, atomsB = comparedAtoms(a), comparedAtoms(b)
	if len(atomsA) != len(atomsB) {
		c.Reason = "the atoms are not the same"
		return c, nil, nil
	}
	c.RMSD = rmsdOf(atomsA, atomsB)
	c.MeanPLDDT, c.MaxPLDDT = comparePLDDT(a, b)
	return c, atomsA, atomsB
}

// comparedAtoms returns one position per residue of a polymer, or every heavy atom of anything else.
func comparedAtoms(c *Chain) []Vec {
	if c.Kind.Polymer() {
		return c.Centres()
	}
	var out []Vec
	for i := range c.Residues {
		for _, a := range c.Residues[i].Atoms {
			if a.Heavy() {
				out = append(out, a.Pos)
			}
		}
	}
	return out
}

// rmsdOf returns the RMSD in Å after superposition, or nil where there are no points.
func rmsdOf(a, b []Vec) *float64 {
	if len(a) == 0 {
		return nil
	}
	return new(RMSD(b, a))
}

// comparePLDDT returns the mean difference (b − a) and the largest absolute difference of pLDDT per residue, or nil
// where not both chains have confidence. The chains have the same length.
func comparePLDDT(a, b *Chain) (mean, largest *float64) {
	plddtA := (&Structure{Chains: []Chain{*a}}).Confidence(true).PLDDT
	plddtB := (&Structure{Chains: []Chain{*b}}).Confidence(true).PLDDT
	if plddtA == nil || plddtB == nil {
		return nil, nil
	}
	sum, most, n := 0.0, 0.0, 0
	for i := range plddtA[0] {
		if d := plddtB[0][i] - plddtA[0][i]; !math.IsNaN(d) {
			sum, most, n = sum+d, max(most, math.Abs(d)), n+1
		}
	}
	if n == 0 {
		return nil, nil
	}
	sum /= float64(n)
	return &sum, &most
}
