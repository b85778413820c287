package structure

import (
	"io"
	"slices"
)

// ReadWhole is [Read] with the residues of whole sequences (_entity_poly_seq, SEQRES) that have no atoms, as residues
// without atoms. Positions count in the whole sequence. The author numbers of these residues continue those of the
// residue before them, or precede that after them. A chain of a PDB file that does not fit its SEQRES is as Read has
// it. Chain.Whole is set where the residues can have no other places in the sequence.
func ReadWhole(r io.Reader, lim Limits) (*Structure, error) {
	in, pdb, err := Recognise(r)
	if err != nil {
		return nil, err
	}
	if pdb {
		s, file, err := readPDB(in, lim)
		if err != nil {
			return nil, err
		}
		left := maxCompared
		return file.build.complete(s, func(c *Chain) ([]string, bool) {
			comps := file.sequences[c.ID]
			fits, only := locate(c.Kind, c.Residues, comps, &left)
			if !fits {
				return nil, false
			}
			return comps, only
		})
	}
	s, file, err := readCIF(in, lim)
	if err != nil {
		return nil, err
	}
	return file.build.complete(s, func(c *Chain) ([]string, bool) {
		comps := file.monomers[file.entityOf(c)]
		return comps, agree(c.Residues, comps)
	})
}

// agree reports whether residues have the components that a whole sequence has at their positions.
func agree(residues []Residue, comps []string) bool {
	return !slices.ContainsFunc(residues, func(r Residue) bool {
		return r.Seq < 1 || r.Seq > len(comps) || comps[r.Seq-1] != r.Comp
	})
}

// complete adds to the polymers the residues that only their whole sequences have: components by position, empty where
// none is known, and whether the residues are surely at their positions. Chains may share a sequence, so that the
// residues are counted again.
func (b *builder) complete(s *Structure, sequence func(*Chain) ([]string, bool)) (*Structure, error) {
	room := b.in.lim.Residues
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind.Polymer() && len(c.Residues) > 0 {
			comps, sure := sequence(c)
			c.Residues, c.Whole = completed(c.Residues, comps), sure
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

// maxCompared is how many pairs of components of one file are compared to locate residues in whole sequences. Files of
// molecules need about two for each residue; a sequence of one kind of residue needs its square.
const maxCompared = 20_000_000

// locate gives the residues of a polymer their positions in its whole sequence, and reports whether they fit: by the
// numbers of the authors, if these count along the sequence, or else run by run of linked residues with consecutive
// numbers, each at the first place that it fits. only reports that they fit nowhere else in that way. It takes the
// pairs that it compares off left; nothing fits once nothing is left.
func locate(kind Kind, residues []Residue, comps []string, left *int) (fits, only bool) {
	if len(comps) == 0 || len(residues) > len(comps) {
		return false, false
	}
	at, only := locateNumbers(residues, comps, left)
	if at == nil {
		at, only = locateRuns(runsOf(kind, residues), comps, left)
	}
	if *left < 0 {
		return false, false
	}
	for i, k := range at {
		residues[i].Seq = k + 1
	}
	return at != nil, only
}

// locateNumbers returns the first places in comps of residues whose numbers count along it, nil if they do not fit, and
// whether there are no others.
func locateNumbers(residues []Residue, comps []string, left *int) (at []int, only bool) {
	var found []int
	for start := range len(comps) {
		found = found[:0]
		for i := range residues {
			k := start + residues[i].Auth - residues[0].Auth
			if residues[i].Ins != "" || k < 0 || k >= len(comps) || comps[k] != residues[i].Comp ||
				i > 0 && k <= found[i-1] {
				break
			}
			found = append(found, k)
		}
		*left -= len(found) + 1
		switch {
		case *left < 0:
			return nil, false
		case len(found) < len(residues):
		case at != nil:
			return at, false
		default:
			at = slices.Clone(found)
		}
	}
	return at, true
}

// runsOf returns the components of residues in runs of consecutive numbers in which no link is broken.
func runsOf(kind Kind, residues []Residue) (runs [][]string) {
	for i := range residues {
		follows := i > 0 && residues[i].Auth-residues[i-1].Auth <= 1 && residues[i].Auth >= residues[i-1].Auth
		if follows {
			state, _ := Link(kind, &residues[i-1], &residues[i])
			follows = state != LinkBroken
		}
		if !follows {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], residues[i].Comp)
	}
	return runs
}

// locateRuns returns the first places of the residues of runs in comps, nil if they do not fit, and whether the last
// places are the same.
func locateRuns(runs [][]string, comps []string, left *int) (at []int, only bool) {
	if at = placeRuns(runs, comps, left); at == nil {
		return nil, false
	}
	slices.Reverse(runs)
	for i := range runs {
		slices.Reverse(runs[i])
	}
	backwards := slices.Clone(comps)
	slices.Reverse(backwards)
	last := placeRuns(runs, backwards, left)
	slices.Reverse(last)
	for i := range last {
		last[i] = len(comps) - 1 - last[i]
	}
	return at, slices.Equal(at, last)
}

// placeRuns returns where each residue of runs lies in comps, each run at the first place that it fits after the one
// before; nil if one does not.
func placeRuns(runs [][]string, comps []string, left *int) []int {
	var at []int
	k := 0
	for _, run := range runs {
		for k+len(run) <= len(comps) && !startsWith(comps[k:], run, left) {
			k++
		}
		if k+len(run) > len(comps) || *left < 0 {
			return nil
		}
		for range run {
			at = append(at, k)
			k++
		}
	}
	return at
}

// startsWith reports whether a sequence begins with a run; false also once nothing is left to compare.
func startsWith(comps, run []string, left *int) bool {
	for i := range run {
		if *left--; *left < 0 || comps[i] != run[i] {
			return false
		}
	}
	return true
}
