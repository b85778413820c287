package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/flow"
	"pleat/internal/mini"
	"pleat/internal/report"
	"pleat/internal/structure"
)

const (
	// checkPeptide is accepted by every model that folds proteins: the A chain of human insulin.
	checkPeptide = "GIVEQCCTSICSLYQLENYCN"
	// checkHairpin is a peptide whose structure the built-in engine predicts in a second, for the engines that look at
	// one: chignolin.
	checkHairpin = "GYDPETGTWG"
	// checkQuestion is one that every engine for questions can answer.
	checkQuestion = "How many residues does this protein have?"
)

// enginesCheckCmd returns the command that runs a model of an engine of this machine twice and prints versions, device
// and times in seconds: it folds a peptide, asks about a structure or simulates one. It starts the engine as a worker
// does, in a temporary folder, and leaves nothing behind. The exit code is exitFailed if either run fails.
func enginesCheckCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NAME",
		Short: "Run an engine twice on a peptide and print its version, device and times",
		Long: `Starts the engine's runner as the service does, runs it twice in one process and prints its version,
device and times: the first run loads the model, the second run reuses it. An engine that folds folds the
A chain of insulin. One that answers questions is asked about chignolin, and one for dynamics simulates 2 ps
of it; the built-in engine predicts the structure. Before, it compares the weights with their manifest and
with what was installed. It needs no database and no server. The runner's standard error is shown.`,
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
	c.Flags().String("model", "", "model to check; default: the engine's first")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

// checkEngine runs a model of an engine twice; an empty model means the first. The registry has this engine alone, so
// that no other can fail or use memory.
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
	models := engines.Models()
	at := slices.IndexFunc(models, func(m pleat.Model) bool { return m.Name == model || model == "" })
	if at < 0 {
		return usagef("the engine %s has no model %q", name, pleat.Clip(model))
	}
	m := models[at]
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "engine   %s %s\nmodel    %s: %s\n", m.Engine, m.Version, m.Name, m.Title)
	fmt.Fprintf(out, "licence  %s\nruns on  %s\n", m.Licence, m.Device)
	check := engineCheck{engines: engines, model: m, out: out, progress: cmd.ErrOrStderr()}
	for _, name := range []string{"cold", "warm"} {
		if err := check.run(cmd.Context(), name); err != nil {
			return err
		}
	}
	return nil
}

// engineCheck runs one model. Its output is for people: it may change.
type engineCheck struct {
	engines  *engine.Registry
	model    pleat.Model
	out      io.Writer // results
	progress io.Writer // stages and log lines of the runner
}

// run runs the model once and prints one line: the name, the total time and that of each stage, what came out and the
// number of files.
func (c engineCheck) run(ctx context.Context, name string) error {
	dir, err := os.MkdirTemp("", "pleat-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w, err := c.work(ctx, dir)
	if err != nil {
		return err
	}
	began := time.Now()
	got := c.engines.Run(ctx, w, &checkSink{out: c.progress})
	took := time.Since(began)
	if got.Failure != nil {
		return fmt.Errorf("the %s run failed: %s: %s", name, got.Failure.Kind, got.Failure.Message)
	}
	var parts []string
	if got.Result != nil {
		for _, stage := range []string{"load", "prepare", "infer", "answer", "simulate", "write"} {
			if s, ok := got.Result.Timings[stage]; ok {
				parts = append(parts, fmt.Sprintf("%s %.2f s", stage, s))
			}
		}
	}
	fmt.Fprintf(c.out, "%s     %s, %.2f s in all: %s; %s, %d files\n", name, got.Engine, took.Seconds(),
		strings.Join(parts, ", "), outcome(got), len(got.Files))
	return nil
}

// outcome describes what a run gave: the score of a fold, the first words of an answer.
func outcome(got pleat.Output) string {
	if got.Row != nil {
		var row struct{ Answer string }
		if json.Unmarshal(got.Row, &row) == nil && row.Answer != "" {
			return fmt.Sprintf("it answers %q", pleat.Clip(oneLine(row.Answer)))
		}
		return "it simulated"
	}
	if len(got.Result.Predictions) == 0 || got.Result.Predictions[0].MeanPLDDT == nil {
		return "no pLDDT"
	}
	return fmt.Sprintf("mean pLDDT %.1f", *got.Result.Predictions[0].MeanPLDDT)
}

// work returns a task for the model, with its files in dir.
func (c engineCheck) work(ctx context.Context, dir string) (pleat.Work, error) {
	w := pleat.Work{Kind: c.model.Kind, Task: "check", Attempt: 1, Model: c.model, Dir: dir}
	if c.model.Kind != pleat.TaskFold {
		return c.workflow(ctx, w)
	}
	j := pleat.Job{
		Name:      "check",
		Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: checkPeptide}},
		Params:    pleat.Params{Model: c.model.Name, Values: map[string]any{}},
	}
	if err := j.Validate(c.model); err != nil {
		return w, err
	}
	w.Fold = &pleat.FoldInput{
		Name:      j.Name,
		Sequences: j.Sequences,
		Params:    j.Params,
		Seed:      "1",
		Complex:   j.Complex,
	}
	return w, nil
}

// workflow completes a task for a model that looks at a structure, which the built-in engine predicts.
func (c engineCheck) workflow(ctx context.Context, w pleat.Work) (pleat.Work, error) {
	const structureFile = "input/chignolin.pdb"
	if err := writeHairpin(ctx, filepath.Join(w.Dir, structureFile)); err != nil {
		return w, err
	}
	// An upload stands for any source: the file is there already.
	const upload = `"files":{"pdb":{"libraryItemId":"00000000-0000-7000-8000-000000000000"}}`
	input, alias := `{`+upload+`,"targetSource":"upload","question":"`+checkQuestion+`"}`, "qna"
	if c.model.Kind == pleat.TaskMD {
		input, alias = `{`+upload+`,"preset":"all_atom","sim_length_ns":0.002,"step_size_ns":0.001,"seed":"1"}`, "md"
	}
	p, err := flow.Parse(alias, json.RawMessage(input))
	if err != nil {
		return w, err
	}
	if w.QnA, w.MD = p.QnA, p.MD; w.QnA != nil {
		w.QnA.File, w.QnA.Predicted, w.QnA.Model = structureFile, true, mini.Model
	} else {
		w.MD.File = structureFile
	}
	return w, nil
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

// writeHairpin folds checkHairpin and writes its structure as a PDB file.
func writeHairpin(ctx context.Context, path string) error {
	res, err := mini.Fold(ctx, checkHairpin, mini.Options{Seed: 1}, nil)
	if err != nil {
		return err
	}
	res.Chain.ID, res.Chain.Entity = "A", 1
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return report.WriteFile(path, func(w io.Writer) error {
		return structure.WritePDB(w, &structure.Structure{Chains: []structure.Chain{res.Chain}}, structure.Meta{
			ID:       "check",
			Title:    "Predicted structure of chignolin",
			Software: mini.Model,
			Version:  mini.Version,
			Model:    mini.Model,
			PLDDT:    [][]float64{res.PLDDT},
		})
	})
}
