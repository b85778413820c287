package antibody

// The moves of an alignment: which cell the best way into a cell came from.
const (
	fromAt     = iota // the column to the left, with a residue or without
	fromBehind        // residues that were added behind the column to the left
	fromBegin         // nothing: the domain begins here
	fromGap           // the column to the left and the same residue: this column has none
)

// An alignment remembers the moves of a hit, by residue and column.
type alignment struct {
	*profile
	row
	residues []uint8 // of the whole sequence
	hit      *hit
	into     [][columns + 1]uint8 // the moves into the columns
	longer   [][columns + 1]bool  // the residue behind the column is not the first one that is added there
}

// align returns the column of each residue of a hit; residues that are added have that of the residue before, and added
// is true for them. It repeats the search within the hit.
func (h *hit) align(residues []uint8) (at []int, added []bool) {
	length := h.end - h.start
	a := &alignment{
		profile:  h.profile,
		row:      emptyRow(),
		residues: residues,
		hit:      h,
		into:     make([][columns + 1]uint8, length),
		longer:   make([][columns + 1]bool, length),
	}
	column, move := 0, uint8(fromBegin)
	for i := range length {
		column, move = a.trace(i)
	}
	at, added = make([]int, length), make([]bool, length)
	for i := length - 1; ; move = a.into[i][column] {
		for ; move == fromGap; move = a.into[i][column] {
			column--
		}
		at[i] = column
		if move == fromBegin {
			return at, added
		}
		i, column = i-1, column-1
		if move == fromBehind {
			for more := true; more; i-- {
				at[i], added[i], more = column, true, a.longer[i][column]
			}
		}
	}
}

// trace is advance for residue i of the hit, with the moves. An alignment begins at the first residue. It returns the
// column that the alignment ends with if this is the last residue, and the move into it.
func (a *alignment) trace(i int) (endColumn int, endMove uint8) {
	at, behind, left, end := never, never, never, never
	before, after := a.hit.start*endResidue, (len(a.residues)-a.hit.start-i-1)*endResidue
	match := &a.match[a.residues[a.hit.start+i]]
	for j := 1; j <= columns; j++ {
		score, move := at, uint8(fromAt)
		if behind > score {
			score, move = behind, fromBehind
		}
		if i == 0 {
			score, move = -min(a.enter[j], before), fromBegin
		}
		score += match[j]
		if s := score - min(a.leave[j], after); s > end {
			end, endColumn, endMove = s, j, move
		}
		if s := left - a.gap[j]; s > score {
			score, move = s, fromGap
		}
		a.into[i][j], left = move, score
		at, behind = a.at[j].score, a.behind[j].score
		if s := at - a.open[j]; s > behind-a.extend[j] {
			a.behind[j].score = s
		} else {
			a.behind[j].score, a.longer[i][j] = behind-a.extend[j], true
		}
		a.at[j].score = score
	}
	return endColumn, endMove
}
