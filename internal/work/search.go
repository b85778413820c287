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
	"pleat/internal/store"
)

// search is an attempt at the step before a fold: it finds the alignments that the fold needs, and publishes them for it.
func (p *Pool) search(h *runningTask, dir string) pleat.Output {
	w := pleat.Work{Kind: h.task.Kind, Task: h.task.ID, Attempt: h.task.Attempt, Model: p.models[h.task.Queue], Fold: h.Fold, Dir: dir}
	a := alignmentStage{p: p, h: h, work: &w, sink: &sink{p: p, h: h, dir: dir}}
	f := a.run(h.ctx, true)
	if f == nil {
		a.sink.Progress("queue", 0, 0) // for its fold
	}
	return pleat.Output{Failure: f, MSA: a.state}
}

// searched sends a task on to its fold.
func (p *Pool) searched(h *runningTask) store.SearchCompleted {
	return store.SearchCompleted{Task: h.task.ID, Attempt: h.task.Attempt, Worker: p.cfg.ID, FoldQueue: pleat.Queue(h.task.Kind, p.models[h.task.Queue].Name), Progress: h.drainProgress()}
}

// found takes the alignments that the search before this fold has published.
func (a *alignmentStage) useSearchResults(ctx context.Context) *pleat.Failure {
	a.cite()
	dir := filepath.Join(a.work.Dir, inputDir)
	err := os.MkdirAll(dir, 0o700)
	take := func(name, as string) (string, error) {
		i := slices.IndexFunc(a.h.Alignments, func(f pleat.Artifact) bool { return f.Name == name })
		if i < 0 {
			return "", nil
		}
		f := a.h.Alignments[i]
		f.Name = as
		return filepath.Join(inputDir, as), a.p.fetchArtifact(ctx, dir, &f)
	}
	a.work.Fold.Alignments = nil
	for i, s := range a.work.Fold.Sequences {
		if err != nil || s.Kind != pleat.Protein {
			continue
		}
		entry := pleat.Alignment{Sequence: i}
		var paired error
		entry.File, err = take(a.prefix(s)+msaFile, fmt.Sprintf("msa-%d.a3m", i))
		entry.Paired, paired = take(a.prefix(s)+pairedFile, fmt.Sprintf("msa-paired-%d.a3m", i))
		if err = errors.Join(err, paired); entry.File != "" {
			a.work.Fold.Alignments = append(a.work.Fold.Alignments, entry)
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return engine.Interrupted(ctx)
	}
	a.p.cfg.Log.Error("an alignment that was searched for cannot be read", "task", a.h.task.ID, "error", err)
	return pleat.Failed(pleat.FailStorage, "the alignment that was searched for could not be read")
}
