package plot

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"strconv"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// The colours of every figure.
var (
	white      = rgb(0xFFFFFF)
	ink        = rgb(0x1F2937) // text and axes
	soft       = rgb(0x5B6472) // subtitle, ticks: 5.9:1 on white
	hair       = rgb(0xE2E6EB) // grid lines
	series     = rgb(0x0072B2) // Okabe and Ito's blue
	accent     = rgb(0xD55E00) // Okabe and Ito's vermilion
	accentText = rgb(0xB04A00) // darker, for small letters: 5.6:1 on white
	chainA     = rgb(0x4B5563)
	chainB     = rgb(0xA8B0BC)
	noValue    = rgb(0xF1F3F5)
)

// rgb returns the opaque colour of a hexadecimal value such as 0x1F2937.
func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xFF}
}

// tint mixes a colour with white; weight 1 is the colour itself.
func tint(c color.RGBA, weight float64) color.RGBA { return mix(white, c, weight) }

// mix interpolates linearly between a (t = 0) and b (t = 1).
func mix(a, b color.RGBA, t float64) color.RGBA {
	f := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*t)) }
	return color.RGBA{R: f(a.R, b.R), G: f(a.G, b.G), B: f(a.B, b.B), A: 0xFF}
}

// The type sizes of every figure, in points.
const (
	sizeTitle    vg.Length = 12.5
	sizeSubtitle vg.Length = 9
	sizeAxis     vg.Length = 10
	sizeTick     vg.Length = 9
	sizeNote     vg.Length = 8.5
)

// The weights of texts.
const (
	regular = stdfont.WeightNormal
	bold    = stdfont.WeightBold
)

// liberationSans returns Liberation Sans in a weight.
func liberationSans(weight stdfont.Weight) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}
}

// faces is a private font cache, because any code can change gonum's shared one. It has only the two weights that
// figures use: with all twelve faces, the program is 3.5 MB larger.
var faces = sync.OnceValue(func() *font.Cache {
	return font.NewCache(font.Collection{
		parsed(regular, liberationsansregular.TTF),
		parsed(bold, liberationsansbold.TTF),
	})
})

// parsed returns the face of a font that is part of the program.
func parsed(weight stdfont.Weight, ttf []byte) font.Face {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err)
	}
	return font.Face{Font: liberationSans(weight), Face: f}
}

// face returns Liberation Sans in a size and weight.
func face(size vg.Length, weight stdfont.Weight) font.Face {
	return faces().Lookup(liberationSans(weight), size)
}

// textWidth returns the width of s in points.
func textWidth(s string, size vg.Length, weight stdfont.Weight) vg.Length {
	f := face(size, weight)
	return f.Width(s)
}

// shorten truncates s with an ellipsis to at most width.
func shorten(s string, size vg.Length, weight stdfont.Weight, width vg.Length) string {
	if textWidth(s, size, weight) <= width {
		return s
	}
	runes := []rune(s)
	lo, hi := 0, len(runes)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if textWidth(strings.TrimRight(string(runes[:mid]), " ")+"…", size, weight) <= width {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return strings.TrimRight(string(runes[:lo]), " ") + "…"
}

// pen draws in points from the lower left corner. bitmap is nil when it draws SVG.
type pen struct {
	vg.Canvas
	width, height vg.Length
	bitmap        draw.Image
}

// anchor is the fraction of a text's width that lies left of its point.
type anchor float64

const (
	start  anchor = 0
	middle anchor = 0.5
	end    anchor = 1
)

// style is the size, weight and colour of a text.
type style struct {
	size   vg.Length
	weight stdfont.Weight
	col    color.RGBA
}

// drawText writes s with its baseline at y.
func (p *pen) drawText(x, y vg.Length, s string, st style, a anchor) {
	if s == "" {
		return
	}
	f := face(st.size, st.weight)
	p.SetColor(st.col)
	p.FillString(f, vg.Point{X: x - vg.Length(a)*f.Width(s), Y: y}, s)
}

// upright writes s rotated a quarter to the left, centred on (x, y), where x is the baseline.
func (p *pen) upright(x, y vg.Length, s string, st style) {
	f := face(st.size, st.weight)
	p.Push()
	p.Translate(vg.Point{X: x, Y: y})
	p.Rotate(math.Pi / 2)
	p.SetColor(st.col)
	p.FillString(f, vg.Point{X: -f.Width(s) / 2}, s)
	p.Pop()
}

func (p *pen) fill(r vg.Rectangle, c color.RGBA) {
	p.SetColor(c)
	p.Fill(r.Path())
}

func (p *pen) dot(x, y, radius vg.Length, c color.RGBA) {
	var path vg.Path
	path.Move(vg.Point{X: x + radius, Y: y})
	path.Arc(vg.Point{X: x, Y: y}, radius, 0, 2*math.Pi)
	path.Close()
	p.SetColor(c)
	p.Fill(path)
}

// line draws a polyline. In a bitmap it draws solid lines in stretches, see stretchPoints.
func (p *pen) line(width vg.Length, c color.RGBA, dashes []vg.Length, pts ...vg.Point) {
	if len(pts) < 2 {
		return
	}
	p.SetLineWidth(width)
	p.SetLineDash(dashes, 0)
	p.SetColor(c)
	length := len(pts)
	if p.bitmap != nil && dashes == nil {
		length = stretchPoints
	}
	for at := 0; ; at += length - 2 {
		end := min(at+length, len(pts))
		path := make(vg.Path, 0, end-at)
		path.Move(pts[at])
		for _, pt := range pts[at+1 : end] {
			path.Line(pt)
		}
		p.Stroke(path)
		if end == len(pts) {
			return
		}
	}
}

// stretchPoints is the number of points of a line that are drawn at once in a bitmap. The library's time grows with
// the square of the number of points where the line goes up and down: 0.36 s for 1,000 residues. Two stretches
// share a segment, so that they join.
const stretchPoints = 64

// frame draws the outline of r.
func (p *pen) frame(r vg.Rectangle) {
	p.line(0.8, ink, nil, r.Min, vg.Point{X: r.Max.X, Y: r.Min.Y}, r.Max, vg.Point{X: r.Min.X, Y: r.Max.Y}, r.Min,
		vg.Point{X: r.Max.X, Y: r.Min.Y})
}

// image draws a raster over r, whose sides are whole points. In a bitmap each pixel is computed exactly, without
// smoothing; SVG embeds the coarser raster.
func (p *pen) image(r vg.Rectangle, ra raster) {
	if p.bitmap == nil {
		p.DrawImage(r, ra.embed())
		return
	}
	at := image.Rect(
		int(math.Round(r.Min.X.Points()*pixelsPerPoint)), int(math.Round((p.height-r.Max.Y).Points()*pixelsPerPoint)),
		int(math.Round(r.Max.X.Points()*pixelsPerPoint)), int(math.Round((p.height-r.Min.Y).Points()*pixelsPerPoint)))
	img := ra.exact(at.Dx(), at.Dy())
	draw.Draw(p.bitmap, at, img, img.Bounds().Min, draw.Src)
}

// headerHeight returns the height in points of a header, from the top to just above the data or the chain names.
func headerHeight(l Labels) vg.Length {
	if l.Subtitle == "" {
		return 38
	}
	return 51
}

// header writes the title and the subtitle, shortened to the figure's width.
func (p *pen) header(l Labels, x vg.Length) {
	room := p.width - x - 12
	p.drawText(x, p.height-24, shorten(l.Title, sizeTitle, bold, room), style{sizeTitle, bold, ink}, start)
	p.drawText(x, p.height-38, shorten(l.Subtitle, sizeSubtitle, regular, room), style{sizeSubtitle, regular, soft},
		start)
}

// panel is the data rectangle of a figure with its two linear scales; a scale may run downwards.
type panel struct {
	*pen
	vg.Rectangle
	x0, x1, y0, y1 float64
}

// x returns the horizontal position of a value, in points.
func (a panel) x(v float64) vg.Length {
	return a.Min.X + vg.Length((v-a.x0)/(a.x1-a.x0))*(a.Max.X-a.Min.X)
}

// y returns the vertical position of a value, in points.
func (a panel) y(v float64) vg.Length {
	return a.Min.Y + vg.Length((v-a.y0)/(a.y1-a.y0))*(a.Max.Y-a.Min.Y)
}

// tick is a mark on an axis; one without a label is shorter.
type tick struct {
	at    float64
	label string
}

// xAxis draws the ticks and the label below the panel.
func (a panel) xAxis(label string, ticks []tick) {
	for _, t := range ticks {
		x, n := a.x(t.at), vg.Length(4)
		if t.label == "" {
			n = 2.2
		}
		a.line(0.8, ink, nil, vg.Point{X: x, Y: a.Min.Y}, vg.Point{X: x, Y: a.Min.Y - n})
		a.drawText(x, a.Min.Y-6-sizeTick*0.75, t.label, style{sizeTick, regular, ink}, middle)
	}
	a.drawText((a.Min.X+a.Max.X)/2, a.Min.Y-31, shorten(label, sizeAxis, regular, a.Max.X-a.Min.X),
		style{sizeAxis, regular, ink}, middle)
}

// yAxis draws the ticks and the label to the left of the panel.
func (a panel) yAxis(label string, ticks []tick) {
	for _, t := range ticks {
		y, n := a.y(t.at), vg.Length(4)
		if t.label == "" {
			n = 2.2
		}
		a.line(0.8, ink, nil, vg.Point{X: a.Min.X, Y: y}, vg.Point{X: a.Min.X - n, Y: y})
		a.drawText(a.Min.X-6.5, y-sizeTick*0.34, t.label, style{sizeTick, regular, ink}, end)
	}
	a.upright(a.Min.X-widest(ticks)-14, (a.Min.Y+a.Max.Y)/2, shorten(label, sizeAxis, regular, a.Max.Y-a.Min.Y),
		style{sizeAxis, regular, ink})
}

// leftMargin returns the width in points that a y axis needs.
func leftMargin(ticks []tick) vg.Length {
	return vg.Length(math.Ceil(float64(max(widest(ticks), 16)))) + 30
}

// widest returns the width of the widest label.
func widest(ticks []tick) (width vg.Length) {
	for _, t := range ticks {
		width = max(width, textWidth(t.label, sizeTick, regular))
	}
	return width
}

// colourBar draws a scale to the right of the panel, with the lowest value at the bottom.
func (a panel) colourBar(x vg.Length, r ramp, lo, hi float64, label string, ticks []tick) {
	bar := panel{a.pen, vg.Rectangle{Min: vg.Point{X: x, Y: a.Min.Y}, Max: vg.Point{X: x + 13, Y: a.Max.Y}}, 0, 1, lo,
		hi}
	a.image(bar.Rectangle, scale{r})
	a.frame(bar.Rectangle)
	for _, t := range ticks {
		y := bar.y(t.at)
		a.line(0.8, ink, nil, vg.Point{X: bar.Max.X, Y: y}, vg.Point{X: bar.Max.X + 3.5, Y: y})
		a.drawText(bar.Max.X+6.5, y-sizeTick*0.34, t.label, style{sizeTick, regular, ink}, start)
	}
	a.upright(bar.Max.X+widest(ticks)+21, (bar.Min.Y+bar.Max.Y)/2, label, style{sizeAxis, regular, ink})
}

// niceStep returns the step of 1, 2 or 5 times a power of ten that gives at most want steps over span.
func niceStep(span float64, want int) float64 {
	raw := span / float64(want)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// niceTicks returns labelled ticks at the multiples of a nice step from lo to hi.
func niceTicks(lo, hi float64, want int) []tick {
	step := niceStep(hi-lo, want)
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var out []tick
	for k := math.Ceil(lo/step - 1e-9); k <= math.Floor(hi/step+1e-9) && len(out) < 100; k++ {
		v := k * step
		if k == 0 {
			v = 0
		}
		format, prec := byte('f'), digits
		if digits > 4 || math.Abs(v) >= 1e6 {
			format, prec = 'g', 4
		}
		out = append(out, tick{v, strings.Replace(strconv.FormatFloat(v, format, prec, 64), "-", "−", 1)})
	}
	return out
}

// residueTicks returns ticks for residues numbered from 1: the first, and the multiples of a nice step.
func residueTicks(n int) []tick {
	if n <= 10 {
		var out []tick
		for i := 1; i <= n; i++ {
			out = append(out, tick{float64(i), strconv.Itoa(i)})
		}
		return out
	}
	step := int(niceStep(float64(n), 8))
	out := []tick{{1, "1"}}
	for i := step; i <= n; i += step {
		out = append(out, tick{float64(i), strconv.Itoa(i)})
	}
	return out
}

// countTicks returns niceTicks at whole numbers only.
func countTicks(hi float64, want int) []tick {
	var out []tick
	for _, t := range niceTicks(0, hi, want) {
		if t.at == math.Trunc(t.at) {
			out = append(out, tick{t.at, strconv.Itoa(int(t.at))})
		}
	}
	return out
}
