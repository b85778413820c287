package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// projectsCreate returns the command that creates a project and prints its id alone on standard output.
func projectsCreate() *cobra.Command {
	c := onServer(&cobra.Command{
		Use:     "create NAME --manager USER",
		Short:   "Create a project and print its id, as an operator",
		Example: `  pleat projects create "Lab A" --manager ada`,
		Args:    cli.ExactArgs("a name"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		in := api.CreateProject{Name: args[0], Manager: cli.FlagText(cmd, "manager")}
		p, err := c.CreateProject(cmd.Context(), in)
		return cli.Say(cmd, err, "%s", p.ID)
	})
	c.Flags().String("manager", "", "user, by name or id, who decides who works in it")
	return checkedFirst(c, func(cmd *cobra.Command, args []string) error {
		if err := cli.RequireFlags(cmd, "manager"); err != nil {
			return err
		}
		if err := pleat.CheckName("name", args[0]); err != nil {
			return cli.UsageError(err)
		}
		return nil
	})
}

// projectRow is a project in the output of projects list. Quota and KeepResultsDays are null if they are those of the
// service; the fields of the budget of a month are null where it has no limit.
type projectRow struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Quota           *int       `json:"quota"`
	Budget          api.Budget `json:"budget"`
	KeepResultsDays *int       `json:"keepResultsDays"`
	Commercial      bool       `json:"commercial"`
	CreatedAt       api.Time   `json:"createdAt"`
}

// projectsList returns the command that lists the projects that are not users' own.
func projectsList() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "list",
		Short: "List all projects, without users' own, as an operator",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		list, err := c.AllProjects(cmd.Context())
		if err != nil {
			return err
		}
		out := []projectRow{}
		for i := range list.Data {
			p := &list.Data[i]
			out = append(out, projectRow{p.ID, p.Name, p.Quota, p.Budget, p.KeepDays, p.Commercial, p.CreatedAt})
		}
		head := []string{"PROJECT", "NAME", "QUOTA", "BUDGET", "RESULTS KEPT", "COMMERCIAL", "CREATED"}
		return cli.PrintRows(cmd, out, head, func(p *projectRow) []string {
			quota, kept := "default", "default"
			if p.Quota != nil {
				quota = fmt.Sprint(*p.Quota)
			}
			if p.KeepResultsDays != nil {
				kept = fmt.Sprintf("%d days", *p.KeepResultsDays)
			}
			commercial := "no"
			if p.Commercial {
				commercial = "yes"
			}
			budget, created := budgetText(p.Budget), cli.FormatTime(&p.CreatedAt)
			return []string{p.ID, p.Name, quota, budget, kept, commercial, created}
		})
	}))
}

// projectsQuota returns the command that sets how many jobs may be created in a project per day.
func projectsQuota() *cobra.Command {
	c := onProject(&cobra.Command{
		Use:   "quota PROJECT N",
		Short: "Set the daily quota of jobs of a project, as an operator",
		Long: `Sets how many jobs may be created in a project per day; -1 restores the server's default. It applies from
the next job on. For the quota of a user's own project, see pleat keys create --user-quota.`,
		Example: `  pleat projects quota "Lab A" 500
  pleat projects quota "Lab A" -- -1`,
	}, []string{"a number"}, func(cmd *cobra.Command, c *api.Client, project string, args []string) error {
		n, err := parseQuota(args[0])
		if err != nil {
			return err
		}
		quota := fmt.Sprintf("%d jobs a day", n)
		if n < 0 {
			quota = "as many jobs a day as the server's default"
		}
		p, err := c.ChangeProject(cmd.Context(), project, api.ChangeProject{Quota: &n})
		return cli.Say(cmd, err, "%s: %s", pleat.Clip(p.Name), quota)
	})
	c.Args = cobra.MatchAll(c.Args, func(_ *cobra.Command, args []string) error {
		_, err := parseQuota(args[1])
		return err
	})
	return c
}

// parseQuota reads a number of jobs a day.
func parseQuota(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 || n > 1_000_000_000 {
		return 0, cli.Usagef("N is %q; it must be 0 to 1000000000, or -1 for the server's default", pleat.Clip(text))
	}
	return n, nil
}

// projectsBudget returns the command that sets what a project may spend in a month.
func projectsBudget() *cobra.Command {
	c := onProject(&cobra.Command{
		Use:   "budget PROJECT",
		Short: "Set what a project may spend in a month, as an operator",
		Long: `Sets how many GPU-seconds and CPU-seconds the runs of a project may spend in a month of UTC; -1 is no
limit. Work that would pass the budget is refused when it is created. pleat usage --everyone shows how much is used.`,
		Example: `  pleat projects budget "Lab A" --gpu-seconds 360000
  pleat projects budget "Lab A" --gpu-seconds -1 --cpu-seconds 1e6`,
	}, nil, func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
		in := budgetOf(cmd)
		p, err := c.ChangeProject(cmd.Context(), project, api.ChangeProject{Budget: &in})
		return cli.Say(cmd, err, "%s: %s", pleat.Clip(p.Name), budgetText(p.Budget))
	})
	c.Args = cobra.MatchAll(c.Args, func(cmd *cobra.Command, _ []string) error {
		if budgetOf(cmd) == (api.BudgetChange{}) {
			return cli.Usagef("give --gpu-seconds, --cpu-seconds or both")
		}
		return nil
	})
	c.Flags().Float64("gpu-seconds", -1, "GPU-seconds a month; -1: no limit")
	c.Flags().Float64("cpu-seconds", -1, "CPU-seconds a month; -1: no limit")
	return c
}

// budgetOf returns the change that the flags of projects budget ask for.
func budgetOf(cmd *cobra.Command) (in api.BudgetChange) {
	for name, to := range map[string]**float64{"gpu-seconds": &in.GPU, "cpu-seconds": &in.CPU} {
		if cmd.Flags().Changed(name) {
			v, _ := cmd.Flags().GetFloat64(name)
			*to = &v
		}
	}
	return in
}

// budgetText says what a project may spend in a month.
func budgetText(b api.Budget) string {
	var limits []string
	if b.GPU != nil {
		limits = append(limits, formatSeconds(b.GPU)+" GPU-seconds")
	}
	if b.CPU != nil {
		limits = append(limits, formatSeconds(b.CPU)+" CPU-seconds")
	}
	if len(limits) == 0 {
		return "no budget"
	}
	return strings.Join(limits, " and ") + " a month"
}

// projectsDelete returns the command that deletes a project that owns nothing.
func projectsDelete() *cobra.Command {
	return onProject(&cobra.Command{
		Use:   "delete PROJECT",
		Short: "Delete a project that owns nothing and that you manage, or any as an operator",
		Long: `Deletes a project whose jobs, batches, workflows and library items were all deleted or moved before. The
roles in it end, and its service users are disabled.`,
	}, nil, func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
		_, err := c.DeleteProject(cmd.Context(), project)
		return cli.Say(cmd, err, "deleted %s", pleat.Clip(cmd.Flags().Arg(0)))
	})
}
