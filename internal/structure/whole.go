package structure

import (
	"io"
	"slices"
)

// ReadWhole is [Read] with the residues of whole sequences (_entity_poly_seq, SEQRES) that have no atoms, as residues
// without atoms. Positions count in the whole sequence. The author numbers of these residues continue those of the
// residue before them, or precede that after them. A chain of a PDB file that does not fit its SEQRES is as Read has
// it.
func ReadWhole(r io.Reader, lim Limits) (*Structure, error) {
	in, pdb, err := recognise(r)
	if err != nil {
		return nil, err
	}
	if pdb {
		s, file, err := readPDB(in, lim)
		if err != nil {
			return nil, err
		}
		return file.build.complete(s, func(c *Chain) []string {
			comps := file.sequences[c.ID]
			if !locate(c.Residues, comps) {
				return nil
			}
			return comps
		})
	}
	s, file, err := readCIF(in, lim)
	if err != nil {
		return nil, err
	}
	return file.build.complete(s, func(c *Chain) []string { return file.monomers[file.entityOf(c)] })
}

// complete adds to the polymers the residues that only their whole sequences have: components by position, empty where
// none is known. Chains may share a sequence, so that the residues are counted again.
func (b *builder) complete(s *Structure, sequence func(*Chain) []string) (*Structure, error) {
	room := b.in.lim.Residues
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind.Polymer() && len(c.Residues) > 0 {
			c.Residues = completed(c.Residues, sequence(c))
		}
		if room -= len(c.Residues); room < 0 {
			return nil, b.in.limit("there are more than the %d residues allowed", b.in.lim.Residues)
		}
	}
	return s, nil
}

// completed returns residues with those that only comps has.
func completed(residues []Residue, comps []string) []Residue {
	present := map[int]bool{}
	for i := range residues {
		present[residues[i].Seq] = true
	}
	out := slices.Clone(residues)
	for i, comp := range comps {
		if comp != "" && !present[i+1] {
			out = append(out, Residue{Comp: comp, Seq: i + 1})
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

// locate gives the residues of a polymer their positions in its whole sequence, and reports whether they fit: by the
// numbers of the authors, if these count along the sequence, or else run by run of consecutive numbers, each at the
// first place that it fits.
func locate(residues []Residue, comps []string) bool {
	if len(comps) == 0 || len(residues) > len(comps) {
		return false
	}
	var at []int
	for start := range len(comps) {
		at = at[:0]
		for i := range residues {
			k := start + residues[i].Auth - residues[0].Auth
			if residues[i].Ins != "" || k < 0 || k >= len(comps) || comps[k] != residues[i].Comp ||
				i > 0 && k <= at[i-1] {
				break
			}
			at = append(at, k)
		}
		if len(at) == len(residues) {
			break
		}
	}
	if len(at) < len(residues) {
		at = locateRuns(residues, comps)
	}
	for i, k := range at {
		residues[i].Seq = k + 1
	}
	return at != nil
}

// locateRuns returns the places of residues in comps; nil if they do not fit.
func locateRuns(residues []Residue, comps []string) []int {
	var at []int
	for i := 0; i < len(residues); {
		n := 1
		for i+n < len(residues) && residues[i+n].Auth-residues[i+n-1].Auth <= 1 &&
			residues[i+n].Auth >= residues[i+n-1].Auth {
			n++
		}
		k := 0
		if len(at) > 0 {
			k = at[len(at)-1] + 1
		}
		fits := func() bool {
			for j := range n {
				if comps[k+j] != residues[i+j].Comp {
					return false
				}
			}
			return true
		}
		for k+n <= len(comps) && !fits() {
			k++
		}
		if k+n > len(comps) {
			return nil
		}
		for j := range n {
			at = append(at, k+j)
		}
		i += n
	}
	return at
}
