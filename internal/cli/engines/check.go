package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/engine/runner"
)

// enginesCheckCmd returns the command that runs each model of an engine of this machine twice and prints versions,
// device and times in seconds. It starts the engine as a worker does, in a temporary folder, and leaves nothing behind.
// The exit code is cli.ExitFailed if a model fails, or if no model has its weights.
func enginesCheckCmd() *cobra.Command {
	c := cli.Configured(&cobra.Command{
		Use:   "check NAME",
		Short: "Run the models of an engine twice on a peptide and print its version, device and times",
		Long: `Starts the engine as the service does and runs each of its models twice: the first run loads the model,
the second run reuses it. NAME is an engine, or one of its models, which is then checked alone. A model that
folds folds the A chain of insulin. One that answers questions is asked about chignolin, one for dynamics
simulates 2 ps of it, and comparisons compare it with itself; the structure is one that mini has predicted.
One that designs makes two binders of chignolin with 8 residues.

Before, the command compares the weights with their manifest and with what was installed, and names the
files of which only the first installation is known. A model whose weights are missing is named and left
out. If its publisher gives the figures of an example that can be folded here, the command folds that, too,
and compares; it says so where it does not. Random weights are never compared.

It needs no database and no server. Progress and the runner's standard error are shown on standard error.`,
		Example: "  pleat engines check openmm\n  pleat engines check boltz --model boltz-2",
		Args:    cli.ExactArgs("NAME"),
	}, func(cmd *cobra.Command, c config.Config, args []string) error {
		only := cli.FlagText(cmd, "model")
		screen := &checkScreen{out: cmd.ErrOrStderr()}
		check := &engineCheck{cfg: c, name: args[0], out: cmd.OutOrStdout(), screen: screen}
		if pleat.IsBuiltIn(args[0]) {
			return check.run(cmd.Context(), only)
		}
		var err error
		if check.name, check.manifest, err = findRunner(c, args[0], pleat.BuiltInNames()...); err != nil {
			return err
		}
		if only == "" && args[0] != check.name && args[0] != check.manifest.Engine {
			only = args[0]
		}
		if check.record, err = readRecord(c.WeightsDir(check.manifest.Engine)); err != nil {
			return err
		}
		if err := checkWeights(check.record, check.manifest, nil, check.say); err != nil {
			return err
		}
		if text := describeUnverified(c.WeightsDir(check.manifest.Engine), check.manifest); text != "" {
			check.say(text)
		}
		return check.run(cmd.Context(), only)
	}, config.Store, config.Engine)
	c.Flags().String("model", "", "model to check; default: all of the engine")
	return c
}

// engineCheck is one execution of the command. Its output is for people: it may change.
type engineCheck struct {
	cfg    config.Config
	name   string       // of the engine, as the setting engines has it
	out    io.Writer    // results
	screen *checkScreen // progress, and what the runner writes

	// manifest and record are of a runner; nil for a built-in engine.
	manifest *runner.Manifest
	record   *weightsRecord
	engines  *engine.Registry
}

// say prints a line of the results.
func (c *engineCheck) say(line string) { fmt.Fprintln(c.out, line) }

// errNoWeights is the end of a check whose model has no weights.
var errNoWeights = errors.New("the weights are missing")

// run checks the models of the engine, or only one. The registry has this engine alone, so that no other can fail or
// use memory.
func (c *engineCheck) run(ctx context.Context, only string) error {
	c.cfg.Engines, c.cfg.ChatURL, c.cfg.NIMURL = []string{c.name}, "", ""
	c.cfg.LogLevel = "warn" // such as a runner that was changed
	if err := app.HideSecrets(c.cfg); err != nil {
		fmt.Fprintf(c.screen, "the memory of this process can be read by the engine: %v\n", err)
	}
	var err error
	if c.engines, _, err = app.NewEngines(c.cfg, app.NewLog(c.screen, c.cfg), c.screen); err != nil {
		return err
	}
	defer c.engines.Close()
	models := c.engines.Models()
	if only != "" {
		models = slices.DeleteFunc(models, func(m pleat.Model) bool { return m.Name != only })
	}
	if len(models) == 0 {
		return cli.Usagef("the engine %s has no model %q", c.name, pleat.Clip(only))
	}
	c.say(fmt.Sprintf("engine   %s %s", models[0].Engine, models[0].Version))
	c.say("runs on  " + models[0].Device)
	missing := c.missingWeights()
	if missing != "" {
		c.say("weights  " + missing)
	}
	if missing != "" && !exists(c.cfg.WeightsDir(c.manifest.Engine)) { // an engine may take many seconds to say so
		const text = "the engine %s has no weights; where they come from: pleat engines install %s"
		return fmt.Errorf(text, c.name, c.name)
	}
	began := time.Now()
	var passed, failed, left []string
	for _, m := range models {
		err := c.model(ctx, m)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("the check of %s was interrupted", m.Name)
		case errors.Is(err, errNoWeights):
			left = append(left, m.Name)
		case err != nil:
			c.say("failed   " + cli.ErrorLine(err))
			failed = append(failed, m.Name)
		default:
			passed = append(passed, m.Name)
		}
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%d of %d models failed: %s", len(failed), len(models), strings.Join(failed, ", "))
	case len(passed) == 0:
		const text = "the weights of %s are missing; where they come from: pleat engines install %s"
		return fmt.Errorf(text, strings.Join(left, ", "), c.name)
	}
	text := fmt.Sprintf("%s works: checked %s in %s", c.name, strings.Join(passed, ", "),
		time.Since(began).Round(100*time.Millisecond))
	if len(left) > 0 {
		text += "; not checked, since their weights are missing: " + strings.Join(left, ", ")
	}
	c.say(text)
	return nil
}

// missingWeights says which files of the manifest are missing, and where they belong; empty: none.
func (c *engineCheck) missingWeights() string {
	if c.manifest == nil {
		return ""
	}
	dir := c.cfg.WeightsDir(c.manifest.Engine)
	missing := missingFiles(dir, c.manifest)
	if len(missing) == 0 {
		return ""
	}
	var names []string
	for _, w := range missing {
		names = append(names, w.File)
	}
	return fmt.Sprintf("%d of %d files are not in %s: %s", len(names), len(c.manifest.Weights), dir,
		strings.Join(names, ", "))
}

// model runs a model twice, and on the example of its publisher.
func (c *engineCheck) model(ctx context.Context, m pleat.Model) error {
	c.say(fmt.Sprintf("model    %s: %s\nlicence  %s", m.Name, m.Title, m.Licence))
	kind, ok := kindChecks[m.Kind]
	if !ok {
		return fmt.Errorf("there is no check of models of the kind %s", m.Kind)
	}
	for _, name := range []string{"cold", "warm"} {
		var outcome func(pleat.Output) string
		began := time.Now()
		got, err := c.task(ctx, m, name, func(w *pleat.Work) (err error) {
			outcome, err = kind(w)
			began = time.Now() // what comes before is the work of this command
			return err
		})
		if err != nil {
			return err
		}
		c.say(fmt.Sprintf("%s     %s, %.2f s in all: %s; %s, %d files", name, got.Engine, time.Since(began).Seconds(),
			times(got), outcome(got), len(got.Files)))
	}
	if c.manifest == nil {
		return nil
	}
	return c.published(ctx, m)
}

// published folds the example of the model's publisher and compares the figures, or says why not.
func (c *engineCheck) published(ctx context.Context, m pleat.Model) error {
	p, why := publishedFor(c.record, c.manifest, m.Name)
	if why != "" {
		c.say("example  not run: " + why)
		return nil
	}
	got, err := c.task(ctx, m, "example", func(w *pleat.Work) (err error) {
		w.Fold, err = foldInput(m, p.sequence, p.values)
		return err
	})
	if err != nil {
		return err
	}
	text, err := p.compare(got)
	if err != nil {
		return fmt.Errorf("the example differs: %w", err)
	}
	c.say("example  " + text)
	return nil
}

// task runs a model once in a temporary folder. Prepare completes the task.
func (c *engineCheck) task(
	ctx context.Context, m pleat.Model, name string, prepare func(*pleat.Work) error,
) (got pleat.Output, err error) {
	dir, err := os.MkdirTemp("", "pleat-check-")
	if err != nil {
		return got, err
	}
	defer os.RemoveAll(dir)
	w := pleat.Work{Kind: m.Kind, Task: "check", Attempt: 1, Model: m, Dir: dir}
	if err := prepare(&w); err != nil {
		return got, err
	}
	c.screen.begin()
	got = c.engines.Run(ctx, w, c.screen)
	c.screen.end()
	switch f := got.Failure; {
	case f == nil:
		return got, nil
	case f.Kind == pleat.FailWeightsMissing:
		c.say("left out " + f.Message)
		return got, errNoWeights
	default:
		return got, fmt.Errorf("the %s run failed: %s: %s", name, f.Kind, f.Message)
	}
}

// shownParts are the parts of a run whose seconds are shown, in this order. Infer has those from trunk to simulate.
var shownParts = []string{
	"fetch", "wait", "load", "prepare", "infer", "trunk", "diffusion", "confidence", "affinity", "answer", "simulate",
	"write",
}

// times lists the seconds of the parts of a run.
func times(got pleat.Output) string {
	if got.Result == nil {
		return "no times"
	}
	var parts []string
	for _, name := range shownParts {
		if s, ok := got.Result.Timings[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.2f s", name, s))
		}
	}
	return strings.Join(parts, ", ")
}
