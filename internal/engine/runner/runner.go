// Package runner runs engines in processes of their own: one of runners/ each, driven by the protocol of
// docs/runner-protocol.md.
//
// It owns the manifests, the protocol, the processes with their environment, memory and end, the pool that keeps them
// loaded between jobs, and the checks of what they produce. It must not write artifacts (package report does) or know
// the store. Nothing that a process says is believed unchecked: not its files, not its numbers, not its chain names.
//
// Files:
//
//	runner.go       Runner: the engine; how its process is started
//	attempt.go      runnerAttempt: one attempt at a job
//	input.go        predictRequest: the messages that a job becomes
//	output.go       the checks of a result, and its way into a report
//	dynamics.go     results of simulations
//	pool.go         ProcessPool: slots of devices, and the processes in them
//	process.go      process: start, messages, end
//	predict.go      loading a model and running one request in a process
//	guard.go        the guard that ends processes when the service was killed
//	wire.go         the messages of the protocol
//	manifest.go     Manifest: a runner's folder
//	fingerprint.go  the state of a runner's program and weights
package runner

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/engine"
)

// Runner is an engine in a process of its own. It implements engine.Engine, engine.Pooled and engine.Fingerprinter.
// Manifest, Processes and Log must be set; it is safe for concurrent use and must not be changed once it is used.
type Runner struct {
	Manifest  *Manifest
	Processes *ProcessPool
	Python    string   // interpreter that replaces {python} in the manifest's command; empty: python3 of the PATH
	Library   string   // folder that contains foldrun; empty: the one above the manifest's
	Weights   string   // folder of the engine's weights
	Cache     string   // folder that the process may keep files in: its HOME and TMPDIR
	Threads   int      // cores of one process; 0: its own choice
	Hidden    []string // further paths of this machine that no owner may read
	Log       *slog.Logger
	// Stderr receives what the processes write to their standard error; nil: nothing does. The last of it is logged
	// if a process dies.
	Stderr io.Writer

	grease uint64 // for tests, not 0: messages carry unknown fields and types
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
	return r.Manifest.models(device, memory)
}

// Pool returns the accelerators that the jobs run on.
func (r *Runner) Pool() engine.Pool { return r.Processes }

// Close ends every process of the pool.
func (r *Runner) Close() { r.Processes.Close() }

// Run executes one attempt in a loaded process or a new one: it waits for a slot, sends one request or one per
// sequence, checks what the process has written and makes the artifacts. It returns soon after ctx ends.
func (r *Runner) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	a := &runnerAttempt{Runner: r, work: w, sink: sink, timings: map[string]float64{}}
	requests, f := a.requests()
	if f == nil {
		f = a.predictAll(ctx, requests)
	}
	if f != nil {
		return pleat.Output{Failure: f, Engine: a.name()}
	}
	if w.Computed != nil {
		w.Computed()
	}
	return a.collect(ctx, requests)
}

// inherited are the variables of the service's own environment that a process gets. None of them is a secret.
var inherited = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE",
	"SSL_CERT_DIR",
}

// launchSpec returns how the engine's process is started, except for the device.
func (r *Runner) launchSpec() launchSpec {
	placeholders := strings.NewReplacer(
		"{python}", cmp.Or(r.Python, "python3"),
		"{weights}", r.Weights,
		"{cache}", r.Cache,
		"{threads}", strconv.Itoa(max(r.Threads, 1)),
	)
	l := launchSpec{
		manifest: r.Manifest,
		weights:  r.Weights,
		threads:  r.Threads,
		hidden:   append([]string{r.Manifest.Dir, r.Weights, r.Cache}, r.Hidden...),
		grease:   r.grease,
		log:      r.Log,
		stderr:   r.Stderr,
	}
	for _, a := range r.Manifest.Argv {
		l.argv = append(l.argv, placeholders.Replace(a))
	}
	env := r.environment()
	for name, v := range r.Manifest.Env {
		env[name] = placeholders.Replace(v)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.env = append(l.env, name+"="+env[name])
	}
	for _, dir := range []string{env["HOME"], env["TMPDIR"]} {
		_ = os.MkdirAll(dir, 0o700) // the process reports that it cannot write
	}
	return l
}

// environment returns the variables of every process: its folders, Python's settings, and those of the service that are
// in inherited. The service's secrets are never among them.
func (r *Runner) environment() map[string]string {
	home := filepath.Join(r.Cache, "home")
	env := map[string]string{
		"HOME":             home,
		"TMPDIR":           filepath.Join(r.Cache, "tmp"),
		"XDG_CACHE_HOME":   filepath.Join(home, ".cache"),
		"PYTHONPATH":       cmp.Or(r.Library, filepath.Dir(r.Manifest.Dir)),
		"PYTHONNOUSERSITE": "1",
		"PYTHONUNBUFFERED": "1",
	}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	if r.Threads > 0 {
		env["OMP_NUM_THREADS"] = strconv.Itoa(r.Threads)
	}
	return env
}
