package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pleat"
)

const (
	maxJobLines = 500                    // log lines of one job
	promptly    = 150 * time.Millisecond // for a runner to answer a cancel before it is left to itself
	watchEvery  = 250 * time.Millisecond
)

// load has the process load a model, unless it has it already. It says how long that took; 0: nothing was to be done.
func (p *process) load(ctx context.Context, model string) (time.Duration, *pleat.Failure) {
	if p.loaded == model {
		return 0, nil
	}
	began := time.Now()
	from := p.listen()
	defer p.unlisten()
	ctx, done := context.WithTimeoutCause(ctx, seconds(p.manifest.LoadTimeout), errLoadTime)
	defer done()
	p.loaded = ""
	if f := p.send(wireLoad{Type: "load", Model: model, Weights: p.weights, Device: p.device, Threads: p.threads}); f != nil {
		return 0, f
	}
	for {
		select {
		case m := <-from.messages:
			switch m := m.(type) {
			case *wireReady:
				p.ready, p.loaded = *m, model
				return time.Since(began), nil
			case *wireError:
				if m.ID != "" {
					continue
				}
				p.detail("load", m)
				f := m.failure()
				f.Message = p.hide(f.Message)
				return 0, f
			}
		case <-p.gone:
			return 0, p.crashed("while it loaded the model")
		case <-ctx.Done():
			return 0, p.giveUp(p.late(ctx))
		}
	}
}

// detail puts what only the operator should read into the log.
func (p *process) detail(what string, e *wireError) {
	p.log.Info("a runner refused", "engine", p.manifest.Engine, "what", what, "code", e.Code, "message", oneLine(e.Message, maxWireText), "detail", tailOf(e.Detail, maxWireDetail))
}

func tailOf(s string, most int) string {
	if len(s) > most {
		return s[len(s)-most:]
	}
	return s
}

// prediction is one job in a process.
type prediction struct {
	*process
	message wirePredict
	sink    pleat.Sink
	heard   bool // anything of this job
	lines   int
	moved   time.Time // when it last said how far it is
}

// outcome is how a prediction ended: a result or a failure.
type outcome struct {
	result  *wireResult
	failure *pleat.Failure
	// untouched is set where a process that had done jobs before died without a word of this one: it may have been dead already.
	untouched bool
	// stopped is set where the process has yet to stop what it does, and closed once it has, or is gone.
	stopped <-chan struct{}
}

// predict has the process do one job. It returns soon after ctx ends, whatever the process does then.
func (p *process) predict(ctx context.Context, m wirePredict, sink pleat.Sink) outcome {
	from := p.listen()
	stay := false
	defer func() {
		if !stay {
			p.unlisten()
		}
	}()
	j := &prediction{process: p, message: m, sink: sink, moved: time.Now()}
	if f := p.send(m); f != nil {
		return outcome{failure: f, untouched: p.jobs > 0 && f.Kind == pleat.FailCrashed}
	}
	p.jobs++
	ctx, done := context.WithTimeout(ctx, seconds(p.manifest.JobTimeout))
	defer done()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for {
		select {
		case msg := <-from.messages:
			if out := j.take(msg); out != nil {
				return *out
			}
		case <-p.gone:
			return j.last(from)
		case <-ctx.Done():
			out := j.interrupt(ctx, from)
			stay = out.stopped != nil
			return out
		case <-watch.C:
			if f := j.overdue(); f != nil {
				p.kill(0)
				return outcome{failure: f}
			}
		}
	}
}

// take acts on a message; the outcome is nil while there is none. Messages of other jobs are late, and dropped.
func (j *prediction) take(m any) *outcome {
	switch m := m.(type) {
	case *wireProgress:
		if m.ID == j.message.ID {
			j.moved, j.heard = time.Now(), true
			j.sink.Progress(j.manifest.stage(m.Stage), max(m.Done, 0), max(m.Total, 0))
		}
	case *wireLog:
		if m.ID == j.message.ID {
			j.heard = true
			j.say(m)
		}
	case *wireCheckpoint:
		if m.ID == j.message.ID {
			j.moved = time.Now()
			j.keep(m)
		}
	case *wireResult:
		if m.ID == j.message.ID {
			return &outcome{result: m}
		}
	case *wireError:
		switch m.ID {
		case j.message.ID:
			j.detail("job "+m.ID, m)
			f := m.failure()
			f.Message = j.hide(f.Message)
			return &outcome{failure: f}
		case "":
			j.detail("no job", m)
			return &outcome{failure: pleat.Failed(pleat.FailInternal, "the engine reported a fault of its own; the service's log has the details")}
		}
	}
	return nil
}

func (j *prediction) say(m *wireLog) {
	switch j.lines++; {
	case j.lines < maxJobLines:
		line := j.hide(oneLine(m.Line, maxWireLog))
		if m.Level == "warn" || m.Level == "error" {
			line = m.Level + ": " + line
		}
		j.sink.Log(line)
	case j.lines == maxJobLines:
		j.sink.Log("further lines of the engine are left out")
	}
}

// keep hands a checkpoint on. A run does not fail because its checkpoint could not be kept.
func (j *prediction) keep(m *wireCheckpoint) {
	err := errors.New("it is outside the folder of the work")
	if local(m.Path) {
		path := filepath.Join(j.message.Workdir, m.Path)
		var info os.FileInfo
		if info, err = os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is no plain file")
		}
		if err == nil {
			err = j.sink.Checkpoint(path, m.Step)
		}
	}
	if err != nil {
		j.sink.Log("a checkpoint could not be kept: " + clean(err))
	}
}

// overdue is the failure of a process that hangs, or of a stage that takes too long.
func (j *prediction) overdue() *pleat.Failure {
	m := j.manifest
	switch {
	case j.silent() > seconds(m.Silence):
		j.log.Warn("a runner hangs and is killed", "engine", m.Engine, "silent", j.silent().Round(time.Second))
		return pleat.Failed(pleat.FailCrashed, fmt.Sprintf("the engine %s gave no sign of life for %v s, and was ended", m.Engine, m.Silence))
	case time.Since(j.moved) > seconds(m.StageTime):
		return pleat.Failed(pleat.FailTimeout, fmt.Sprintf("the engine %s made no progress for %v s", m.Engine, m.StageTime))
	}
	return nil
}

// last looks through what a dead process had sent: its result may be among it.
func (j *prediction) last(from *listener) outcome {
	for {
		select {
		case msg := <-from.messages:
			if out := j.take(msg); out != nil {
				return *out
			}
		default:
			return outcome{failure: j.crashed("while it worked"), untouched: j.jobs > 1 && !j.heard}
		}
	}
}

// interrupt asks the runner to stop and waits a little; one that takes longer is left to the caller to stop.
func (j *prediction) interrupt(ctx context.Context, from *listener) outcome {
	out := outcome{failure: Interrupted(ctx)}
	if f := j.send(wireCall{Type: "cancel", ID: j.message.ID}); f != nil {
		return out
	}
	soon := time.NewTimer(promptly)
	defer soon.Stop()
	for {
		select {
		case msg := <-from.messages:
			if ends(msg, j.message.ID) {
				return out // a result that comes now is too late
			}
		case <-j.gone:
			return out
		case <-soon.C:
			out.stopped = j.stop(from)
			return out
		}
	}
}

// stop sees to a cancelled job's end without anybody waiting: it kills the process where the end does not come.
func (j *prediction) stop(from *listener) <-chan struct{} {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer j.unlisten()
		late := time.NewTimer(seconds(j.manifest.CancelTime))
		defer late.Stop()
		for {
			select {
			case msg := <-from.messages:
				if ends(msg, j.message.ID) {
					return
				}
			case <-j.gone:
				return
			case <-late.C:
				j.log.Warn("a runner does not stop and is killed", "engine", j.manifest.Engine)
				j.kill(0)
				return
			}
		}
	}()
	return stopped
}

// ends reports whether a message is the last of a job.
func ends(m any, id string) bool {
	switch m := m.(type) {
	case *wireResult:
		return m.ID == id
	case *wireError:
		return m.ID == id
	}
	return false
}

// hide keeps the host's paths out of a sentence for the owner.
func (j *prediction) hide(text string) string {
	return j.process.hide(strings.ReplaceAll(text, j.message.Workdir, "…"))
}

func (p *process) hide(text string) string {
	for _, root := range p.roots {
		if root != "" && root != "/" {
			text = strings.ReplaceAll(text, root, "…")
		}
	}
	return text
}
