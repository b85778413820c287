package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// Band is a range of pLDDT or predicted RMSD with the colour in which it is shown.
type Band struct {
	Low, High float64
	Colour    color.RGBA
	Name      string
}

// Bands are the confidence bands of the AlphaFold database, the highest first (Jumper et al. 2021,
// doi:10.1038/s41586-021-03819-2; colours of alphafold.ebi.ac.uk).
var Bands = []Band{
	{90, 100, rgb(0x0053D6), "Very high (> 90)"},
	{70, 90, rgb(0x65CBF3), "Confident (70–90)"},
	{50, 70, rgb(0xFFDB13), "Low (50–70)"},
	{0, 50, rgb(0xFF7D45), "Very low (< 50)"},
}

// RMSDBands are ranges of the predicted RMSD in Å, the best first. They have the colours of viridis (van der Walt and
// Smith 2015), which readers with any colour vision tell apart, dark for good, so that nobody takes them for Bands.
var RMSDBands = []Band{
	{0, 0.5, rgb(0x440154), "Up to 0.5 Å"},
	{0.5, 1, rgb(0x3B528B), "0.5–1 Å"},
	{1, 1.5, rgb(0x21918C), "1–1.5 Å"},
	{1.5, 2.5, rgb(0x5EC962), "1.5–2.5 Å"},
	{2.5, math.Inf(1), rgb(0xFDE725), "Above 2.5 Å"},
}

// figureWidth is the width in points of figures with a residue or time axis.
const figureWidth vg.Length = 560

// PLDDT draws confidence per residue, 0 to 100, over the four bands of the AlphaFold database. Residues are
// numbered through all chains in order. It returns an error for values outside 0 to 100, and for NaN.
func PLDDT(l Labels, chains []Profile) (*Figure, error) {
	cs, values, err := checkProfiles("pLDDT", chains, 0, 100, "a number from 0 to 100")
	if err != nil {
		return nil, err
	}
	l = l.withDefault("Predicted confidence per residue (pLDDT)")
	ticks := []tick{{0, "0"}, {10, ""}, {20, ""}, {30, ""}, {40, ""}, {50, "50"}, {60, ""}, {70, "70"}, {80, ""},
		{90, "90"}, {100, "100"}}
	f := &Figure{title: l.Title,
		desc: fmt.Sprintf("Line of pLDDT (0 to 100) along the residues of %s. Mean %.1f, lowest %.1f, highest %.1f.%s",
			describe(cs), mean(values), slices.Min(values), slices.Max(values), sentence(l.Subtitle))}
	return residueFigure(f, l, cs, values, 0, 100, "pLDDT (0–100)", ticks, 112, func(a panel) {
		for _, b := range Bands {
			a.fill(vg.Rectangle{Min: vg.Point{X: a.Min.X, Y: a.y(b.Low)}, Max: vg.Point{X: a.Max.X, Y: a.y(b.High)}},
				tint(b.Colour, 0.2))
			a.fill(vg.Rectangle{
				Min: vg.Point{X: a.Max.X + 4, Y: a.y(b.Low) + 0.5},
				Max: vg.Point{X: a.Max.X + 11, Y: a.y(b.High) - 0.5},
			}, b.Colour)
			a.drawText(a.Max.X+16, a.y((b.Low+b.High)/2)-sizeNote*0.34, b.Name, style{sizeNote, regular, ink}, start)
		}
	}), nil
}

// PredictedRMSD draws the predicted RMSD of each residue in Å over RMSDBands. Low values are good. Residues are
// numbered through all chains in order. It returns an error for negative values, infinities and NaN.
func PredictedRMSD(l Labels, chains []Profile) (*Figure, error) {
	cs, values, err := checkProfiles("predicted RMSD", chains, 0, maxValue, "a number from 0 to 1e9")
	if err != nil {
		return nil, err
	}
	l = l.withDefault("Predicted RMSD per residue (low is good)")
	lo, hi := rangeFromZero([]float64{slices.Max(values), 3}) // every band can be seen
	f := &Figure{title: l.Title,
		desc: fmt.Sprintf("Line of the predicted RMSD in Å along the residues of %s, low values being good. Mean "+
			"%.2f, lowest %.2f, highest %.2f.%s", describe(cs), mean(values), slices.Min(values), slices.Max(values),
			sentence(l.Subtitle))}
	return residueFigure(f, l, cs, values, lo, hi, "Predicted RMSD (Å)", niceTicks(lo, hi, 6), 92, func(a panel) {
		row := (a.Max.Y - a.Min.Y) / vg.Length(len(RMSDBands))
		for k, b := range RMSDBands {
			a.fill(vg.Rectangle{
				Min: vg.Point{X: a.Min.X, Y: a.y(b.Low)},
				Max: vg.Point{X: a.Max.X, Y: a.y(min(b.High, hi))},
			}, tint(b.Colour, 0.2))
			// The legend has rows of one height: in a figure of high values most bands are narrower than their names.
			y := a.Min.Y + vg.Length(k)*row
			a.fill(vg.Rectangle{
				Min: vg.Point{X: a.Max.X + 4, Y: y + 0.5}, Max: vg.Point{X: a.Max.X + 11, Y: y + row - 0.5},
			}, b.Colour)
			a.drawText(a.Max.X+16, y+row/2-sizeNote*0.34, b.Name, style{sizeNote, regular, ink}, start)
		}
	}), nil
}

// RMSF draws the fluctuation of each residue about its mean position, in nm. Residues are numbered
// through all chains in order. It returns an error for negative values, infinities and NaN.
func RMSF(l Labels, chains []Profile) (*Figure, error) {
	cs, values, err := checkProfiles("RMSF", chains, 0, maxValue, "a number from 0 to 1e9")
	if err != nil {
		return nil, err
	}
	l = l.withDefault("Fluctuation per residue (RMSF)")
	lo, hi := rangeFromZero(values)
	f := &Figure{title: l.Title,
		desc: fmt.Sprintf(
			"Line of the root-mean-square fluctuation in nm along the residues of %s. Mean %.3g, highest %.3g.%s",
			describe(cs), mean(values), slices.Max(values), sentence(l.Subtitle))}
	ticks := niceTicks(lo, hi, 6)
	return residueFigure(f, l, cs, values, lo, hi, "RMSF (nm)", ticks, 20, func(a panel) {
		a.gridLines(ticks)
	}), nil
}

// residueFigure lays out a line along residues. It calls ground first, to draw below the chain borders and the
// line.
func residueFigure(f *Figure, l Labels, chains []Chain, values []float64, lo, hi float64, label string, yTicks []tick,
	right vg.Length, ground func(panel)) *Figure {
	left := leftMargin(yTicks)
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 46}, Max: vg.Point{X: figureWidth - right, Y: 46 + 196}}
	names, rows := placeNames(chains, len(values), area.Min.X, area.Max.X, 12, figureWidth-12)
	f.width, f.height = figureWidth, area.Max.Y+stripRoom(chains, rows)+headerHeight(l)
	f.paint = func(p *pen) {
		a := panel{p, area, 0.5, float64(len(values)) + 0.5, lo, hi}
		p.header(l, left)
		ground(a)
		a.chainLines(chains)
		at := 0
		for _, c := range chains {
			a.residueLine(at, values[at:at+c.Length])
			at += c.Length
		}
		a.frame(area)
		a.chainStrip(chains, names)
		a.xAxis("Residue", residueTicks(len(values)))
		a.yAxis(label, yTicks)
	}
	return f
}

// residueLine draws the line of one chain that follows `before` residues of other chains.
func (a panel) residueLine(before int, values []float64) {
	pts := make([]vg.Point, len(values))
	for i, v := range values {
		pts[i] = vg.Point{X: a.x(float64(before + i + 1)), Y: a.y(v)}
	}
	a.line(1.1, ink, nil, pts...)
	if spacing := (a.Max.X - a.Min.X) / vg.Length(a.x1-a.x0); len(values) == 1 || spacing >= 8 {
		for _, pt := range pts {
			a.dot(pt.X, pt.Y, 2, ink)
		}
	}
}

// gridLines draws a horizontal line at each tick.
func (a panel) gridLines(ticks []tick) {
	for _, t := range ticks {
		y := a.y(t.at)
		a.line(0.6, hair, nil, vg.Point{X: a.Min.X, Y: y}, vg.Point{X: a.Max.X, Y: y})
	}
}

// rangeFromZero returns an axis from zero to a round value above the highest.
func rangeFromZero(values []float64) (lo, hi float64) {
	top := slices.Max(values)
	if top <= 1e-9 {
		return 0, 1
	}
	step := niceStep(top, 6)
	return 0, math.Ceil(top*1.02/step) * step
}

// sentence turns a subtitle into a sentence of the description.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return " " + s + "."
}
