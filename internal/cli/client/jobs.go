package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
	"pleat/internal/format"
)

// jobsCmd returns the group of commands on the jobs of a server. Reading public jobs needs no key; a job of another
// user is reported as not found.
func jobsCmd() *cobra.Command {
	return cli.Group("jobs", "List, show, cancel, delete, export and move jobs, and download their results", "",
		jobsList(), jobsGet(), jobsCancel(), jobsDelete(), jobsResults(), jobsExport(), jobsMove())
}

// jobsList returns the command that prints a page of the caller's jobs, newest first: status, model, mean pLDDT (0 to
// 100) and time of creation.
func jobsList() *cobra.Command {
	var filter api.JobsFilter
	c := inProject(&cobra.Command{
		Use:   "list",
		Short: "List your jobs, newest first",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		if err := resolveCreator(cmd.Context(), c, &filter.CreatedBy); err != nil {
			return err
		}
		list, err := c.Jobs(cmd.Context(), filter)
		if err != nil {
			return err
		}
		head := []string{"JOB", "STATUS", "MODEL", "PLDDT", "CREATED", "NAME"}
		owned := func(j *api.JobRow) api.Owned { return j.Owned }
		hasRMSD := slices.ContainsFunc(list.Data, func(j api.JobRow) bool { return j.PredictedRMSD != nil })
		if hasRMSD {
			head = slices.Insert(head, 4, cli.RMSDColumn)
		}
		return printWork(cmd, list, head, owned, func(j *api.JobRow) []string {
			plddt, created := cli.FormatScore(j.MeanPLLDT, "%.1f"), j.Date.Format(time.DateTime)
			row := []string{j.ID, j.Status, j.ModelName, plddt, created, j.Name}
			if hasRMSD {
				row = slices.Insert(row, 4, cli.FormatScore(j.PredictedRMSD, "%.2f"))
			}
			return row
		})
	})
	f := c.Flags()
	f.StringVar(&filter.Status, "status", "", "only jobs with this status, such as RUNNING")
	f.StringVar(&filter.Query, "query", "", "only jobs whose name contains this text")
	addCreatorFlag(c, &filter.CreatedBy)
	return withPages(c, "jobs", &filter.Limit, &filter.Cursor)
}

// jobsGet returns the command that prints the state of a job's latest run: its position in the queue or its stage while
// it runs, then its scores, one row a sequence, or the reason of its failure. A job without a result is no error here.
func jobsGet() *cobra.Command {
	c := &cobra.Command{Use: "get JOB", Short: "Show the status of a job"}
	return cli.WithJSON(onObject(c, "job", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		v, err := c.Job(cmd.Context(), id)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, v, func() error {
			rows, err := ownerRows(cmd.Context(), c, v.Job.Owned)
			if err != nil {
				return err
			}
			if err := cli.PrintTable(cmd.OutOrStdout(), append(describe(v), rows...)); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			if err := cli.PrintTable(cmd.OutOrStdout(), records(v)); err != nil || len(v.Runs) < 2 {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return cli.PrintTable(cmd.OutOrStdout(), runs(v))
		})
	}))
}

// ownerRows are the rows of a job in a project of several people: who made it, and the project.
func ownerRows(ctx context.Context, c *api.Client, o api.Owned) ([][]string, error) {
	if !isShared(o) {
		return nil, nil
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return nil, err
	}
	project := *o.ProjectID
	for i := range list.Data {
		if p := &list.Data[i]; p.ID == *o.ProjectID {
			project = p.Name + " (" + p.ID + ")"
		}
	}
	return [][]string{{"created by", creatorName(o.CreatedBy)}, {"project", project}}, nil
}

// runResults returns the results of a run of a job that is given by its number or id.
func runResults(ctx context.Context, c *api.Client, job, run string) (api.Results, error) {
	if n, err := strconv.Atoi(run); err == nil {
		v, err := c.Job(ctx, job)
		if err != nil {
			return api.Results{}, err
		}
		i := slices.IndexFunc(v.Runs, func(r api.Run) bool { return r.Number == n })
		if i < 0 {
			return api.Results{}, fmt.Errorf("the job has no run %d; pleat jobs get %s lists its runs", n, job)
		}
		run = v.Runs[i].ID
	}
	return c.RunResults(ctx, job, run)
}

// runs returns a table of the runs of a job, newest first.
func runs(v api.JobView) [][]string {
	head := []string{"RUN", "ID", "STATUS", "MODEL", "SEED", "MEAN PLDDT", cli.RMSDColumn, "CREATED"}
	return cli.WithoutEmpty(cli.Rows(head, v.Runs, func(r *api.Run) []string {
		return []string{fmt.Sprint(r.Number), r.ID, r.Status, r.ModelName, r.Seed,
			cli.FormatScore(r.MeanPLDDT, "%.1f"), cli.FormatScore(r.PredictedRMSD, "%.2f"),
			r.CreatedAt.Format(time.DateTime)}
	}), cli.RMSDColumn)
}

// describe returns a job as rows of name and value; see records for its sequences. Rows that do not apply to its state
// are left out.
func describe(v api.JobView) [][]string {
	rows := [][]string{
		{"job", v.Job.ID},
		{"name", v.Job.Name},
		{"status", v.Job.Status},
		{"model", v.Run.ModelName},
		{"created", v.Job.Date.Format(time.DateTime)},
		{"run", fmt.Sprintf("%d of %d", v.Run.Number, len(v.Runs))},
		{"seed", v.Run.Seed},
	}
	if q := v.Progress.QueuePosition; q != nil {
		rows = append(rows, []string{"queue position", fmt.Sprint(*q)})
	}
	if v.Run.Cached {
		rows = append(rows, []string{"cached", "the results are those of an earlier run of the same request"})
	}
	if w := v.Waiting; w != nil {
		rows = append(rows, []string{"waiting", w.Reason})
		if w.Class != nil && !strings.Contains(w.Reason, "the class "+*w.Class) {
			rows = append(rows, []string{"waits for", "a worker of the class " + *w.Class})
		}
	}
	if v.Progress.Stage != "" && !api.Terminal(v.Run.Status) {
		p := v.Progress
		rows = append(rows, []string{"stage", fmt.Sprintf("%s %d/%d", p.Stage, p.Done, p.Total)})
	}
	if v.Run.Seconds > 0 {
		rows = append(rows, []string{"seconds", fmt.Sprintf("%.1f", v.Run.Seconds)})
	}
	if v.Job.ExpiresAt != nil {
		rows = append(rows, []string{"kept until", v.Job.ExpiresAt.Format(time.DateTime)})
	}
	for _, p := range v.Predictions {
		if p.SequenceID != "" { // it has a row of its own, see records
			continue
		}
		rows = append(rows,
			[]string{"mean pLDDT", cli.FormatScore(p.MeanPLLDT, "%.1f")})
		if p.PredictedRMSD != nil {
			rows = append(rows, []string{"mean predicted RMSD", cli.FormatScore(p.PredictedRMSD, "%.2f Å")})
		}
		rows = append(rows,
			[]string{"pTM", cli.FormatScore(p.PTM, "%.3f")},
			[]string{"ipTM", cli.FormatScore(p.IPTM, "%.3f")})
	}
	if f := v.Run.Failure; f != nil {
		rows = append(rows, []string{"failure", f.Kind + ": " + f.Message})
	}
	return rows
}

// jobsCancel returns the command that cancels a job and prints its state: STOPPED, or "stopping" while a worker still
// runs it: that takes up to two seconds.
func jobsCancel() *cobra.Command {
	return changeObject(&cobra.Command{Use: "cancel JOB", Short: "Cancel a job"}, "job", (*api.Client).Cancel,
		func(r api.CancelledJob) string { return cancelledState(r.JobStatus) })
}

// jobsDelete returns the command that deletes a job with everything that was stored for it.
func jobsDelete() *cobra.Command {
	return changeObject(&cobra.Command{
		Use:   "delete JOB",
		Short: "Delete a job, its files and the workflows that it started",
	}, "job", (*api.Client).Delete, func(api.DeletedJob) string { return "deleted" })
}

// jobsResults returns the command that downloads the files of a job and prints its scores. With --wait it follows the
// job first. The exit code is cli.ExitUnfinished if the job ended without a result.
func jobsResults() *cobra.Command {
	c := &cobra.Command{Use: "results JOB", Short: "Download the files of a job"}
	onObject(c, "job", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		if cli.IsOn(cmd, "wait") {
			if err := follow(cmd, c, id); err != nil {
				return err
			}
		}
		read := c.Results
		if run := cli.FlagText(cmd, "run"); run != "" {
			read = func(ctx context.Context, job string) (api.Results, error) { return runResults(ctx, c, job, run) }
		}
		res, err := read(cmd.Context(), id)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, res, func() error {
			if !api.Terminal(res.Prediction.JobRunStatus) {
				return fmt.Errorf("the run is %s and has no results yet; wait for them with --wait",
					res.Prediction.JobRunStatus)
			}
			return saveAndPrint(cmd, c, res, results.FolderOf(cmd))
		})
	})
	f := c.Flags()
	results.AddFlags(c, "fold-JOB")
	f.String("run", "", "an earlier run of the job, by its number or id, as pleat jobs get lists them; "+
		"default: the latest")
	f.Bool("wait", false, "wait for the job to end first")
	f.Bool("json", false, "print the results as JSON without downloading files")
	return c
}

// jobsExport returns the command that writes the input of a job in the format of another program, on standard output or
// to --out. Settings that the format cannot express go to standard error as notes.
func jobsExport() *cobra.Command {
	c := onObject(&cobra.Command{
		Use:   "export JOB",
		Short: "Write a job as a file for another program",
		Long: `Writes the input of a job as FASTA, AlphaFold Server JSON, AlphaFold 3 JSON or Boltz YAML. Settings that
the format cannot express are printed as notes. A molecule that it cannot express is an error.`,
		Example: `  pleat jobs export 01890a5d-ac96-774b-bcce-b302099a8057 --format boltz > job.yaml`,
	}, "job", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		as := cli.FlagText(cmd, "format")
		if as == "" {
			return cli.Usagef("%s needs --format: %s", cmd.CommandPath(), strings.Join(format.ExportNames(), ", "))
		}
		file, err := c.Export(cmd.Context(), id, as)
		if err != nil {
			return err
		}
		printNotes(cmd, file.Notes)
		if out := cli.FlagText(cmd, "out"); out != "" {
			return os.WriteFile(out, []byte(file.Content), 0o644)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), cli.Printable(file.Content))
		return err
	})
	f := c.Flags()
	f.String("format", "", "format of the file: "+strings.Join(format.ExportNames(), ", "))
	f.String("out", "", "file to write; default: standard output")
	return c
}
