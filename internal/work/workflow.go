package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/flow"
)

// workflow runs one attempt at a question, a simulation, a design or a comparison: it fetches the structures that the
// input names and the last attempt's checkpoint, then runs the engine.
func (p *Pool) workflow(t *runningTask, dir string) pleat.Output {
	invalid := func(why string) pleat.Output {
		return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, why)}
	}
	w := p.work(t, dir)
	plan, err := flow.Parse(t.Workflow.Alias, t.Workflow.Input)
	if err != nil {
		return invalid(err.Error())
	}
	if w.QnA, w.MD = plan.QnA, plan.MD; w.MD != nil {
		if w.MD.Seed, err = strconv.ParseUint(t.Seed, 10, 64); err != nil {
			return invalid(fmt.Sprintf("seed %q is not a whole number", pleat.Clip(t.Seed)))
		}
	}
	s := &sink{p: p, t: t, dir: dir}
	s.Progress("fetch", 0, 1)
	b := inputFetcher{p: p, log: p.logOf(t), flow: t.Workflow, work: &w}
	watch := clock.Start()
	var f *pleat.Failure
	switch {
	case plan.Compare != nil:
		f = b.fetchCompared(t.ctx, plan.Compare)
	case plan.Design != nil:
		f = b.fetchDesign(t.ctx, &plan, t.Seed)
	default:
		f = b.fetchSource(t.ctx, plan.Source)
	}
	if f != nil && t.ctx.Err() != nil {
		f = engine.Interrupted(t.ctx)
	}
	if f == nil {
		f = p.fetchCheckpoint(t, &w, s)
	}
	t.timings[pleat.StageFetch] = watch.Seconds()
	if f != nil {
		return pleat.Output{Failure: f}
	}
	if f := p.awaitTurn(t, s); f != nil {
		return pleat.Output{Failure: f}
	}
	t.began = p.cfg.Clock()
	out := p.predict(t, w, s)
	if out.Result != nil {
		out.Result.Row = out.Row
	}
	return out
}

// fetchCheckpoint fetches the checkpoint of the last attempt. Without one the work starts at the beginning. A failure
// means that the artifact store cannot be read, while the checkpoint may well be there.
func (p *Pool) fetchCheckpoint(t *runningTask, w *pleat.Work, s *sink) *pleat.Failure {
	c := t.Task.Checkpoint
	if c.Key == "" {
		return nil
	}
	name := "resume" + path.Ext(c.Key)
	err := p.fetchBlob(t.ctx, c.Key, filepath.Join(w.Dir, name))
	if err != nil && p.files.Failing() {
		return pleat.Failed(pleat.FailStorage, "the last attempt's checkpoint could not be read")
	}
	if err != nil {
		p.logOf(t).Warn("a checkpoint cannot be read; the work starts at the beginning", "error", err)
		s.Log("the last attempt's checkpoint cannot be read; starting at the beginning")
		return nil
	}
	w.Resume, w.Step = filepath.Join(w.Dir, name), c.Step
	return nil
}

// inputFetcher puts the files of a workflow's source into the input folder of an attempt, and their names and what is
// known about the structure into the work for the engine.
type inputFetcher struct {
	p    *Pool
	log  *slog.Logger // of the attempt
	flow *pleat.Workflow
	work *pleat.Work // has QnA or MD, which gets the names of the files
}

// fetchSource fetches what a source names: a fold's structure, a file of the library, an entry of a public database, or
// nothing for a bare sequence.
func (b *inputFetcher) fetchSource(ctx context.Context, s flow.StructureSource) *pleat.Failure {
	if err := os.MkdirAll(filepath.Join(b.work.Dir, inputDir), 0o700); err != nil {
		return pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
	}
	switch {
	case s.Stored():
		return b.fetchStored(ctx)
	case s.Kind == flow.SourcePDB, s.Kind == flow.SourceUniProt:
		return b.fetch(ctx, s)
	}
	return nil
}

// fetchStored fetches files that the service stores.
func (b *inputFetcher) fetchStored(ctx context.Context) *pleat.Failure {
	files, err := b.p.service.WorkflowSource(ctx, b.flow)
	if err != nil {
		return b.readFailure(err, err.Error())
	}
	if m := b.work.MD; m != nil && files.Sequence != "" {
		m.Sequence = files.Sequence
		return nil
	}
	if f := b.file(ctx, files.Structure); f != nil {
		return f
	}
	b.structure(files.Structure.Name)
	if files.PAE.Key != "" {
		if f := b.file(ctx, files.PAE); f != nil {
			return f
		}
		b.pae(files.PAE.Name)
	}
	if q := b.work.QnA; q != nil && files.Predicted {
		q.Reference, q.Predicted, q.Model, q.Name = files.Reference, true, files.Model, files.Name
		q.Scores = files.Scores
	}
	return nil
}

// structure sets the name of the structure's file, relative to the folder of the attempt, for the engine.
func (b *inputFetcher) structure(name string) {
	name = filepath.Join(inputDir, name)
	if b.work.QnA != nil {
		b.work.QnA.File = name
	} else {
		b.work.MD.File = name
	}
}

// pae sets the name of the file with the predicted aligned errors for the engine.
func (b *inputFetcher) pae(name string) {
	name = filepath.Join(inputDir, name)
	if b.work.QnA != nil {
		b.work.QnA.PAE = name
	} else {
		b.work.MD.PAE = name
	}
}

// file fetches a file of the source under its name.
func (b *inputFetcher) file(ctx context.Context, f flow.SourceFile) *pleat.Failure {
	if err := b.p.fetchBlob(ctx, f.Key, filepath.Join(b.work.Dir, inputDir, f.Name)); err != nil {
		return b.readFailure(err, fmt.Sprintf("the file %s of the workflow's source is gone", f.Name))
	}
	return nil
}

// readFailure returns the failure for an error of a read: the owner's fault, or one that may pass.
func (b *inputFetcher) readFailure(err error, missing string) *pleat.Failure {
	switch {
	case errors.Is(err, blob.ErrDamaged): // no fault of the owner
	case pleat.CodeOf(err) == pleat.CodeNotFound, errors.Is(err, blob.ErrNotFound):
		return pleat.Failed(pleat.FailInvalidInput, missing)
	case pleat.CodeOf(err) == pleat.CodeInvalid, pleat.CodeOf(err) == pleat.CodeConflict:
		return pleat.Failed(pleat.FailInvalidInput, err.Error())
	case errors.Is(err, errTooLarge):
		return pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the file has more than %d MiB", maxSource>>20))
	}
	b.log.Warn("a workflow's source cannot be read", "error", err)
	return unreadable(err, "the source of the workflow could not be read")
}

// fetchCompared fetches the structures of a comparison, as input/1.cif, input/2.pdb and so on.
func (b *inputFetcher) fetchCompared(ctx context.Context, c *flow.Comparison) *pleat.Failure {
	if err := os.MkdirAll(filepath.Join(b.work.Dir, inputDir), 0o700); err != nil {
		return pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
	}
	files, err := b.p.service.WorkflowSource(ctx, b.flow)
	if err != nil {
		return b.readFailure(err, err.Error())
	}
	in := &pleat.CompareInput{Reference: c.Reference}
	b.work.Compare = in
	for i, f := range files.Compared {
		one := f.ComparedStructure
		one.File = filepath.Join(inputDir, strconv.Itoa(i+1)+strings.ToLower(path.Ext(f.Stored)))
		var failure *pleat.Failure
		if f.Key != "" {
			failure = b.file(ctx, flow.SourceFile{Name: filepath.Base(one.File), Key: f.Key})
		} else {
			var name string
			name, failure = b.download(ctx, c.Of[i], b.p.cfg.ArchiveURLs.FetchPDB)
			one.File = filepath.Join(inputDir, name)
		}
		if failure != nil {
			return failure
		}
		in.Structures = append(in.Structures, one)
	}
	return nil
}
