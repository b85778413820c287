package work

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/msa"
)

// align runs one attempt at an alignment that is a result of its own: the search that a fold of the proteins would
// make, with the same files.
func (p *Pool) align(t *runningTask, dir string) pleat.Output {
	plan, err := flow.Parse(t.Workflow.Alias, t.Workflow.Input)
	if err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, err.Error())}
	}
	w := p.work(t, dir)
	w.Computed = nil
	w.Fold = &pleat.FoldInput{
		Run:       t.Task.Run,
		Owner:     t.Task.Owner,
		Sequences: plan.Align.Sequences,
		Complex:   len(plan.Align.Sequences) > 1,
	}
	files := &fileSink{sink: &sink{p: p, t: t, dir: dir}}
	a := alignmentStage{p: p, t: t, work: &w, sink: files, pairing: msa.Pairing(plan.Align.Pairing)}
	t.began = p.cfg.Clock()
	proteins := pleat.Proteins(w.Fold.Sequences)
	failure := a.checkPairing(len(proteins))
	if failure == nil {
		failure = a.search(t.ctx, proteins)
	}
	if failure != nil {
		return pleat.Output{Failure: a.failed(t.ctx, failure), MSA: a.state}
	}
	row, err := a.row(files.files)
	if err != nil {
		p.logOf(t).Error("the result of an alignment cannot be written", "error", err)
		return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, "the result could not be written")}
	}
	return pleat.Output{
		Files:  files.files,
		Result: &pleat.Result{Row: row},
		Row:    row,
		Engine: w.Model.Engine,
		MSA:    pleat.StateCompleted,
	}
}

// checkPairing refuses a pairing that was asked for where the search cannot pair.
func (a *alignmentStage) checkPairing(proteins int) *pleat.Failure {
	if proteins < 2 || a.pairing == "" || a.pairing == msa.PairNone || a.p.cfg.Aligner.Searcher.Pairs() {
		return nil
	}
	return pleat.Failed(pleat.FailUnsupported, fmt.Sprintf("pairing is %q, but the search of this service pairs no "+
		"rows; leave pairing out", a.pairing))
}

// row writes the row of an alignment, whose files were written.
func (a *alignmentStage) row(files []pleat.File) (json.RawMessage, error) {
	artifacts := make([]flow.RowFile, len(files))
	for i, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, err
		}
		artifacts[i] = flow.RowFile{Path: f.Name, SizeBytes: info.Size()}
	}
	var proteins []flow.AlignedProtein
	for _, s := range a.work.Fold.Sequences {
		d := a.depths[s.Text]
		one := flow.AlignedProtein{
			Chain:    s.Chains[0],
			Residues: len(s.Text),
			Depth:    d.unpaired,
			File:     a.prefix(s) + msaFile,
		}
		if d.paired > 0 {
			one.Paired, one.PairFile = d.paired, a.prefix(s)+pairedFile
		}
		proteins = append(proteins, one)
	}
	return flow.AlignmentRow(proteins, artifacts)
}

// resultDir holds, in the folder of an attempt, the files that a fileSink keeps.
const resultDir = "result"

// fileSink keeps the files that are published for the end of the run, of which they are the result.
type fileSink struct {
	*sink
	files []pleat.File
}

// Publish implements pleat.Sink. The file may be removed or changed afterwards.
func (s *fileSink) Publish(f pleat.File) error {
	to := filepath.Join(s.dir, resultDir, f.Name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Link(f.Path, to); err != nil {
		return err
	}
	f.Path = to
	s.files = append(s.files, f)
	return nil
}
