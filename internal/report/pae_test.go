package report

import (
	"strconv"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/pae"
	"pleat/internal/structure"
)

// A PAE that names its rows is taken by these names, whatever the order of the chains and the numbers of the authors;
// another one must have as many rows as the structure has residues or tokens.
func TestProteinPAE(t *testing.T) {
	residue := func(seq, auth int) structure.Residue {
		return structure.Residue{Comp: "GLY", Seq: seq, Auth: auth, Atoms: []structure.Atom{{Name: "CA", Element: "C"}}}
	}
	ligand := structure.Residue{Comp: "LIG", Auth: 1, Atoms: []structure.Atom{{Element: "C"}, {Element: "H"}}}
	s := &structure.Structure{Chains: []structure.Chain{
		{ID: "B", Kind: structure.Protein, Residues: []structure.Residue{residue(1, 101), residue(2, 102)}},
		{ID: "A", Kind: structure.Protein, Residues: []structure.Residue{residue(1, 1)}},
		{ID: "C", Kind: structure.Ligand, Residues: []structure.Residue{ligand}},
	}}
	matrix := func(n int) structure.Matrix {
		m := structure.Matrix{N: n, V: make([]float32, n*n)}
		for i := range n {
			m.V[i*n+i] = float32(i)
		}
		return m
	}
	tokens := func(list string) (out []pae.Token) {
		for _, word := range strings.Fields(list) {
			n, _ := strconv.Atoi(word[1:])
			out = append(out, pae.Token{Chain: word[:1], Residue: n})
		}
		return out
	}
	const other = "; the structure has 3 protein residues and 4 tokens: they do not belong together"
	for _, c := range []struct {
		n      int
		tokens []pae.Token
		want   []float64 // the diagonal
		fault  string
	}{
		{n: 3, want: []float64{0, 1, 2}},
		{n: 4, want: []float64{0, 1, 2}},
		{n: 5, fault: "the PAE has 5 rows" + other},
		{n: 4, tokens: tokens("A1 B1 B2 C1"), want: []float64{1, 2, 0}},
		{n: 3, tokens: tokens("A1 B102 B101"), want: []float64{2, 1, 0}},
		{n: 3, tokens: tokens("A1 B101 B101"), fault: "the PAE has 2 rows for GLY 101 of chain B; " +
			"it must have one for each protein residue of the structure, with its chain in token_chain_ids and its " +
			"number in token_res_ids"},
		{n: 3, tokens: tokens("A1 A2 A3"), fault: "the PAE has 0 rows for GLY 101 of chain B; " +
			"it must have one for each protein residue of the structure, with its chain in token_chain_ids and its " +
			"number in token_res_ids"},
	} {
		got, err := ProteinPAE(s, pae.Errors{Matrix: matrix(c.n), Tokens: c.tokens})
		if c.fault != "" {
			if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() != c.fault {
				t.Errorf("%v: %v", c.tokens, err)
			}
			continue
		}
		if err != nil || got.N != len(c.want) {
			t.Errorf("%d rows %v: %d rows, %v", c.n, c.tokens, got.N, err)
			continue
		}
		for i, want := range c.want {
			if got.At(i, i) != want {
				t.Errorf("%d rows %v: row %d is %v; want %v", c.n, c.tokens, i, got.At(i, i), want)
			}
		}
	}
}
