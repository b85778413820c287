package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/format"
	"pleat/internal/msa"
	"pleat/internal/words"
)

// foldCmd returns the command that folds a file or a sequence on a server and downloads the results. It is the sum of
// three requests that can be made one by one: create the job (--no-wait), follow it, and download (jobs results). The
// exit code is exitUnfinished if a job ended without a result; after an interruption, which leaves the jobs running, it
// is exitInterrupted and the message says how to wait for them or cancel them. Repeating it creates new jobs, which the
// server completes from its result cache if nothing has changed.
func foldCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "fold [FILE]",
		Short: "Fold proteins: submit a job, follow it, download the results",
		Long: `Submits a fold to a server, shows its progress, downloads all files of the result and checks the SHA-256
of each.

The file is FASTA, AlphaFold Server JSON, AlphaFold 3 JSON or Boltz YAML; its format is detected. The
name - means standard input. Parts of the file that a job cannot express are printed as notes. Several
FASTA records become one job: a model for complexes folds them together, any other model folds each of
them alone. A file with several jobs submits all of them. Interrupting the command leaves the jobs
running.`,
		Example: `  pleat fold protein.fasta --out result
  pleat fold complex.yaml --model boltz-2
  pleat fold protein.fasta --model boltz-2 --alignment protein.a3m
  pleat fold --sequence DAYAQWLKDGGPSSGRPPPS --name Trp-cage --seed 1`,
		Args: sequenceOr("file", "a FASTA file"),
		RunE: runFold,
	}
	f := c.Flags()
	f.String("sequence", "", "sequence to fold instead of a file")
	f.String("format", "", "format of the file: "+strings.Join(format.Names(), ", ")+"; default: detected")
	f.String("name", "", "name of the job; default: the name of the file's job, of its first sequence or of the file")
	f.String("model", "",
		"model, as pleat models lists them; default: mini for --sequence, the first suitable one for a file")
	f.String("seed", "", "whole number; the same seed gives the same structure")
	f.StringArray("alignment", nil, "A3M file whose first row is a protein of the job, used instead of an MSA search; "+
		"repeat it for several proteins; the files are stored in your library")
	f.String("out", "", "folder for the files; default: fold-JOBID")
	f.Bool("public", false, "make the results readable for everyone")
	f.Bool("no-cache", false, "do not use the cached result of an earlier run with the same input, parameters and seed")
	f.Bool("no-wait", false, "print the job's identifier and return at once")
	config.AddFlags(f, config.Client)
	return c
}

// runFold creates all jobs before it follows the first. If the server refuses one, the jobs before it are left running,
// and the alignments that were uploaded for it are deleted.
func runFold(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd, keyRequired)
	if err != nil {
		return err
	}
	jobs, err := foldRequests(cmd, c, args)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	noWait, _ := f.GetBool("no-wait")
	noCache, _ := f.GetBool("no-cache")
	item, err := uploadAlignments(cmd, c, jobs)
	if err != nil {
		return err
	}
	var ids []string
	for _, job := range jobs {
		created, err := c.CreateJob(cmd.Context(), job, api.CreateOptions{NoCache: noCache, From: item})
		if err != nil {
			if item != "" { // it was created for this job
				_, _ = c.DeleteItem(context.WithoutCancel(cmd.Context()), item)
			}
			return explain(c, err)
		}
		ids = append(ids, created.JobID)
		if noWait {
			fmt.Fprintln(cmd.OutOrStdout(), created.JobID)
		} else {
			fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", created.JobID, pleat.Clip(created.JobName))
		}
	}
	if noWait {
		return nil
	}
	out, _ := f.GetString("out")
	for i, id := range ids {
		if err := follow(cmd, c, id); err != nil {
			return err
		}
		dir := out
		if out != "" && len(ids) > 1 {
			dir = filepath.Join(out, fmt.Sprint(i+1))
		}
		if err := downloadResults(cmd, c, id, dir); err != nil {
			return err
		}
	}
	return nil
}

// foldRequests returns the requests of the command line: one, unless the file has several jobs. Flags override what the
// file says.
func foldRequests(cmd *cobra.Command, c *api.Client, args []string) ([]api.CreateJob, error) {
	f := cmd.Flags()
	name, _ := f.GetString("name")
	model, _ := f.GetString("model")
	var jobs []api.CreateJob
	if len(args) == 1 {
		var err error
		if jobs, err = importFile(cmd, c, args[0], model); err != nil {
			return nil, err
		}
		if name != "" && len(jobs) > 1 {
			return nil, usagef("--name is for one job, and %s holds %d", args[0], len(jobs))
		}
	} else {
		sequence, _ := f.GetString("sequence")
		jobs = []api.CreateJob{{
			Name:      "fold",
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: sequence}}},
			Params:    &api.Params{ModelName: cmp.Or(model, "mini")},
		}}
	}
	for i := range jobs {
		job := &jobs[i]
		job.Name = words.Shorten(cmp.Or(name, job.Name), pleat.MaxName)
		job.IsPublic, _ = f.GetBool("public")
		if f.Changed("seed") {
			seed, _ := f.GetString("seed")
			job.Params.Seed = &seed
		}
	}
	return jobs, nil
}

// importFile sends a file to the server, which detects its format and returns its jobs, and prints the notes on what a
// job cannot express. The path - is standard input. A file that is empty, not text or too large is refused unsent.
func importFile(cmd *cobra.Command, c *api.Client, path, model string) ([]api.CreateJob, error) {
	file := api.ImportJobs{ModelName: model}
	file.Format, _ = cmd.Flags().GetString("format")
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
		file.Name = words.Shorten(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), pleat.MaxName)
	}
	b, err := io.ReadAll(io.LimitReader(in, format.MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(b) > format.MaxBytes:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, format.MaxBytes)
	case !utf8.Valid(b):
		return nil, fmt.Errorf("%s is not text in UTF-8", path)
	case len(b) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	}
	file.Content = string(b)
	got, err := c.Import(cmd.Context(), file)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, explain(c, err)
	}
	printNotes(cmd, got.Notes)
	return got.Jobs, nil
}

// printNotes prints what was lost in the conversion between a file and a job, on standard error: the job or the file is
// valid without it.
func printNotes(cmd *cobra.Command, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", oneLine(printable(n)))
	}
}

// downloadResults downloads the files of a job that has ended, and prints its scores and the paths. An empty dir means
// fold-JOB. A job that did not complete is an error with exitUnfinished that gives the reason.
func downloadResults(cmd *cobra.Command, c *api.Client, job, dir string) error {
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
	fmt.Fprintf(out, "%s: %s by %s in %.1f s\n",
		pleat.Clip(res.Job.Name), res.Job.Status, res.Parameters.ModelName, res.Prediction.ExecutionMinutes*60)
	if err := table(out, scores(res)); err != nil {
		return err
	}
	for _, p := range paths {
		fmt.Fprintln(out, p)
	}
	return nil
}

// scores returns a table with one row per structure: pLDDT from 0 to 100, pTM and ipTM from 0 to 1, PAE in Å.
func scores(res api.Results) [][]string {
	rows := [][]string{{"STRUCTURE", "MEAN PLDDT", "PTM", "IPTM", "MAX PAE"}}
	row := func(name string, p api.Prediction) {
		plddt, maxPAE := number(p.MeanPLLDT, "%.1f"), number(p.MaxPAE, "%.1f")
		rows = append(rows, []string{name, plddt, number(p.PTM, "%.3f"), number(p.IPTM, "%.3f"), maxPAE})
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

// uploadAlignments uploads the files of --alignment to a new item of the user's library, from which the job is
// created. It returns the item's identifier; empty if there are no files. All files are checked before the first is
// uploaded, and the item is deleted if an upload fails.
func uploadAlignments(cmd *cobra.Command, c *api.Client, jobs []api.CreateJob) (string, error) {
	paths, _ := cmd.Flags().GetStringArray("alignment")
	if len(paths) == 0 {
		return "", nil
	}
	if len(jobs) != 1 {
		return "", usagef("--alignment is for one job, and the file holds %d", len(jobs))
	}
	for _, p := range paths {
		in, err := os.Open(p)
		if err != nil {
			return "", err
		}
		err = msa.Check(in)
		in.Close()
		if err != nil {
			return "", fmt.Errorf("%s is not an alignment: %w", p, err)
		}
	}
	item, err := c.CreateItem(cmd.Context(), api.CreateItem{
		Name:     words.Shorten("alignment of "+jobs[0].Name, pleat.MaxName),
		FileType: "a3m",
		Origin:   "pleat fold",
	})
	if err != nil {
		return "", explain(c, err)
	}
	for i, p := range paths {
		if err := upload(cmd, c, item.ID, fmt.Sprintf("%d.a3m", i+1), p); err != nil {
			_, _ = c.DeleteItem(context.WithoutCancel(cmd.Context()), item.ID)
			return "", explain(c, err)
		}
	}
	return item.ID, nil
}

// upload stores a file of this machine in a library item under a name.
func upload(cmd *cobra.Command, c *api.Client, item, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = c.UploadFile(cmd.Context(), item, name, in)
	return err
}
