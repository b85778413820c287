package compare

import (
	"context"
	"slices"

	"pleat/internal/structure"
)

// The scores of an alignment, in halves: those with which DockQ aligns chains. A gap of n residues costs
// gapOpen + (n−1)·gapExtend.
const (
	matchScore = 10
	gapOpen    = -8
	gapExtend  = -1
	impossible = -1 << 30
)

// The states of an alignment: two residues, a residue of the first sequence alone, one of the second alone.
const (
	both = iota
	first
	second
)

// Align returns the pairs of positions that a global alignment of two sequences puts together, in order. The same
// residues score, different ones do not, and X is like none. Its time and memory (a byte each) are those of the product
// of the lengths.
//
// Source: Gotoh, J. Mol. Biol. 162, 705 (1982).
func Align(ctx context.Context, a, b string) ([][2]int32, error) {
	var out [][2]int32
	if a == b {
		for i := range len(a) {
			out = append(out, [2]int32{int32(i), int32(i)})
		}
		return out, nil
	}
	width := len(b) + 1
	// Two bits for each state of a cell: the state before it.
	from := make([]byte, (len(a)+1)*width)
	rows := [2][3][]int32{}
	for r := range rows {
		for state := range rows[r] {
			rows[r][state] = make([]int32, width)
		}
	}
	for i := 0; i <= len(a); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		alignRow(a, b, i, rows[(i+1)%2], rows[i%2], from[i*width:(i+1)*width])
	}
	last := rows[len(a)%2]
	state, _ := best(last[both][len(b)], last[first][len(b)], last[second][len(b)])
	for i, j := len(a), len(b); i > 0 || j > 0; {
		before := int(from[i*width+j]>>(2*state)) & 3
		switch state {
		case both:
			i, j = i-1, j-1
			out = append(out, [2]int32{int32(i), int32(j)})
		case first:
			i--
		case second:
			j--
		}
		state = before
	}
	slices.Reverse(out)
	return out, nil
}

// alignRow computes row i of the alignment from the row before it.
func alignRow(a, b string, i int, before, row [3][]int32, from []byte) {
	for j := 0; j <= len(b); j++ {
		row[both][j], row[first][j], row[second][j] = impossible, impossible, impossible
		if i == 0 && j == 0 {
			row[both][0] = 0
			continue
		}
		var states byte
		if i > 0 && j > 0 {
			state, score := best(before[both][j-1], before[first][j-1], before[second][j-1])
			if a[i-1] == b[j-1] && a[i-1] != structure.Unknown {
				score += matchScore
			}
			row[both][j], states = score, byte(state)
		}
		if i > 0 {
			state, score := best(before[both][j]+gapOpen, before[first][j]+gapExtend, before[second][j]+gapOpen)
			row[first][j], states = score, states|byte(state)<<2
		}
		if j > 0 {
			state, score := best(row[both][j-1]+gapOpen, row[first][j-1]+gapOpen, row[second][j-1]+gapExtend)
			row[second][j], states = score, states|byte(state)<<4
		}
		from[j] = states
	}
}

// best returns the state with the highest score, the first of equal ones.
func best(scoreBoth, scoreFirst, scoreSecond int32) (state int, score int32) {
	state, score = both, scoreBoth
	if scoreFirst > score {
		state, score = first, scoreFirst
	}
	if scoreSecond > score {
		state, score = second, scoreSecond
	}
	return state, score
}
