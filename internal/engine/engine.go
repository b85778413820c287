// Package engine is the only room that executes: Registry.Run takes a pleat.Work of any kind (a fold, a question, a
// simulation) and answers with a pleat.Output. It owns the engines: those in the process and the runner processes.
//
// It must not read or write jobs: it gets its input with the work, says how it is getting on to a pleat.Sink, and leaves
// its files in the work's folder. A failure is data, never an error value or a panic that leaves this room.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"pleat"
)

// Engine runs the models it lists. Run honours ctx: once it is cancelled, it returns within 200 ms.
type Engine interface {
	Models() []pleat.Model
	Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output
}

// Registry knows which engine runs which model. The zero value runs nothing; make one with New.
type Registry struct {
	models  []pleat.Model
	engines map[string]Engine // by lane
	log     *slog.Logger
}

// New makes a registry of engines. Two that list one model are a mistake of the configuration.
func New(log *slog.Logger, engines ...Engine) (*Registry, error) {
	r := &Registry{engines: map[string]Engine{}, log: log}
	for _, e := range engines {
		for _, m := range e.Models() {
			lane := pleat.Queue(m.Kind, m.Name)
			if r.engines[lane] != nil {
				return nil, fmt.Errorf("two engines run the %s model %q", m.Kind, m.Name)
			}
			r.engines[lane] = e
			r.models = append(r.models, m)
		}
	}
	return r, nil
}

// Models lists what the registry can run.
func (r *Registry) Models() []pleat.Model { return slices.Clone(r.models) }

// Lanes lists the lanes of the queue that the registry can serve.
func (r *Registry) Queues() []string {
	var out []string
	for _, m := range r.models {
		out = append(out, pleat.Queue(m.Kind, m.Name))
	}
	return out
}

// Group is lanes that share places to work in.
type Group struct {
	Queues []string
	Warm   *Warm          // nil: the worker's own slots; else a place per accelerator
	kind   pleat.TaskKind // of work in the worker's own slots
}

// Groups parts the lanes by what their work needs: an accelerator, or the worker's own slots, of which each kind has its own, so
// that a long simulation keeps no question waiting.
func (r *Registry) Groups() []Group {
	var out []Group
	for _, m := range r.models {
		lane := pleat.Queue(m.Kind, m.Name)
		var w *Warm
		if run, ok := r.engines[lane].(*Runner); ok && m.Device == "cuda" {
			w = run.Warm
		}
		g := Group{Warm: w}
		if w == nil {
			g.kind = m.Kind
		}
		i := slices.IndexFunc(out, func(o Group) bool { return o.Warm == g.Warm && o.kind == g.kind })
		if i < 0 {
			out, i = append(out, g), len(out)
		}
		out[i].Queues = append(out[i].Queues, lane)
	}
	return out
}

// Close ends what engines keep running between jobs. Work must have ended before.
func (r *Registry) Close() {
	for _, e := range r.engines {
		if run, ok := e.(*Runner); ok {
			run.Warm.Close()
		}
	}
}

// Run executes one attempt and always answers: an engine that panics, or that ends without files, result or failure, has
// failed. Files outside the work's folder are refused.
func (r *Registry) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) (out pleat.Output) {
	e := r.engines[pleat.Queue(w.Kind, w.Model.Name)]
	if e == nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, fmt.Sprintf("this worker has no engine for %s", w.Model.Name))}
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("engine panicked", "model", w.Model.Name, "task", w.Task, "panic", p, "stack", string(debug.Stack()))
			out = pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "the engine failed on this input; the service's log has the details")}
		}
	}()
	out = e.Run(ctx, w, sink)
	switch {
	case out.Failure != nil:
		out.Files, out.Result = nil, nil
	case ctx.Err() != nil:
		return pleat.Output{Failure: Interrupted(ctx)}
	case out.Result == nil:
		return pleat.Output{Failure: pleat.Failed(pleat.FailOutputInvalid, "the engine ended without a result")}
	}
	return out
}

// ErrShutdown is the cause of a context that ends because the worker shuts down: the task goes to another.
var ErrShutdown = errors.New("the worker shuts down")

// Interrupted is the failure of a run whose context has ended: stopped by its owner, out of time, or moved elsewhere.
func Interrupted(ctx context.Context) *pleat.Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return pleat.Failed(pleat.FailTimeout, "the run took longer than allowed")
	case errors.Is(cause, ErrShutdown):
		return pleat.Failed(pleat.FailCrashed, "the worker shut down")
	}
	return pleat.Failed(pleat.FailCancelled, "stopped by its owner")
}
