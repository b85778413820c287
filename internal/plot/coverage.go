package plot

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// Row is one aligned sequence: its identity to the query, 0 to 1, and its letters over the residues of all chains
// in order, '-' or '.' for a gap. Insertions have been removed.
type Row struct {
	Identity float64
	Aligned  string
}

// Block is a part of an alignment that is shown together, such as the paired rows, or the unpaired rows of one
// chain.
type Block struct {
	Name string
	Rows []Row
	// Start and Span give the residues that the rows cover: Span residues from Start, counted from 0; a row has
	// gaps at all others. A Span of 0 means all residues.
	Start, Span int
}

// Coverage draws an alignment: each row in the colour of its identity to the query, sorted by identity inside each
// block with the most similar on top, white at gaps; and a black line with the number of rows that cover each
// position. Blocks are stacked in order. It returns an error for an alignment without rows, a row of another length
// and an identity outside 0 to 1.
func Coverage(l Labels, chains []Chain, blocks []Block) (*Figure, error) {
	chains, n, err := checkChains("coverage", chains)
	if err != nil {
		return nil, err
	}
	d, err := newDepth(n, blocks)
	if err != nil {
		return nil, err
	}
	l = l.withDefault("Alignment coverage")
	yTicks := countTicks(float64(d.rows), 6)
	left := leftMargin(yTicks)
	gutter := vg.Length(0)
	for _, b := range d.blocks {
		gutter = max(gutter, 8+textWidth(b.name, sizeNote, regular))
	}
	gutter = vg.Length(math.Ceil(float64(gutter)))
	area := vg.Rectangle{Min: vg.Point{X: left, Y: 46}, Max: vg.Point{X: figureWidth - 80 - gutter, Y: 46 + 230}}
	names, rows := placeNames(chains, n, area.Min.X, area.Max.X, 12, figureWidth-12)
	lo, hi := slices.Min(d.count), slices.Max(d.count)
	f := &Figure{
		width:  figureWidth,
		height: area.Max.Y + stripRoom(chains, rows) + headerHeight(l),
		title:  l.Title,
		desc: fmt.Sprintf("Alignment of %d sequences over the residues of %s, coloured by identity to the query. "+
			"Between %d and %d sequences cover a position.%s",
			d.rows, describe(chains), lo, hi, sentence(l.Subtitle)),
	}
	f.paint = func(p *pen) {
		a := panel{p, area, 0.5, float64(n) + 0.5, 0, float64(d.rows)}
		p.header(l, left)
		a.image(area, d)
		a.chainLines(chains)
		a.blockLines(d)
		pts := make([]vg.Point, 0, n+2)
		pts = append(pts, vg.Point{X: area.Min.X, Y: a.y(float64(d.count[0]))})
		for i, c := range d.count {
			pts = append(pts, vg.Point{X: a.x(float64(i + 1)), Y: a.y(float64(c))})
		}
		pts = append(pts, vg.Point{X: area.Max.X, Y: a.y(float64(d.count[n-1]))})
		a.line(3, white, nil, pts...)
		a.line(1.3, rgb(0), nil, pts...)
		a.frame(area)
		a.chainStrip(chains, names)
		a.xAxis("Residue", residueTicks(n))
		a.yAxis("Sequences", yTicks)
		a.colourBar(area.Max.X+16+gutter, depths, 0, 1, "Sequence identity to query", niceTicks(0, 1, 5))
	}
	return f, nil
}

// blockLines separates the blocks and writes their names to the right of their rows. A name that would overlap the
// one above is omitted.
func (a panel) blockLines(d *depth) {
	size := min(sizeNote, max(7, (a.Max.Y-a.Min.Y)/vg.Length(len(d.blocks))/1.15))
	above := a.Max.Y + size
	for i, b := range d.blocks {
		if i > 0 {
			y := a.y(float64(d.rows - b.first))
			a.line(1.5, white, nil, vg.Point{X: a.Min.X, Y: y}, vg.Point{X: a.Max.X, Y: y})
			a.line(0.7, accent, nil, vg.Point{X: a.Min.X, Y: y}, vg.Point{X: a.Max.X, Y: y})
		}
		y := a.y(float64(d.rows) - float64(b.first) - float64(b.rows)/2)
		if b.name != "" && y <= above-size*1.02 {
			a.drawText(a.Max.X+6, y-size*0.34, b.name, style{size, regular, ink}, start)
			above = y
		}
	}
}

// depth is the image of an alignment in two resolutions, and its number of rows per position.
type depth struct {
	fine, coarse *cover
	count        []int
	rows         int
	blocks       []struct {
		name        string
		first, rows int
	}
}

// cover counts, on a grid, the source cells and those without a gap, and sums the identity of the latter.
type cover struct {
	identity *grid
	all      []int32
}

// newDepth checks the blocks and draws their rows on both grids. n is the number of residues of all chains.
func newDepth(n int, blocks []Block) (*depth, error) {
	d := &depth{count: make([]int, n)}
	if err := d.addBlocks(blocks); err != nil {
		return nil, err
	}
	d.fine, d.coarse = newCover(n, d.rows, exactSide), newCover(n, d.rows, embedSide)
	at := 0
	for i, b := range blocks {
		if b.Span == 0 {
			b.Start, b.Span = 0, n
		}
		if b.Start < 0 || b.Span < 0 || b.Start+b.Span > n {
			return nil, fmt.Errorf(
				"plot: coverage: block %d (%q) stands for residues %d to %d; the chains have 1 to %d", i+1,
				clean(b.Name), b.Start+1, b.Start+b.Span, n)
		}
		if err := b.check(n); err != nil {
			return nil, fmt.Errorf("plot: coverage: block %d (%q), %w", i+1, clean(b.Name), err)
		}
		sorted := slices.Clone(b.Rows)
		slices.SortStableFunc(sorted, func(x, y Row) int { return cmp.Compare(y.Identity, x.Identity) })
		for _, r := range sorted {
			d.draw(at, b.Start, r)
			at++
		}
	}
	return d, nil
}

// addBlocks counts the rows and names the blocks that have any. It returns an error for too many rows, and for none.
func (d *depth) addBlocks(blocks []Block) error {
	for i, b := range blocks {
		if len(b.Rows) > maxRows-d.rows {
			return fmt.Errorf("plot: coverage has more than %d rows at block %d (%q)", maxRows, i+1, clean(b.Name))
		}
		if len(b.Rows) == 0 {
			continue
		}
		d.blocks = append(d.blocks, struct {
			name        string
			first, rows int
		}{shorten(clean(b.Name), sizeNote, regular, 84), d.rows, len(b.Rows)})
		d.rows += len(b.Rows)
	}
	if d.rows == 0 {
		return fmt.Errorf("plot: coverage has no rows; at least the query is required")
	}
	return nil
}

// check returns an error for a row that has another length than the block, which covers Span of n residues, or an
// identity outside 0 to 1.
func (b *Block) check(n int) error {
	block := "the block has"
	if b.Span == n {
		block = "the chains have"
	}
	for j, r := range b.Rows {
		if len(r.Aligned) != b.Span {
			return fmt.Errorf("row %d has %d letters; %s %d residues", j+1, len(r.Aligned), block, b.Span)
		}
		if !(r.Identity >= 0 && r.Identity <= 1) {
			return fmt.Errorf("row %d has identity %v; it must be a number from 0 to 1", j+1, r.Identity)
		}
	}
	return nil
}

// draw adds a row to both grids, at position row from the top; its letters begin at residue start, counted from 0.
func (d *depth) draw(row, start int, r Row) {
	for col := range d.count {
		i := col - start
		if i < 0 || i >= len(r.Aligned) || r.Aligned[i] == '-' || r.Aligned[i] == '.' {
			d.fine.addGap(col, row)
			d.coarse.addGap(col, row)
			continue
		}
		d.count[col]++
		d.fine.addLetter(col, row, r.Identity)
		d.coarse.addLetter(col, row, r.Identity)
	}
}

// newCover returns an empty cover of at most side points in each direction.
func newCover(cols, rows, side int) *cover {
	g := newGrid(cols, rows, side)
	return &cover{identity: g, all: make([]int32, g.cols*g.rows)}
}

// addGap counts one source cell with a gap.
func (c *cover) addGap(col, row int) { c.all[c.identity.index(col, row)]++ }

// addLetter counts one source cell with a letter, of a row of the given identity.
func (c *cover) addLetter(col, row int, identity float64) {
	g := c.identity
	i := g.index(col, row)
	c.all[i]++
	g.sum[i] += identity
	g.n[i]++
}

// exact returns the image at the size of a bitmap.
func (d *depth) exact(width, height int) image.Image { return d.fine.paint(width, height) }

// embed returns the smaller image that SVG embeds.
func (d *depth) embed() image.Image {
	return d.coarse.paint(grown(d.coarse.identity.cols), grown(d.coarse.identity.rows))
}

// paint draws each cell in one of 15 colours of identity, mixed with white in 16 steps of the covered fraction: a
// palette of 241 colours.
func (c *cover) paint(width, height int) image.Image {
	const shares, steps = 16, 15
	pal := color.Palette{white}
	for s := 1; s <= shares; s++ {
		for k := range steps {
			pal = append(pal, tint(depths.colour(float64(k)/(steps-1)), float64(s)/shares))
		}
	}
	g := c.identity
	cells := make([]uint8, g.cols*g.rows)
	for i := range cells {
		if g.n[i] > 0 {
			share := max(1, int(math.Round(shares*float64(g.n[i])/float64(c.all[i]))))
			step := int(math.Round(g.sum[i] / float64(g.n[i]) * (steps - 1)))
			cells[i] = uint8(1 + (share-1)*steps + step)
		}
	}
	return g.spread(cells, pal, width, height)
}
