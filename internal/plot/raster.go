package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// ramp is a colour scale through equally spaced stops, the first for the lowest value.
type ramp []color.RGBA

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

// at is the colour at t from 0 to 1.
func (r ramp) at(t float64) color.RGBA {
	t = min(max(t, 0), 1) * float64(len(r)-1)
	i := min(int(t), len(r)-2)
	return mix(r[i], r[i+1], t-float64(i))
}

// raster is a picture over a rectangle of the figure.
type raster interface {
	exact(width, height int) image.Image // each pixel of its own, for a bitmap
	embed() image.Image                  // at most embedSide on a side, for SVG
}

const (
	exactSide = 1080 // the widest data rectangle, in pixels
	embedSide = 512
	// embedBytes bounds a heat map embedded in SVG before base64; noise at full size takes the coarser steps of colour.
	embedBytes = 200_000
)

// grid is a matrix of means: a source of any size is added cell by cell, and cells that fall on one point are averaged.
type grid struct {
	cols, rows       int // of the grid
	srcCols, srcRows int
	sum              []float64
	n                []int32
}

func newGrid(srcCols, srcRows, side int) *grid {
	g := &grid{cols: min(srcCols, side), rows: min(srcRows, side), srcCols: srcCols, srcRows: srcRows}
	g.sum, g.n = make([]float64, g.cols*g.rows), make([]int32, g.cols*g.rows)
	return g
}

// index is the point on which a cell of the source falls.
func (g *grid) index(col, row int) int {
	return (row*g.rows/g.srcRows)*g.cols + col*g.cols/g.srcCols
}

func (g *grid) add(col, row int, v float64) {
	i := g.index(col, row)
	g.sum[i] += v
	g.n[i]++
}

// value is the mean at a point of the grid, and whether there is any.
func (g *grid) value(col, row int) (float64, bool) {
	i := row*g.cols + col
	return g.sum[i] / float64(g.n[i]), g.n[i] > 0
}

// heat is a heat map: two grids of one source (row 0 on top), and how a value becomes a colour.
type heat struct {
	fine, coarse *grid
	ramp         ramp
	lo, hi       float64
}

func newHeat(cols, rows int, r ramp, lo, hi float64) *heat {
	return &heat{fine: newGrid(cols, rows, exactSide), coarse: newGrid(cols, rows, embedSide), ramp: r, lo: lo, hi: hi}
}

func (h *heat) add(col, row int, v float64) {
	h.fine.add(col, row, v)
	h.coarse.add(col, row, v)
}

func (h *heat) exact(width, height int) image.Image { return h.paint(h.fine, width, height, 255) }

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

// grown is the whole multiple of n nearest below embedSide: readers smooth a small picture, this keeps its cells sharp.
func grown(n int) int { return n * max(1, embedSide/n) }

func (h *heat) paint(g *grid, width, height, levels int) *image.Paletted {
	pal := make(color.Palette, levels+1)
	pal[0] = noValue
	for i := range levels {
		pal[i+1] = h.ramp.at(float64(i) / float64(levels-1))
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

// spread paints the points of the grid, as indices of a palette, over a picture of any size, each pixel in the colour
// of one.
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

// scale is the ramp itself as a raster, for a colour bar: the last colour on top.
type scale struct{ ramp }

func (s scale) embed() image.Image { return s.exact(8, 256) }

func (s scale) exact(width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		c := s.at(1 - (float64(y)+0.5)/float64(height))
		for x := range width {
			img.SetRGBA(x, y, c)
		}
	}
	return img
}
