package plot

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// RMSD draws the deviation from a reference over time: values[i] in nm at timesNs[i]. It returns an error for
// times that decrease, negative values, infinities and NaN.
func RMSD(l Labels, timesNs, values []float64) (*Figure, error) {
	if err := checkSeries("RMSD", timesNs, values); err != nil {
		return nil, err
	}
	lo, hi := rangeFromZero(values)
	l = l.withDefault("Deviation from the start (RMSD)")
	return seriesFigure(l, "root-mean-square deviation", timesNs, values, lo, hi, "RMSD (nm)"), nil
}

// Rg draws the radius of gyration over time, with its mean: values[i] in nm at timesNs[i]. It returns an error
// for times that decrease, negative values, infinities and NaN.
func Rg(l Labels, timesNs, values []float64) (*Figure, error) {
	if err := checkSeries("Rg", timesNs, values); err != nil {
		return nil, err
	}
	lo, hi := slices.Min(values), slices.Max(values)
	pad := (hi - lo) * 0.08
	if pad <= hi*1e-6 {
		pad = max(hi*0.05, 0.05)
	}
	l = l.withDefault("Radius of gyration (Rg)")
	return seriesFigure(l, "radius of gyration", timesNs, values, max(0, lo-pad), hi+pad, "Rg (nm)"), nil
}

// checkSeries checks that a series has as many times as values, within the bounds, and that times do not decrease.
func checkSeries(what string, times, values []float64) error {
	if len(times) != len(values) {
		return fmt.Errorf("plot: %s has %d times and %d values; the numbers must be equal", what, len(times),
			len(values))
	}
	if len(times) == 0 {
		return fmt.Errorf("plot: %s has no frames; at least one is required", what)
	}
	if len(times) > MaxFrames {
		return fmt.Errorf("plot: %s has %d frames; at most %d are allowed", what, len(times), MaxFrames)
	}
	for i, v := range values {
		if !(v >= 0 && v <= maxValue) {
			return fmt.Errorf("plot: %s: frame %d is %v; it must be a number from 0 to 1e9", what, i+1, v)
		}
		if t := times[i]; !(math.Abs(t) <= maxValue) || i > 0 && t < times[i-1] {
			return fmt.Errorf("plot: %s: the time of frame %d is %v; times must not fall and be at most 1e9 ns",
				what, i+1, t)
		}
	}
	return nil
}

// seriesFigure draws a line over time and, dashed, its mean.
func seriesFigure(l Labels, name string, times, values []float64, lo, hi float64, label string) *Figure {
	avg := mean(values)
	t0, t1 := times[0], times[len(times)-1]
	desc := fmt.Sprintf("Line of the %s in nm over %.4g ns in %d frames. Mean %.3g, lowest %.3g, highest %.3g.%s",
		name, t1-t0, len(times), avg, slices.Min(values), slices.Max(values), sentence(l.Subtitle))
	if t0 > 0 && t0 <= 0.05*t1 {
		t0 = 0
	}
	if t1-t0 <= max(1e-9, 1e-9*max(math.Abs(t0), math.Abs(t1))) {
		pad := max(math.Abs(t0)*0.1, 0.01)
		t0, t1 = t0-pad, t1+pad
	}
	times, values = thin(times, values, 1400)
	xTicks, yTicks := niceTicks(t0, t1, 8), niceTicks(lo, hi, 6)
	left := leftMargin(yTicks)
	note := fmt.Sprintf("mean %.3g nm", avg)
	right := vg.Length(math.Ceil(float64(textWidth(note, sizeNote, regular)))) + 18
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 46}, Max: vg.Point{X: figureWidth - right, Y: 46 + 196}}
	f := &Figure{width: figureWidth, height: area.Max.Y + headerHeight(l), title: l.Title, desc: desc}
	f.paint = func(p *pen) {
		a := panel{p, area, t0, t1, lo, hi}
		p.header(l, left)
		a.gridLines(yTicks)
		pts := make([]vg.Point, len(times))
		for i := range times {
			pts[i] = vg.Point{X: a.x(times[i]), Y: a.y(values[i])}
		}
		a.line(1, series, nil, pts...)
		if len(pts) <= 40 {
			for _, pt := range pts {
				a.dot(pt.X, pt.Y, 2, series)
			}
		}
		y := a.y(avg)
		a.line(0.9, accent, []vg.Length{4, 2.5}, vg.Point{X: area.Min.X, Y: y}, vg.Point{X: area.Max.X, Y: y})
		a.drawText(area.Max.X+6, y-sizeNote*0.34, note, style{sizeNote, regular, accentText}, start)
		a.frame(area)
		a.xAxis("Time (ns)", xTicks)
		a.yAxis(label, yTicks)
	}
	return f
}

// thin copies a series and keeps at most the first, lowest, highest and last point of each of n/4 intervals, so
// that the drawn line covers the same pixels.
func thin(times, values []float64, n int) (ts, vs []float64) {
	if len(times) <= n {
		return append(ts, times...), append(vs, values...)
	}
	buckets := n / 4
	for b := range buckets {
		from, to := b*len(times)/buckets, (b+1)*len(times)/buckets
		lo, hi := from, from
		for i := from; i < to; i++ {
			if values[i] < values[lo] {
				lo = i
			}
			if values[i] > values[hi] {
				hi = i
			}
		}
		last := -1
		for _, i := range []int{from, min(lo, hi), max(lo, hi), to - 1} {
			if i > last {
				ts, vs, last = append(ts, times[i]), append(vs, values[i]), i
			}
		}
	}
	return ts, vs
}

// Axis is one side of a free-energy grid: its label with unit, the values at its two ends, and its number of bins.
type Axis struct {
	Label    string
	Min, Max float64
	Bins     int
}

// FreeEnergy draws a free-energy landscape in kJ/mol over two coordinates: energy[iy*x.Bins+ix] belongs to bin ix
// along x and iy along y. +Inf marks a bin that was never visited, which stays blank. It returns an error for NaN,
// −Inf and a grid without visited bins.
func FreeEnergy(l Labels, x, y Axis, energy []float64) (*Figure, error) {
	for _, a := range []struct {
		name string
		*Axis
	}{{"x", &x}, {"y", &y}} {
		a.Label = clean(a.Label)
		if a.Bins < 1 || a.Bins > maxBins {
			return nil, fmt.Errorf("plot: free energy: axis %s has %d bins; 1 to %d are allowed", a.name, a.Bins,
				maxBins)
		}
		if least := max(1e-9, 1e-9*max(math.Abs(a.Min), math.Abs(a.Max))); !(a.Min >= -maxValue && a.Max <= maxValue &&
			a.Max-a.Min >= least) {
			return nil, fmt.Errorf("plot: free energy: axis %s runs from %v to %v; both ends must be at most 1e9, "+
				"the first the lower", a.name, a.Min, a.Max)
		}
		if a.Label == "" {
			return nil, fmt.Errorf("plot: free energy: axis %s has no label", a.name)
		}
	}
	if len(energy) != x.Bins*y.Bins {
		return nil, fmt.Errorf("plot: free energy has %d values; the axes have %d × %d bins", len(energy), x.Bins,
			y.Bins)
	}
	lo, hi, visited := math.Inf(1), math.Inf(-1), 0
	for i, e := range energy {
		if math.IsNaN(e) || e < -maxValue || e > maxValue && !math.IsInf(e, 1) {
			return nil, fmt.Errorf(
				"plot: free energy: bin %d along x, %d along y is %v; it must be a number of kJ/mol "+
					"of at most 1e9, or +Inf where never visited", i%x.Bins+1, i/x.Bins+1, e)
		}
		if !math.IsInf(e, 1) {
			lo, hi, visited = min(lo, e), max(hi, e), visited+1
		}
	}
	if visited == 0 {
		return nil, fmt.Errorf("plot: free energy: none of the %d bins was visited", len(energy))
	}
	if hi-lo < 1e-9*max(1, math.Abs(hi)) {
		hi = lo + 1
	}
	h := newHeat(x.Bins, y.Bins, viridis, lo, hi)
	for i, e := range energy {
		if !math.IsInf(e, 1) {
			h.add(i%x.Bins, y.Bins-1-i/x.Bins, e)
		}
	}
	l = l.withDefault("Free-energy landscape")
	desc := fmt.Sprintf(
		"Heat map of the free energy over %s and %s, from %.3g to %.3g kJ/mol; %d of %d bins were visited.%s",
		x.Label, y.Label, lo, hi, visited, len(energy), sentence(l.Subtitle))
	return energyFigure(l, desc, x, y, h, visited < len(energy)), nil
}

// energyFigure lays out a landscape with its colour bar; blanks adds a legend entry for bins that were not visited.
func energyFigure(l Labels, desc string, x, y Axis, h *heat, blanks bool) *Figure {
	xTicks, yTicks, bar := niceTicks(x.Min, x.Max, 7), niceTicks(y.Min, y.Max, 7), niceTicks(h.lo, h.hi, 7)
	left, barRoom := leftMargin(yTicks), leftMargin(bar)
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 46}, Max: vg.Point{X: left + 330, Y: 46 + 290}}
	f := &Figure{width: area.Max.X + 32 + barRoom, height: area.Max.Y + headerHeight(l), title: l.Title, desc: desc}
	f.paint = func(p *pen) {
		a := panel{p, area, x.Min, x.Max, y.Min, y.Max}
		p.header(l, left)
		a.image(area, h)
		a.frame(area)
		a.xAxis(x.Label, xTicks)
		a.yAxis(y.Label, yTicks)
		a.colourBar(area.Max.X+16, h.ramp, h.lo, h.hi, "Free energy (kJ/mol)", bar)
		if blanks {
			box := vg.Rectangle{Min: vg.Point{X: area.Max.X + 16, Y: 17}, Max: vg.Point{X: area.Max.X + 25, Y: 26}}
			a.fill(box, noValue)
			a.frame(box)
			a.drawText(box.Max.X+4, box.Min.Y+2, "not visited", style{sizeNote, regular, soft}, start)
		}
	}
	return f
}
