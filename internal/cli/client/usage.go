package client

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/server/wire"
)

// usageCmd returns the command that shows how much of today's quotas the user of the key has used, and what runs have
// spent.
func usageCmd() *cobra.Command {
	var q api.SpentQuery
	var everyone, all, asCSV bool
	c := inProject(&cobra.Command{
		Use:   "usage",
		Short: "Show how much of today's quotas is used, and what your runs, a project or all projects have spent",
		Long: `Shows how much of today's quotas of jobs, workflows and rows of batches you have used, and what your runs
have spent this month: attempts, seconds, GPU-seconds, CPU-seconds, completed runs, tokens and bytes. A dash stands for
what is not known.

With --everyone it shows what the runs of the whole project have spent, and its budget; with --all, for operators,
those of all projects. The days are those of UTC on which the attempts have ended.`,
		Example: `  pleat usage --from 2027-01-01 --to 2027-01-31 --by model
  pleat usage --project "Lab A" --everyone --by user,model
  pleat usage --all --by project,day --csv > usage.csv`,
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		if all && everyone {
			return cli.Usagef("--all and --everyone cannot be used together")
		}
		out, err := usageOf(cmd.Context(), c, q, everyone, all)
		if err != nil {
			return err
		}
		if asCSV {
			return out.writeCSV(cmd.OutOrStdout())
		}
		return cli.PrintResult(cmd, out.document, func() error { return out.print(cmd.OutOrStdout()) })
	})
	f := c.Flags()
	f.StringVar(&q.From, "from", "", "first day, such as 2027-01-01; default: the first of the month")
	f.StringVar(&q.To, "to", "", "last day; default: today")
	f.StringSliceVar(&q.By, "by", nil, "what sums are grouped by: user, project, model, day")
	f.BoolVar(&everyone, "everyone", false, "what the runs of all members of the project have spent")
	f.BoolVar(&all, "all", false, "what the runs of all projects have spent, for operators")
	f.BoolVar(&asCSV, "csv", false, "print the sums as CSV")
	return cli.WithJSON(c)
}

// usageShown is what the command usage shows.
type usageShown struct {
	document any // the answer of the server
	head     string
	spent    api.SpentTable
}

// usageOf asks the server.
func usageOf(ctx context.Context, c *api.Client, q api.SpentQuery, everyone, all bool) (usageShown, error) {
	switch {
	case all:
		t, err := c.AllUsage(ctx, q)
		return usageShown{document: t, spent: t}, err
	case everyone:
		project := c.Project
		if project == "" {
			me, err := c.Me(ctx)
			if err != nil {
				return usageShown{}, err
			}
			project = me.ProjectID
		}
		u, err := c.ProjectUsage(ctx, project, q)
		head := budgetLine("GPU", u.Budget.GPU, u.Budget.UsedGPU, u.Budget.ExpectedGPU) +
			budgetLine("CPU", u.Budget.CPU, u.Budget.UsedCPU, u.Budget.ExpectedCPU)
		return usageShown{document: u, head: head, spent: u.SpentTable}, err
	}
	u, err := c.OwnUsage(ctx, q)
	if isNoProject(c, err) {
		return usageShown{}, fmt.Errorf("%w; for what all its runs have spent: pleat usage --everyone", errNoRole)
	}
	head := fmt.Sprintf("jobs        %d of %d\nworkflows   %d of %d\nbatch rows  %d of %d\nall start again at %s\n",
		u.Used, u.Limit, u.Workflows.Used, u.Workflows.Limit, u.BatchRows.Used, u.BatchRows.Limit,
		u.ResetAt.Format("2006-01-02 15:04 UTC"))
	return usageShown{document: u, head: head, spent: u.SpentTable}, err
}

// budgetLine says how much of a budget is used; empty: there is none.
func budgetLine(unit string, limit *float64, used, expected float64) string {
	if limit == nil {
		return ""
	}
	return fmt.Sprintf("%s-seconds of this month  %s of %s, and %s expected\n", unit,
		formatSeconds(&used), formatSeconds(limit), formatSeconds(&expected))
}

// formatSeconds returns seconds with one decimal, or a dash for nil, which is not known.
func formatSeconds(v *float64) string { return cli.FormatScore(v, "%.1f") }

// print writes the head and the sums.
func (u *usageShown) print(w io.Writer) error {
	if _, err := io.WriteString(w, u.head); err != nil || len(u.spent.Usage) == 0 {
		return err
	}
	if u.head != "" {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	var keys []string
	for _, k := range []string{"DAY", "PROJECT", "USER", "MODEL"} {
		if spentKey(&u.spent.Usage[0], k) != nil {
			keys = append(keys, k)
		}
	}
	rows := [][]string{append(keys, "ATTEMPTS", "SECONDS", "GPU-SECONDS", "CPU-SECONDS", "RUNS", "TOKENS", "BYTES")}
	for i := range u.spent.Usage {
		r := &u.spent.Usage[i]
		var row []string
		for _, k := range keys {
			row = append(row, cli.ValueOr(spentKey(r, k), ""))
		}
		rows = append(rows, append(row, spentCells(&r.Spent)...))
	}
	total := make([]string, len(keys))
	if len(keys) > 0 {
		total[0] = "total"
		rows = append(rows, append(total, spentCells(&u.spent.Total)...))
	}
	if _, err := fmt.Fprintf(w, "%s to %s\n", u.spent.From, u.spent.To); err != nil {
		return err
	}
	return cli.PrintTable(w, rows)
}

// spentKey returns what a sum is about, by the title of the column; nil: the sums are not grouped by it. A project
// or a user without a name is shown by its id.
func spentKey(r *api.SpentRow, title string) *string {
	switch title {
	case "DAY":
		return r.Day
	case "PROJECT":
		return cmp.Or(r.ProjectName, r.ProjectID)
	case "USER":
		return cmp.Or(r.UserName, r.UserID)
	}
	return r.Model
}

// spentCells are the cells of a sum.
func spentCells(s *api.Spent) []string {
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		integer(s.Attempts),
		formatSeconds(&s.Seconds),
		formatSeconds(s.GPU),
		formatSeconds(s.CPU),
		integer(s.Runs),
		integer(s.Tokens),
		integer(s.Bytes),
	}
}

// writeCSV writes the sums as the server does.
func (u *usageShown) writeCSV(w io.Writer) error {
	t := csv.NewWriter(w)
	_ = t.Write(wire.SpentHeader()) // Error returns what could not be written
	for i := range u.spent.Usage {
		_ = t.Write(wire.SpentCells(&u.spent.Usage[i]))
	}
	t.Flush()
	return t.Error()
}
