package structure

import (
	"iter"
	"math"
	"slices"
)

// Grid finds the points within a radius. It is a cell list in a hash table, so that its memory depends on the
// number of points and not on the volume that they span. It refers to the slice it was made from, which must not
// change. It is safe for concurrent use. The zero value holds no points.
type Grid struct {
	points []Vec
	cell   float64
	// head holds the first point of each cell that has any.
	head map[[3]int32]int32
	next []int32 // next point of the same cell; -1: none
}

// NewGrid sorts points into cubic cells of the given edge in Å. The best edge is the radius of later queries; one
// that is not a positive number is replaced by 8. Points with a coordinate that is not finite are never found.
func NewGrid(points []Vec, cell float64) *Grid {
	if !(cell > 0) || math.IsInf(cell, 0) {
		cell = 8
	}
	g := &Grid{
		points: points,
		cell:   cell,
		head:   make(map[[3]int32]int32, len(points)/4),
		next:   make([]int32, len(points)),
	}
	for i := len(points) - 1; i >= 0; i-- { // backwards, so that a cell lists its points in order
		g.next[i] = -1
		if !finite(points[i]) {
			continue
		}
		k := g.key(points[i])
		if h, ok := g.head[k]; ok {
			g.next[i] = h
		}
		g.head[k] = int32(i)
	}
	return g
}

// finite reports whether no coordinate is NaN or infinite.
func finite(v Vec) bool {
	s := v[0] + v[1] + v[2]
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}

// key returns the cell of v. Coordinates far outside are clamped to the outermost cells.
func (g *Grid) key(v Vec) [3]int32 {
	var k [3]int32
	for i := range v {
		k[i] = int32(min(max(math.Floor(v[i]/g.cell), -1<<30), 1<<30))
	}
	return k
}

// Near appends to dst the indices of the points within radius Å of v, in ascending order. v itself is included
// where it is one of the points.
func (g *Grid) Near(dst []int, v Vec, radius float64) []int {
	return g.appendNear(dst, v, radius, math.MaxInt)
}

// appendNear is Near, but stops after it has examined limit points, which bounds the time where points lie on one
// another; the result is incomplete then.
func (g *Grid) appendNear(dst []int, v Vec, radius float64, limit int) []int {
	if len(g.points) == 0 || !finite(v) || !(radius >= 0) {
		return dst
	}
	start := len(dst)
	r2 := radius * radius
	lo := g.key(Vec{v[0] - radius, v[1] - radius, v[2] - radius})
	hi := g.key(Vec{v[0] + radius, v[1] + radius, v[2] + radius})
	cells := 1.0
	for k := range lo {
		cells *= float64(hi[k]-lo[k]) + 1
	}
	if cells > float64(len(g.points)) && limit >= len(g.points) { // fewer points than cells
		for i := range g.points {
			if distance2(g.points[i], v) <= r2 {
				dst = append(dst, i)
			}
		}
		return dst
	}
	for k := lo; k[0] <= hi[0]; k = nextCell(k, lo, hi) {
		h, ok := g.head[k]
		for i := h; ok && i >= 0 && limit > 0; i = g.next[i] {
			limit--
			if distance2(g.points[i], v) <= r2 {
				dst = append(dst, int(i))
			}
		}
	}
	slices.Sort(dst[start:])
	return dst
}

// Pairs calls yield for every two points within radius Å of each other, with their indices, i before j, and their
// squared distance in Å². It stops when yield returns false. The pairs come in no particular order, which is faster
// than [Grid.Near] for every point.
func (g *Grid) Pairs(radius float64, yield func(i, j int, distance2 float64) bool) {
	r2 := radius * radius
	for i, v := range g.points {
		if !finite(v) {
			continue
		}
		lo := g.key(Vec{v[0] - radius, v[1] - radius, v[2] - radius})
		hi := g.key(Vec{v[0] + radius, v[1] + radius, v[2] + radius})
		for k := lo; k[0] <= hi[0]; k = nextCell(k, lo, hi) {
			h, ok := g.head[k]
			for j := h; ok && j >= 0; j = g.next[j] {
				if int(j) <= i {
					continue
				}
				if d2 := distance2(v, g.points[j]); d2 < r2 && !yield(i, int(j), d2) {
					return
				}
			}
		}
	}
}

// nextCell returns the cell after k in the box from lo to hi, the last coordinate first. After the last cell, the first
// coordinate is above hi's.
func nextCell(k, lo, hi [3]int32) [3]int32 {
	if k[2]++; k[2] > hi[2] {
		k[2] = lo[2]
		if k[1]++; k[1] > hi[1] {
			k[1] = lo[1]
			k[0]++
		}
	}
	return k
}

// Contact is a pair of points, of which A is in the first list and B in the second, and their distance in Å.
type Contact struct {
	A, B     int // indices into the two lists
	Distance float64
}

// Contacts yields the pairs of a point of a and a point of b within radius Å, sorted by A and then by B. It keeps none
// of them, because points that lie on one another make the square of their number.
func Contacts(a, b []Vec, radius float64) iter.Seq[Contact] {
	return func(yield func(Contact) bool) {
		g := NewGrid(b, radius)
		var near []int
		for i := range a {
			near = g.Near(near[:0], a[i], radius)
			for _, j := range near {
				if !yield(Contact{i, j, Distance(a[i], b[j])}) {
					return
				}
			}
		}
	}
}
