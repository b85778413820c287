package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// ramp is a colour scale through equally spaced stops, from the lowest value to the highest.
type ramp []color.RGBA

// ramps returns the scale of the given hexadecimal colours.
func ramps(stops ...uint32) ramp {
	r := make(ramp, len(stops))
	for i, s := range stops {
		r[i] = rgb(s)
	}
	return r
}

var (
	// greens is ColorBrewer's Greens, dark for certain: the scale that readers know from the AlphaFold database.
	greens = ramps(0x00441B, 0x006D2C, 0x238B45, 0x41AB5D, 0x74C476, 0xA1D99B, 0xC7E9C0, 0xE5F5E0, 0xF7FCF5)
	// viridis is monotone in lightness, and reads the same with any colour vision.
	viridis = ramps(0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C, 0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725)
	// depths is viridis turned round, so that what is most alike is darkest and nothing fades into the white of a gap.
	depths = ramp{viridis[8], viridis[7], viridis[6], viridis[5], viridis[4], viridis[3], viridis[2], viridis[1],
		viridis[0]}
)

// colour returns the colour at t, clamped to 0 … 1.
func (r ramp) colour(t float64) color.RGBA {
	t = min(max(t, 0), 1) * float64(len(r)-1)
	i := min(int(t), len(r)-2)
	return mix(r[i], r[i+1], t-float64(i))
}

// raster is an image over a rectangle of the figure.
type raster interface {
	exact(width, height int) image.Image // each pixel of its own, for a bitmap
	embed() image.Image                  // at most embedSide on a side, for SVG
}

const (
	exactSide = 1080 // the widest data rectangle, in pixels
	embedSide = 512
	// embedBytes bounds a heat map embedded in SVG before base64; an image above it gets fewer colours.
	embedBytes = 200_000
)

// grid is a matrix of means: a source of any size is added cell by cell, and cells that fall on the same point are
// averaged.
type grid struct {
	cols, rows       int // of the grid
	srcCols, srcRows int
	sum              []float64
	n                []int32
}

// newGrid returns an empty grid of at most side points in each direction.
func newGrid(srcCols, srcRows, side int) *grid {
	g := &grid{cols: min(srcCols, side), rows: min(srcRows, side), srcCols: srcCols, srcRows: srcRows}
	g.sum, g.n = make([]float64, g.cols*g.rows), make([]int32, g.cols*g.rows)
	return g
}

// index returns the point on which a source cell falls.
func (g *grid) index(col, row int) int {
	return (row*g.rows/g.srcRows)*g.cols + col*g.cols/g.srcCols
}

// add adds one source cell.
func (g *grid) add(col, row int, v float64) {
	i := g.index(col, row)
	g.sum[i] += v
	g.n[i]++
}

// value returns the mean at a point of the grid, and false where no cell fell on it.
func (g *grid) value(col, row int) (float64, bool) {
	i := row*g.cols + col
	return g.sum[i] / float64(g.n[i]), g.n[i] > 0
}

// heat is a heat map: two grids of one source (row 0 on top), and the mapping of values to colours.
type heat struct {
	fine, coarse *grid
	ramp         ramp
	lo, hi       float64
}

// newHeat returns an empty heat map whose scale runs from lo to hi.
func newHeat(cols, rows int, r ramp, lo, hi float64) *heat {
	return &heat{fine: newGrid(cols, rows, exactSide), coarse: newGrid(cols, rows, embedSide), ramp: r, lo: lo, hi: hi}
}

// add adds one source cell to both grids.
func (h *heat) add(col, row int, v float64) {
	h.fine.add(col, row, v)
	h.coarse.add(col, row, v)
}

func (h *heat) exact(width, height int) image.Image { return h.paint(h.fine, width, height, 255) }

// embed returns the image for SVG, with fewer colours where it would exceed embedBytes.
func (h *heat) embed() image.Image {
	w, ht := grown(h.coarse.cols), grown(h.coarse.rows)
	img := h.paint(h.coarse, w, ht, 255)
	if h.coarse.cols*h.coarse.rows <= embedBytes/2 {
		return img
	}
	for _, levels := range []int{255, 127, 63} {
		img = h.paint(h.coarse, w, ht, levels)
		var size bytes.Buffer
		if err := png.Encode(&size, img); err == nil && size.Len() <= embedBytes {
			break
		}
	}
	return img
}

// grown returns the largest whole multiple of n up to embedSide. Viewers smooth small images; enlarging keeps the
// cells sharp.
func grown(n int) int { return n * max(1, embedSide/n) }

// paint draws the grid with the given number of colours, and points without a value in noValue.
func (h *heat) paint(g *grid, width, height, levels int) *image.Paletted {
	pal := make(color.Palette, levels+1)
	pal[0] = noValue
	for i := range levels {
		pal[i+1] = h.ramp.colour(float64(i) / float64(levels-1))
	}
	cells := make([]uint8, g.cols*g.rows)
	for row := range g.rows {
		for col := range g.cols {
			if v, ok := g.value(col, row); ok {
				t := (v - h.lo) / (h.hi - h.lo)
				cells[row*g.cols+col] = uint8(1 + math.Round(min(max(t, 0), 1)*float64(levels-1)))
			}
		}
	}
	return g.spread(cells, pal, width, height)
}

// spread enlarges the points of the grid, given as palette indices, to an image of any size. Each pixel has the
// colour of one point.
func (g *grid) spread(cells []uint8, pal color.Palette, width, height int) *image.Paletted {
	img := image.NewPaletted(image.Rect(0, 0, width, height), pal)
	for y := range height {
		row := cells[y*g.rows/height*g.cols:]
		line := img.Pix[y*img.Stride:]
		for x := range width {
			line[x] = row[x*g.cols/width]
		}
	}
	return img
}

// scale draws the ramp itself for a colour bar, with the highest value on top.
type scale struct{ ramp }

func (s scale) embed() image.Image { return s.exact(8, 256) }

// exact draws one colour per row of pixels.
func (s scale) exact(width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		c := s.colour(1 - (float64(y)+0.5)/float64(height))
		for x := range width {
			img.SetRGBA(x, y, c)
		}
	}
	return img
}
