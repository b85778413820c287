// Package plot draws the figures of a run from plain arrays: confidence per residue (pLDDT), predicted aligned
// error (PAE), alignment coverage, and the curves and landscapes of dynamics. A Figure is written as SVG or PNG;
// the same input gives the same bytes, and no font, display or file of the host is needed.
//
// It owns how a figure looks. It must not compute scores, read files, or know jobs: other packages convert
// alignments, structures and trajectories to arrays.
package plot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"strings"
	"unicode"

	"pleat/internal/words"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// pixelsPerPoint is the scale of a PNG: three pixels per point are 216 dots per inch, and every whole point falls
// on a pixel.
const pixelsPerPoint = 3

// Bounds of one figure. Beyond them the constructors return an error.
const (
	MaxChains   = 512
	MaxResidues = 20_000
	maxRows     = 1_000_000 // alignment rows
	MaxFrames   = 50_000_000
	maxBins     = 4_096 // of one side of a free-energy grid
	maxValue    = 1e9   // of a length, an energy, a time or the end of an axis, in its unit
)

// Labels are the texts above a figure. An empty Title means the plot's own; an empty Subtitle is omitted. Either is
// shortened with an ellipsis where it is wider than the figure.
type Labels struct {
	Title    string
	Subtitle string // such as "ensemble agreement, calibrated; not a trained head"
}

// Chain is one chain (or ligand) of a complex: its displayed name and its number of residues (tokens), at least
// one.
type Chain struct {
	Name   string
	Length int
}

// Profile is a chain with one value per residue.
type Profile struct {
	Name   string
	Values []float64
}

// Figure is a finished plot, ready to be written. It has a copy of its data, may be written any number of times,
// and is safe for concurrent use.
type Figure struct {
	width, height vg.Length
	title, desc   string
	paint         func(*pen)
}

// Size returns the size of the PNG in pixels.
func (f *Figure) Size() (width, height int) {
	return int(f.width) * pixelsPerPoint, int(f.height) * pixelsPerPoint
}

// Description returns one or two sentences on what the figure shows. The SVG carries them for screen readers.
func (f *Figure) Description() string { return f.desc }

// quick needs half the time of the default level. Lines and text come out 5 % larger, a heat map of hundreds of
// residues up to twice as large.
var quick = png.Encoder{CompressionLevel: png.BestSpeed}

// PNG encodes the figure as an opaque bitmap of Size pixels.
func (f *Figure) PNG() ([]byte, error) {
	var out bytes.Buffer
	if err := quick.Encode(&out, f.bitmap()); err != nil {
		return nil, fmt.Errorf("plot: encode PNG: %w", err)
	}
	return out.Bytes(), nil
}

// bitmap draws the figure on a white bitmap.
func (f *Figure) bitmap() image.Image {
	c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(72*pixelsPerPoint),
		vgimg.UseBackgroundColor(color.White))
	f.paint(&pen{Canvas: c, width: f.width, height: f.height, bitmap: c.Image()})
	return c.Image()
}

// SVG encodes the figure as a document on a white background, with its title and description for screen readers.
// Heat maps are embedded as PNG, so that the size does not grow with the square of the residues. Text remains text,
// in Liberation Sans or a font of the same widths (Arial, Helvetica).
func (f *Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.width, f.height)
	p := &pen{Canvas: c, width: f.width, height: f.height}
	p.fill(vg.Rectangle{Max: vg.Point{X: f.width, Y: f.height}}, white)
	f.paint(p)
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("plot: encode SVG: %w", err)
	}
	return f.replaceHead(out.Bytes())
}

// replaceHead replaces the document head that vgsvg writes, which has no title and no role. It also corrects two faults
// of vgsvg: fonts without fallback, and PNG data declared as JPEG.
func (f *Figure) replaceHead(doc []byte) ([]byte, error) {
	_, body, ok := bytes.Cut(doc, []byte(`xmlns:xlink="http://www.w3.org/1999/xlink">`))
	if !ok {
		return nil, errors.New("plot: encode SVG: the library's document head has changed")
	}
	var out bytes.Buffer
	out.Grow(len(doc) + 512)
	fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" width="%gpt" height="%gpt" viewBox="0 0 %g %g" stroke-linejoin="round">
<title>%s</title>
<desc>%s</desc>`, f.width.Points(), f.height.Points(), f.width.Points(), f.height.Points(), html.EscapeString(f.title), html.EscapeString(f.desc))
	body = bytes.ReplaceAll(body, []byte(`font-family:Liberation Sans;font-variant:normal;`),
		[]byte(`font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
	body = bytes.ReplaceAll(body, []byte(`xlink:href="data:image/jpg;base64,`),
		[]byte(`style="image-rendering:pixelated" preserveAspectRatio="none" xlink:href="data:image/png;base64,`))
	out.Write(body)
	return out.Bytes(), nil
}

// clean makes text valid for one line of XML: it removes control characters, line breaks and invalid UTF-8.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\uFFFE' || r == '\uFFFF':
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// withDefault returns clean labels with the given title where there is none.
func (l Labels) withDefault(title string) Labels {
	l.Title, l.Subtitle = cmp.Or(clean(l.Title), title), clean(l.Subtitle)
	return l
}

// checkChains returns the chains with clean names and their total length.
func checkChains(what string, chains []Chain) ([]Chain, int, error) {
	if len(chains) == 0 {
		return nil, 0, fmt.Errorf("plot: %s has no chains; at least one is required", what)
	}
	if len(chains) > MaxChains {
		return nil, 0, fmt.Errorf("plot: %s has %d chains; at most %d are allowed", what, len(chains), MaxChains)
	}
	out, total := make([]Chain, len(chains)), 0
	for i, c := range chains {
		out[i] = Chain{Name: clean(c.Name), Length: c.Length}
		if c.Length < 1 {
			return nil, 0, fmt.Errorf("plot: %s: chain %d (%q) has %d residues; at least one is required", what, i+1,
				out[i].Name, c.Length)
		}
		if c.Length > MaxResidues-total {
			return nil, 0, fmt.Errorf("plot: %s has more than %d residues at chain %d (%q)", what, MaxResidues, i+1,
				out[i].Name)
		}
		total += c.Length
	}
	return out, total, nil
}

// checkProfiles returns the chains, and a copy of all values in one slice. Values must lie between lo and hi; want
// describes them in errors.
func checkProfiles(what string, profiles []Profile, lo, hi float64, want string) ([]Chain, []float64, error) {
	chains := make([]Chain, len(profiles))
	for i, p := range profiles {
		chains[i] = Chain{Name: p.Name, Length: len(p.Values)}
	}
	chains, total, err := checkChains(what, chains)
	if err != nil {
		return nil, nil, err
	}
	values := make([]float64, 0, total)
	for i, p := range profiles {
		for j, v := range p.Values {
			if !(v >= lo && v <= hi) {
				return nil, nil, fmt.Errorf("plot: %s: chain %d (%q), residue %d is %v; it must be %s", what, i+1,
					chains[i].Name, j+1, v, want)
			}
		}
		values = append(values, p.Values...)
	}
	return chains, values, nil
}

// describe lists the chains in words for the description.
func describe(chains []Chain) string {
	var names []string
	for i, c := range chains {
		names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(c.Name, fmt.Sprint(i+1)), c.Length))
	}
	if len(chains) == 1 {
		return "chain " + names[0]
	}
	return fmt.Sprintf("%d chains: %s", len(chains), words.Join(names, len(names)))
}

// mean returns the arithmetic mean.
func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
