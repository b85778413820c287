// Package apart runs a built-in engine in a process of its own, for a task with which a worker has died before.
//
// A built-in engine computes inside the worker, often inside the server. If a task takes all memory there, the process
// dies with it, and with everything else that it does; the task is tried again and would end the next process too.
// From its second attempt on, such a task runs apart, so that only that process dies with it, and the store sees a task
// with which processes die; see runs.retry. A worker that dies meanwhile takes the process along.
//
// The two speak JSON in lines. The worker writes a request, an answer to every line that asks for one, and why the task
// must end, where it must; the process writes what the engine reports and at last the output. The process ends when its
// input does.
package apart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
)

// childName is the name, as its first argument, of a process that runs an engine.
const childName = "pleat-engine"

// exitMemory is the status of a process that has ended itself since it used too much memory.
const exitMemory = 77

const (
	// cancelGrace is how long a process may take to end once its task was cancelled. At a shutdown of the worker it is
	// engine.CheckpointTime, for a last checkpoint.
	cancelGrace = 150 * time.Millisecond
	// maxTail is how many bytes of the end of stderr are logged of a process that has died.
	maxTail = 4 << 10
)

// Engine is a built-in engine whose tasks run apart once a worker has died with them. Create it with New.
type Engine struct {
	engine.Engine // that runs other tasks

	name    string
	options builtin.Options
	memory  int64 // bytes that a process may use; 0: no limit
	log     *slog.Logger
	grace   time.Duration // cancelGrace
}

// New returns the built-in engine of a name. memory bounds a process in bytes; 0: not. Where the program has not called
// Main, no task runs apart.
func New(name string, o builtin.Options, memory int64, log *slog.Logger) engine.Engine {
	e := builtin.New(name, o)
	if !mainCalled.Load() {
		return e
	}
	return &Engine{e, name, o, memory, log, cancelGrace}
}

// request is what a process is to do.
type request struct {
	Engine  string          `json:"engine"`
	Options builtin.Options `json:"options"`
	Work    pleat.Work      `json:"work"`
	Files   []string        `json:"files,omitempty"` // of the compared structures, which their JSON leaves out
}

// newRequest returns the request for a task.
func newRequest(name string, o builtin.Options, w pleat.Work) request {
	r := request{Engine: name, Options: o, Work: w}
	if w.Compare != nil {
		for _, s := range w.Compare.Structures {
			r.Files = append(r.Files, s.File)
		}
	}
	return r
}

// work returns the task of a request that was read.
func (r *request) work() pleat.Work {
	for i, name := range r.Files {
		r.Work.Compare.Structures[i].File = name
	}
	return r.Work
}

// line is what a process writes: exactly one field is set.
type line struct {
	Progress   *progress     `json:"progress,omitempty"`
	Log        *string       `json:"log,omitempty"`
	Publish    *pleat.File   `json:"publish,omitempty"`    // asks for an answer
	Checkpoint *checkpoint   `json:"checkpoint,omitempty"` // asks for an answer
	Computed   bool          `json:"computed,omitempty"`
	Output     *pleat.Output `json:"output,omitempty"` // the last line
}

type progress struct {
	Stage string `json:"stage"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

type checkpoint struct {
	Path string `json:"path"`
	Step int64  `json:"step"`
}

// answer is what the worker writes: the answer to a line that asks for one or, with Cancel, that the task must end.
type answer struct {
	Error  string `json:"error,omitempty"`
	Cancel string `json:"cancel,omitempty"` // of causes
}

// cancelled is why a task ends for which no other of the causes applies.
const cancelled = "cancelled"

// causes are why a task must end, by their names in answers: the engine in a process distinguishes them.
var causes = map[string]error{
	cancelled:  context.Canceled,
	"deadline": context.DeadlineExceeded,
	"shutdown": engine.ErrShutdown,
	"yield":    engine.ErrYield,
}

// causeOf returns the name of the cause with which ctx has ended.
func causeOf(ctx context.Context) string {
	for name, err := range causes {
		if errors.Is(context.Cause(ctx), err) {
			return name
		}
	}
	return cancelled
}

// writer writes lines of JSON. It may be used concurrently.
type writer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (w *writer) write(line any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(line)
}

// Run implements engine.Engine.
func (e *Engine) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	if w.Tries == 0 {
		return e.Engine.Run(ctx, w, sink)
	}
	stderr := &engine.Tail{Max: maxTail}
	out, err := e.run(ctx, w, sink, stderr)
	switch {
	case ctx.Err() != nil && out == nil: // it took too long to end
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	case err == nil:
		return *out
	}
	e.log.Warn("the process of a task has died", "task", w.Task, "engine", e.name, "error", err,
		"stderr", stderr.String())
	var ended *exec.ExitError
	if !errors.As(err, &ended) { // it did not start, or does not speak as it should
		return pleat.Output{Failure: &pleat.Failure{
			Kind: pleat.FailInternal, Message: "the process of the engine could not be run", Retry: true,
		}}
	}
	why := pleat.Failed(pleat.FailCrashed, "the process that computed this has died")
	if ended.ExitCode() == exitMemory {
		why = pleat.Failed(pleat.FailOOM, "this needs more memory than the "+strconv.FormatInt(e.memory>>20, 10)+
			" MiB of the worker, which died of it before")
	}
	return pleat.Output{Failure: why}
}

// run runs the engine in a process and returns its output, or the error with which the process ended. The process
// writes to stderr why it died.
func (e *Engine) run(ctx context.Context, w pleat.Work, sink pleat.Sink, stderr io.Writer) (*pleat.Output, error) {
	program, err := os.Executable()
	if runtime.GOOS == "linux" {
		program, err = "/proc/self/exe", nil // this program, though its file may have been replaced since it started
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program) // not with ctx: it gets time to end in order
	cmd.Args = []string{childName, strconv.FormatInt(e.memory, 10)}
	cmd.Env = []string{} // it has no use for secrets
	// Signals to the worker and its group, as of a terminal, are for the worker: it ends the process in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := sync.OnceFunc(func() { _ = in.Close() })
	defer end()
	to := &writer{enc: json.NewEncoder(in)}
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(e.graceOf(ctx), func() { _ = cmd.Process.Kill() })
		_ = to.write(answer{Cancel: causeOf(ctx)}) // one that does not read it is killed
	})()
	output, err := converse(to, out, newRequest(e.name, e.options, w), reporter{sink, w.Computed})
	end()
	if err != nil || output == nil {
		_ = cmd.Process.Kill()
	}
	if ended := cmd.Wait(); output == nil {
		return nil, errors.Join(err, ended)
	}
	return output, nil
}

// graceOf returns how long a process may take to end after ctx has.
func (e *Engine) graceOf(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), engine.ErrShutdown) {
		return engine.CheckpointTime
	}
	return e.grace
}

// reporter hands on what an engine in a process reports.
type reporter struct {
	pleat.Sink
	computed func()
}

// converse sends a request and hands on what the process reports until it has sent its output, or ends.
func converse(in *writer, out io.Reader, r request, to reporter) (*pleat.Output, error) {
	dec := json.NewDecoder(out)
	if err := in.write(r); err != nil {
		return nil, err
	}
	for {
		var l line
		if err := dec.Decode(&l); err != nil {
			return nil, fmt.Errorf("read from the process: %w", err)
		}
		var failed error
		switch {
		case l.Output != nil:
			return l.Output, nil
		case l.Progress != nil:
			to.Progress(l.Progress.Stage, l.Progress.Done, l.Progress.Total)
			continue
		case l.Log != nil:
			to.Log(*l.Log)
			continue
		case l.Computed:
			if to.computed != nil {
				to.computed()
			}
			continue
		case l.Publish != nil:
			failed = to.Publish(*l.Publish)
		case l.Checkpoint != nil:
			failed = to.Checkpoint(l.Checkpoint.Path, l.Checkpoint.Step)
		}
		var a answer
		if failed != nil {
			a.Error = failed.Error()
		}
		if err := in.write(a); err != nil {
			return nil, err
		}
	}
}
