package facts

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"pleat/internal/structure"
)

// Pocket is a cavity or cleft of the polymers found by geometry alone. It does not show what can bind there.
type Pocket struct {
	// Volume is that of the cells, in which the centre of a probe fits.
	Volume   float64       `json:"volume_A3"` // of the points a probe's centre can take
	Centre   structure.Vec `json:"centre_A"`
	Residues []ResidueRef  `json:"residues"` // with a heavy atom within 4.5 Å of one of its points
	Count    int           `json:"residue_count"`
	Ligands  []ResidueRef  `json:"ligands,omitempty"` // with a heavy atom within 2 Å of one of its points
}

// Parameters of the search for pockets.
const (
	pocketClear = 3.0 // Å from a point to the nearest atom
	pocketSpan  = 12  // Å, the widest cleft that still counts
	pocketSides = 5   // of seven directions that must be closed on both sides
	pocketLeast = 30  // Å³
	pocketCells = 6_000_000
)

// directions are the axes and diagonals along which the lattice is scanned.
var directions = [7][3]int{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {1, -1, -1}}

// lattice is a box of cubic cells around the polymers. A cell is full where the centre of a probe would lie within
// pocketClear of an atom.
type lattice struct {
	// origin is the position of cell 0 and step the edge of a cell, both in Å.
	origin structure.Vec
	step   float64
	// n is the number of cells in each direction.
	n      [3]int
	full   []bool  // an atom is near
	closed []uint8 // directions in which the cell lies between two full cells
}

// index returns the index of a cell. The coordinates must lie on the lattice.
func (l *lattice) index(i, j, k int) int { return (i*l.n[1]+j)*l.n[2] + k }

// inside reports whether the coordinates lie on the lattice.
func (l *lattice) inside(i, j, k int) bool {
	return i >= 0 && j >= 0 && k >= 0 && i < l.n[0] && j < l.n[1] && k < l.n[2]
}

// point returns the position of a cell in Å.
func (l *lattice) point(c int) structure.Vec {
	k, j, i := c%l.n[2], c/l.n[2]%l.n[1], c/l.n[2]/l.n[1]
	return structure.Vec{l.origin[0] + float64(i)*l.step, l.origin[1] + float64(j)*l.step, l.origin[2] +
		float64(k)*l.step}
}

// pockets fills in the pockets. It scans a lattice in seven directions: Hendlich, Rippmann and Barnickel, J. Mol.
// Graph. Model. 15, 359 (1997).
func (f *Facts) pockets(ctx context.Context) error {
	if len(f.index.withoutAtoms()) > 0 {
		return nil
	}
	l, ok := f.index.lattice()
	if !ok {
		f.Notes = append(f.Notes, "Pockets were not looked for: the structure has too few polymer atoms, or spans "+
			"too much space.")
		return nil
	}
	for _, d := range directions {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.scan(d)
	}
	seen := make([]bool, len(l.full))
	for c := range l.full {
		if l.open(c) && !seen[c] {
			cells := l.flood(c, seen)
			v := float64(len(cells)) * l.step * l.step * l.step
			if v < pocketLeast {
				continue
			}
			pocket, err := f.index.pocket(ctx, l, cells, v)
			if err != nil {
				return err
			}
			f.Pockets = append(f.Pockets, pocket)
		}
	}
	slices.SortStableFunc(f.Pockets, func(a, b Pocket) int { return cmp.Compare(b.Volume, a.Volume) })
	f.Pockets = Head(f.Pockets, 10)
	return nil
}

// open reports whether a cell is empty and enclosed, so that it belongs to a pocket.
func (l *lattice) open(c int) bool { return !l.full[c] && l.closed[c] >= pocketSides }

// lattice returns a grid of 1 Å cells, coarser for large structures, around the polymers. It returns false where
// they have fewer than 50 atoms or span too much space.
func (x *Index) lattice() (*lattice, bool) {
	lo, hi := structure.Vec{math.Inf(1), math.Inf(1), math.Inf(1)}, structure.Vec{math.Inf(-1), math.Inf(-1),
		math.Inf(-1)}
	var atoms []structure.Vec
	for _, r := range x.Polymers {
		for p := x.Sites[r.Lo].Lo; p < x.Sites[r.Hi-1].Hi; p++ {
			atoms = append(atoms, x.Points[p])
			for k := range lo {
				lo[k], hi[k] = min(lo[k], x.Points[p][k]), max(hi[k], x.Points[p][k])
			}
		}
	}
	if len(atoms) < 50 {
		return nil, false
	}
	l := &lattice{step: 1}
	for {
		cells := 1.0
		for k := range lo {
			l.n[k] = int(min((hi[k]-lo[k]+2*pocketClear)/l.step, 1e6)) + 1
			cells *= float64(l.n[k])
		}
		if cells <= pocketCells {
			l.full, l.closed = make([]bool, int(cells)), make([]uint8, int(cells))
			break
		}
		if l.step *= 1.26; !(l.step <= 2) {
			return nil, false
		}
	}
	for k := range lo {
		l.origin[k] = lo[k] - pocketClear
	}
	for _, a := range atoms {
		l.fill(a)
	}
	return l, true
}

// fill marks the cells that are too close to an atom to belong to a pocket.
func (l *lattice) fill(a structure.Vec) {
	var from, to [3]int
	for k := range a {
		from[k] = max(0, int(math.Ceil((a[k]-pocketClear-l.origin[k])/l.step)))
		to[k] = min(l.n[k]-1, int(math.Floor((a[k]+pocketClear-l.origin[k])/l.step)))
	}
	for i := from[0]; i <= to[0]; i++ {
		for j := from[1]; j <= to[1]; j++ {
			for k := from[2]; k <= to[2]; k++ {
				c := l.index(i, j, k)
				if !l.full[c] && structure.Distance(l.point(c), a) < pocketClear {
					l.full[c] = true
				}
			}
		}
	}
}

// scan follows every line of one direction and marks the empty cells between two full ones.
func (l *lattice) scan(d [3]int) {
	length := l.step * math.Sqrt(float64(d[0]*d[0]+d[1]*d[1]+d[2]*d[2]))
	span := int(pocketSpan / length)
	gap := make([]int, 0, 256)
	for i := range l.n[0] {
		for j := range l.n[1] {
			for k := range l.n[2] {
				if !l.inside(i-d[0], j-d[1], k-d[2]) { // where a line starts
					gap = l.scanLine([3]int{i, j, k}, d, span, gap[:0])
				}
			}
		}
	}
}

// scanLine follows the line from a cell in direction d and marks the gaps of at most span empty cells between two full
// ones. gap is working memory; scanLine returns it, grown.
func (l *lattice) scanLine(from, d [3]int, span int, gap []int) []int {
	met := false // a full cell
	for i, j, k := from[0], from[1], from[2]; l.inside(i, j, k); i, j, k = i+d[0], j+d[1], k+d[2] {
		at := l.index(i, j, k)
		if !l.full[at] {
			gap = append(gap, at)
			continue
		}
		if met && len(gap) <= span {
			for _, g := range gap {
				l.closed[g]++
			}
		}
		met, gap = true, gap[:0]
	}
	return gap
}

// flood collects the open cells that can be reached from c through shared faces, and marks them as seen.
func (l *lattice) flood(c int, seen []bool) []int {
	seen[c] = true
	cells := []int{c}
	for at := 0; at < len(cells); at++ {
		v := cells[at]
		k, j, i := v%l.n[2], v/l.n[2]%l.n[1], v/l.n[2]/l.n[1]
		for _, d := range [6][3]int{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}} {
			if a, b, e := i+d[0], j+d[1], k+d[2]; l.inside(a, b, e) {
				if w := l.index(a, b, e); !seen[w] && l.open(w) {
					seen[w] = true
					cells = append(cells, w)
				}
			}
		}
	}
	return cells
}

// pocket describes the cells of one pocket: its centre, the residues that line it, and the ligands inside.
func (x *Index) pocket(ctx context.Context, l *lattice, cells []int, volume float64) (Pocket, error) {
	p := Pocket{Volume: Round(volume, 0)}
	touched, filled := map[int]bool{}, map[int]bool{}
	var buf []int
	for _, c := range cells {
		v := l.point(c)
		for k := range v {
			p.Centre[k] += v[k] / float64(len(cells))
		}
		buf = x.grid.Near(buf[:0], v, ContactDistance)
		if err := x.examine(ctx, len(buf)); err != nil {
			return p, err
		}
		for _, q := range buf {
			if o := int(x.Owner[q]); x.Sites[o].Kind.Polymer() {
				touched[o] = true
			} else if structure.Distance(v, x.Points[q]) <= 2 {
				filled[o] = true
			}
		}
	}
	for k := range p.Centre {
		p.Centre[k] = Round(p.Centre[k], 1)
	}
	list := func(set map[int]bool) []int { return slices.Sorted(maps.Keys(set)) }
	p.Count = len(touched)
	p.Residues, p.Ligands = x.Refs(Head(list(touched), maxNear)), x.Refs(list(filled))
	return p, nil
}
