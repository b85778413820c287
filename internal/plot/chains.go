package plot

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/vg"
)

// Sizes of the strip of chains above a panel: a thin bar in two greys, with the names above it in one to three
// staggered lines.
const (
	stripHeight vg.Length = 4
	nameLine    vg.Length = 11
	nameGap     vg.Length = 3.5
	maxNameRows           = 3
	maxName     vg.Length = 110
)

// nameAt is a chain name with its position in points; row 0 is the lowest line.
type nameAt struct {
	text  string
	x     vg.Length // its left edge
	width vg.Length
	row   int
}

// placeNames places each chain's name above its middle, long chains first, in the lowest line where it overlaps no
// other. A name that fits nowhere is omitted (the description names every chain). The chains lie between from and
// to, the names between lo and hi, in points.
func placeNames(chains []Chain, total int, from, to, lo, hi vg.Length) (names []nameAt, rows int) {
	if len(chains) < 2 {
		return nil, 0
	}
	middles, at := make([]vg.Length, len(chains)), 0
	order := make([]int, len(chains))
	for i, c := range chains {
		order[i] = i
		middles[i] = from + (to-from)*vg.Length((float64(at)+float64(c.Length)/2)/float64(total))
		at += c.Length
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(chains[j].Length, chains[i].Length) })
	share := max(3*(hi-lo)/vg.Length(len(chains)), 24)
	for _, i := range order {
		scaled := (to - from) * vg.Length(chains[i].Length) / vg.Length(total)
		text := shorten(chains[i].Name, sizeNote, regular, max(scaled-nameGap, min(maxName, share)))
		if text == "" {
			continue
		}
		width := textWidth(text, sizeNote, regular)
		x := min(max(middles[i]-width/2, lo), hi-width)
		for row := range maxNameRows {
			if !slices.ContainsFunc(names, func(n nameAt) bool {
				return n.row == row && x < n.x+n.width+nameGap && n.x < x+width+nameGap
			}) {
				names, rows = append(names, nameAt{text, x, width, row}), max(rows, row+1)
				break
			}
		}
	}
	return names, rows
}

// stripRoom returns the height in points of the strip and its names.
func stripRoom(chains []Chain, rows int) vg.Length {
	if len(chains) < 2 {
		return 0
	}
	return stripHeight + 3 + nameLine*vg.Length(rows)
}

// chainStrip draws the bar and the names above the panel.
func (a panel) chainStrip(chains []Chain, names []nameAt) {
	if len(chains) < 2 {
		return
	}
	y := a.Max.Y + 2
	at := 0
	for i, c := range chains {
		r := vg.Rectangle{
			Min: vg.Point{X: a.x(float64(at) + 0.5), Y: y}, Max: vg.Point{
				X: a.x(float64(at+c.Length) + 0.5), Y: y + stripHeight,
			},
		}
		at += c.Length
		if i%2 == 0 {
			a.fill(r, chainA)
		} else {
			a.fill(r, chainB)
		}
	}
	for _, n := range names {
		a.drawText(n.x, y+stripHeight+3.5+nameLine*vg.Length(n.row), n.text, style{sizeNote, regular, ink}, start)
	}
}

// borders returns the positions between chains on the residue scale.
func borders(chains []Chain) []float64 {
	var out []float64
	at := 0
	for _, c := range chains[:len(chains)-1] {
		at += c.Length
		out = append(out, float64(at)+0.5)
	}
	return out
}

// chainLines draws the borders between chains down through the panel.
func (a panel) chainLines(chains []Chain) {
	for _, b := range borders(chains) {
		x := a.x(b)
		a.line(0.7, chainA, []vg.Length{3, 2}, vg.Point{X: x, Y: a.Min.Y}, vg.Point{X: x, Y: a.Max.Y})
	}
}
