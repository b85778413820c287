package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"pleat"
	"pleat/internal/pae"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// ReadPAE reads a PAE file, see [pae.Read]. It stops reading when ctx ends.
func ReadPAE(ctx context.Context, path string) (pae.Errors, error) {
	in, err := os.Open(path)
	if err != nil {
		return pae.Errors{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	out, err := pae.Read(in)
	return out, errors.Join(err, in.Close())
}

// ProteinPAE returns the rows and columns of a structure's protein residues: those with their names, where the file
// names its rows. Otherwise the matrix has a row for each token of the structure, or for each protein residue already.
// A residue of a polymer is one token; so is each heavy atom of a ligand or ion. A matrix of another size, or without a
// residue, is an error with CodeInvalid: it belongs to another structure.
func ProteinPAE(s *structure.Structure, m pae.Errors) (structure.Matrix, error) {
	return residuePAE(s, m, "protein", func(k structure.Kind) bool { return k == structure.Protein })
}

// PolymerPAE is [ProteinPAE] for the residues of all polymers: proteins, RNA and DNA.
func PolymerPAE(s *structure.Structure, m pae.Errors) (structure.Matrix, error) {
	return residuePAE(s, m, "polymer", structure.Kind.Polymer)
}

// residuePAE is ProteinPAE for the residues of the kinds for which wanted returns true; noun says of what they are.
func residuePAE(
	s *structure.Structure, m pae.Errors, noun string, wanted func(structure.Kind) bool,
) (structure.Matrix, error) {
	if m.Tokens != nil {
		return namedPAE(s, m, noun, wanted)
	}
	var residues []int
	tokens := 0
	for i := range s.Chains {
		c := &s.Chains[i]
		for j := range c.Residues {
			if wanted(c.Kind) && len(c.Residues[j].Atoms) > 0 {
				residues = append(residues, tokens)
			}
			switch {
			case len(c.Residues[j].Atoms) == 0: // not in the model: structure.ReadWhole tells of it
			case c.Kind.Polymer():
				tokens++
			case c.Kind != structure.Water:
				tokens += HeavyAtoms(&c.Residues[j])
			}
		}
	}
	switch m.N {
	case len(residues):
		return m.Matrix, nil
	case tokens:
		return m.Select(residues), nil
	}
	andTokens := ""
	if tokens != len(residues) {
		andTokens = fmt.Sprintf(" and %d tokens", tokens)
	}
	return m.Matrix, pleat.Invalidf(
		"the PAE has %s; the structure has %s%s: they do not belong together",
		words.Quantity(m.N, "row", "rows"),
		words.Quantity(len(residues), noun+" residue", noun+" residues"), andTokens)
}

// namedPAE is residuePAE for a PAE that names its rows, by chain and by position or author number of the residue.
func namedPAE(
	s *structure.Structure, m pae.Errors, noun string, wanted func(structure.Kind) bool,
) (structure.Matrix, error) {
	rows := map[pae.Token][]int{}
	for i, t := range m.Tokens {
		rows[t] = append(rows[t], i)
	}
	author := func(c *structure.Chain, r *structure.Residue) pae.Token {
		return pae.Token{Chain: c.ID, Residue: r.Auth}
	}
	label := func(c *structure.Chain, r *structure.Residue) pae.Token {
		return pae.Token{Chain: cmp.Or(c.Label, c.ID), Residue: r.Seq}
	}
	found, missing := rowsOf(s, wanted, rows, author)
	if missing != "" {
		found, _ = rowsOf(s, wanted, rows, label)
	}
	if len(found) == 0 && missing != "" {
		return m.Matrix, pleat.Invalidf("the PAE has %s; it must have one for each %s residue of the structure, with "+
			"its chain in token_chain_ids and its number in token_res_ids", missing, noun)
	}
	return m.Select(found), nil
}

// rowsOf returns the row of each wanted residue, by its token; nil: missing says which one has none or several.
func rowsOf(
	s *structure.Structure,
	wanted func(structure.Kind) bool,
	rows map[pae.Token][]int,
	token func(*structure.Chain, *structure.Residue) pae.Token,
) (out []int, missing string) {
	for i := range s.Chains {
		c := &s.Chains[i]
		if !wanted(c.Kind) {
			continue
		}
		for j := range c.Residues {
			r := &c.Residues[j]
			at := rows[token(c, r)]
			switch {
			case len(r.Atoms) == 0:
				continue
			case len(at) != 1:
				return nil, fmt.Sprintf("%d rows for %s %d of chain %s", len(at), pleat.Clip(r.Comp), r.Auth,
					pleat.Clip(c.ID))
			}
			out = append(out, at[0])
		}
	}
	return out, ""
}

// writePAE writes a matrix in the form of the AlphaFold database: one object in a list, with the errors in Å by aligned
// residue, then scored residue, with two decimals. most is the largest error in Å that the engine can state.
func writePAE(w io.Writer, m *structure.Matrix, most float64) error {
	b := []byte(`[{"predicted_aligned_error":[`)
	for i := range m.N {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j := range m.N {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, math.Round(float64(m.V[i*m.N+j])*100)/100, 'f', -1, 64)
		}
		b = append(b, ']')
		if len(b) > 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	b = append(b, `],"max_predicted_aligned_error":`...)
	b = strconv.AppendFloat(b, most, 'f', -1, 64)
	b = append(b, "}]\n"...)
	_, err := w.Write(b)
	return err
}
