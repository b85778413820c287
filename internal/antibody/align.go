package antibody

// The moves of an alignment: which cell the best way into a cell came from.
const (
	fromAt     = iota // the column to the left, with a residue or without
	fromBehind        // residues that were added behind the column to the left
	fromBegin         // nothing: the domain begins here
	fromGap           // the column to the left and the same residue: this column has none
)

// column returns the column of each residue of a hit; residues that were added have that of the residue before, and
// added is true for them. It repeats the search within the hit and remembers each move.
func (h *hit) align(residues []uint8) (at []int, added []bool) {
	p, length := h.profile, h.end-h.start
	moves := make([][columns + 1]uint8, length) // into a column, by residue
	extend := make([][columns + 1]bool, length) // the residue added was not the first behind its column
	r := emptyRow()
	best, bestColumn := never, 0
	for i := range length {
		first := h.start + i
		p.trace(&r, residues[first], i == 0, min(first*endResidue, endMost*endResidue), &moves[i], &extend[i])
		if i == length-1 {
			behind := (len(residues) - h.end) * endResidue
			for j := 1; j <= columns; j++ {
				if s := r.at[j].score - min(p.leave[j], behind); moves[i][j] != fromGap && s > best {
					best, bestColumn = s, j
				}
			}
		}
	}
	at, added = make([]int, length), make([]bool, length)
	for i, j := length-1, bestColumn; i >= 0; {
		switch moves[i][j] {
		case fromGap:
			j--
			continue
		case fromBegin:
			at[i] = j
			return at, added
		}
		at[i] = j
		move := moves[i][j]
		i, j = i-1, j-1
		if move == fromBehind {
			for more := true; more; i-- {
				at[i], added[i], more = j, true, extend[i][j]
			}
		}
	}
	return at, added
}

// trace is advance for one stretch, with the moves. An alignment may begin at its first residue alone.
func (p *profile) trace(r *row, residue uint8, first bool, before int, moves *[columns + 1]uint8,
	extend *[columns + 1]bool,
) {
	at, behind, left := never, never, never
	for j := 1; j <= columns; j++ {
		score, move := at, uint8(fromAt)
		if behind > score {
			score, move = behind, fromBehind
		}
		if first {
			score, move = -min(p.enter[j], before), fromBegin
		}
		score += p.match[j][residue]
		if s := left - p.gap[j]; s > score {
			score, move = s, fromGap
		}
		moves[j], left = move, score
		at, behind = r.at[j].score, r.behind[j].score
		if s := at - p.open[j]; s > behind-p.extend[j] {
			r.behind[j].score = s
		} else {
			r.behind[j].score, extend[j] = behind-p.extend[j], true
		}
		r.at[j].score = score
	}
}
