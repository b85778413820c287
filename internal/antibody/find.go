package antibody

// threshold is the score that a stretch must exceed to be a variable domain: the natural logarithm of how much better
// a profile explains its residues than their frequencies in proteins at large do, in hundredths.
const threshold = 45 * scale

// A cell is the best alignment that ends at a column and a residue, and the residue that it began with.
type cell struct{ score, start int }

// A row holds the alignments that end at a residue, by column: those whose last column is that, with a residue or
// without, and those that add residues behind the column.
type row struct {
	at, behind [columns + 1]cell
}

// hit is a stretch of a sequence that one profile explains.
type hit struct {
	profile    *profile
	start, end int
	score      int
}

// An origin is where a stretch begins that ends with a residue, and what explains it. Without a profile, none ends
// there.
type origin struct {
	profile *profile
	start   int
}

// search finds the set of stretches, none overlapping, that explains a sequence best: each must be worth more than the
// threshold. It goes through the sequence once and keeps a row for each profile.
func search(residues []uint8) []hit {
	all := profiles()
	rows := make([]row, len(all))
	for k := range rows {
		rows[k] = emptyRow()
	}
	best := make([]int, len(residues)+1) // of the sequence up to a residue
	last := make([]origin, len(residues)+1)
	for i, residue := range residues {
		best[i+1] = best[i]
		for k, p := range all {
			c := p.advance(&rows[k], residue, i, len(residues), best[i]-threshold)
			if c.score > best[i+1] {
				best[i+1] = c.score
				last[i+1] = origin{p, c.start}
			}
		}
	}
	var out []hit
	for i := len(residues); i > 0; {
		from := last[i]
		if from.profile == nil {
			i--
			continue
		}
		out = append(out, hit{from.profile, from.start, i, best[i] - best[from.start] + threshold})
		i = from.start
	}
	return out
}

func emptyRow() (r row) {
	for j := range r.at {
		r.at[j].score, r.behind[j].score = never, never
	}
	return r
}

// advance makes the row of residue i of n from that of the residue before it, and returns the best alignment that ends
// with it. Alignments that begin here have the score begin.
func (p *profile) advance(r *row, residue uint8, i, n, begin int) (end cell) {
	end.score = never
	at, behind := cell{score: never}, cell{score: never} // of the residue before, one column to the left
	left := never                                        // of this residue
	leftStart := 0
	availableBefore, availableBehind := i*endResidue, (n-1-i)*endResidue
	match := &p.match[residue]
	for j := 1; j <= columns; j++ {
		c := at
		if behind.score > c.score {
			c = behind
		}
		if s := begin - min(p.enter[j], availableBefore); s > c.score {
			c = cell{s, i}
		}
		c.score += match[j]
		if s := c.score - min(p.leave[j], availableBehind); s > end.score {
			end = cell{s, c.start}
		}
		if s := left - p.gap[j]; s > c.score {
			c = cell{s, leftStart}
		}
		left, leftStart = c.score, c.start
		at, behind = r.at[j], r.behind[j]
		if s := at.score - p.open[j]; s > behind.score-p.extend[j] {
			r.behind[j] = cell{s, at.start}
		} else {
			r.behind[j].score -= p.extend[j]
		}
		r.at[j] = c
	}
	return end
}

// closest returns the kind that explains a part of a sequence best, and the score of that part.
func closest(residues []uint8) (kind Kind, score int) {
	for _, p := range profiles() {
		r := emptyRow()
		for i, residue := range residues {
			if c := p.advance(&r, residue, i, len(residues), 0); kind == "" || c.score > score {
				kind, score = p.kind, c.score
			}
		}
	}
	return kind, max(score, 0)
}
