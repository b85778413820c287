package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/engine/apart"
	"pleat/internal/engine/builtin"
	"pleat/internal/engine/remote"
	"pleat/internal/engine/runner"
	"pleat/internal/sandbox"
)

// NewEngines returns the engines that are configured, and the accelerators of the runners among them. Stderr, if not
// nil, gets what runner processes write there. No process starts before its first task. Close the registry. A
// UsageError: an engine does not exist, is not installed or has no accelerator.
func NewEngines(c config.Config, log *slog.Logger, stderr io.Writer) (*engine.Registry, []pleat.Device, error) {
	return newEngines(c, log, stderr, 0)
}

// newEngines is NewEngines with a number of steps of the engine mini, see Options.
func newEngines(
	c config.Config, log *slog.Logger, stderr io.Writer, miniSteps int,
) (*engine.Registry, []pleat.Device, error) {
	all, devices, err := newRunners(c, log, stderr)
	if err != nil {
		return nil, nil, err
	}
	options := builtin.Options{
		Workers:            c.Threads,
		CheckpointInterval: seconds(c.Checkpoint),
		MiniSteps:          miniSteps,
	}
	for _, name := range c.Engines {
		if pleat.IsBuiltIn(name) {
			all = append(all, apart.New(name, options, c.MemoryLimit(), log))
		}
	}
	if c.ChatURL != "" {
		all = append(all, remote.Chat{
			URL:       c.ChatURL,
			Model:     c.ChatModel,
			Key:       c.ChatKey,
			MaxTokens: c.ChatTokens,
			Timeout:   seconds(c.ChatTimeout),
		})
	}
	if c.NIMURL != "" {
		all = append(all, remote.NIM{
			URL:     c.NIMURL,
			Key:     c.NIMKey,
			Status:  c.NIMStatus,
			Model:   c.NIMModel,
			Timeout: seconds(c.NIMTimeout),
		})
	}
	r, err := engine.New(log, all...)
	return r, devices, err
}

// BuiltInModels returns the models that users can select without installing anything, for the commands that list
// engines. The model null is not among them, since it is for tests.
func BuiltInModels() []pleat.Model {
	var out []pleat.Model
	for _, name := range pleat.DefaultEngines() {
		out = append(out, builtin.New(name, builtin.Options{}).Models()...)
	}
	return out
}

// WeightsPresent returns how many of an engine's weight files exist, and how many its manifest lists. It does not check
// their contents; pleat engines install does.
func WeightsPresent(c config.Config, m *runner.Manifest) (present, all int) {
	for _, w := range m.Weights {
		if _, err := os.Stat(filepath.Join(c.WeightsDir(m.Engine), w.File)); err == nil {
			present++
		}
	}
	return present, len(m.Weights)
}

// Python returns the interpreter of an engine, and whether its virtual environment exists. An engine without one uses
// the machine's python3.
func Python(c config.Config, m *runner.Manifest) (path string, installed bool) {
	if m.Venv == "" {
		return "python3", true
	}
	path = filepath.Join(c.EngineDir(m.Venv), "venv", "bin", "python")
	_, err := os.Stat(path)
	return path, err == nil
}

// Devices returns the accelerators that runners may use: those of the setting, or those that nvidia-smi lists, of which
// CUDA_VISIBLE_DEVICES may leave some out.
func Devices(c config.Config) ([]pleat.Device, error) {
	return c.DeviceList(func() ([]pleat.Device, error) {
		var visible *string
		if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
			visible = &v
		}
		return engine.FindDevices(context.Background(), visible)
	})
}

// newRunners returns the configured engines that are not built in, and the accelerators that they share. Without such
// engines it looks for no accelerators.
func newRunners(c config.Config, log *slog.Logger, stderr io.Writer) ([]engine.Engine, []pleat.Device, error) {
	names := slices.DeleteFunc(slices.Clone(c.Engines), pleat.IsBuiltIn)
	if len(names) == 0 {
		return nil, nil, nil
	}
	if err := checkSandbox(c, log); err != nil {
		return nil, nil, err
	}
	devices, err := Devices(c)
	if err != nil {
		return nil, nil, err
	}
	processes := runner.NewProcessPool(devices, c.Slots, c.MemoryLimit(), log)
	var out []engine.Engine
	for _, name := range names {
		r, err := newRunner(c, name, processes, log)
		if err == nil && len(r.Models()) == 0 {
			const text = "the engine %s needs an accelerator, and this machine has none; see the setting devices"
			err = fmt.Errorf(text, name)
		}
		if err != nil {
			processes.Close()
			return nil, nil, UsageError{err}
		}
		r.Stderr = stderr
		out = append(out, r)
	}
	return out, devices, nil
}

// newRunner returns the engine of a runner, which it unpacks if it is embedded. The paths of this machine are redacted
// from what its processes report to owners. Missing weights are logged, but are no error, since they may be installed
// while the worker runs.
func newRunner(c config.Config, name string, processes *runner.ProcessPool, log *slog.Logger) (*runner.Runner, error) {
	m, err := readManifest(c, name)
	if err != nil {
		return nil, err
	}
	python, ok := Python(c, m)
	if !ok {
		return nil, fmt.Errorf("the engine %s is not installed; run: pleat engines install %s", name, name)
	}
	library, err := UnpackRunner(c, m, log)
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, err
	}
	weights := c.WeightsDir(m.Engine)
	if present, all := WeightsPresent(c, m); present < all {
		log.Warn("weights are missing; jobs that need them will fail", "engine", name, "present", present, "of", all,
			"folder", weights)
	}
	threads := c.Threads
	if threads == 0 {
		threads = max(1, runtime.NumCPU()/c.Slots)
	}
	return &runner.Runner{
		Manifest:  m,
		Processes: processes,
		Python:    python,
		Library:   library,
		Weights:   weights,
		Cache:     filepath.Join(c.EngineDir(name), "cache"),
		Threads:   threads,
		Hidden:    []string{data, c.ScratchDir(), c.EngineDir(""), filepath.Dir(m.Dir)},
		Sandbox:   sandbox.Mode(c.Sandbox),
		Private:   privatePaths(c),
		Log:       log,
	}, nil
}

// privatePaths returns what runners must never read: the folders of data and scratch files, the database, the artifacts
// and the secret key.
func privatePaths(c config.Config) []string {
	paths := []string{c.Data, c.ScratchDir()}
	if path, ok := c.SQLitePath(); ok {
		paths = append(paths, path)
	}
	if path, ok := strings.CutPrefix(c.BlobAddress(), "dir:"); ok {
		paths = append(paths, path)
	}
	if c.SecretFile != "" {
		paths = append(paths, c.SecretFile)
	}
	for i, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			paths[i] = abs
		}
	}
	return paths
}

// checkSandbox returns a UsageError if the sandbox is required and the system does not offer it, and logs what runners
// can do all the same.
func checkSandbox(c config.Config, log *slog.Logger) error {
	has := sandbox.Detect()
	missing := has.Missing()
	switch mode := sandbox.Mode(c.Sandbox); {
	case mode == sandbox.None:
		log.Warn("the sandbox of runners is off; they can do what the user of the service can")
	case mode == sandbox.Required && has.Check() != nil:
		return UsageError{fmt.Errorf("the sandbox of runners is required: %w", has.Check())}
	case len(missing) > 0:
		log.Warn("the sandbox of runners is not complete", "missing", strings.Join(missing, "; "))
	}
	return nil
}

// searched stands for the engines of a worker that makes only the MSA searches for their models.
type searched struct{ models []pleat.Model }

func (s searched) Models() []pleat.Model { return s.models }

// Run is not called: the worker serves no queue of folds.
func (searched) Run(context.Context, pleat.Work, pleat.Sink) pleat.Output {
	return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, "this worker only searches for alignments")}
}
