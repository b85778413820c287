package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

func foldCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "fold [FILE.fasta]",
		Short: "Fold a protein: submit, follow, download",
		Long: `Submits a fold to a server, shows its progress, downloads every file of the result and checks each one's SHA-256.

The file is FASTA; - reads standard input. Several sequences make one job: a model for complexes folds them together, any other
each on its own. Interrupting leaves the job running.`,
		Example: `  pleat fold protein.fasta --out result
  pleat fold --sequence DAYAQWLKDGGPSSGRPPPS --name Trp-cage --seed 1`,
		Args: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed("sequence")
			switch {
			case len(args) > 1:
				return usagef("pleat fold takes one file, not %d", len(args))
			case len(args) == 1 && given:
				return usagef("give a file or --sequence, not both")
			case len(args) == 0 && !given:
				return usagef("pleat fold needs a FASTA file or --sequence; see pleat fold --help")
			}
			return nil
		},
		RunE: runFold,
	}
	f := c.Flags()
	f.String("sequence", "", "sequence to fold instead of a file")
	f.String("name", "", "name of the job; absent: that of the first sequence or the file")
	f.String("model", "mini", "model to fold with; pleat models lists them")
	f.String("seed", "", "whole number; the same seed gives the same structure")
	f.String("out", "", "folder for the files; absent: fold-JOBID")
	f.Bool("public", false, "let anyone read the results")
	f.Bool("no-wait", false, "print the job's identifier and do not wait")
	addFlags(f, "client")
	return c
}

func runFold(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd, false)
	if err != nil {
		return err
	}
	job, err := foldRequest(cmd, args)
	if err != nil {
		return err
	}
	created, err := c.CreateJob(cmd.Context(), job, api.CreateOptions{})
	if err != nil {
		return explain(c, err)
	}
	if noWait, _ := cmd.Flags().GetBool("no-wait"); noWait {
		fmt.Fprintln(cmd.OutOrStdout(), created.JobID)
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", created.JobID, pleat.Clip(created.JobName))
	if _, err := follow(cmd, c, created.JobID); err != nil {
		return err
	}
	out, _ := cmd.Flags().GetString("out")
	return deliver(cmd, c, created.JobID, out)
}

// foldRequest makes the request that the command line describes.
func foldRequest(cmd *cobra.Command, args []string) (api.CreateJob, error) {
	f := cmd.Flags()
	sequence, _ := f.GetString("sequence")
	model, _ := f.GetString("model")
	job := api.CreateJob{Params: &api.Params{ModelName: model}}
	job.Name, _ = f.GetString("name")
	job.IsPublic, _ = f.GetBool("public")
	if f.Changed("seed") {
		seed, _ := f.GetString("seed")
		job.Params.Seed = &seed
	}
	records := []structure.Record{{Sequence: sequence}}
	if len(args) == 1 {
		var err error
		if records, err = readFASTA(cmd.InOrStdin(), args[0]); err != nil {
			return job, err
		}
		if job.Name == "" {
			job.Name = firstWord(records[0].Name)
		}
		if job.Name == "" && args[0] != "-" {
			job.Name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
		}
	}
	if job.Name == "" {
		job.Name = "fold"
	}
	for _, r := range records {
		job.Sequences = append(job.Sequences, api.SequenceItem{
			ProteinChain: &api.Polymer{Sequence: r.Sequence, Label: clip(r.Name, pleat.MaxName)},
		})
	}
	job.Name = clip(job.Name, pleat.MaxName)
	return job, nil
}

func readFASTA(stdin io.Reader, path string) ([]structure.Record, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	records, err := structure.ReadFASTA(in, structure.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return records, nil
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

func clip(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes])
	}
	return s
}

// deliver downloads a finished job's files and prints its scores and their paths.
func deliver(cmd *cobra.Command, c *api.Client, job, dir string) error {
	res, err := c.Results(cmd.Context(), job)
	if err != nil {
		return explain(c, err)
	}
	if res.Job.Status != string(pleat.StateCompleted) {
		why := "it gives no reason"
		if res.Prediction.Error != nil {
			why = *res.Prediction.Error
		}
		return &exit{exitUnfinished, fmt.Errorf("the job %s ended %s: %s", job, res.Job.Status, why)}
	}
	if dir == "" {
		dir = "fold-" + job
	}
	paths, err := download(cmd, c, res.Artifacts, dir)
	if err != nil {
		return explain(c, err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s by %s in %.1f s\n", pleat.Clip(res.Job.Name), res.Job.Status, res.Parameters.ModelName, res.Prediction.ExecutionMinutes*60)
	if err := table(out, scores(res)); err != nil {
		return err
	}
	for _, p := range paths {
		fmt.Fprintln(out, p)
	}
	return nil
}

// scores are one row per structure.
func scores(res api.Results) [][]string {
	rows := [][]string{{"STRUCTURE", "MEAN PLDDT", "PTM", "IPTM", "MAX PAE"}}
	row := func(name string, p api.Prediction) {
		rows = append(rows, []string{name, number(p.MeanPLLDT, "%.1f"), number(p.PTM, "%.3f"), number(p.IPTM, "%.3f"), number(p.MaxPAE, "%.1f")})
	}
	if res.Job.IsComplex {
		row(res.Job.Name, res.Prediction)
		return rows
	}
	for i, s := range res.Sequences {
		name := fmt.Sprintf("sequence %d", i+1)
		if s.Name != nil && *s.Name != "" {
			name = *s.Name
		}
		if s.Prediction != nil {
			row(name, *s.Prediction)
		}
	}
	return rows
}
