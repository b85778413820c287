package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
)

// Runner is an engine in a process of its own: one of runners/, driven by the protocol of docs/runner-protocol.md.
type Runner struct {
	Manifest *Manifest
	Warm     *Warm
	Python   string   // interpreter that {python} in the manifest's command stands for; empty: python3 of the PATH
	Library  string   // folder that holds foldrun; empty: the one above the manifest's
	Weights  string   // folder of the engine's weights
	Cache    string   // folder that the process may keep things in: its HOME and TMPDIR
	Threads  int      // cores of one process; 0: its own choice
	Hidden   []string // further paths of the host that no owner should read
	Log      *slog.Logger
	Stderr   io.Writer // gets what its processes write there; nil: nobody. The last of it is in Log where one dies
	Grease   uint64    // not 0: messages carry fields and types that nobody knows, in tests
}

// Models lists the manifest's models, with the device that they run on here. None where there is no such device.
func (r *Runner) Models() []pleat.Model {
	device, room, ok := r.Warm.room(r.Manifest)
	if !ok {
		return nil
	}
	return r.Manifest.models(device, room)
}

// Run executes one attempt in a warm process or a new one.
func (r *Runner) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	t := &turn{Runner: r, work: w, sink: sink, timings: map[string]float64{}}
	pieces, f := t.pieces()
	if f == nil {
		f = t.predictAll(ctx, pieces)
	}
	if f != nil {
		return pleat.Output{Failure: f, Engine: t.name()}
	}
	if w.Computed != nil {
		w.Computed()
	}
	return t.collect(ctx, pieces)
}

// turn is one attempt.
type turn struct {
	*Runner
	work    pleat.Work
	sink    pleat.Sink
	ready   wireReady
	small   bool // out of memory once: fewer samples at a time
	timings map[string]float64
	notes   []string
	device  string
}

// name is the engine and its version, as results name it.
func (t *turn) name() string {
	return t.Manifest.Engine + " " + cmp.Or(oneLine(t.ready.Version, 40), t.Manifest.Version)
}

// piece is one message predict and what came of it.
type piece struct {
	input     any
	sequences []pleat.Sequence // of a fold
	files     []inputFile
	dir       string
	result    *wireResult
}

type inputFile struct {
	kind, path string // path below the work's folder
	sequence   *int
}

// predictAll runs the pieces one after another in one process, and leaves the device as soon as the last is done.
func (t *turn) predictAll(ctx context.Context, pieces []*piece) *pleat.Failure {
	began := time.Now()
	seat, f := t.Warm.sit(ctx, t.work.Task, t.Manifest, t.work.Model.Name, t.need())
	if f != nil {
		return f
	}
	t.device = seat.slot.device.Name
	if waited := time.Since(began); waited > time.Second {
		t.timings["wait"] = waited.Seconds()
	}
	var p *process
	var stopped <-chan struct{}
	defer func() { seat.leave(p, stopped) }()
	for _, c := range pieces {
		for again := false; ; {
			var out outcome
			p, out = t.predict(ctx, seat, c)
			if out.failure == nil {
				c.result = out.result
				break
			}
			if stopped = out.stopped; stopped != nil {
				dir := t.work.Dir
				done := stopped
				t.Warm.ending.Go(func() { <-done; _ = os.RemoveAll(dir) }) // what it wrote since the work was given up
			}
			if out.untouched && !again {
				again = true
				continue
			}
			if p != nil && (out.failure.Kind == pleat.FailDeviceLost || out.failure.Kind == pleat.FailCrashed) {
				p.kill(0)
			}
			if out.failure.Kind != pleat.FailOOM || t.small || ctx.Err() != nil {
				return t.final(out.failure)
			}
			t.small, seat.need = true, seat.slot.device.Memory // nobody else stays beside it
			t.sink.Log("out of memory; trying once more with one sample at a time")
		}
	}
	return nil
}

// final is a failure as the run ends with it: memory that did not suffice twice will not the third time.
func (t *turn) final(f *pleat.Failure) *pleat.Failure {
	if f.Kind == pleat.FailOOM {
		return &pleat.Failure{Kind: f.Kind, Message: fmt.Sprintf("out of memory on %s, with one sample at a time too: %s", cmp.Or(t.device, "the device"), f.Message)}
	}
	return f
}

// predict runs one piece in the seat's process, which it starts and loads first where that is to be done.
func (t *turn) predict(ctx context.Context, s *seat, c *piece) (*process, outcome) {
	began := time.Now()
	warm := t.Warm.has(s, t.Manifest, t.work.Model.Name)
	if !warm {
		t.sink.Progress("load", 0, 1)
	}
	p, f := s.process(ctx, t.launch())
	if f != nil {
		return nil, outcome{failure: f}
	}
	loaded, f := p.load(ctx, t.work.Model.Name)
	if f != nil {
		return p, outcome{failure: f}
	}
	if loaded > 0 { // a warm process has no time to load
		t.timings["load"] += time.Since(began).Seconds()
	}
	t.ready = p.ready
	if !warm {
		t.sink.Progress("load", 1, 1)
	}
	m, f := t.message(c)
	if f != nil {
		return p, outcome{failure: f}
	}
	began = time.Now()
	out := p.predict(ctx, m, t.sink)
	t.timings["infer"] += time.Since(began).Seconds()
	return p, out
}

// need is the memory that the work's largest structure takes.
func (t *turn) need() int64 {
	n := 1000
	switch {
	case t.work.Fold != nil:
		j := pleat.Job{Sequences: t.work.Fold.Sequences}
		n = j.Largest(t.work.Model)
	case t.work.MD != nil && t.work.MD.Sequence != "":
		n = len(t.work.MD.Sequence)
	}
	need := t.work.Model.Memory.Bytes(n)
	if room := t.work.Model.Room; room > 0 {
		need = min(need, room) // admitted already: it waits for the largest device
	}
	return need
}

// message puts a piece's files into a fresh folder and tells where.
func (t *turn) message(c *piece) (wirePredict, *pleat.Failure) {
	m := wirePredict{Type: "predict", Attempt: max(t.work.Attempt, 1), Kind: t.work.Kind}
	fail := func(err error) (wirePredict, *pleat.Failure) {
		return m, pleat.Failed(pleat.FailStorage, "the worker has no room to work in: "+clean(err))
	}
	dir, err := os.MkdirTemp(t.work.Dir, "run-")
	if err != nil {
		return fail(err)
	}
	c.dir, m.Workdir = dir, dir
	m.ID = fmt.Sprintf("%s-%d-%s", t.work.Task, m.Attempt, strings.TrimPrefix(filepath.Base(dir), "run-"))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c.input); err != nil {
		return m, pleat.Failed(pleat.FailInternal, "the job has no form that the engine could read")
	}
	m.Input = b.Bytes()
	for _, f := range c.files {
		name := filepath.Join("input", filepath.Base(f.path))
		if err := share(filepath.Join(t.work.Dir, f.path), filepath.Join(dir, name)); err != nil {
			return fail(err)
		}
		m.Files = append(m.Files, wireInput{Kind: f.kind, Path: name, Sequence: f.sequence})
	}
	if t.work.Resume != "" {
		name := filepath.Join("resume", filepath.Base(t.work.Resume))
		if err := share(t.work.Resume, filepath.Join(dir, name)); err != nil {
			return fail(err)
		}
		m.Resume = &wireResume{Path: name, Step: t.work.Step}
	}
	if t.small {
		m.Parallel = 1
	}
	t.parameters(&m)
	return m, nil
}

// parameters fills in the parameters that the model takes, the seed apart.
func (t *turn) parameters(m *wirePredict) {
	switch {
	case t.work.Fold != nil:
		m.Params = t.work.Fold.Params.Effective(t.work.Model)
		delete(m.Params, "seed")
		m.Seed, _ = strconv.ParseUint(t.work.Fold.Seed, 10, 32) // checked when the job was made
	case t.work.MD != nil:
		m.Seed = t.work.MD.Seed & pleat.MaxSeed
	}
}

// share puts a file into a folder: another name of the same bytes where the file system can, else a copy.
func share(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// inherited are the variables of the service's own environment that a runner gets. No secret is among them.
var inherited = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// launch says how the engine's process is started.
func (t *Runner) launch() launch {
	python := cmp.Or(t.Python, "python3")
	home := filepath.Join(t.Cache, "home")
	fill := strings.NewReplacer("{python}", python, "{weights}", t.Weights, "{cache}", t.Cache, "{threads}", strconv.Itoa(max(t.Threads, 1)))
	l := launch{manifest: t.Manifest, weights: t.Weights, threads: t.Threads, grease: t.Grease, log: t.Log, stderr: t.Stderr,
		roots: append([]string{t.Manifest.Dir, t.Weights, t.Cache}, t.Hidden...)}
	for _, a := range t.Manifest.Argv {
		l.argv = append(l.argv, fill.Replace(a))
	}
	env := map[string]string{"HOME": home, "TMPDIR": filepath.Join(t.Cache, "tmp"), "XDG_CACHE_HOME": filepath.Join(home, ".cache"),
		"PYTHONPATH": cmp.Or(t.Library, filepath.Dir(t.Manifest.Dir)), "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1"}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	if t.Threads > 0 {
		env["OMP_NUM_THREADS"] = strconv.Itoa(t.Threads)
	}
	for name, v := range t.Manifest.Env {
		env[name] = fill.Replace(v)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.env = append(l.env, name+"="+env[name])
	}
	for _, dir := range []string{env["HOME"], env["TMPDIR"]} {
		_ = os.MkdirAll(dir, 0o700) // the process says so where it cannot write
	}
	return l
}
