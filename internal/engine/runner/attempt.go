package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/report"
)

// runnerAttempt executes one attempt of one task. It is used by one goroutine.
type runnerAttempt struct {
	*Runner
	work    pleat.Work
	sink    pleat.Sink
	ready   wireReady
	small   bool // it ran out of memory before: one sample at a time
	timings map[string]float64
	notes   []string
	device  string // name of the device that it runs on
}

// name returns the engine and its version, as results state them.
func (a *runnerAttempt) name() string {
	return a.Manifest.Engine + " " + cmp.Or(engine.OneLine(a.ready.Version, 40), a.Manifest.Version)
}

// predictAll runs the requests one after another in one process, and releases the device as soon as the last is done.
//
// A process that was dead before it heard of the request is replaced once. A request that ran out of memory runs once
// more with one sample at a time and the device to itself. Any other failure ends the attempt.
func (a *runnerAttempt) predictAll(ctx context.Context, requests []*predictRequest) *pleat.Failure {
	watch := clock.Start()
	lease, f := a.Processes.acquire(ctx, a.work.Task, a.Manifest, a.work.Model.Name, a.memory())
	if waited := watch.Elapsed(); waited > time.Second {
		a.timings[pleat.StageWait] = waited.Seconds()
	}
	if f != nil {
		return f
	}
	a.device = lease.slot.device.Name
	var p *process
	var stopped <-chan struct{}
	defer func() { lease.release(p, stopped) }()
	for _, q := range requests {
		for retried := false; ; {
			var out outcome
			p, out = a.predict(ctx, lease, q)
			if out.failure == nil {
				q.result = out.result
				break
			}
			if out.stop != nil {
				stopped = a.Processes.stopInBackground(out.stop, q.workdir)
			}
			if out.unheard && !retried {
				retried = true
				continue
			}
			if p != nil && p.terminated() && await(ctx, shutdownSkew) {
				return engine.Interrupted(ctx)
			}
			if p != nil && (out.failure.Kind == pleat.FailDeviceLost || out.failure.Kind == pleat.FailCrashed) {
				p.kill(0)
			}
			if out.failure.Kind != pleat.FailOOM || a.small || ctx.Err() != nil {
				return a.final(out.failure)
			}
			a.small, lease.need = true, lease.slot.device.Memory // no other process may stay on the device
			a.sink.Log("out of memory; trying once more with one sample at a time")
		}
	}
	return nil
}

// shutdownSkew is how much later than its runners a worker may learn that both are to end.
const shutdownSkew = 2 * time.Second

// await waits at most d for the end of ctx, and reports whether it has ended.
func await(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

// final returns the failure that the run ends with. Memory that did not suffice twice will not suffice a third time.
func (a *runnerAttempt) final(f *pleat.Failure) *pleat.Failure {
	if f.Kind == pleat.FailOOM {
		return &pleat.Failure{Kind: f.Kind, Message: fmt.Sprintf(
			"out of memory on %s, with one sample at a time too: %s", cmp.Or(a.device, "the device"), f.Message)}
	}
	return f
}

// predict runs one request in the lease's process. It starts the process and loads the model first if necessary, with
// the stage "load". It returns the process, if there is one, so that the lease can be released with it.
func (a *runnerAttempt) predict(ctx context.Context, l *slotLease, q *predictRequest) (*process, outcome) {
	watch := clock.Start()
	warm := l.loaded(a.Manifest, a.work.Model.Name)
	if !warm {
		a.sink.Progress("load", 0, 1)
	}
	p, f := l.process(ctx, a.launchSpec(filepath.Dir(a.work.Dir)))
	var loaded time.Duration
	if f == nil {
		loaded, f = p.load(ctx, a.work.Model.Name)
	}
	if loaded > 0 || f != nil { // a loaded process has no load time
		a.timings[pleat.StageLoad] += watch.Seconds()
	}
	if f != nil {
		return p, outcome{failure: f}
	}
	a.ready = p.ready
	if !warm {
		a.sink.Progress("load", 1, 1)
	}
	m, f := a.message(q, p.dir)
	if f != nil {
		return p, outcome{failure: f}
	}
	watch = clock.Start()
	out := p.predict(ctx, q, m, a.sink)
	a.timings[pleat.StageInfer] += watch.Seconds()
	if out.stop != nil {
		_ = q.folder.Close() // the process still works in it, and nothing will be read
		return p, out
	}
	if err := q.moveBack(); err != nil && out.failure == nil {
		out.failure = engine.InvalidOutput(err)
	}
	return p, out
}

// memory returns the bytes that the largest structure of the work needs by the model's memory model. The size of a
// structure that is a file is not known here; 1,000 tokens stand for it.
func (a *runnerAttempt) memory() int64 {
	tokens := a.work.MD.Tokens()
	if a.work.Fold != nil {
		j := pleat.Job{Sequences: a.work.Fold.Sequences}
		tokens = j.Largest(a.work.Model)
	}
	need := a.work.Model.Memory.Bytes(tokens)
	if room := a.work.Model.Room; room > 0 {
		need = min(need, room) // it was accepted, so it waits for the largest device
	}
	return need
}

// inputPath is the path of an input file below the folder of a request.
func inputPath(path string) string { return filepath.Join("input", filepath.Base(path)) }

// message puts the files of a request into a fresh folder, moves it into the scratch folder of the process and returns
// the message. Files are hard links to those of the attempt where possible, which serve no other.
func (a *runnerAttempt) message(q *predictRequest, scratch string) (wirePredict, *pleat.Failure) {
	m := wirePredict{Type: "predict", Attempt: max(a.work.Attempt, 1), Kind: a.work.Kind}
	fail := func(err error) (wirePredict, *pleat.Failure) {
		return m, pleat.Failed(pleat.FailStorage, "the worker cannot write its files: "+engine.PublicMessage(err))
	}
	dir, err := os.MkdirTemp(a.work.Dir, "run-")
	if err != nil {
		return fail(err)
	}
	q.dir = dir
	m.ID = fmt.Sprintf("%s-%d-%s", a.work.Task, m.Attempt, strings.TrimPrefix(filepath.Base(dir), "run-"))
	if m.Input, err = api.Encode(q.input); err != nil {
		return m, pleat.Failed(pleat.FailInternal, "the job has no form that the engine could read")
	}
	for _, f := range q.files {
		name := inputPath(f.path)
		if err := linkOrCopy(filepath.Join(a.work.Dir, f.path), filepath.Join(dir, name)); err != nil {
			return fail(err)
		}
		m.Files = append(m.Files, wireInput{
			Kind:        f.kind,
			Path:        name,
			Sequence:    f.sequence,
			Chain:       f.chain,
			Force:       f.force,
			MaxDistance: f.distance,
			Code:        f.code,
		})
	}
	if a.work.Resume != "" {
		name := filepath.Join("resume", filepath.Base(a.work.Resume))
		if err := linkOrCopy(a.work.Resume, filepath.Join(dir, name)); err != nil {
			return fail(err)
		}
		m.Resume = &wireResume{Path: name, Step: a.work.Step}
	}
	if a.small {
		m.Parallel = 1
	}
	a.parameters(&m)
	if err := q.moveTo(scratch); err != nil {
		return fail(err)
	}
	m.Workdir = q.workdir
	return m, nil
}

// parameters sets the parameters that the model takes, and the seed.
func (a *runnerAttempt) parameters(m *wirePredict) {
	switch {
	case a.work.Fold != nil:
		m.Params = a.work.Fold.Params.Effective(a.work.Model)
		delete(m.Params, "seed")
		m.Seed, _ = strconv.ParseUint(a.work.Fold.Seed, 10, 32) // checked when the job was created
	case a.work.MD != nil:
		m.Seed = a.work.MD.Seed & pleat.MaxSeed
	case a.work.Design != nil:
		m.Params, m.Seed = a.work.Design.Params.Map(), uint64(a.work.Design.Seed)
	}
}

// linkOrCopy puts a file into a folder, which it makes if necessary: as a hard link if the file system can, else as a
// copy.
func linkOrCopy(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return report.WriteFile(to, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
