package structure

import (
	"cmp"
	"io"
)

// Extent says how far a chain of a file reaches, in the numbers by which the authors of a selection name its residues.
type Extent struct {
	ID       string // label_asym_id of an mmCIF file, chain letter of a PDB file
	Kind     Kind
	Length   int // residues of the whole sequence, also of those without atoms; selections count from 1 to it
	Resolved int // residues with atoms
	Atoms    int // atoms other than hydrogen
}

// ReadExtents reads the chains with atoms of a structure file, PDB if pdb is set, else mmCIF, in the order of the file.
// The length of a polymer is that of _entity_poly_seq or SEQRES, or else the position of its last residue with atoms.
// If several things share a letter of a PDB file, it returns the polymer, or else the first. The error is that of
// [ReadCIF] and [ReadPDB].
func ReadExtents(r io.Reader, pdb bool, lim Limits) ([]Extent, error) {
	if pdb {
		s, file, err := readPDB(r, lim)
		if err != nil {
			return nil, err
		}
		return extents(s, func(c *Chain) (string, int) { return c.ID, len(file.sequences[c.ID]) }), nil
	}
	s, file, err := readCIF(r, lim)
	if err != nil {
		return nil, err
	}
	return extents(s, func(c *Chain) (string, int) {
		return cmp.Or(c.Label, c.ID), file.lengths[file.entityOf(c)]
	}), nil
}

// entityOf returns the file's entity id of a chain.
func (c *cifReader) entityOf(chain *Chain) string {
	label := cmp.Or(chain.Label, chain.ID)
	entity := c.entities.asym[label]
	if raw := c.build.byID[label]; entity == "" && raw != nil {
		entity = raw.entity
	}
	return entity
}

// extents returns the extents of the chains of s, each with the name and the length of the whole sequence that describe
// returns.
func extents(s *Structure, describe func(*Chain) (string, int)) []Extent {
	var out []Extent
	indices := map[string]int{}
	for i := range s.Chains {
		c := &s.Chains[i]
		id, length := describe(c)
		e := Extent{ID: id, Kind: c.Kind, Length: len(c.Residues), Resolved: len(c.Residues)}
		for j := range c.Residues {
			for k := range c.Residues[j].Atoms {
				if c.Residues[j].Atoms[k].Heavy() {
					e.Atoms++
				}
			}
		}
		if n := len(c.Residues); c.Kind.Polymer() && n > 0 {
			e.Length = max(length, c.Residues[n-1].Seq)
		}
		k, taken := indices[id]
		switch {
		case !taken:
			indices[id] = len(out)
			out = append(out, e)
		case e.Kind.Polymer() && !out[k].Kind.Polymer():
			out[k] = e
		}
	}
	return out
}
