package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/queue"
	"pleat/internal/sandbox"
	"pleat/internal/store/runs"
	"pleat/internal/tracing"
)

// runningTask is a task that this worker has claimed and not ended yet.
type runningTask struct {
	runs.ClaimedTask
	lease *queue.Held
	// ctx is that of the attempt. It ends with the lease, with Config.Timeout and with end.
	ctx context.Context //nolint:containedctx // it is the life of the attempt
	end context.CancelFunc
	// group is the slot group whose slot, memory or accelerator the task uses.
	group *slotGroup
	// reuse is set while a fold looks for an earlier result of the same input. Other tasks leave it empty.
	reuse reuse

	// turn is closed when a task that was claimed ahead may use an accelerator; nil for any other task.
	turn chan struct{}
	// turned: turn is closed. outlived: the task runs for longer than was expected. computing is when the computation
	// began. Guarded by Pool.mu.
	turned, outlived bool
	computing        time.Time

	// began is when the engine got the work, unless it is a fold.
	began time.Time

	// yielded: the task is in its queue again, and a later attempt may hold what this one reserved.
	yielded bool
	// writing: the computation is done and the slot is free, while the result is written. Guarded by Pool.mu.
	writing bool
	// timings are the seconds of the stages that the worker measures itself. Only the goroutine of the attempt uses it.
	timings map[string]float64
	// waits: a file waits for the artifact store, or has waited.
	waits atomic.Bool
	// claimed is when this worker claimed the task.
	claimed time.Time
	// span is that of the attempt.
	span trace.Span
}

// searched reports whether a fold was accepted with an MSA search: the task is the search, or one ran before it.
func (t *runningTask) searched() bool { return t.Task.NeedsSearch() || t.Alignments != nil }

// logOf returns the log for lines about an attempt, which carry what identifies it.
func (p *Pool) logOf(t *runningTask) *slog.Logger {
	log := p.cfg.Log.With("worker", p.cfg.ID, "task", t.Task.ID, "attempt", t.Task.Attempt, "kind", t.Task.Kind,
		"run", t.Task.Run)
	switch {
	case t.Workflow != nil:
		log = log.With("workflow", t.Workflow.ID)
	case t.Fold != nil:
		log = log.With("job", t.Fold.Job)
	}
	if t.Task.Request != "" {
		log = log.With("request", t.Task.Request)
	}
	return tracing.LogWith(t.ctx, log)
}

// logEnd logs how an attempt ended.
func (p *Pool) logEnd(t *runningTask, outcome string, why *pleat.Failure) {
	log := p.logOf(t).With("outcome", outcome, "duration_ms", p.cfg.Clock().Sub(t.claimed))
	t.span.SetAttributes(tracing.Outcome.String(outcome))
	if why != nil {
		tracing.Fail(t.span, string(why.Kind))
		log = log.With("failure", string(why.Kind))
	}
	log.Info("task ended")
}

// work is the attempt as an engine gets it, without its input. When the engine calls Computed, the next task may start
// while this one's result is written.
func (p *Pool) work(t *runningTask, dir string) pleat.Work {
	model := p.models[t.Task.Queue]
	if t.Fold != nil && len(pleat.Proteins(t.Fold.Sequences)) > 0 {
		model.DecideSearch(t.searched())
	}
	return pleat.Work{
		Kind:     t.Task.Kind,
		Task:     t.Task.ID,
		Attempt:  t.Task.Attempt,
		Tries:    t.Task.Tries,
		Model:    model,
		Dir:      dir,
		Computed: func() { p.releaseSlot(t) },
	}
}

// startAttempt holds a task that was claimed since asked, and reserves what it needs of a group, unless it was claimed
// ahead and waits for its turn.
func (p *Pool) startAttempt(
	run context.Context, c runs.ClaimedTask, g *slotGroup, turn chan struct{}, claimedAt time.Time,
) *runningTask {
	t := &runningTask{
		ClaimedTask: c,
		lease:       p.leases.Add(run, &c.Task),
		group:       g,
		turn:        turn,
		timings:     timingsBefore(&c),
		claimed:     p.cfg.Clock(),
	}
	t.ctx, t.span = p.cfg.Tracer.Process(t.lease.Context(), t.traced(claimedAt))
	p.logOf(t).Info("task claimed")
	t.ctx, t.end = context.WithTimeout(t.ctx, p.cfg.Timeout-c.Worked)
	if g.Pool != nil && turn == nil {
		g.Pool.Reserve(t.Task.ID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[t], g.next = true, ""
	return t
}

// endAttempt releases what startAttempt held.
func (p *Pool) endAttempt(t *runningTask) {
	t.end()
	t.span.End()
	p.leases.Remove(t.lease)
	if t.group.Pool != nil && !t.yielded {
		t.group.Pool.Unreserve(t.Task.ID)
	}
	p.mu.Lock()
	delete(p.running, t)
	p.life.idleSince = p.cfg.Clock()
	p.mu.Unlock()
	p.assignFreeDevices(t.group)
	queue.Wake(t.group.freed)
}

// releaseSlot frees a task's slot for the next one. The task stays held, and its lease is renewed, until its files are
// stored and it has ended.
func (p *Pool) releaseSlot(t *runningTask) {
	p.mu.Lock()
	t.writing = true
	p.learn(t)
	p.mu.Unlock()
	queue.Wake(t.group.freed)
}

// execute runs one attempt at a task to its end. The kind of the task and its next step decide what runs; how the
// context ended decides what is stored: nothing if the lease was lost, a release if the worker shuts down or the
// task yields, and the result or the failure otherwise.
func (p *Pool) execute(t *runningTask) {
	defer p.endAttempt(t)
	dir, err := p.scratch(t)
	defer func() { _ = sandbox.RemoveAll(dir) }()
	var out pleat.Output
	switch {
	case err != nil:
		out.Failure = pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
		p.logOf(t).Error("no scratch folder", "error", err)
	case t.Task.Kind == pleat.TaskAlign:
		out = p.align(t, dir)
	case t.Workflow != nil:
		out = p.workflow(t, dir)
	case t.Task.NeedsSearch():
		out = p.search(t, dir)
	default:
		out = p.fold(t, dir)
	}
	p.conclude(t, dir, out)
}

// conclude stores how an attempt ended, which its output and the end of its context tell.
func (p *Pool) conclude(t *runningTask, dir string, out pleat.Output) {
	cause := context.Cause(t.ctx)
	switch {
	case p.interrupted(t):
	case errors.Is(cause, engine.ErrYield):
		p.yield(t)
		p.logEnd(t, "yielded", nil)
	case out.Failure != nil && out.Failure.Kind == pleat.FailStorage && p.files.Failing() &&
		t.Task.Attempt <= maxArtifactAttempts:
		p.release(t, artifactPause)
		p.logEnd(t, "released", out.Failure)
	case t.Task.NeedsSearch() && out.Failure == nil:
		end := runs.SearchCompleted{
			FoldQueue: pleat.Queue(t.Task.Kind, p.models[t.Task.Queue].Name),
			Progress:  t.lease.DrainProgress(context.WithoutCancel(t.ctx)),
		}
		p.persist(t, func(ctx context.Context) error { return p.service.FinishSearch(ctx, t.lease.Lease, end) })
		p.logEnd(t, "searched", nil)
	default:
		end := p.finished(t, dir, out)
		if end.Failure != nil && p.interrupted(t) { // while the result waited for the artifact store
			return
		}
		p.persist(t, p.finish(t, end))
		p.logEnd(t, strings.ToLower(string(end.State)), end.Failure)
	}
}

const (
	// artifactPause is how long a task waits that could not read its files. No try is spent.
	artifactPause = time.Second
	// maxArtifactAttempts bounds the attempts at a task that spend no try so: a file may be unreadable for good, while
	// the artifact store works.
	maxArtifactAttempts = 100
)

// interrupted reports whether another worker has the task, this worker shuts down, or the task was claimed ahead in
// vain. No result of the attempt is stored then; unless another worker has it, the task returns to its queue.
func (p *Pool) interrupted(t *runningTask) bool {
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, pleat.ErrLost):
		p.logEnd(t, "lost", nil)
		p.logOf(t).Warn("a task was lost: this worker does not hold its lease any more")
		return true
	case errors.Is(cause, engine.ErrShutdown), errors.Is(cause, errReturned):
		p.release(t, 0)
		p.logEnd(t, "released", nil)
		return true
	}
	return false
}

// scratch creates the empty folder of one attempt, named TASK-ATTEMPT. Files that an earlier process left there are
// deleted.
func (p *Pool) scratch(t *runningTask) (string, error) {
	dir := filepath.Join(p.cfg.Dir, fmt.Sprintf("%s-%d", t.Task.ID, t.Task.Attempt))
	if os.Mkdir(dir, 0o700) == nil {
		return dir, nil
	}
	if err := sandbox.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// finished stores the files of an attempt and returns how it ended. A result whose files cannot be stored counts as a
// failure that is tried again. Only a completed run has artifacts: those of other runs become garbage.
func (p *Pool) finished(t *runningTask, dir string, out pleat.Output) (f runs.RunFinished) {
	f = runs.RunFinished{Engine: out.Engine, MSA: out.MSA, Served: p.models[t.Task.Queue].Engine}
	if out.Failure == nil {
		var err error
		watch := clock.Start()
		if f.Artifacts, err = p.putFiles(t, dir, out.Files); err != nil {
			p.logOf(t).Error("a result could not be stored", "error", err)
			out.Failure = pleat.Failed(pleat.FailStorage, "the results could not be stored")
		}
		t.timings[pleat.StageWrite] = watch.Seconds()
	}
	f.Result = withTimings(out.Result, t.timings)
	f.Progress = t.lease.DrainProgress(context.WithoutCancel(t.ctx))
	switch {
	case out.Failure == nil:
		f.State = pleat.StateCompleted
		f.InputHash, f.RequestHash, f.Source = t.reuse.input, t.reuse.request, t.reuse.source
		f.Artifacts = append(f.Artifacts, t.reuse.shared...)
		f.BinderRMSD = p.measureBinder(t, &out)
	case errors.Is(context.Cause(t.ctx), queue.ErrStopped):
		f.State, f.Artifacts = pleat.StateStopped, nil
		f.Failure = pleat.Failed(pleat.FailCancelled, "stopped by its owner")
	default:
		f.State, f.Failure, f.Artifacts = pleat.StateFailed, out.Failure, nil
	}
	return f
}

// finish returns what tries to store the end of a run. Each try says how long the attempt has taken until then: the
// store compares that with its own times, and takes a difference for a clock that was set.
func (p *Pool) finish(t *runningTask, end runs.RunFinished) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		end.Took = p.cfg.Clock().Sub(t.claimed)
		return p.service.FinishRun(ctx, t.lease.Lease, end)
	}
}

// persist stores how an attempt ended, trying until the database answers: a computed result is not thrown away because
// the database was away for a while. When the worker shuts down or the lease is lost, one last try follows. If another
// attempt has begun meanwhile, the store refuses it.
func (p *Pool) persist(t *runningTask, write func(ctx context.Context) error) {
	ctx := context.WithoutCancel(t.ctx)
	log := p.logOf(t)
	held, done := untilUnheld(t.lease)
	defer done()
	var err error
	ctx, span := tracing.Finish(ctx, t.Task.Queue)
	defer func() { tracing.EndWith(span, err) }()
	answered := queue.Retry(held, log, "a task could not be ended", func() error {
		if err = write(ctx); pleat.CodeOf(err) == pleat.CodeUnavailable {
			return err
		}
		return nil
	})
	if !answered {
		err = write(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, runs.ErrSourceGone):
		log.Info("the run with the cached result is gone; the run is computed", "source", t.reuse.source)
		p.release(t, 0)
	case errors.Is(err, pleat.ErrLost):
		log.Warn("a result came too late: this worker does not hold the lease of the task any more")
	default:
		log.Error("a task could not be ended; its lease will expire", "error", err)
	}
}

// untilUnheld returns a context that ends when the worker shuts down or another worker has the task. A task that its
// owner stopped, or that yields, is still held, so that this can be stored. The function ends the context as well.
func untilUnheld(lease *queue.Held) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(lease.Context()))
	unwatch := context.AfterFunc(lease.Context(), func() {
		cause := context.Cause(lease.Context())
		if !errors.Is(cause, queue.ErrStopped) && !errors.Is(cause, engine.ErrYield) {
			cancel()
		}
	})
	return ctx, func() {
		unwatch()
		cancel()
	}
}

// release returns the task to its queue, where another worker can claim it after a delay, with what the attempt has
// reported. No try is spent.
func (p *Pool) release(t *runningTask, delay time.Duration) {
	ctx, done := context.WithTimeout(context.WithoutCancel(t.ctx), 5*time.Second)
	defer done()
	progress := t.lease.DrainProgress(ctx)
	err := p.service.Release(ctx, t.lease.Lease, delay, progress)
	if err != nil && !errors.Is(err, pleat.ErrLost) {
		p.logOf(t).Warn("a task could not be returned to its queue; its lease will expire", "error", err)
	}
}
