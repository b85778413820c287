package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/runner"
)

// runnerName is what a folder of runners may be called.
var runnerName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// runnersDir is the folder of the runners: the one that is set, else the first of the usual ones that there is.
func (c *Config) runnersDir() string {
	if c.Runners != "" {
		return c.Runners
	}
	places := []string{"runners"}
	if exe, err := os.Executable(); err == nil {
		dir := filepath.Dir(exe)
		places = append(places, filepath.Join(dir, "runners"), filepath.Join(dir, "..", "runners"))
	}
	places = append(places, "/usr/local/share/pleat/runners", "/usr/share/pleat/runners")
	for _, p := range places {
		if _, err := os.Stat(filepath.Join(p, "foldrun")); err == nil {
			return p
		}
	}
	return places[0]
}

// place is where an engine keeps what is its own, absolute: engines run in folders of their own.
func place(set, data, def string, name ...string) string {
	if set == "" {
		set = filepath.Join(data, def)
	}
	path := filepath.Join(append([]string{set}, name...)...)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (c *Config) engineDir(name string) string { return place(c.EngineData, c.Data, "engines", name) }

func (c *Config) weightsDir(m *runner.Manifest) string {
	return place(c.Weights, c.Data, "weights", m.Engine)
}

// weightsHere counts the files of weights that are there, and all.
func (c *Config) weightsHere(m *runner.Manifest) (here, all int) {
	for _, w := range m.Weights {
		if _, err := os.Stat(filepath.Join(c.weightsDir(m), w.File)); err == nil {
			here++
		}
	}
	return here, len(m.Weights)
}

// python is the interpreter of an engine, and whether its environment is there.
func (c *Config) python(m *runner.Manifest) (string, bool) {
	if m.Venv == "" {
		return "python3", true
	}
	path := filepath.Join(c.engineDir(m.Venv), "venv", "bin", "python")
	_, err := os.Stat(path)
	return path, err == nil
}

// devices are the accelerators for runners; find, if not nil, looks for those of this machine.
func (c *Config) devices(find func() ([]pleat.Device, error)) ([]pleat.Device, error) {
	if len(c.Devices) == 0 || len(c.Devices) == 1 && c.Devices[0] == "none" {
		return nil, nil
	}
	if len(c.Devices) == 1 && c.Devices[0] == "auto" {
		if find == nil {
			return nil, nil
		}
		return find()
	}
	var out []pleat.Device
	for _, text := range c.Devices {
		d, err := engine.ParseDevice(text, func(size string) (int64, error) {
			n, err := humanize.ParseBytes(size)
			if err != nil || n > 1<<50 {
				return 0, fmt.Errorf("%q is no size such as 48GB", pleat.Clip(size))
			}
			return int64(n), nil
		})
		if err != nil {
			return nil, c.bad("devices", "cannot be used: %w", err)
		}
		out = append(out, d)
	}
	return out, nil
}

// findDevices looks for the accelerators that this process may use.
func findDevices() ([]pleat.Device, error) {
	var visible *string
	if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		visible = &v
	}
	return engine.FindDevices(context.Background(), visible)
}

// runnerEngines makes the engines of those names that are no built-in engine's.
func runnerEngines(c Config, log *slog.Logger, stderr io.Writer) ([]engine.Engine, []pleat.Device, error) {
	var names []string
	for _, e := range c.Engines {
		if !slices.Contains(engineNames, e) {
			names = append(names, e)
		}
	}
	if len(names) == 0 {
		return nil, nil, nil
	}
	devices, err := c.devices(findDevices)
	if err != nil {
		return nil, nil, err
	}
	warm := runner.NewProcessPool(devices, c.Slots, c.memory(), log)
	var out []engine.Engine
	for _, name := range names {
		r, err := c.runner(name, warm, log)
		if err == nil && len(r.Models()) == 0 {
			err = fmt.Errorf("the engine %s needs an accelerator, and this machine has none; see the setting devices", name)
		}
		if err != nil {
			warm.Close()
			return nil, nil, &exit{exitUsage, err}
		}
		r.Stderr = stderr
		out = append(out, r)
	}
	return out, devices, nil
}

// runner makes the engine of a folder of runners.
func (c *Config) runner(name string, warm *runner.ProcessPool, log *slog.Logger) (*runner.Runner, error) {
	dir := c.runnersDir()
	m, err := runner.ReadManifest(filepath.Join(dir, name))
	switch {
	case os.IsNotExist(err):
		found, _ := runner.Manifests(dir)
		all := append(slices.Clone(engineNames), slices.Sorted(maps.Keys(found))...)
		hint := ""
		if n := pleat.Nearest(name, all); n != "" {
			hint = fmt.Sprintf("; did you mean %q?", n)
		}
		return nil, fmt.Errorf("there is no engine %q: neither built in nor a folder of %s%s There are %s", pleat.Clip(name), dir, stop(hint), strings.Join(all, ", "))
	case err != nil:
		return nil, fmt.Errorf("the engine %s has a manifest that cannot be used: %w", name, err)
	}
	python, ok := c.python(m)
	if !ok {
		return nil, fmt.Errorf("the engine %s is not installed; run: pleat engines install %s", name, name)
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, err
	}
	if here, all := c.weightsHere(m); here < all {
		log.Warn("weights are missing; what needs them will fail until they are there", "engine", name, "here", here, "of", all, "folder", c.weightsDir(m))
	}
	threads := c.Threads
	if threads == 0 {
		threads = max(1, runtime.NumCPU()/c.Slots)
	}
	return &runner.Runner{Manifest: m, Processes: warm, Python: python, Weights: c.weightsDir(m), Cache: filepath.Join(c.engineDir(name), "cache"),
		Threads: threads, Hidden: []string{data, place(c.EngineData, c.Data, "engines"), filepath.Dir(m.Dir)}, Log: log}, nil
}

func stop(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}
