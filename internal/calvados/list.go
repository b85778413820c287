package calvados

import "math"

// lists holds the pairs that may come within a cutoff before the beads have moved far: for each bead i its partners
// j > i. A pair is near where its plain difference is the nearest image and remains so while the lists are valid.
// Other pairs, at the edges of the box, are far: their nearest image is computed at each step.
//
// Source: Verlet, Phys. Rev. 159, 98 (1967); cells: Hockney and Eastwood (1981).
type lists struct {
	ah, dh       csr // near
	farAH, farDH csr
	ref          []vec // where the beads were when the lists were made
	mark         []int32
	cells        grid
}

// csr holds the partners of bead i at js[end[i-1]:end[i]]. Ashbaugh–Hatch partners carry their residue kind in the
// top five bits. Rows of near pairs are padded to a multiple of four with the padding bead (see nowhere).
type csr struct {
	end []int32
	js  []uint32
}

const (
	// The layout of an Ashbaugh–Hatch partner: its residue kind from bit kindShift, its bead below.
	kindShift = 27
	beadMask  = 1<<kindShift - 1
)

// reset empties the list and reserves space for n rows.
func (c *csr) reset(n int) {
	if cap(c.end) < n {
		c.end = make([]int32, 0, n)
	}
	c.end, c.js = c.end[:0], c.js[:0]
}

// close ends the current row.
func (c *csr) close() { c.end = append(c.end, int32(len(c.js))) }

// pad fills the row to a multiple of four, as the kernels require.
func (c *csr) pad(with int) {
	from := int32(0)
	if n := len(c.end); n > 0 {
		from = c.end[n-1]
	}
	for (len(c.js)-int(from))%4 != 0 {
		c.js = append(c.js, uint32(with))
	}
}

// partners returns the partners of bead i.
func (c *csr) partners(i int) []uint32 {
	from := int32(0)
	if i > 0 {
		from = c.end[i-1]
	}
	return c.js[from:c.end[i]]
}

// skin is the distance in nm beyond the cutoff within which pairs are listed; beads may move half of it before the
// lists are rebuilt. It was measured fastest at 50 to 500 beads.
const skin = 0.4

// cellsFrom is the number of beads above which a grid of cells finds pairs faster than trying all.
const cellsFrom = 1200

// moved reports whether two beads may have approached by more than the skin since the lists were built. It is true
// also for positions that are not numbers.
func (l *lists) moved(x []vec) bool {
	var first, second float64 // the two longest ways, squared
	for i := range x {
		p, r := &x[i], &l.ref[i]
		dx, dy, dz := p[0]-r[0], p[1]-r[1], p[2]-r[2]
		d := dx*dx + dy*dy + dz*dz
		if d > second {
			if d > first {
				first, second = d, first
			} else {
				second = d
			}
		} else if d != d {
			return true
		}
	}
	return first > skin*skin/4 && math.Sqrt(first)+math.Sqrt(second) > skin
}

// build makes the lists for the positions x.
func (l *lists) build(s *System, x []vec) {
	n := len(x)
	l.ref = append(l.ref[:0], x...)
	if l.mark == nil {
		l.mark = make([]int32, n)
	}
	for i := range l.mark {
		l.mark[i] = -1
	}
	for _, c := range []*csr{&l.ah, &l.dh, &l.farAH, &l.farDH} {
		c.reset(n)
	}
	useCells := n >= cellsFrom && l.cells.fill(x, s.params.Box, cutDH+skin)
	for i := range n {
		for _, j := range s.excluded[i] {
			l.mark[j] = int32(i)
		}
		if useCells {
			l.cells.around(i, func(j int32) { l.consider(s, x, i, int(j)) })
		} else {
			l.tryAll(s, x, i)
		}
		l.ah.pad(n)
		l.dh.pad(n)
		l.ah.close()
		l.dh.close()
		l.farAH.close()
		l.farDH.close()
	}
}

// tryAll lists the partners of bead i among all j > i.
func (l *lists) tryAll(s *System, x []vec, i int) {
	const lim = (cutDH + skin) * (cutDH + skin)
	const limAH = (cutAH + skin) * (cutAH + skin)
	safe := s.params.Box/2 - skin
	p := x[i]
	charged := s.beads[i].charge != 0
	for j := i + 1; j < len(x); j++ {
		q := &x[j]
		dx, dy, dz := q[0]-p[0], q[1]-p[1], q[2]-p[2]
		if math.Abs(dx) > safe || math.Abs(dy) > safe || math.Abs(dz) > safe {
			l.consider(s, x, i, j)
			continue
		}
		r2 := dx*dx + dy*dy + dz*dz
		if r2 > lim || r2 > limAH && !charged || l.mark[j] == int32(i) {
			continue
		}
		if r2 <= limAH {
			l.ah.js = append(l.ah.js, uint32(j)|uint32(s.beads[j].kind)<<kindShift)
		}
		if charged && s.beads[j].charge != 0 {
			l.dh.js = append(l.dh.js, uint32(j))
		}
	}
}

// consider lists the pair i < j if its nearest images may come within a cutoff.
func (l *lists) consider(s *System, x []vec, i, j int) {
	const lim = (cutDH + skin) * (cutDH + skin)
	const limAH = (cutAH + skin) * (cutAH + skin)
	box := s.params.Box
	var r2 float64
	far := false
	for k := range 3 {
		raw := x[j][k] - x[i][k]
		d := nearest(raw, box)
		r2 += d * d
		far = far || math.Abs(raw) > box/2-skin
	}
	if r2 > lim || l.mark[j] == int32(i) {
		return
	}
	ah, dh := &l.ah, &l.dh
	if far {
		ah, dh = &l.farAH, &l.farDH
	}
	if r2 <= limAH {
		ah.js = append(ah.js, uint32(j)|uint32(s.beads[j].kind)<<kindShift)
	}
	if s.beads[i].charge != 0 && s.beads[j].charge != 0 {
		dh.js = append(dh.js, uint32(j))
	}
}

// grid sorts beads into cells at least as wide as the range of a list.
type grid struct {
	side int
	cell []int32 // of each bead
	head []int32 // first bead of each cell, −1: none
	next []int32
}

// fill sorts the beads. It returns false where the box is too small for cells to help.
func (g *grid) fill(x []vec, box, reach float64) bool {
	g.side = min(int(box/reach), 64)
	if g.side < 4 {
		return false
	}
	total := g.side * g.side * g.side
	if len(g.head) != total {
		g.head = make([]int32, total)
		g.cell, g.next = make([]int32, len(x)), make([]int32, len(x))
	}
	for c := range g.head {
		g.head[c] = -1
	}
	for i := len(x) - 1; i >= 0; i-- {
		c := 0
		for k := range 3 {
			f := x[i][k] / box
			f -= math.Floor(f)
			c = c*g.side + max(0, min(int(f*float64(g.side)), g.side-1))
		}
		g.cell[i], g.next[i], g.head[c] = int32(c), g.head[c], int32(i)
	}
	return true
}

// around calls f with every j > i in the cell of bead i and its neighbours.
func (g *grid) around(i int, f func(j int32)) {
	n := g.side
	c := int(g.cell[i])
	cx, cy, cz := c/(n*n), c/n%n, c%n
	for k := range 27 { // x, y and z from the cell below (n−1, as cells are periodic) to the one above
		x, y, z := (cx+n-1+k/9)%n, (cy+n-1+k/3%3)%n, (cz+n-1+k%3)%n
		for j := g.head[(x*n+y)*n+z]; j >= 0; j = g.next[j] {
			if int(j) > i {
				f(j)
			}
		}
	}
}
