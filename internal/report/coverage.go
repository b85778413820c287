package report

import (
	"errors"
	"os"
	"strings"

	"pleat"
	"pleat/internal/msa"
	"pleat/internal/plot"
)

// Coverage draws the alignments of a fold: how many sequences cover each residue, and how similar they are to it.
type Coverage struct {
	Work     pleat.Work
	Unpaired map[string]*msa.Alignment // by sequence
	// Paired are alignments whose rows belong together across sequences: row k of one and row k of another are of the
	// same organism.
	Paired map[string]*msa.Alignment
}

// Publish draws one figure of the whole complex, or one for each sequence if the model folds each on its own, and
// publishes them through the sink while the run goes on. It does nothing if no sequence has an alignment. No figure
// stays in the folder of the work, whose files are inputs.
func (c *Coverage) Publish(sink pleat.Sink) error {
	var aligned []pleat.Sequence
	for _, s := range c.Work.Fold.Sequences {
		if s.Aligned() && c.Unpaired[s.Text] != nil {
			aligned = append(aligned, s)
		}
	}
	if c.Work.Fold.Complex {
		return c.publish(sink, aligned, "", "")
	}
	for _, s := range aligned {
		if err := c.publish(sink, []pleat.Sequence{s}, SequencePrefix(c.Work.Fold, s), s.ID); err != nil {
			return err
		}
	}
	return nil
}

// SequencePrefix returns what the file names of a sequence begin with in a fold of several sequences.
func SequencePrefix(f *pleat.FoldInput, s pleat.Sequence) string {
	if len(f.Sequences) > 1 {
		return s.Chains[0] + "-"
	}
	return ""
}

// publish draws one figure of the given sequences and hands its files to the sink. owner is the sequence that the files
// belong to; empty: the run.
func (c *Coverage) publish(sink pleat.Sink, sequences []pleat.Sequence, prefix string, owner pleat.SequenceID) error {
	chains := make([]plot.Chain, len(sequences))
	for i, s := range sequences {
		chains[i] = plot.Chain{Name: strings.Join(s.Chains, ", "), Length: len(s.Text)}
	}
	fig, err := plot.Coverage(plot.Labels{}, chains, c.blocks(sequences))
	if err != nil {
		return err
	}
	d := folder{dir: c.Work.Dir, sequence: owner}
	if err := d.draw([]figure{{pleat.ArtifactCoverage, prefix + "coverage", fig}}); err != nil {
		return err
	}
	for _, f := range d.files {
		if err := errors.Join(sink.Publish(f), os.Remove(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// blocks returns the paired rows, then the unpaired rows of each sequence. The rows of a sequence cover its residues
// and have gaps at all others.
func (c *Coverage) blocks(sequences []pleat.Sequence) []plot.Block {
	var out []plot.Block
	if len(sequences) > 1 {
		if b := c.pairedBlock(sequences); len(b.Rows) > 0 {
			out = append(out, b)
		}
	}
	start := 0
	for _, s := range sequences {
		b := plot.Block{Start: start, Span: len(s.Text)}
		if len(sequences) > 1 {
			b.Name = strings.Join(s.Chains, ", ")
		}
		for _, r := range c.Unpaired[s.Text].Rows {
			text := r.Aligned()
			b.Rows = append(b.Rows, plot.Row{Identity: msa.Identity(s.Text, text), Aligned: text})
		}
		out = append(out, b)
		start += len(s.Text)
	}
	return out
}

// pairedBlock joins the paired rows of all sequences; it is empty unless every sequence was paired. The identity of a
// joint row is the mean over the sequences that it covers.
func (c *Coverage) pairedBlock(sequences []pleat.Sequence) plot.Block {
	b := plot.Block{Name: "paired"}
	for _, s := range sequences {
		if c.Paired[s.Text] == nil {
			return plot.Block{}
		}
	}
	for k := range c.Paired[sequences[0].Text].Rows {
		var row strings.Builder
		identical, covered := 0.0, 0
		for _, s := range sequences {
			text := c.Paired[s.Text].Rows[k].Aligned()
			row.WriteString(text)
			if strings.Trim(text, "-") != "" {
				identical += msa.Identity(s.Text, text) * float64(len(text))
				covered += len(text)
			}
		}
		r := plot.Row{Aligned: row.String()}
		if covered > 0 {
			r.Identity = min(identical/float64(covered), 1)
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}
