package work

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"pleat"
	"pleat/internal/msa"
	"pleat/internal/plot"
)

// coverage draws the alignments of a fold.
type coverage struct {
	*alignmentStage
	all, paired map[string]*msa.Alignment // by sequence
}

// draw publishes one figure of the whole complex, or one per sequence where the model folds each on its own.
func (c *coverage) draw() error {
	var aligned []pleat.Sequence
	for _, s := range c.work.Fold.Sequences {
		if s.Kind == pleat.Protein && c.all[s.Text] != nil {
			aligned = append(aligned, s)
		}
	}
	if c.work.Fold.Complex {
		return c.figure(aligned, "", "")
	}
	for _, s := range aligned {
		if err := c.figure([]pleat.Sequence{s}, c.prefix(s), s.ID); err != nil {
			return err
		}
	}
	return nil
}

func (c *coverage) figure(of []pleat.Sequence, pre string, owner pleat.SequenceID) error {
	chains := make([]plot.Chain, len(of))
	for i, s := range of {
		chains[i] = plot.Chain{Name: strings.Join(s.Chains, ", "), Length: len(s.Text)}
	}
	fig, err := plot.Coverage(plot.Labels{}, chains, c.blocks(of))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		ending, kind string
		encode       func() ([]byte, error)
	}{{".svg", "image/svg+xml", fig.SVG}, {".png", "image/png", fig.PNG}} {
		raw, err := f.encode()
		if err != nil {
			return err
		}
		name := pre + "coverage" + f.ending
		path := filepath.Join(c.work.Dir, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return err
		}
		err = c.sink.Publish(pleat.File{Kind: pleat.ArtifactCoverage, Name: name, Path: path, ContentType: f.kind, Sequence: owner})
		if err = errors.Join(err, os.Remove(path)); err != nil { // what stays in the folder is input
			return err
		}
	}
	return nil
}

// blocks are the paired rows, then the rows of each sequence alone.
func (c *coverage) blocks(of []pleat.Sequence) []plot.Block {
	var out []plot.Block
	if len(of) > 1 {
		if b := c.pairs(of); len(b.Rows) > 0 {
			out = append(out, b)
		}
	}
	start := 0
	for _, s := range of {
		b := plot.Block{Start: start, Span: len(s.Text)}
		if len(of) > 1 {
			b.Name = strings.Join(s.Chains, ", ")
		}
		for _, r := range c.all[s.Text].Rows {
			text := r.Aligned()
			b.Rows = append(b.Rows, plot.Row{Identity: msa.Identity(s.Text, text), Aligned: text})
		}
		out = append(out, b)
		start += len(s.Text)
	}
	return out
}

// pairs joins the rows that belong together, where every sequence was paired. The identity of a joint row is over the
// sequences that it covers.
func (c *coverage) pairs(of []pleat.Sequence) plot.Block {
	b := plot.Block{Name: "paired"}
	for _, s := range of {
		if c.paired[s.Text] == nil {
			return plot.Block{}
		}
	}
	for k := range c.paired[of[0].Text].Rows {
		var row strings.Builder
		alike, covered := 0.0, 0
		for _, s := range of {
			text := c.paired[s.Text].Rows[k].Aligned()
			row.WriteString(text)
			if strings.Trim(text, "-") != "" {
				alike += msa.Identity(s.Text, text) * float64(len(text))
				covered += len(text)
			}
		}
		r := plot.Row{Aligned: row.String()}
		if covered > 0 {
			r.Identity = min(alike/float64(covered), 1)
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}
