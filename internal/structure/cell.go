package structure

import "math"

// Cell is a unit cell or periodic box: its edges in Å, the first along x and the second in the plane of x and y. The
// zero value is none.
type Cell [3]Vec

// minEdge is the shortest edge in Å of a cell that is taken for one: files without a cell state edges of 1 Å.
const minEdge = 10

// newCell returns the cell of three edges in Å and the angles α, β and γ in degrees; none if these make no cell.
func newCell(v [6]float64) Cell {
	if !(min(v[0], v[1], v[2]) >= minEdge) {
		return Cell{}
	}
	cos := func(angle float64) float64 { return math.Cos(angle * math.Pi / 180) }
	alpha, beta, gamma, sine := cos(v[3]), cos(v[4]), cos(v[5]), math.Sin(v[5]*math.Pi/180)
	y := (alpha - beta*gamma) / sine
	height := 1 - beta*beta - y*y
	if !(sine > 0.1 && height > 0.01) { // also where a number is none
		return Cell{}
	}
	return Cell{
		{v[0], 0, 0},
		{v[1] * gamma, v[1] * sine, 0},
		{v[2] * beta, v[2] * y, v[2] * math.Sqrt(height)},
	}
}

// Links reports whether residue b of a polymer would be linked to residue a before it if it were moved by an edge of
// the cell, or by one of several. So are molecules that programs of dynamics divide at a periodic box.
func (c Cell) Links(kind Kind, a, b *Residue) bool {
	if c == (Cell{}) {
		return false
	}
	last, first := linking(kind)
	if v, ok := vector(a, last, b, first); ok {
		return c.moves(v, linkLimit)
	}
	at := anchors(kind)[0]
	v, ok := vector(a, at.name, b, at.name)
	return ok && c.moves(v, at.linked)
}

// Divides reports whether atoms of the main chain of a residue, which are bonded, would be so if one of them were moved
// as Links has it.
func (c Cell) Divides(kind Kind, r *Residue) bool {
	names := []string{"P", "O5'", "C5'", "C4'", "C3'", "O3'"}
	if kind == Protein {
		names = []string{"N", "CA", "C"}
	}
	for k := 1; c != (Cell{}) && k < len(names); k++ {
		if v, ok := vector(r, names[k-1], r, names[k]); ok && c.moves(v, BondLimit) {
			return true
		}
	}
	return false
}

// moves reports whether a vector becomes one of at most limit Å if it is moved by up to one of each edge, and by one.
func (c Cell) moves(v Vec, limit float64) bool {
	moved := false
	for k := 2; k >= 0; k-- {
		n := math.Round(v[k] / c[k][k])
		if !(math.Abs(n) <= 1) {
			return false
		}
		moved = moved || n != 0
		for i := range v {
			v[i] -= n * c[k][i]
		}
	}
	return moved && Distance(v, Vec{}) <= limit
}
