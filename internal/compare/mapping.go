package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"pleat/internal/structure"
)

const (
	// minSimilarity is how similar two chains must be to be counterparts, see similarity. The highest of 1,800 pairs of
	// random sequences of 20 to 800 residues was 0.34.
	minSimilarity = 0.35
	// shortChain is how many residues a chain has at least to which that applies. Shorter ones need
	// minShortSimilarity: of random peptides of 5 residues it was 0.64.
	shortChain         = 20
	minShortSimilarity = 0.7
	// nearSimilarity is by how much a chain may be less similar to another one than the best: of several similar
	// chains, such as paralogues, only the most similar ones are counterparts.
	nearSimilarity = 0.1
	// minAligned is how many residues two counterparts must have in common: fewer cannot be superposed.
	minAligned = 3
	// maxAnchors is how many superpositions of two single chains are tried, and maxRounds how often all exchanges of
	// two counterparts are.
	maxAnchors = 512
	maxRounds  = 5
)

// chain is a polymer.
type chain struct {
	*structure.Chain
	at       int    // index into Structure.Chains
	sequence string // one byte for each residue, see names
	centres  []structure.Vec
	has      []bool // whether a residue has a centre
}

// names gives each component that has no one-letter code a byte beyond the letters, the same in all structures of a
// comparison, so that such residues align with their like. Beyond 128 of them there is structure.Unknown, which aligns
// with none.
type names map[string]byte

// maxComponents is how many bytes there are beyond the letters.
const maxComponents = 0x80

// of returns the sequence of a chain in letters and names.
func (n names) of(c *structure.Chain) string {
	out := []byte(c.Sequence())
	for i := range out {
		if out[i] != structure.Unknown {
			continue
		}
		comp := c.Residues[i].Comp
		if _, ok := n[comp]; !ok && len(n) < maxComponents {
			n[comp] = byte(0x80 + len(n))
		}
		out[i] = cmp.Or(n[comp], structure.Unknown)
	}
	return string(out)
}

// sameComponent reports whether two residues of a polymer are the same: SEP and SER are not, although they share a
// letter.
func sameComponent(kind structure.Kind, a, b *structure.Residue) bool {
	return structure.CanonicalComponent(kind, a.Comp) == structure.CanonicalComponent(kind, b.Comp)
}

// polymersOf returns the polymers of a structure that have a residue with a centre.
func polymersOf(s *structure.Structure, known names) []chain {
	var out []chain
	for i := range s.Chains {
		c := &s.Chains[i]
		if !c.Kind.Polymer() {
			continue
		}
		n := len(c.Residues)
		p := chain{c, i, known.of(c), make([]structure.Vec, n), make([]bool, n)}
		for j := range c.Residues {
			p.centres[j], p.has[j] = c.Residues[j].Centre()
		}
		if slices.Contains(p.has, true) {
			out = append(out, p)
		}
	}
	return out
}

// match is two chains that correspond, by their indices in the lists of polymers.
type match struct {
	a, b int
	// pairs are the indices of the residues that are aligned and have centres in both chains; same counts those that
	// are the same component.
	pairs      [][2]int32
	same       int
	similarity float64
	// pointsA and pointsB are the centres of the pairs, marksA and marksB those of their first, middle and last third.
	pointsA, pointsB []structure.Vec
	marksA, marksB   [3]structure.Vec
}

// matchChains finds which chains of two structures correspond, and their residues. Chains correspond by sequence. For
// symmetric copies, the chosen assignment is the one that aligns most residues with the smallest RMSD: it is searched
// from the superposition of every two chains that may correspond, and improved by exchanges.
func matchChains(ctx context.Context, a, b []chain) ([]match, error) {
	m := mapper{a: a, b: b}
	if err := m.compareSequences(ctx); err != nil || len(m.all) == 0 {
		return nil, err
	}
	var best assignment
	seen := map[string]bool{}
	for _, anchor := range m.anchors() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found := m.around(anchor)
		if key := fmt.Sprint(found); !seen[key] {
			seen[key] = true
			best = better(best, m.measure(found))
		}
	}
	for range maxRounds {
		improved, err := m.exchange(ctx, best)
		if err != nil {
			return nil, err
		}
		if !improved.betterThan(best) {
			break
		}
		best = improved
	}
	var out []match
	for _, i := range best.matches {
		if i >= 0 {
			out = append(out, m.all[i])
		}
	}
	return out, nil
}

// mapper searches for the assignment of chains.
type mapper struct {
	a, b []chain
	all  []match   // of chains that may correspond
	at   [][]int32 // index into all by chains; -1: they do not correspond
}

// assignment is an assignment of chains: for each chain of a an index into mapper.all, or -1.
type assignment struct {
	matches []int32
	aligned int
	rmsd    float64 // Å
}

// betterThan reports whether an assignment aligns more residues, or as many with a smaller RMSD.
func (x assignment) betterThan(y assignment) bool {
	const rounding = 1e-9 // Å: assignments that are equally good keep their order
	return x.aligned > y.aligned || x.aligned == y.aligned && x.rmsd < y.rmsd-rounding
}

// better returns the better one, the first of equal ones.
func better(x, y assignment) assignment {
	if y.betterThan(x) {
		return y
	}
	return x
}

// compareSequences aligns all chains of the same kind and keeps those that may correspond.
func (m *mapper) compareSequences(ctx context.Context) error {
	aligned := map[[2]string][][2]int32{}
	bestA, bestB := make([]float64, len(m.a)), make([]float64, len(m.b))
	var found []match
	for i := range m.a {
		for j := range m.b {
			if m.a[i].Kind != m.b[j].Kind {
				continue
			}
			key := [2]string{m.a[i].sequence, m.b[j].sequence}
			pairs, known := aligned[key]
			if !known {
				var err error
				if pairs, err = Align(ctx, key[0], key[1]); err != nil {
					return err
				}
				aligned[key] = pairs
			}
			x := m.matchOf(i, j, pairs)
			if !x.similar(m) || len(x.pairs) < minAligned {
				continue
			}
			bestA[i], bestB[j] = max(bestA[i], x.similarity), max(bestB[j], x.similarity)
			found = append(found, x)
		}
	}
	m.at = make([][]int32, len(m.a))
	for i := range m.at {
		m.at[i] = slices.Repeat([]int32{-1}, len(m.b))
	}
	for _, x := range found {
		if x.similarity >= max(bestA[x.a], bestB[x.b])-nearSimilarity {
			m.at[x.a][x.b] = int32(len(m.all))
			m.all = append(m.all, x)
		}
	}
	return nil
}

// matchOf returns two chains, whose residues are aligned, as a match.
func (m *mapper) matchOf(i, j int, pairs [][2]int32) match {
	a, b := &m.a[i], &m.b[j]
	x := match{a: i, b: j, similarity: similarity(a.sequence, b.sequence, pairs)}
	for _, p := range pairs {
		if !a.has[p[0]] || !b.has[p[1]] {
			continue
		}
		if sameComponent(a.Kind, &a.Residues[p[0]], &b.Residues[p[1]]) {
			x.same++
		}
		x.pairs = append(x.pairs, p)
		x.pointsA = append(x.pointsA, a.centres[p[0]])
		x.pointsB = append(x.pointsB, b.centres[p[1]])
	}
	n := len(x.pairs)
	for k := range 3 {
		x.marksA[k] = structure.Centroid(x.pointsA[k*n/3 : (k+1)*n/3])
		x.marksB[k] = structure.Centroid(x.pointsB[k*n/3 : (k+1)*n/3])
	}
	return x
}

// similar reports whether the two chains are similar enough to be counterparts.
func (x *match) similar(m *mapper) bool {
	if min(len(m.a[x.a].sequence), len(m.b[x.b].sequence)) < shortChain {
		return x.similarity >= minShortSimilarity
	}
	return x.similarity >= minSimilarity
}

// similarity returns the score of an alignment relative to that of the shorter sequence with itself, at most 1. Gaps at
// the ends cost nothing, so that a part of a sequence is like the whole one.
func similarity(a, b string, pairs [][2]int32) float64 {
	score := 0
	for k, p := range pairs {
		if a[p[0]] == b[p[1]] && a[p[0]] != structure.Unknown {
			score += matchScore
		}
		if k == 0 {
			continue
		}
		for side := range 2 {
			if n := int(p[side] - pairs[k-1][side] - 1); n > 0 {
				score += gapOpen + (n-1)*gapExtend
			}
		}
	}
	return float64(score) / float64(matchScore*min(len(a), len(b)))
}

// anchors returns the matches from whose superposition the others are assigned, the longest first.
func (m *mapper) anchors() []int32 {
	out := make([]int32, len(m.all))
	for i := range out {
		out[i] = int32(i)
	}
	slices.SortStableFunc(out, func(x, y int32) int { return len(m.all[y].pairs) - len(m.all[x].pairs) })
	return out[:min(len(out), maxAnchors)]
}

// around assigns the chains that lie closest to each other once the chains of an anchor are superposed.
func (m *mapper) around(anchor int32) []int32 {
	out := slices.Repeat([]int32{-1}, len(m.a))
	taken := make([]bool, len(m.b))
	x := &m.all[anchor]
	out[x.a], taken[x.b] = anchor, true
	rot, trans, _ := structure.Superpose(x.pointsB, x.pointsA)
	type option struct {
		match    int32
		distance float64
	}
	options := make([]option, 0, len(m.all))
	for i := range m.all {
		y := &m.all[i]
		sum := 0.0
		for k := range 3 {
			sum += structure.Distance(structure.Apply(rot, trans, y.marksB[k]), y.marksA[k])
		}
		options = append(options, option{int32(i), sum})
	}
	slices.SortStableFunc(options, func(x, y option) int { return cmp.Compare(x.distance, y.distance) })
	for _, o := range options {
		if y := &m.all[o.match]; out[y.a] < 0 && !taken[y.b] {
			out[y.a], taken[y.b] = o.match, true
		}
	}
	return out
}

// measure superposes all chains of an assignment.
func (m *mapper) measure(matches []int32) assignment {
	var a, b []structure.Vec
	for _, i := range matches {
		if i >= 0 {
			a, b = append(a, m.all[i].pointsA...), append(b, m.all[i].pointsB...)
		}
	}
	x := assignment{matches: matches, aligned: len(a), rmsd: structure.RMSD(b, a)}
	if math.IsNaN(x.rmsd) {
		x.rmsd = math.Inf(1)
	}
	return x
}

// exchange returns the best assignment that one exchange makes of another: two chains exchange their counterparts, or
// one gets another counterpart that is free.
func (m *mapper) exchange(ctx context.Context, from assignment) (assignment, error) {
	best := from
	try := func(changed []int32) {
		best = better(best, m.measure(changed))
	}
	taken := make([]bool, len(m.b))
	for _, i := range from.matches {
		if i >= 0 {
			taken[m.all[i].b] = true
		}
	}
	for i, x := range from.matches {
		if err := ctx.Err(); err != nil {
			return best, err
		}
		for j := range m.b {
			if !taken[j] && m.at[i][j] >= 0 {
				changed := slices.Clone(from.matches)
				changed[i] = m.at[i][j]
				try(changed)
			}
		}
		for k := i + 1; k < len(from.matches) && x >= 0; k++ {
			y := from.matches[k]
			if y < 0 || ctx.Err() != nil {
				continue
			}
			u, v := m.at[i][m.all[y].b], m.at[k][m.all[x].b]
			if u >= 0 && v >= 0 {
				changed := slices.Clone(from.matches)
				changed[i], changed[k] = u, v
				try(changed)
			}
		}
	}
	return best, ctx.Err()
}
