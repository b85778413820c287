package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"pleat"
	"pleat/internal/structure"
)

// MaxPAE is the largest number of rows of a PAE matrix that is read: residues or tokens.
const MaxPAE = 10_000

// maxPAEBytes is the largest PAE file that is read, in bytes: MaxPAE rows in the form of the AlphaFold database fit.
const maxPAEBytes = 256 << 20

// errNoPAE is the error of a JSON document without a matrix in a known form.
var errNoPAE = pleat.Invalidf("the PAE file holds no predicted_aligned_error")

// ReadPAE reads a PAE matrix in one of the known forms: the AlphaFold database's, which is one object alone or in a
// list, or an object with the rows under "pae". A file in no such form is a pleat.Error with the code of invalid
// input. It stops reading when ctx ends.
func ReadPAE(ctx context.Context, path string) (structure.Matrix, error) {
	in, err := os.Open(path)
	if err != nil {
		return structure.Matrix{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	raw, err := io.ReadAll(io.LimitReader(in, maxPAEBytes+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return structure.Matrix{}, err
	}
	if len(raw) > maxPAEBytes {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has more than %d MiB", maxPAEBytes>>20)
	}
	type document struct {
		AlphaFold [][]float32 `json:"predicted_aligned_error"`
		PAE       [][]float32 `json:"pae"`
	}
	var list []document
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(raw, &list)
	} else {
		list = make([]document, 1)
		err = json.Unmarshal(raw, &list[0])
	}
	if err != nil {
		return structure.Matrix{}, pleat.Invalidf("the PAE file cannot be read: %s", pleat.Clip(err.Error()))
	}
	if len(list) == 0 {
		return structure.Matrix{}, errNoPAE
	}
	rows := list[0].AlphaFold
	if rows == nil {
		rows = list[0].PAE
	}
	return PAEMatrix(rows)
}

// PAEMatrix makes a matrix of rows in Å. An error has CodeInvalid: there are no rows, more than MaxPAE, rows of another
// length, or a value below 0 or not a number.
func PAEMatrix(rows [][]float32) (structure.Matrix, error) {
	n := len(rows)
	if n == 0 {
		return structure.Matrix{}, errNoPAE
	}
	if n > MaxPAE {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has %d rows; at most %d are allowed", n, MaxPAE)
	}
	m := structure.Matrix{N: n, V: make([]float32, 0, n*n)}
	for i, r := range rows {
		if len(r) != n {
			return structure.Matrix{},
				pleat.Invalidf("row %d of the PAE file has %d values; it must have %d", i+1, len(r), n)
		}
		for j, v := range r {
			if !(v >= 0) {
				return structure.Matrix{},
					pleat.Invalidf("the PAE of residues %d and %d is %v; it must be 0 Å or more", i+1, j+1, v)
			}
		}
		m.V = append(m.V, r...)
	}
	return m, nil
}

// ProteinPAE returns the rows and columns of a structure's protein residues. The matrix has a row for each token of the
// structure, or for each protein residue already. A residue of a polymer is one token; so is each heavy atom of a
// ligand or ion. A matrix of another size is an error with CodeInvalid: it belongs to another structure.
func ProteinPAE(s *structure.Structure, m structure.Matrix) (structure.Matrix, error) {
	var protein []int
	tokens := 0
	for i := range s.Chains {
		c := &s.Chains[i]
		for j := range c.Residues {
			switch {
			case c.Kind == structure.Protein:
				protein = append(protein, tokens)
				tokens++
			case c.Kind.Polymer():
				tokens++
			case c.Kind != structure.Water:
				tokens += HeavyAtoms(&c.Residues[j])
			}
		}
	}
	switch m.N {
	case len(protein):
		return m, nil
	case tokens:
		return m.Select(protein), nil
	}
	andTokens := ""
	if tokens != len(protein) {
		andTokens = fmt.Sprintf(" and %d tokens", tokens)
	}
	return m, pleat.Invalidf(
		"the PAE has %d rows; the structure has %d protein residues%s: they do not belong together",
		m.N, len(protein), andTokens)
}

// writePAE writes a matrix in the form of the AlphaFold database: one object in a list, with the errors in Å by aligned
// residue, then scored residue, with two decimals. most is the largest error in Å that the engine can state.
func writePAE(w io.Writer, pae *structure.Matrix, most float64) error {
	b := []byte(`[{"predicted_aligned_error":[`)
	for i := range pae.N {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j := range pae.N {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, math.Round(float64(pae.V[i*pae.N+j])*100)/100, 'f', -1, 64)
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
