package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/format"
)

func jobsCmd() *cobra.Command {
	return group("jobs", "List, read, cancel jobs, fetch their results and write them as files", "", jobsList(), jobsGet(), jobsCancel(), jobsResults(), jobsExport())
}

func jobsList() *cobra.Command {
	var filter api.JobsFilter
	c := &cobra.Command{
		Use:   "list",
		Short: "List your jobs, newest first",
		Args:  exactly(),
		RunE: onServer(false, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			list, err := c.Jobs(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return showList(cmd, list, []string{"JOB", "STATUS", "MODEL", "PLDDT", "CREATED", "NAME"}, func(j api.JobRow) []string {
				return []string{j.ID, j.Status, j.ModelName, number(j.MeanPLLDT, "%.1f"), j.Date.Format(time.DateTime), j.Name}
			})
		}),
	}
	f := c.Flags()
	f.IntVar(&filter.Limit, "limit", 50, "how many, at most 200")
	f.StringVar(&filter.Cursor, "cursor", "", "where the page before ended")
	f.StringVar(&filter.Status, "status", "", "only jobs in this state, such as RUNNING")
	f.StringVar(&filter.Query, "query", "", "only jobs whose name holds this")
	f.Bool("json", false, "print JSON")
	config.AddFlags(f, config.Client)
	return c
}

func jobsGet() *cobra.Command {
	c := onOne(&cobra.Command{Use: "get JOB", Short: "Show where a job stands"}, "job", true, func(cmd *cobra.Command, c *api.Client, id string) error {
		v, err := c.Job(cmd.Context(), id)
		if err != nil {
			return err
		}
		return showOne(cmd, v, func() error { return table(cmd.OutOrStdout(), describe(v)) })
	})
	c.Flags().Bool("json", false, "print JSON")
	return c
}

// describe is a job as lines of name and value.
func describe(v api.JobView) [][]string {
	rows := [][]string{
		{"job", v.Job.ID}, {"name", v.Job.Name}, {"status", v.Job.Status}, {"model", v.Run.ModelName},
		{"created", v.Job.Date.Format(time.DateTime)}, {"run", fmt.Sprintf("%d of %d", v.Run.Number, len(v.Runs))}, {"seed", v.Run.Seed},
	}
	if q := v.Progress.QueuePosition; q != nil {
		rows = append(rows, []string{"place in queue", fmt.Sprint(*q)})
	}
	if v.Progress.Stage != "" && !api.Terminal(v.Run.Status) {
		rows = append(rows, []string{"stage", fmt.Sprintf("%s %d/%d", v.Progress.Stage, v.Progress.Done, v.Progress.Total)})
	}
	if v.Run.Seconds > 0 {
		rows = append(rows, []string{"seconds", fmt.Sprintf("%.1f", v.Run.Seconds)})
	}
	for _, p := range v.Predictions {
		rows = append(rows, []string{"mean pLDDT", number(p.MeanPLLDT, "%.1f")}, []string{"pTM", number(p.PTM, "%.3f")})
	}
	if f := v.Run.Failure; f != nil {
		rows = append(rows, []string{"failure", f.Kind + ": " + f.Message})
	}
	return rows
}

func jobsCancel() *cobra.Command {
	return onOne(&cobra.Command{Use: "cancel JOB", Short: "Stop a job"}, "job", false, func(cmd *cobra.Command, c *api.Client, id string) error {
		r, err := c.Cancel(cmd.Context(), id)
		if err != nil {
			return err
		}
		return stopping(cmd, r.JobStatus)
	})
}

func jobsResults() *cobra.Command {
	c := onOne(&cobra.Command{Use: "results JOB", Short: "Download a job's files"}, "job", true, func(cmd *cobra.Command, c *api.Client, id string) error {
		f := cmd.Flags()
		if wait, _ := f.GetBool("wait"); wait {
			if _, err := follow(cmd, c, id); err != nil {
				return err
			}
		}
		res, err := c.Results(cmd.Context(), id)
		if err != nil {
			return err
		}
		return showOne(cmd, res, func() error {
			if !api.Terminal(res.Job.Status) {
				return fmt.Errorf("the job is %s, so there are no results yet; wait for them with --wait", res.Job.Status)
			}
			out, _ := f.GetString("out")
			return deliver(cmd, c, id, out)
		})
	})
	f := c.Flags()
	f.String("out", "", "folder for the files; absent: fold-JOB")
	f.Bool("wait", false, "follow the job to its end first")
	f.Bool("json", false, "print the results as JSON and download nothing")
	return c
}

func jobsExport() *cobra.Command {
	c := onOne(&cobra.Command{
		Use:   "export JOB",
		Short: "Write a job as a file for another program",
		Long: `Writes what a job folds as FASTA, AlphaFold Server JSON, AlphaFold 3 JSON or Boltz YAML. What the format cannot say is printed as
a note; a molecule that it has no word for is refused.`,
		Example: `  pleat jobs export 01890a5d-ac96-774b-bcce-b302099a8057 --format boltz > job.yaml`,
	}, "job", true, func(cmd *cobra.Command, c *api.Client, id string) error {
		f := cmd.Flags()
		as, _ := f.GetString("format")
		if as == "" {
			return usagef("%s needs --format: %s", cmd.CommandPath(), strings.Join(format.Names(), ", "))
		}
		file, err := c.Export(cmd.Context(), id, as)
		if err != nil {
			return err
		}
		printNotes(cmd, file.Notes)
		if out, _ := f.GetString("out"); out != "" {
			return os.WriteFile(out, []byte(file.Content), 0o644)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), printable(file.Content))
		return err
	})
	f := c.Flags()
	f.String("format", "", "format of the file: "+strings.Join(format.Names(), ", "))
	f.String("out", "", "file to write; absent: standard output")
	return c
}
