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

func enginesCmd() *cobra.Command {
	return group("engines", "List, install and check engines that run in processes of their own", "", enginesListCmd(), enginesInstallCmd(), enginesCheckCmd())
}

// engineEntry is one engine as pleat engines list shows it.
type engineEntry struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // built in, installed, needs nothing, not installed, cannot be used
	Problem string   `json:"problem,omitempty"`
	Device  string   `json:"device,omitempty"`
	Models  []string `json:"models"`
	Weights string   `json:"weights,omitempty"`
	Licence string   `json:"licence,omitempty"`
}

func enginesListCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the engines that there are, and which are installed",
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
				rows = append(rows, []string{e.Name, e.State, e.Device, dash(e.Weights), strings.Join(e.Models, ","), e.Licence})
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func listEngines(c config.Config) []engineEntry {
	var out []engineEntry
	for _, e := range app.BuiltIn() {
		m := e.Models()[0]
		out = append(out, engineEntry{Name: m.Name, State: "built in", Device: m.Device, Models: []string{m.Name}, Licence: m.Licence})
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
		out = append(out, engineEntry{Name: name, State: "cannot be used", Problem: sentence(wrong[name]), Models: []string{}})
	}
	return out
}

// weightsState says how many of an engine's files of weights are there.
func weightsState(c config.Config, m *runner.Manifest) string {
	here, all := app.WeightsPresent(c, m)
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", here, all)
}

// findRunner is the folder of runners that a name means: its own, its engine's, or one of its models'.
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
		if m.Engine == name || slices.ContainsFunc(m.Models, func(v runner.ManifestModel) bool { return v.Name == name }) {
			return folder, m, nil
		}
	}
	if slices.Contains(config.BuiltInEngines, name) {
		return "", nil, usagef("the engine %s is built in: there is nothing to install or to check", name)
	}
	hint := "."
	if n := pleat.Nearest(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return "", nil, usagef("there is no engine %q in %s%s There are %s", pleat.Clip(name), c.RunnersDir(), hint, strings.Join(names, ", "))
}

// A peptide that every model of proteins takes: the A chain of human insulin.
const checkPeptide = "GIVEQCCTSICSLYQLENYCN"

func enginesCheckCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NAME",
		Short: "Start an engine, fold a peptide twice and print versions, device and times",
		Long: `Starts the engine's runner as the service would, folds the A chain of insulin twice in one process and prints versions, device and
times: the first run loads the model, the second has it. It needs no database and no server. What the runner says on standard error is shown.`,
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
			if model == "" && slices.ContainsFunc(m.Models, func(v runner.ManifestModel) bool { return v.Name == args[0] }) {
				model = args[0]
			}
			return checkEngine(cmd, c, name, model)
		},
	}
	c.Flags().String("model", "", "the model to check; empty: the engine's first that folds")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

func checkEngine(cmd *cobra.Command, c config.Config, name, model string) error {
	c.Engines, c.LogLevel = []string{name}, "info"
	log := app.NewLog(cmd.ErrOrStderr(), c)
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
	fmt.Fprintf(out, "engine   %s %s\nmodel    %s: %s\nlicence  %s\nruns on  %s\n", m.Engine, m.Version, m.Name, m.Title, m.Licence, m.Device)
	for _, what := range []string{"cold", "warm"} {
		if err := checkOnce(cmd.Context(), out, cmd.ErrOrStderr(), engines, *m, what); err != nil {
			return err
		}
	}
	return nil
}

func checkOnce(ctx context.Context, out, progress io.Writer, engines *engine.Registry, m pleat.Model, what string) error {
	dir, err := os.MkdirTemp("", "pleat-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j := pleat.Job{Name: "check", Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: checkPeptide}}, Params: pleat.Params{Model: m.Name, Values: map[string]any{}}}
	if err := j.Validate(m); err != nil {
		return err
	}
	began := time.Now()
	got := engines.Run(ctx, pleat.Work{Kind: pleat.TaskFold, Task: "check", Attempt: 1, Model: m, Dir: dir,
		Fold: &pleat.FoldInput{Name: j.Name, Sequences: j.Sequences, Params: j.Params, Seed: "1", Complex: j.Complex}}, &checkSink{out: progress})
	took := time.Since(began)
	if got.Failure != nil {
		return fmt.Errorf("the %s run failed: %s: %s", what, got.Failure.Kind, got.Failure.Message)
	}
	fmt.Fprintf(out, "%s     %s, %.2f s in all: ", what, got.Engine, took.Seconds())
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
	fmt.Fprintf(out, "%s; %s, %d files\n", strings.Join(parts, ", "), score, len(got.Files))
	return nil
}

// checkSink shows what a run says.
type checkSink struct {
	out  io.Writer
	last string
}

func (s *checkSink) Progress(stage string, _, _ int) {
	if stage != s.last {
		fmt.Fprintf(s.out, "  %s\n", stage)
		s.last = stage
	}
}
func (s *checkSink) Log(line string)                { fmt.Fprintf(s.out, "  %s\n", line) }
func (s *checkSink) Publish(pleat.File) error       { return nil }
func (s *checkSink) Checkpoint(string, int64) error { return nil }
