// Package engine is the seam between the worker and whatever runs a model: Registry.Run takes a pleat.Work of any
// kind (a fold, a question, a simulation), hands it to the engine that has the model, and returns a pleat.Output.
//
// It owns the Engine interface, the optional interfaces Pooled and Fingerprinter, the registry of models, the
// failures that every engine reports alike, and the discovery of accelerators. It must not know any engine: the
// packages below it (runner, remote, builtin) implement the interface and import this package. An engine must not
// read or write jobs. It gets its input with the work, reports progress to a pleat.Sink, and leaves its files in the
// work's folder. A failure is data (pleat.Failure), never an error value or a panic that leaves this package.
//
// Files:
package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"pleat"
	"pleat/internal/clock"
)

// Engine runs the models it lists. Run honours ctx: once ctx is cancelled, it returns within 200 ms.
type Engine interface {
	Models() []pleat.Model
	Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output
}

// Pooled is an [Engine] whose jobs run in a Pool, which it may share with other engines.
type Pooled interface {
	Engine
	Pool() Pool
}

// Pool grants accelerators to tasks, one task at a time to each. Two engines share a pool if the values are equal.
type Pool interface {
	// Accelerators returns how many accelerators the pool has.
	Accelerators() int
	// Free returns how many accelerators have neither a job nor a reservation, and the memory in bytes of the largest
	// accelerator without a job. A memory of 0 means that it is not known.
	Free() (slots int, memory int64)
	// Freed receives a value when an accelerator may have become free.
	Freed() <-chan struct{}
	// Reserve keeps an accelerator for a claimed task until the task acquires one or Unreserve is called.
	Reserve(task pleat.TaskID)
	// Unreserve ends a reservation. It does nothing if the task has acquired its accelerator.
	Unreserve(task pleat.TaskID)
}

// Fingerprinter is an [Engine] whose program or weights can change while the model's version stays the same.
type Fingerprinter interface {
	Engine
	// Fingerprint returns a text that differs between such states.
	Fingerprint() string
}

// Registry maps models to the engines that run them. The zero value runs nothing; make one with [New].
type Registry struct {
	models  []pleat.Model
	engines map[string]Engine // by queue
	log     *slog.Logger
}

// New makes a registry of engines. It returns an error if two of them list the same model.
func New(log *slog.Logger, engines ...Engine) (*Registry, error) {
	r := &Registry{engines: map[string]Engine{}, log: log}
	for _, e := range engines {
		for _, m := range e.Models() {
			queue := pleat.Queue(m.Kind, m.Name)
			if r.engines[queue] != nil {
				return nil, fmt.Errorf("two engines run the %s model %q", m.Kind, m.Name)
			}
			r.engines[queue] = e
			r.models = append(r.models, m)
		}
	}
	return r, nil
}

// Models lists what the registry can run.
func (r *Registry) Models() []pleat.Model { return slices.Clone(r.models) }

// Queues lists the queues that the registry can serve.
func (r *Registry) Queues() []string {
	var out []string
	for _, m := range r.models {
		out = append(out, pleat.Queue(m.Kind, m.Name))
	}
	return out
}

// Group is a set of queues whose tasks compete for the same slots.
type Group struct {
	Queues []string
	Pool   Pool           // accelerators that the tasks run on; nil: the worker's own slots
	kind   pleat.TaskKind // of the tasks, where Pool is nil
}

// Groups partitions the queues by what their tasks need: an accelerator, or one of the worker's own slots. Each kind of
// task has its own slots, so that a long simulation does not delay a question.
func (r *Registry) Groups() []Group {
	var out []Group
	for _, m := range r.models {
		queue := pleat.Queue(m.Kind, m.Name)
		g := Group{kind: m.Kind}
		if e, ok := r.engines[queue].(Pooled); ok && m.Device == "cuda" {
			g = Group{Pool: e.Pool()}
		}
		i := slices.IndexFunc(out, func(o Group) bool { return o.Pool == g.Pool && o.kind == g.kind })
		if i < 0 {
			out, i = append(out, g), len(out)
		}
		out[i].Queues = append(out[i].Queues, queue)
	}
	return out
}

// Close ends the processes that engines keep between jobs: it calls Close on every engine that has such a method. All
// runs must have ended before.
func (r *Registry) Close() {
	for _, e := range r.engines {
		if c, ok := e.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// Fingerprint distinguishes states of a model's program and weights that share a version. It is empty if the version
// alone identifies them.
func (r *Registry) Fingerprint(kind pleat.TaskKind, model string) string {
	if e, ok := r.engines[pleat.Queue(kind, model)].(Fingerprinter); ok {
		return e.Fingerprint()
	}
	return ""
}

// Run executes one attempt and always returns an output. An engine that panics, or that ends without a result and
// without a failure, has failed. If the task has failed, the result has the timings alone: those of the engine or, if
// it reports none, the whole time as infer.
func (r *Registry) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) (out pleat.Output) {
	e := r.engines[pleat.Queue(w.Kind, w.Model.Name)]
	if e == nil {
		return failed(pleat.FailUnsupported, fmt.Sprintf("this worker has no engine for %s", w.Model.Name))
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("engine panicked",
				"model", w.Model.Name, "task", w.Task, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = failed(pleat.FailInternal, "the engine failed on this input; the service's log has the details")
		}
	}()
	watch := clock.Start()
	out = e.Run(ctx, w, sink)
	took := watch.Seconds()
	switch {
	case out.Failure != nil:
	case ctx.Err() != nil:
		out.Failure = Interrupted(ctx)
	case out.Result == nil:
		out.Failure = pleat.Failed(pleat.FailOutputInvalid, "the engine ended without a result")
	default:
		return out
	}
	out.Files, out.Row, out.Result = nil, nil, out.Result.TimingsOnly()
	if out.Result == nil {
		out.Result = &pleat.Result{Timings: map[string]float64{pleat.StageInfer: took}}
	}
	return out
}

// failed returns the output of a run that did not start or did not end properly.
func failed(kind pleat.FailureKind, message string) pleat.Output {
	return pleat.Output{Failure: pleat.Failed(kind, message)}
}
