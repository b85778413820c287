package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/server/wire"
	"pleat/internal/store"
	"pleat/internal/store/people"
)

// ProjectCommands returns the commands on projects that operators use on the database, next to a running server.
func ProjectCommands() []*cobra.Command {
	return []*cobra.Command{
		projectsCreate(), projectsList(), projectsQuota(), projectsBudget(), projectsDelete(),
	}
}

// withProjects is withStore for commands on projects, which users may take for those of their own.
func withProjects(cmd *cobra.Command, fn func(ctx context.Context, s *store.Store) error) error {
	c, err := cli.LoadConfig(cmd)
	if err != nil {
		return err
	}
	err = withStore(cmd, fn)
	if _, missing := app.MissingDatabase(c); missing && err != nil {
		err = fmt.Errorf("%w. This command is for operators; for your projects on a server: pleat whoami", err)
	}
	return err
}

// storedProject returns the project that an argument gives by id or name, of those that are not users' own.
func storedProject(ctx context.Context, s *store.Store, text string) (people.Project, error) {
	list, err := s.People.Projects(ctx)
	if err != nil {
		return people.Project{}, err
	}
	for _, p := range list {
		if p.Name == text || string(p.ID) == strings.ToLower(text) {
			return p, nil
		}
	}
	return people.Project{}, fmt.Errorf("there is no project %q; pleat projects list shows them", pleat.Clip(text))
}

// projectsCreate returns the command that creates a project and prints its id alone on standard output.
func projectsCreate() *cobra.Command {
	c := &cobra.Command{
		Use:     "create NAME --manager USER",
		Short:   "Create a project in the server's database and print its id",
		Example: `  pleat projects create "Lab A" --manager ada`,
		Args:    cli.ExactArgs("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.RequireFlags(cmd, "manager"); err != nil {
				return err
			}
			if err := pleat.CheckName("name", args[0]); err != nil {
				return cli.UsageError(err)
			}
			manager, _ := cmd.Flags().GetString("manager")
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := s.People.CreateProject(ctx, operator(), args[0], manager)
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), p.ID)
				}
				return err
			})
		},
	}
	c.Flags().String("manager", "", "user, by name or id, who decides who works in it")
	config.AddFlags(c.Flags(), config.Store)
	return c
}

// projectRow is a project in the output of projects list. Quota and KeepResultsDays are null if they are those of the
// service; the fields of the budget of a month are null where it has no limit.
type projectRow struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Quota           *int       `json:"quota"`
	Budget          api.Budget `json:"budget"`
	KeepResultsDays *int       `json:"keepResultsDays"`
	CreatedAt       time.Time  `json:"createdAt"`
}

// projectsList returns the command that lists the projects that are not users' own.
func projectsList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the projects of the server's database, without users' own",
		Args:  cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				list, err := s.People.Projects(ctx)
				if err != nil {
					return err
				}
				out := []projectRow{}
				rows := [][]string{{"PROJECT", "NAME", "QUOTA", "BUDGET", "RESULTS KEPT", "CREATED"}}
				for i := range list {
					r := projectRowOf(&list[i])
					out = append(out, r)
					quota, kept := "default", "default"
					if r.Quota != nil {
						quota = fmt.Sprint(*r.Quota)
					}
					if r.KeepResultsDays != nil {
						kept = fmt.Sprintf("%d days", *r.KeepResultsDays)
					}
					budget := budgetText(list[i].Budget)
					rows = append(rows, []string{r.ID, r.Name, quota, budget, kept, cli.FormatTime(&r.CreatedAt)})
				}
				return cli.PrintResult(cmd, out, func() error { return cli.PrintTable(cmd.OutOrStdout(), rows) })
			})
		},
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Store)
	return c
}

func projectRowOf(p *people.Project) projectRow {
	r := projectRow{ID: string(p.ID), Name: p.Name, Budget: wire.Budget(p.Budget), CreatedAt: p.CreatedAt}
	if p.Quota >= 0 {
		r.Quota = &p.Quota
	}
	if p.KeepResults >= 0 {
		days := int(p.KeepResults / (24 * time.Hour))
		r.KeepResultsDays = &days
	}
	return r
}

// projectsQuota returns the command that sets how many jobs may be created in a project per day.
func projectsQuota() *cobra.Command {
	c := &cobra.Command{
		Use:   "quota PROJECT N",
		Short: "Set the daily quota of jobs of a project in the server's database",
		Long: `Sets how many jobs may be created in a project per day; -1 restores the server's default. It applies from
the next job on. For the quota of a user's own project, see pleat keys create --user-quota.`,
		Example: `  pleat projects quota "Lab A" 500
  pleat projects quota "Lab A" -- -1`,
		Args: cli.ExactArgs("a project's id or name", "a number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < -1 || n > 1_000_000_000 {
				const text = "N is %q; it must be 0 to 1000000000, or -1 for the server's default"
				return cli.Usagef(text, pleat.Clip(args[1]))
			}
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := changeStored(ctx, s, args[0], people.ProjectChange{Quota: &n})
				if err == nil {
					quota := fmt.Sprintf("%d jobs a day", n)
					if n < 0 {
						quota = "as many jobs a day as the server's default"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", pleat.Clip(p.Name), quota)
				}
				return err
			})
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	return c
}

// projectsBudget returns the command that sets what a project may spend in a month.
func projectsBudget() *cobra.Command {
	c := &cobra.Command{
		Use:   "budget PROJECT",
		Short: "Set what a project may spend in a month in the server's database",
		Long: `Sets how many GPU-seconds and CPU-seconds the runs of a project may spend in a month of UTC; -1 is no
limit. What would pass the budget is refused when it is created. pleat usage --everyone shows how much is used.`,
		Example: `  pleat projects budget "Lab A" --gpu-seconds 360000
  pleat projects budget "Lab A" --gpu-seconds -1 --cpu-seconds 1e6`,
		Args: cli.ExactArgs("a project's id or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in api.BudgetChange
			for name, to := range map[string]**float64{"gpu-seconds": &in.GPU, "cpu-seconds": &in.CPU} {
				if cmd.Flags().Changed(name) {
					v, _ := cmd.Flags().GetFloat64(name)
					*to = &v
				}
			}
			if in == (api.BudgetChange{}) {
				return cli.Usagef("give --gpu-seconds, --cpu-seconds or both")
			}
			change, err := wire.ToBudgetChange(&in)
			if err != nil {
				return cli.Usagef("%v", err)
			}
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := changeStored(ctx, s, args[0], people.ProjectChange{Budget: change})
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", pleat.Clip(p.Name), budgetText(p.Budget))
				}
				return err
			})
		},
	}
	c.Flags().Float64("gpu-seconds", -1, "GPU-seconds a month; -1: no limit")
	c.Flags().Float64("cpu-seconds", -1, "CPU-seconds a month; -1: no limit")
	config.AddFlags(c.Flags(), config.Store)
	return c
}

// changeStored changes the project that an argument gives, and returns it as it is then.
func changeStored(
	ctx context.Context, s *store.Store, text string, change people.ProjectChange,
) (people.Project, error) {
	p, err := storedProject(ctx, s, text)
	if err == nil {
		err = s.People.ChangeProject(ctx, operator().In(p.ID), change)
	}
	if err != nil {
		return p, err
	}
	return storedProject(ctx, s, string(p.ID))
}

// budgetText says what a project may spend in a month.
func budgetText(b people.Budget) string {
	limits, text := wire.Budget(b), ""
	for _, l := range []struct {
		limit *float64
		unit  string
	}{{limits.GPU, "GPU"}, {limits.CPU, "CPU"}} {
		if l.limit == nil {
			continue
		}
		if text != "" {
			text += " and "
		}
		text += cli.FormatSeconds(l.limit) + " " + l.unit + "-seconds"
	}
	if text == "" {
		return "no budget"
	}
	return text + " a month"
}

// projectsDelete returns the command that deletes a project that owns nothing any more.
func projectsDelete() *cobra.Command {
	c := &cobra.Command{
		Use:   "delete PROJECT",
		Short: "Delete a project that owns nothing from the server's database",
		Long: `Deletes a project whose jobs, batches, workflows and library items were all deleted or moved before. The
roles in it end, and its service users are disabled.`,
		Args: cli.ExactArgs("a project's id or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := storedProject(ctx, s, args[0])
				if err != nil {
					return err
				}
				if err := s.Ops.DeleteProject(ctx, operator().In(p.ID)); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", pleat.Clip(p.Name))
				return nil
			})
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	return c
}
