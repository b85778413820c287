package report

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/plot"
)

// figure is a drawn figure, the kind of its artifacts, and the name of its files without the extension.
type figure struct {
	kind pleat.ArtifactKind
	name string
	fig  *plot.Figure
}

// figureFormats are the formats that every figure is written in: SVG for the page and for print, PNG for everything
// else.
var figureFormats = []struct {
	extension, contentType string
	encode                 func(*plot.Figure) ([]byte, error)
}{
	{".svg", "image/svg+xml", (*plot.Figure).SVG},
	{".png", "image/png", (*plot.Figure).PNG},
}

// draw writes figures in their order. It encodes them in parallel: that takes most of the time between the end of the
// model and the end of a small job.
func (d *folder) draw(figures []figure) error {
	encoded := make([][]byte, len(figures)*len(figureFormats))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		for k, format := range figureFormats {
			group.Go(func() (err error) {
				encoded[i*len(figureFormats)+k], err = format.encode(f.fig)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, b := range encoded {
		f, format := figures[i/len(figureFormats)], figureFormats[i%len(figureFormats)]
		if err := d.file(f.kind, f.name+format.extension, format.contentType, content(b)); err != nil {
			return err
		}
	}
	return nil
}

// figureFiles returns the names of the files that draw writes for figures of these names.
func figureFiles(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, format := range figureFormats {
			out = append(out, name+format.extension)
		}
	}
	return out
}
