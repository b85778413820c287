// Package runner runs engines in processes of their own: one of runners/ each, driven by the protocol of
// docs/runner-protocol.md.
//
// It owns the manifests, the protocol, the processes with their environment, memory and end, the pool that keeps them
// loaded between jobs, and the checks of what they produce. It must not write artifacts (package report does) or know
// the store. Nothing that a process says is believed unchecked: not its files, not its numbers, not its chain names.
//
// Files:
package runner

import (
	"context"
	"io"
	"log/slog"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/sandbox"
)

// Runner is an engine in a process of its own. It implements [engine.Engine], [engine.Pooled] and
// [engine.Fingerprinter]. Manifest, Processes and Log must be set; it is safe for concurrent use and must not be
// changed once it is used.
type Runner struct {
	Manifest  *Manifest
	Processes *ProcessPool
	Python    string   // interpreter that replaces {python} in the manifest's command; empty: python3 of the PATH
	Library   string   // folder that contains foldrun; empty: the one above the manifest's
	Weights   string   // folder of the engine's weights
	Cache     string   // folder that the process may keep files in: its HOME
	Threads   int      // cores of one process; 0: its own choice
	Hidden    []string // further paths of this machine that no owner may read
	// Sandbox limits the processes: see package sandbox. Private are paths that no process may reach, as a check of the
	// others. The zero mode is none.
	Sandbox sandbox.Mode
	Private []string
	Log     *slog.Logger
	// Stderr receives what the processes write to their standard error; nil: nothing does. The last of it is logged
	// if a process dies.
	Stderr io.Writer

	grease uint64 // for tests, not 0: messages carry unknown fields and types

	interpreter interpreter
}

// The registry and the worker find these by a type assertion, so the compiler checks them here.
var _ engine.Pooled = (*Runner)(nil)
var _ engine.Fingerprinter = (*Runner)(nil)

// Models lists the manifest's models with the device that they run on here. It lists none if there is no such device.
func (r *Runner) Models() []pleat.Model {
	device, memory, ok := r.Processes.capacity(r.Manifest)
	if !ok {
		return nil
	}
	models := r.Manifest.models(device, memory)
	for i := range models {
		models[i].Cores = r.Threads
	}
	return models
}

// Pool returns the accelerators that the jobs run on.
func (r *Runner) Pool() engine.Pool { return r.Processes }

// Close ends every process of the pool.
func (r *Runner) Close() { r.Processes.Close() }

// Run executes one attempt in a loaded process or a new one: it waits for a slot, sends one request or one per
// sequence, checks what the process has written and makes the artifacts. It returns soon after ctx ends.
func (r *Runner) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	a := &runnerAttempt{Runner: r, work: w, sink: sink, timings: map[string]float64{}}
	out := a.run(ctx)
	if out.Failure != nil {
		out.Result = &pleat.Result{Timings: a.timings}
	}
	return out
}

// run executes the attempt.
func (a *runnerAttempt) run(ctx context.Context) pleat.Output {
	requests, f := a.requests()
	if f == nil {
		f = a.predictAll(ctx, requests)
	}
	if f != nil {
		return pleat.Output{Failure: f, Engine: a.name()}
	}
	if a.work.Computed != nil {
		a.work.Computed()
	}
	return a.collect(ctx, requests)
}
