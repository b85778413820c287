package plot

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// paeSide is the side of the square of a PAE plot, in points.
const paeSide vg.Length = 330

// paeScale is the upper end of the colour scale in Å: the last of 64 bins of 0.5 Å ends at 31.75 (Jumper et al.
// 2021, SI 1.9.7).
const paeScale = 31.75

// PAE draws the predicted aligned error in Å: at(i, j) is the error at scored residue j when aligned on residue i,
// both counted from 0 through all chains. The first residues are at the top left, as in the AlphaFold database. The
// scale ends at 31.75 Å, or at the next multiple of five above a larger value. PAE calls at once for each pair
// before it returns. It returns an error for negative values, infinities and NaN.
func PAE(l Labels, chains []Chain, at func(aligned, scored int) float64) (*Figure, error) {
	chains, n, err := checkChains("PAE", chains)
	if err != nil {
		return nil, err
	}
	h := newHeat(n, n, greens, 0, paeScale)
	mean, top, err := h.addErrors(n, at)
	if err != nil {
		return nil, err
	}
	ticks := niceTicks(0, paeScale, 7)
	if top > 32 {
		h.hi = 5 * math.Ceil(top/5)
		ticks = niceTicks(0, h.hi, 7)
	}
	l = l.withDefault("Predicted aligned error (PAE)")
	axis := residueTicks(n)
	left := leftMargin(axis)
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 46}, Max: vg.Point{X: left + paeSide, Y: 46 + paeSide}}
	width := area.Max.X + 78
	names, rows := placeNames(chains, n, area.Min.X, area.Max.X, 12, width-12)
	f := &Figure{
		width:  width,
		height: area.Max.Y + stripRoom(chains, rows) + headerHeight(l),
		title:  l.Title,
		desc: fmt.Sprintf("Heat map of the expected position error in Å of each scored residue (across) aligned on "+
			"each other (down), of %s. Mean %.1f, highest %.1f.%s",
			describe(chains), mean, top, sentence(l.Subtitle)),
	}
	f.paint = func(p *pen) {
		a := panel{p, area, 0.5, float64(n) + 0.5, float64(n) + 0.5, 0.5}
		p.header(l, left)
		a.image(area, h)
		for _, b := range borders(chains) {
			a.cross(a.x(b), a.y(b))
		}
		a.frame(area)
		a.chainStrip(chains, names)
		a.xAxis("Scored residue", axis)
		a.yAxis("Aligned residue", axis)
		a.colourBar(area.Max.X+16, greens, 0, h.hi, "Expected position error (Å)", ticks)
	}
	return f, nil
}

// addErrors adds the n×n errors in Å that at returns, see PAE, and returns their mean and maximum.
func (h *heat) addErrors(n int, at func(aligned, scored int) float64) (mean, top float64, err error) {
	var sum float64
	for i := range n {
		for j := range n {
			v := at(i, j)
			if !(v >= 0 && v <= maxValue) {
				return 0, 0, fmt.Errorf(
					"plot: PAE: aligned residue %d, scored residue %d is %v; it must be a number of Å from 0 to 1e9",
					i+1,
					j+1, v)
			}
			h.add(j, i, v)
			sum, top = sum+v, max(top, v)
		}
	}
	return sum / float64(n) / float64(n), top, nil
}

// cross draws a horizontal and a vertical line through a point: black over white, which can be seen on either end of
// the greens.
func (a panel) cross(x, y vg.Length) {
	for _, l := range [][2]vg.Point{
		{{X: a.Min.X, Y: y}, {X: a.Max.X, Y: y}},
		{{X: x, Y: a.Min.Y}, {X: x, Y: a.Max.Y}},
	} {
		a.line(1.5, white, nil, l[0], l[1])
		a.line(0.7, ink, nil, l[0], l[1])
	}
}
