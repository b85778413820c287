package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/report"
	"pleat/internal/store/runs"
)

// reuse is what an attempt at a fold knows of other runs of the same input.
type reuse struct {
	// input is the hash of the input, under which later runs find this result; empty: no run may reuse it.
	input   string
	request string           // pleat.FoldInput.RequestHash; empty like input
	source  pleat.RunID      // whose result this run reuses; empty: none
	shared  []pleat.Artifact // of the source, whose blobs this run refers to
}

// hashInput sets the hash of everything that a fold depends on, with the files in its folder, such as alignments. It
// leaves the hash empty if a file cannot be read.
func (p *Pool) hashInput(t *runningTask, w *pleat.Work) {
	w.Files = map[string]string{}
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(w.Dir, path)
		if err != nil {
			return err
		}
		w.Files[name], _, err = report.HashFile(path)
		return err
	})
	if err == nil {
		w.Input, err = w.InputHash(p.engines.Fingerprint(w.Kind, w.Model.Name))
	}
	if err != nil {
		p.logOf(t).Warn("the input of a fold could not be hashed", "error", err)
	}
}

// useCachedResult ends a fold with the result of an earlier run of the same input, if there is one that its owner may
// read: one of their own, or the latest of a public job. Only a job that names its seed asks for the same result twice,
// and one with Cache-Control: no-cache asks for a computation. It returns false if the engine has to run.
func (p *Pool) useCachedResult(t *runningTask, w *pleat.Work) (pleat.Output, bool) {
	if !w.Model.TakesParam("seed") {
		return pleat.Output{}, false
	}
	t.reuse.input = w.Input
	if request, err := w.Fold.RequestHash(&w.Model); err == nil { // else InputHash failed, too, which was logged
		t.reuse.request = request
	}
	if _, ok := w.Fold.Params.Seed(); !ok || t.Fresh || w.Input == "" {
		return pleat.Output{}, false
	}
	watch := clock.Start()
	a, err := p.service.CachedResult(t.ctx, &t.Task, w.Input)
	if err != nil {
		p.logOf(t).Warn("cannot read cached results; the fold is computed", "error", err)
	}
	if err != nil || a == nil {
		return pleat.Output{}, false
	}
	out, err := p.shareResults(t.ctx, t, w, a, watch)
	if err != nil {
		if t.ctx.Err() == nil {
			p.logOf(t).Warn("a cached result cannot be used; the fold is computed", "source", a.Run, "error", err)
		}
		t.reuse.source, t.reuse.shared = "", nil
		return pleat.Output{}, false
	}
	return out, true
}

// shareResults makes the output of a run from the files of another. Files that contain the identity of the job are
// written again; all others reference the same blobs.
func (p *Pool) shareResults(
	ctx context.Context, t *runningTask, w *pleat.Work, a *runs.CachedResult, watch clock.Stopwatch,
) (pleat.Output, error) {
	from := report.CachedRun{
		Dir:       filepath.Join(w.Dir, "answer"),
		Sequences: map[pleat.SequenceID]pleat.SequenceID{},
	}
	if len(a.Sequences) != len(w.Fold.Sequences) {
		return pleat.Output{}, errors.New("it has other sequences")
	}
	for i, id := range a.Sequences {
		from.Sequences[id] = w.Fold.Sequences[i].ID
	}
	if err := os.Mkdir(from.Dir, 0o700); err != nil {
		return pleat.Output{}, err
	}
	if err := p.fetchShared(ctx, &from, a.Artifacts); err != nil {
		return pleat.Output{}, err
	}
	result := *a.Result
	result.Predictions = append([]pleat.Prediction(nil), a.Result.Predictions...)
	for i := range result.Predictions {
		result.Predictions[i].Sequence = from.Sequences[result.Predictions[i].Sequence]
	}
	notes := a.Result.Notes
	if a.Result.AnsweredFrom != "" {
		notes = notes[:len(notes)-1] // where that run had its answer from
	}
	at := a.Finished.UTC().Format("2006-01-02 15:04:05")
	note := fmt.Sprintf("Result cached from %s of %s UTC, which had the same input, parameters and seed; "+
		"nothing was computed", pleat.SourceRun, at) // files hold it too, so it does not name the run
	result.Notes = append(slices.Clone(notes), note)
	result.AnsweredFrom = a.Run
	result.Timings = map[string]float64{"answer": watch.Seconds()}
	files, err := report.Reissue(*w, from, &result)
	if err != nil {
		return pleat.Output{}, err
	}
	result.Timings[pleat.StageWrite] = watch.Seconds()
	rewritten := map[string]bool{}
	for _, f := range files {
		rewritten[f.Name] = true
	}
	for _, f := range a.Artifacts {
		if !rewritten[f.Name] {
			t.reuse.shared = append(t.reuse.shared, f)
		}
	}
	t.reuse.source = a.Run
	s := &sink{p: p, t: t, dir: w.Dir}
	s.Log(fmt.Sprintf("Result cached from run %s of job %s of %s UTC, which had the same input, parameters and seed; "+
		"send Cache-Control: no-cache to have it computed", a.Run, a.Job, at))
	return pleat.Output{Files: files, Result: &result, Engine: a.Engine, MSA: a.MSA}, nil
}

// fetchShared fetches the files of a run, and gives them the sequences of the run that reuses them.
func (p *Pool) fetchShared(ctx context.Context, from *report.CachedRun, files []pleat.Artifact) error {
	for i := range files {
		f := &files[i]
		if err := p.fetchArtifact(ctx, from.Dir, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		f.Sequence = from.Sequences[f.Sequence]
		from.Files = append(from.Files, pleat.File{
			Kind:        f.Kind,
			Name:        f.Name,
			ContentType: f.ContentType,
			Sequence:    f.Sequence,
		})
	}
	return nil
}
