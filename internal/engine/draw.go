package engine

import (
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/plot"
)

// drawing is a figure and its files' name, without an ending.
type drawing struct {
	kind pleat.ArtifactKind
	name string
	fig  *plot.Figure
}

// forms are what a figure is written as.
var forms = []struct {
	ext, typ string
	draw     func(*plot.Figure) ([]byte, error)
}{{".svg", "image/svg+xml", (*plot.Figure).SVG}, {".png", "image/png", (*plot.Figure).PNG}}

// draw writes figures in their order. They are drawn side by side: that is most of what a small job waits for after its engine
// has ended.
func (r *report) draw(m *model, all []drawing) error {
	drawn := make([][]byte, len(all)*len(forms))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, d := range all {
		for k, form := range forms {
			group.Go(func() (err error) {
				drawn[i*len(forms)+k], err = form.draw(d.fig)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, b := range drawn {
		d, form := all[i/len(forms)], forms[i%len(forms)]
		if err := r.file(m, d.kind, d.name+form.ext, form.typ, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
