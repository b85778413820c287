package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/store"
)

// execute runs one attempt at a task to its end, whatever that is.
func (p *Pool) execute(h *runningTask) {
	defer p.endAttempt(h)
	dir, err := p.scratch(h.ClaimedTask)
	defer func() { _ = os.RemoveAll(dir) }()
	var out pleat.Output
	if err != nil {
		out.Failure = pleat.Failed(pleat.FailStorage, "the worker has no room to work in")
		p.cfg.Log.Error("no scratch folder", "error", err)
	} else if h.Workflow != nil {
		out = p.flow(h, dir)
	} else if h.task.NeedsSearch() {
		out = p.search(h, dir)
	} else {
		out = p.fold(h, dir)
	}
	cause := context.Cause(h.ctx)
	switch {
	case errors.Is(cause, errLost):
		p.cfg.Log.Warn("a task was lost to another worker", "task", h.task.ID, "attempt", h.task.Attempt)
	case errors.Is(cause, engine.ErrShutdown):
		p.release(h)
	case h.task.NeedsSearch() && out.Failure == nil:
		p.persist(h, func(ctx context.Context) error { return p.store.FinishSearch(ctx, p.searched(h)) })
	default:
		f := p.finished(h, dir, out)
		p.persist(h, func(ctx context.Context) error { return p.store.FinishRun(ctx, f) })
	}
}

func (p *Pool) fold(h *runningTask, dir string) pleat.Output {
	w := pleat.Work{Kind: h.task.Kind, Task: h.task.ID, Attempt: h.task.Attempt, Model: p.models[h.task.Queue], Fold: h.Fold, Dir: dir, Computed: func() { p.releaseSlot(h) }}
	s := &sink{p: p, h: h, dir: dir}
	a := alignmentStage{p: p, h: h, work: &w, sink: s}
	if f := a.run(h.ctx, false); f != nil {
		return pleat.Output{Failure: f, MSA: a.state}
	}
	p.hashInput(&w)
	out, answered := p.useCachedResult(h, &w)
	if !answered {
		out = p.engines.Run(h.ctx, w, s)
	}
	out.MSA = a.state
	if out.Result != nil && out.Result.Timings != nil {
		out.Result.Timings["queue"] = h.waited().Seconds()
		if a.state != pleat.StatePending {
			out.Result.Timings["msa"] = a.took.Seconds()
		}
	}
	return out
}

// finished stores the files of an attempt and says how it ended.
func (p *Pool) finished(h *runningTask, dir string, out pleat.Output) store.RunFinished {
	f := store.RunFinished{Task: h.task.ID, Attempt: h.task.Attempt, Worker: p.cfg.ID, Engine: out.Engine, MSA: out.MSA}
	if out.Failure == nil {
		var err error
		if f.Artifacts, err = p.storeFiles(h, dir, out.Files); err != nil {
			p.cfg.Log.Error("a result could not be stored", "task", h.task.ID, "error", err)
			out.Failure = pleat.Failed(pleat.FailStorage, "the results could not be stored")
		}
	}
	f.Progress = h.drainProgress()
	switch {
	case out.Failure == nil:
		f.State, f.Result = pleat.StateCompleted, out.Result
		f.InputHash, f.Source, f.Artifacts = h.reuse.input, h.reuse.source, append(f.Artifacts, h.reuse.shared...)
	case errors.Is(context.Cause(h.ctx), errStopped):
		f.State, f.Failure, f.Artifacts = pleat.StateStopped, pleat.Failed(pleat.FailCancelled, "stopped by its owner"), nil
	default:
		f.State, f.Failure, f.Artifacts = pleat.StateFailed, out.Failure, nil
	}
	return f
}

// keepAtOnce is how many files are stored side by side: each waits for the disk, or for S3.
const keepAtOnce = 8

// keepAll stores the files of the attempt.
func (p *Pool) storeFiles(h *runningTask, dir string, files []pleat.File) ([]pleat.Artifact, error) {
	out := make([]pleat.Artifact, len(files))
	var group errgroup.Group
	group.SetLimit(keepAtOnce)
	for i, f := range files {
		group.Go(func() error {
			var err error
			if out[i], err = p.storeFile(h, dir, f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

// keep puts a file of the attempt into the blob store. The key holds the attempt, so that two attempts never share one.
func (p *Pool) storeFile(h *runningTask, dir string, f pleat.File) (pleat.Artifact, error) {
	if rel, err := filepath.Rel(dir, f.Path); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return pleat.Artifact{}, fmt.Errorf("%s is outside the folder of the work", f.Name)
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return pleat.Artifact{}, err
	}
	defer in.Close()
	key := fmt.Sprintf("runs/%s/%d/%s", h.task.Subject, h.task.Attempt, f.Name)
	info, err := p.blobs.Put(context.WithoutCancel(h.ctx), key, in)
	if err != nil {
		return pleat.Artifact{}, err
	}
	return pleat.Artifact{Sequence: f.Sequence, Name: f.Name, Kind: f.Kind, ContentType: f.ContentType, Bytes: info.Bytes, SHA256: info.SHA256, Key: key}, nil
}

// persist writes down how an attempt ended, trying until the database listens: a result that was computed is not thrown away because
// it was away for a while. Fencing refuses it where another attempt has begun meanwhile.
func (p *Pool) persist(h *runningTask, write func(ctx context.Context) error) {
	ctx := context.WithoutCancel(h.ctx)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := write(ctx)
		switch {
		case err == nil:
			return
		case errors.Is(err, store.ErrSourceGone):
			p.cfg.Log.Info("the run that was to answer another is gone; that one is computed", "task", h.task.ID, "run", h.reuse.source)
			p.release(h)
			return
		case errors.Is(err, pleat.ErrLost):
			p.cfg.Log.Warn("a result came too late: another worker has the task", "task", h.task.ID, "attempt", h.task.Attempt)
			return
		case pleat.CodeOf(err) != pleat.CodeUnavailable || errors.Is(context.Cause(h.ctx), engine.ErrShutdown):
			p.cfg.Log.Error("a task could not be ended; its lease will run out", "task", h.task.ID, "error", err)
			return
		}
		p.cfg.Log.Warn("a task could not be ended; trying again", "task", h.task.ID, "error", err)
		select {
		case <-h.ctx.Done():
			if !errors.Is(context.Cause(h.ctx), errStopped) {
				wait = 0 // one last try, then the lease is left to run out
			}
		case <-time.After(wait):
		}
	}
}

func (p *Pool) release(h *runningTask) {
	ctx, done := context.WithTimeout(context.WithoutCancel(h.ctx), 5*time.Second)
	defer done()
	if err := p.store.Release(ctx, h.task.ID, h.task.Attempt, p.cfg.ID); err != nil && !errors.Is(err, pleat.ErrLost) {
		p.cfg.Log.Warn("a task could not be given back; its lease will run out", "task", h.task.ID, "error", err)
	}
}
