package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/tracing"
)

const (
	maxJobLines = 500 // log lines of one job
	// A process that answers a cancel this fast stays loaded without another wait; the run returns without its answer
	// else.
	cancelGrace   = 150 * time.Millisecond // for a process to answer a cancel before the run returns without it
	watchInterval = 250 * time.Millisecond
)

// load loads a model into the process, unless it is loaded already. It returns how long that took; 0: nothing was done.
// After a failure no model is loaded.
func (p *process) load(ctx context.Context, model string) (time.Duration, *pleat.Failure) {
	if p.model == model {
		return 0, nil
	}
	watch := clock.Start()
	from := p.listen()
	defer p.unlisten()
	ctx, done := context.WithTimeoutCause(ctx, pleat.Seconds(p.manifest.LoadTimeout), errLoadTime)
	defer done()
	p.model = ""
	m := wireLoad{Type: "load", Model: model, Weights: p.weights, Device: p.device, Threads: p.threads}
	if f := p.send(m); f != nil {
		return 0, f
	}
	for {
		select {
		case m := <-from.messages:
			switch m := m.(type) {
			case *wireReady:
				p.ready, p.model = *m, model
				return watch.Elapsed(), nil
			case *wireError:
				if m.ID != "" {
					continue
				}
				p.logRefusal("load", m)
				f := m.failure()
				f.Message = p.redact(f.Message)
				return 0, f
			}
		case <-p.gone:
			return 0, p.crashed("while it loaded the model")
		case <-ctx.Done():
			return 0, p.fail(p.loadInterrupted(ctx))
		}
	}
}

// logRefusal logs an error of the process with the details that only the operator may read.
func (p *process) logRefusal(what string, e *wireError) {
	p.log.Info("a runner refused", "engine", p.manifest.Engine, "what", what, "code", e.Code,
		"error", engine.OneLine(e.Message, maxWireText), "detail", lastBytes(e.Detail, maxWireDetail))
}

// lastBytes returns at most the last n bytes of s.
func lastBytes(s string, n int) string {
	if len(s) > n {
		return s[len(s)-n:]
	}
	return s
}

// runningRequest is a request that a process works on, with what the limits of the manifest need to know about it.
type runningRequest struct {
	*process
	request    *predictRequest
	message    wirePredict
	sink       pleat.Sink
	heardOf    bool            // the process has sent something about this request
	lines      int             // of its log
	progressed clock.Stopwatch // since the last progress
}

// outcome is how a request ended: exactly one of result and failure is set.
type outcome struct {
	result  *wireResult
	failure *pleat.Failure
	// unheard is set if a process that had completed requests died without a message about this one. It may have been
	// dead before, so that another process should try.
	unheard bool
	// stop is set if the process is still working on the request. It returns once the process has stopped, or was
	// killed; until then the process must not be used. The caller must call it.
	stop func()
}

// predict runs one request in the process. It returns soon after ctx ends, whether or not the process has stopped, see
// outcome.stop. The model of the request must be loaded. Progress, log lines and checkpoints go to the sink.
func (p *process) predict(ctx context.Context, q *predictRequest, m wirePredict, sink pleat.Sink) (out outcome) {
	from := p.listen()
	defer func() {
		if out.stop == nil {
			p.unlisten()
		}
	}()
	m.Trace = tracing.Text(ctx)
	r := &runningRequest{process: p, request: q, message: m, sink: sink, progressed: clock.Start()}
	if f := p.send(m); f != nil {
		return outcome{failure: f, unheard: p.jobs > 0 && f.Kind == pleat.FailCrashed}
	}
	p.jobs++
	ctx, done := context.WithTimeout(ctx, pleat.Seconds(p.manifest.JobTimeout))
	defer done()
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	for {
		select {
		case msg := <-from.messages:
			if out := r.handle(msg); out != nil {
				return *out
			}
		case <-p.gone:
			return r.drain(from)
		case <-ctx.Done():
			return r.interrupt(ctx, from)
		case <-watch.C:
			if f := r.overdue(); f != nil {
				p.kill(0)
				return outcome{failure: f}
			}
		}
	}
}

// handle processes a message: progress, log lines and checkpoints go to the sink. The outcome is nil until the request
// has ended. Messages about other requests are late and ignored; an error without a request ends this one.
func (r *runningRequest) handle(m any) *outcome {
	switch m := m.(type) {
	case *wireProgress:
		if m.ID == r.message.ID {
			r.progressed, r.heardOf = clock.Start(), true
			r.sink.Progress(r.manifest.stage(m.Stage), max(m.Done, 0), max(m.Total, 0))
		}
	case *wireLog:
		if m.ID == r.message.ID {
			r.heardOf = true
			r.logLine(m)
		}
	case *wireCheckpoint:
		if m.ID == r.message.ID {
			r.progressed = clock.Start()
			r.checkpoint(m)
		}
	case *wireResult:
		if m.ID == r.message.ID {
			return &outcome{result: m}
		}
	case *wireError:
		switch m.ID {
		case r.message.ID:
			r.logRefusal("job "+m.ID, m)
			f := m.failure()
			f.Message = r.redact(f.Message)
			return &outcome{failure: f}
		case "":
			r.logRefusal("no job", m)
			return &outcome{failure: pleat.Failed(pleat.FailInternal,
				"the engine reported a fault of its own; the service's log has the details")}
		}
	}
	return nil
}

// logLine passes a line on to the job's log, redacted, and after maxJobLines says once that further lines are omitted.
func (r *runningRequest) logLine(m *wireLog) {
	switch r.lines++; {
	case r.lines < maxJobLines:
		line := r.redact(engine.OneLine(m.Line, maxWireLog))
		if m.Level == "warn" || m.Level == "error" {
			line = m.Level + ": " + line
		}
		r.sink.Log(line)
	case r.lines == maxJobLines:
		r.sink.Log("further lines of the engine are omitted")
	}
}

// checkpoint passes a checkpoint on to the sink: a copy of a regular file inside the folder of the request, since the
// process still has that folder. A run does not fail because its checkpoint could not be stored; its log says so.
func (r *runningRequest) checkpoint(m *wireCheckpoint) {
	to := filepath.Join(filepath.Dir(r.request.dir), "checkpoint"+filepath.Ext(m.Path))
	defer os.Remove(to)
	err := r.request.copyOut(m.Path, to)
	if err == nil {
		err = r.sink.Checkpoint(to, m.Step)
	}
	if err != nil {
		r.sink.Log("a checkpoint could not be stored: " + engine.PublicMessage(err))
	}
}

// overdue returns the failure of a process that has sent nothing for heartbeat_timeout_s, or of a stage without
// progress for stage_timeout_s; nil: neither.
func (r *runningRequest) overdue() *pleat.Failure {
	m := r.manifest
	switch {
	case r.silence() > pleat.Seconds(m.Silence):
		r.log.Warn("a runner hangs and is killed", "engine", m.Engine, "silent_ms", r.silence())
		return pleat.Failed(pleat.FailCrashed,
			fmt.Sprintf("the engine %s sent nothing for %v s and was ended", m.Engine, m.Silence))
	case r.progressed.Elapsed() > pleat.Seconds(m.StageTime):
		return pleat.Failed(pleat.FailTimeout,
			fmt.Sprintf("the engine %s made no progress for %v s", m.Engine, m.StageTime))
	}
	return nil
}

// drain handles the messages that a dead process had sent: its result may be among them. Otherwise the process crashed.
func (r *runningRequest) drain(from *listener) outcome {
	for {
		select {
		case msg := <-from.messages:
			if out := r.handle(msg); out != nil {
				return *out
			}
		default:
			return outcome{failure: r.crashed("while it worked"), unheard: r.jobs > 1 && !r.heardOf}
		}
	}
}

// interrupt asks the process to stop and waits cancelGrace. If the process takes longer, the outcome has a stop, and
// the caller returns to the user without waiting.
func (r *runningRequest) interrupt(ctx context.Context, from *listener) outcome {
	out := outcome{failure: engine.Interrupted(ctx)}
	if f := r.send(wireCall{Type: "cancel", ID: r.message.ID}); f != nil {
		return out
	}
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	for {
		select {
		case msg := <-from.messages:
			if isLast(msg, r.message.ID) {
				return out // a result that comes now is too late
			}
		case <-r.gone:
			return out
		case <-grace.C:
			out.stop = func() { r.awaitEnd(from) }
			return out
		}
	}
}

// awaitEnd waits until the process has stopped a cancelled request, and kills it if it takes longer than cancel_s.
func (r *runningRequest) awaitEnd(from *listener) {
	defer r.unlisten()
	late := time.NewTimer(pleat.Seconds(r.manifest.CancelTime))
	defer late.Stop()
	for {
		select {
		case msg := <-from.messages:
			if isLast(msg, r.message.ID) {
				return
			}
		case <-r.gone:
			return
		case <-late.C:
			r.log.Warn("a runner does not stop and is killed", "engine", r.manifest.Engine)
			r.kill(0)
			return
		}
	}
}

// isLast reports whether a message is the last about a request.
func isLast(m any, id string) bool {
	switch m := m.(type) {
	case *wireResult:
		return m.ID == id
	case *wireError:
		return m.ID == id
	}
	return false
}

// redact removes the paths of this machine, and of the request's folder, from a message for the owner.
func (r *runningRequest) redact(message string) string {
	return r.process.redact(strings.ReplaceAll(message, r.message.Workdir, "…"))
}

// redact removes the paths of the runner, its weights and its cache from a message for the owner.
func (p *process) redact(message string) string {
	for _, path := range p.hidden {
		if path != "" && path != "/" {
			message = strings.ReplaceAll(message, path, "…")
		}
	}
	return message
}
