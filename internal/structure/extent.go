package structure

import (
	"cmp"
	"io"
	"slices"
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
// Of what shares a letter of a PDB file it returns the polymer, or else what comes first. The error is that of ReadCIF
// and ReadPDB.
func ReadExtents(r io.Reader, pdb bool, lim Limits) ([]Extent, error) {
	if pdb {
		s, lengths, err := readPDB(r, lim)
		if err != nil {
			return nil, err
		}
		return extents(s, func(c *Chain) (string, int) { return c.ID, lengths[c.ID] }), nil
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
	entity := c.about.asym[label]
	if raw := c.build.byID[label]; entity == "" && raw != nil {
		entity = raw.entity
	}
	return entity
}

// ReadWholeCIF is ReadCIF with the residues of _entity_poly_seq that have no atoms, as residues without atoms. Their
// author numbers continue those of the residue before them, or precede that after them.
func ReadWholeCIF(r io.Reader, lim Limits) (*Structure, error) {
	s, file, err := readCIF(r, lim)
	if err != nil {
		return nil, err
	}
	room := lim.defaults().Residues
	for i := range s.Chains {
		c := &s.Chains[i]
		if comps := file.monomers[file.entityOf(c)]; c.Kind.Polymer() && len(comps) > 0 && len(c.Residues) > 0 {
			c.Residues = complete(c.Residues, comps)
		}
		if room -= len(c.Residues); room < 0 { // chains share their sequences
			return nil, file.build.in.limit("there are more than the %d residues allowed", lim.defaults().Residues)
		}
	}
	return s, nil
}

// complete returns residues with those that only comps, by position, has.
func complete(residues []Residue, comps map[int]string) []Residue {
	there := map[int]bool{}
	for i := range residues {
		there[residues[i].Seq] = true
	}
	out := slices.Clone(residues)
	for seq, comp := range comps {
		if !there[seq] {
			out = append(out, Residue{Comp: comp, Seq: seq})
		}
	}
	slices.SortStableFunc(out, func(a, b Residue) int { return a.Seq - b.Seq })
	offset := residues[0].Auth - residues[0].Seq
	for i := range out {
		if len(out[i].Atoms) > 0 {
			offset = out[i].Auth - out[i].Seq
		} else {
			out[i].Auth = out[i].Seq + offset
		}
	}
	return out
}

// extents returns the extents of the chains of s, each with the name and the length of the whole sequence that about
// returns.
func extents(s *Structure, about func(*Chain) (string, int)) []Extent {
	var out []Extent
	at := map[string]int{}
	for i := range s.Chains {
		c := &s.Chains[i]
		id, length := about(c)
		e := Extent{ID: id, Kind: c.Kind, Length: len(c.Residues), Resolved: len(c.Residues)}
		for j := range c.Residues {
			for k := range c.Residues[j].Atoms {
				if el := c.Residues[j].Atoms[k].Element; el != "H" && el != "D" {
					e.Atoms++
				}
			}
		}
		if n := len(c.Residues); c.Kind.Polymer() && n > 0 {
			e.Length = max(length, c.Residues[n-1].Seq)
		}
		k, taken := at[id]
		switch {
		case !taken:
			at[id] = len(out)
			out = append(out, e)
		case e.Kind.Polymer() && !out[k].Kind.Polymer():
			out[k] = e
		}
	}
	return out
}
