package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// maxPoints is the largest number of points of a Scatter.
const maxPoints = 20_000

// Point is a point of a Scatter.
type Point struct {
	X, Y     float64
	Filled   bool
	Encircle bool
}

// Scatter draws points over two axes. The title stands for what the plot shows; filled and encircled say what the
// filled and the encircled points are; encircled is empty if none are. Bins of the axes are ignored. It returns an
// error for no points and for values that are no finite numbers.
func Scatter(l Labels, x, y Axis, points []Point, filled, encircled string) (*Figure, error) {
	if len(points) == 0 || len(points) > maxPoints {
		return nil, fmt.Errorf("plot: Scatter has %d points; 1 to %d are allowed", len(points), maxPoints)
	}
	fill, ring := 0, 0
	for i, p := range points {
		if !(math.Abs(p.X) <= maxValue && math.Abs(p.Y) <= maxValue) {
			return nil, fmt.Errorf("plot: Scatter: point %d is %v, %v; it must have two numbers", i+1, p.X, p.Y)
		}
		if p.Filled {
			fill++
		}
		if p.Encircle {
			ring++
		}
	}
	xTicks, yTicks := niceTicks(x.Min, x.Max, 8), niceTicks(y.Min, y.Max, 6)
	left := leftMargin(yTicks)
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 68}, Max: vg.Point{X: figureWidth - 18, Y: 68 + 240}}
	f := &Figure{width: figureWidth, height: area.Max.Y + headerHeight(l), title: l.Title, desc: fmt.Sprintf(
		"%d points of %s over %s. %d are filled: %s.", len(points), y.Label, x.Label, fill, filled)}
	if encircled != "" {
		f.desc += fmt.Sprintf(" %d are encircled: %s.", ring, encircled)
	}
	f.desc += sentence(l.Subtitle)
	points = slices.Clone(points)
	f.paint = func(p *pen) {
		a := panel{p, area, x.Min, x.Max, y.Min, y.Max}
		p.header(l, left)
		a.gridLines(yTicks)
		for _, point := range points {
			a.mark(a.x(point.X), a.y(point.Y), point)
		}
		a.frame(area)
		a.xAxis(x.Label, xTicks)
		a.yAxis(y.Label, yTicks)
		a.mark(left+4, 15, Point{Filled: true})
		a.drawText(left+12, 12, filled, style{sizeNote, regular, soft}, start)
		if encircled != "" {
			half := left + (area.Max.X-left)/2
			a.mark(half+4, 15, Point{Encircle: true})
			a.drawText(half+14, 12, encircled, style{sizeNote, regular, soft}, start)
		}
	}
	return f, nil
}

// mark draws a point of a Scatter.
func (a panel) mark(x, y vg.Length, p Point) {
	if p.Encircle {
		a.dot(x, y, 5.2, accent)
		a.dot(x, y, 4.2, white)
	}
	a.dot(x, y, 2.8, series)
	if !p.Filled {
		a.dot(x, y, 1.8, white)
	}
}

// Bar is one bar of Bars.
type Bar struct {
	Name  string
	Value int
}

// maxBars is the largest number of bars.
const maxBars = 60

// Bars draws horizontal bars of counts, of which each may be total at most. It returns an error for no bars.
func Bars(l Labels, bars []Bar, total int) (*Figure, error) {
	if len(bars) == 0 || len(bars) > maxBars || total < 1 {
		return nil, fmt.Errorf("plot: Bars has %d bars of at most %d; 1 to %d bars are allowed", len(bars), total,
			maxBars)
	}
	names := vg.Length(0)
	for _, b := range bars {
		if b.Value < 0 || b.Value > total {
			return nil, fmt.Errorf("plot: Bars: %s is %d; it must be from 0 to %d", b.Name, b.Value, total)
		}
		names = max(names, textWidth(b.Name, sizeNote, regular))
	}
	const row vg.Length = 15
	left := min(names, 240) + 14
	area := vg.Rectangle{
		Min: vg.Point{X: left, Y: 46},
		Max: vg.Point{X: figureWidth - 60, Y: 46 + row*vg.Length(len(bars))},
	}
	f := &Figure{width: figureWidth, height: area.Max.Y + headerHeight(l), title: l.Title, desc: fmt.Sprintf(
		"%d bars of at most %d.%s", len(bars), total, sentence(l.Subtitle))}
	bars = slices.Clone(bars)
	ticks := niceTicks(0, float64(total), min(total, 6))
	f.paint = func(p *pen) {
		a := panel{p, area, 0, float64(total), 0, 1}
		p.header(l, 14)
		for i, b := range bars {
			y := area.Max.Y - row*vg.Length(i+1)
			a.fill(vg.Rectangle{
				Min: vg.Point{X: left, Y: y + 3},
				Max: vg.Point{X: a.x(float64(b.Value)), Y: y + row - 3},
			}, tint(series, 0.75))
			name := shorten(b.Name, sizeNote, regular, left-10)
			a.drawText(left-6-textWidth(name, sizeNote, regular), y+4, name, style{sizeNote, regular, ink}, start)
			a.drawText(a.x(float64(b.Value))+5, y+4, strconv.Itoa(b.Value), style{sizeNote, regular, soft}, start)
		}
		a.frame(area)
		a.xAxis("Designs", ticks)
	}
	return f, nil
}
