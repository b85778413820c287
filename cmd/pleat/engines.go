package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/engine/runner"
)

// enginesCmd returns the group of commands on the engines of this machine. They need no server and no database.
func enginesCmd() *cobra.Command {
	return group("engines", "List, install and check engines", "",
		enginesListCmd(), enginesInstallCmd(), enginesCheckCmd())
}

// engineEntry is an engine in the output of engines list. Problem says why an engine cannot be used, and Weights how
// many of its weight files are present, such as "1 of 2".
type engineEntry struct {
	Name string `json:"name"`
	// State is "built in", "installed", "needs nothing", "not installed" or "cannot be used".
	State   string   `json:"state"`
	Problem string   `json:"problem,omitempty"`
	Device  string   `json:"device,omitempty"`
	Models  []string `json:"models"`
	Weights string   `json:"weights,omitempty"`
	Licence string   `json:"licence,omitempty"`
}

// enginesListCmd returns the command that lists the built-in engines and those of the folder of runners. It starts no
// engine, so it does not see whether one works: engines check does. A broken manifest is reported on standard error and
// does not hide the other engines.
func enginesListCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the available engines and whether they are installed",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			all := listEngines(c)
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			rows := [][]string{{"ENGINE", "STATE", "DEVICE", "WEIGHTS", "MODELS", "LICENCE"}}
			for _, e := range all {
				if e.Problem != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), e.Problem)
				}
				models := strings.Join(e.Models, ",")
				rows = append(rows, []string{e.Name, e.State, e.Device, dash(e.Weights), models, e.Licence})
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

// dash returns a dash for the empty text, which would shift the columns of a table for a reader.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// listEngines returns the built-in engines, then those of the folder of runners by name, then those whose manifest
// cannot be read.
func listEngines(c config.Config) []engineEntry {
	var out []engineEntry
	for _, m := range app.BuiltInModels() {
		out = append(out, engineEntry{
			Name:    m.Name,
			State:   "built in",
			Device:  m.Device,
			Models:  []string{m.Name},
			Licence: m.Licence,
		})
	}
	found, wrong := runner.Manifests(c.RunnersDir())
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		e := engineEntry{Name: name, State: "installed", Device: m.Device, Weights: weightsState(c, m)}
		if _, ok := app.Python(c, m); !ok {
			e.State = "not installed"
		} else if m.Venv == "" {
			e.State = "needs nothing"
		}
		var licences []string
		for _, v := range m.Models {
			e.Models = append(e.Models, v.Name)
			if !slices.Contains(licences, v.Licence) {
				licences = append(licences, v.Licence)
			}
		}
		e.Licence = strings.Join(licences, "; ")
		out = append(out, e)
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		problem := sentence(wrong[name])
		out = append(out, engineEntry{Name: name, State: "cannot be used", Problem: problem, Models: []string{}})
	}
	return out
}

// weightsState returns how many of an engine's weight files are present, such as "1 of 2"; empty if it needs none.
func weightsState(c config.Config, m *runner.Manifest) string {
	present, all := app.WeightsPresent(c, m)
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", present, all)
}

// findRunner returns the folder name and the manifest of the runner with a name: that of its folder, of its engine or
// of one of its models, in this order. An unknown name is a usage error that suggests the nearest.
func findRunner(c config.Config, name string) (string, *runner.Manifest, error) {
	found, wrong := runner.Manifests(c.RunnersDir())
	if err := wrong[name]; err != nil {
		return "", nil, err
	}
	if m := found[name]; m != nil {
		return name, m, nil
	}
	var names []string
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		m := found[folder]
		names = append(names, folder)
		if m.Engine == name || offers(m, name) {
			return folder, m, nil
		}
	}
	if pleat.IsBuiltIn(name) {
		return "", nil, usagef("the engine %s is built in: it needs no installation or check", name)
	}
	hint := "."
	if n := pleat.Nearest(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	const text = "there is no engine %q in %s%s There are %s"
	return "", nil, usagef(text, pleat.Clip(name), c.RunnersDir(), hint, strings.Join(names, ", "))
}

// offers reports whether the runner has a model of a name.
func offers(m *runner.Manifest, model string) bool {
	return slices.ContainsFunc(m.Models, func(v runner.ManifestModel) bool { return v.Name == model })
}

// checkPeptide is accepted by every model that folds proteins: the A chain of human insulin.
const checkPeptide = "GIVEQCCTSICSLYQLENYCN"

// enginesCheckCmd returns the command that folds a peptide twice with an engine of this machine and prints versions,
// device and times in seconds. It starts the engine as a worker does, in a temporary folder, and leaves nothing behind.
// The exit code is exitFailed if either run fails.
func enginesCheckCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NAME",
		Short: "Fold a peptide twice with an engine and print its version, device and times",
		Long: `Starts the engine's runner as the service does, folds the A chain of insulin twice in one process and
prints its version, device and times: the first run loads the model, the second run reuses it. Before, it
compares the weights with their manifest and with what was installed. It needs no database and no server.
The runner's standard error is shown.`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			name, m, err := findRunner(c, args[0])
			if err != nil {
				return err
			}
			model, _ := cmd.Flags().GetString("model")
			if model == "" && offers(m, args[0]) {
				model = args[0]
			}
			tell := func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
			record, err := readRecord(c.WeightsDir(m.Engine))
			if err != nil {
				return err
			}
			if err := checkWeights(record, m, nil, tell); err != nil {
				return err
			}
			return checkEngine(cmd, c, name, model)
		},
	}
	c.Flags().String("model", "", "model to check; default: the engine's first that folds")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

// checkEngine folds the peptide twice with a model of an engine; an empty model means the first that folds. The
// registry has this engine alone, so that no other can fail or use memory.
func checkEngine(cmd *cobra.Command, c config.Config, name, model string) error {
	c.Engines, c.LogLevel = []string{name}, "info"
	log := app.NewLog(cmd.ErrOrStderr(), c)
	if err := app.HideSecrets(c); err != nil {
		log.Warn("the memory of this process can be read by the engine", "error", err)
	}
	engines, _, err := app.NewEngines(c, log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer engines.Close()
	var m *pleat.Model
	for _, v := range engines.Models() {
		if v.Kind == pleat.TaskFold && (v.Name == model || model == "") {
			m = &v
			break
		}
	}
	if m == nil {
		if model == "" {
			return usagef("the engine %s has no model that folds, and check folds a peptide", name)
		}
		return usagef("the engine %s has no model %q that folds", name, pleat.Clip(model))
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "engine   %s %s\nmodel    %s: %s\n", m.Engine, m.Version, m.Name, m.Title)
	fmt.Fprintf(out, "licence  %s\nruns on  %s\n", m.Licence, m.Device)
	check := engineCheck{engines: engines, model: *m, out: out, progress: cmd.ErrOrStderr()}
	for _, name := range []string{"cold", "warm"} {
		if err := check.run(cmd.Context(), name); err != nil {
			return err
		}
	}
	return nil
}

// engineCheck folds the peptide with one model. Its output is for people: it may change.
type engineCheck struct {
	engines  *engine.Registry
	model    pleat.Model
	out      io.Writer // results
	progress io.Writer // stages and log lines of the runner
}

// run folds the peptide once and prints one line: the name, the total time and that of each stage, the score and the
// number of files.
func (c engineCheck) run(ctx context.Context, name string) error {
	dir, err := os.MkdirTemp("", "pleat-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j := pleat.Job{
		Name:      "check",
		Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: checkPeptide}},
		Params:    pleat.Params{Model: c.model.Name, Values: map[string]any{}},
	}
	if err := j.Validate(c.model); err != nil {
		return err
	}
	began := time.Now()
	got := c.engines.Run(ctx, pleat.Work{
		Kind:    pleat.TaskFold,
		Task:    "check",
		Attempt: 1,
		Model:   c.model,
		Dir:     dir,
		Fold: &pleat.FoldInput{
			Name:      j.Name,
			Sequences: j.Sequences,
			Params:    j.Params,
			Seed:      "1",
			Complex:   j.Complex,
		},
	}, &checkSink{out: c.progress})
	took := time.Since(began)
	if got.Failure != nil {
		return fmt.Errorf("the %s run failed: %s: %s", name, got.Failure.Kind, got.Failure.Message)
	}
	fmt.Fprintf(c.out, "%s     %s, %.2f s in all: ", name, got.Engine, took.Seconds())
	var parts []string
	for _, stage := range []string{"load", "infer", "write"} {
		if s, ok := got.Result.Timings[stage]; ok {
			parts = append(parts, fmt.Sprintf("%s %.2f s", stage, s))
		}
	}
	p := got.Result.Predictions[0]
	score := "no pLDDT"
	if p.MeanPLDDT != nil {
		score = fmt.Sprintf("mean pLDDT %.1f", *p.MeanPLDDT)
	}
	fmt.Fprintf(c.out, "%s; %s, %d files\n", strings.Join(parts, ", "), score, len(got.Files))
	return nil
}

// checkSink prints the stages and log lines of a run, and ignores its files and checkpoints.
type checkSink struct {
	out  io.Writer
	last string // the stage that was printed last
}

// Progress prints the name of each stage once.
func (s *checkSink) Progress(stage string, _, _ int) {
	if stage != s.last {
		fmt.Fprintf(s.out, "  %s\n", stage)
		s.last = stage
	}
}
func (s *checkSink) Log(line string)                { fmt.Fprintf(s.out, "  %s\n", line) }
func (s *checkSink) Publish(pleat.File) error       { return nil }
func (s *checkSink) Checkpoint(string, int64) error { return nil }
