package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pleat"
	"pleat/internal/engine"
)

// search runs one attempt at the MSA search before a fold. It publishes the alignments that the fold needs. The task
// then moves to the queue of its fold, so that no slot for folds waits for a search server.
func (p *Pool) search(t *runningTask, dir string) pleat.Output {
	w := p.work(t, dir)
	w.Fold, w.Computed = t.Fold, nil
	a := alignmentStage{p: p, t: t, work: &w, sink: &sink{p: p, t: t, dir: dir}, searchOnly: true}
	f := a.run(t.ctx)
	if f == nil {
		a.sink.Progress("queue", 0, 0) // the fold waits in its own queue now
	}
	return pleat.Output{Failure: f, MSA: a.state}
}

// useSearchResults fetches the alignments that the search before this fold has published into the input folder. It
// leaves the list of alignments in the order of the sequences.
func (a *alignmentStage) useSearchResults(ctx context.Context) *pleat.Failure {
	a.work.Citations = searchCitations
	dir := filepath.Join(a.work.Dir, inputDir)
	err := os.MkdirAll(dir, 0o700)
	fetch := func(name, as string) (string, error) {
		i := slices.IndexFunc(a.t.Alignments, func(f pleat.Artifact) bool { return f.Name == name })
		if i < 0 {
			return "", nil
		}
		f := a.t.Alignments[i]
		f.Name = as
		return filepath.Join(inputDir, as), a.p.fetchArtifact(ctx, dir, &f)
	}
	a.work.Fold.Alignments = nil
	for i, s := range a.work.Fold.Sequences {
		if err != nil || !s.Aligned() {
			continue
		}
		entry := pleat.Alignment{Sequence: i}
		var paired error
		entry.File, err = fetch(a.prefix(s)+msaFile, fmt.Sprintf("msa-%d.a3m", i))
		if entry.File == "" && err == nil {
			err = fmt.Errorf("chain %s has none", s.Chains[0])
		}
		entry.Paired, paired = fetch(a.prefix(s)+pairedFile, fmt.Sprintf("msa-paired-%d.a3m", i))
		err = errors.Join(err, paired)
		a.work.Fold.Alignments = append(a.work.Fold.Alignments, entry)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return engine.Interrupted(ctx)
	}
	a.p.logOf(a.t).Error("an alignment that was searched for cannot be read", "error", err)
	return pleat.Failed(pleat.FailStorage, "the alignment that was searched for could not be read")
}
