package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"pleat"
	"pleat/internal/structure"
)

const (
	maxPAEBytes = 256 << 20
	maxPAE      = 10_000 // residues or tokens to a side
)

// readPAE reads a matrix of predicted aligned errors: as the AlphaFold database writes it, one object in a list or alone, or
// an object with the rows under "pae".
func readPAE(path string) (structure.Matrix, error) {
	in, err := os.Open(path)
	if err != nil {
		return structure.Matrix{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxPAEBytes+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return structure.Matrix{}, err
	}
	if len(raw) > maxPAEBytes {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has more than %d MiB", maxPAEBytes>>20)
	}
	type rows struct {
		Error [][]float32 `json:"predicted_aligned_error"`
		PAE   [][]float32 `json:"pae"`
	}
	var list []rows
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(raw, &list)
	} else {
		list = make([]rows, 1)
		err = json.Unmarshal(raw, &list[0])
	}
	if err != nil {
		return structure.Matrix{}, pleat.Invalidf("the PAE file cannot be read: %s", pleat.Clip(err.Error()))
	}
	if len(list) == 0 {
		return structure.Matrix{}, errNoPAE
	}
	v := list[0].Error
	if v == nil {
		v = list[0].PAE
	}
	return square(v)
}

var errNoPAE = pleat.Invalidf("the PAE file holds no predicted_aligned_error")

func square(rows [][]float32) (structure.Matrix, error) {
	n := len(rows)
	if n == 0 {
		return structure.Matrix{}, errNoPAE
	}
	if n > maxPAE {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has %d rows; at most %d are taken", n, maxPAE)
	}
	m := structure.Matrix{N: n, V: make([]float32, 0, n*n)}
	for i, r := range rows {
		if len(r) != n {
			return structure.Matrix{}, pleat.Invalidf("row %d of the PAE file has %d values; it must have %d", i+1, len(r), n)
		}
		for j, v := range r {
			if !(v >= 0) {
				return structure.Matrix{}, pleat.Invalidf("the PAE of residues %d and %d is %v; it must be 0 Å or more", i+1, j+1, v)
			}
		}
		m.V = append(m.V, r...)
	}
	return m, nil
}

// proteinPAE takes the rows and columns of a structure's protein residues out of a matrix over all its tokens: a residue of a
// polymer is one, so is each heavy atom of a ligand or ion. A matrix that is over the protein residues alone stays as it is.
func proteinPAE(s *structure.Structure, m structure.Matrix) (structure.Matrix, error) {
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
				tokens += heavy(&c.Residues[j])
			}
		}
	}
	switch m.N {
	case len(protein):
		return m, nil
	case tokens:
		out := structure.Matrix{N: len(protein), V: make([]float32, 0, len(protein)*len(protein))}
		for _, i := range protein {
			for _, j := range protein {
				out.V = append(out.V, m.V[i*m.N+j])
			}
		}
		return out, nil
	}
	return m, pleat.Invalidf("the PAE has %d rows; the structure has %d protein residues%s: they do not belong together", m.N, len(protein), and(tokens, len(protein)))
}

func and(tokens, protein int) string {
	if tokens == protein {
		return ""
	}
	return fmt.Sprintf(" and %d tokens", tokens)
}

func heavy(r *structure.Residue) int {
	n := 0
	for i := range r.Atoms {
		if e := r.Atoms[i].Element; e != "H" && e != "D" {
			n++
		}
	}
	return n
}
