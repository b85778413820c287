package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/server/wire"
	"pleat/internal/store"
)

// projectsCmd returns the group of commands on projects. Those of operators work on the database, next to a running
// server; those of members and managers call a server.
func projectsCmd() *cobra.Command {
	return group("projects", "Create projects, and decide who works in them",
		`A project owns jobs, batches, workflows and a library, and its members share them. Every user has an own one,
which needs none of these commands.

create, list, quota, budget and delete are for operators and open the server's database. The others call a
server, with the key of somebody who is in the project.`,
		projectsCreate(), projectsList(), projectsQuota(), projectsBudget(), projectsDelete(),
		projectsMembers(), projectsAdd(), projectsRemove(), projectsInvite(), projectsJoin(), projectsServiceUser())
}

// projectsCreate returns the command that creates a project and prints its id alone on standard output.
func projectsCreate() *cobra.Command {
	c := &cobra.Command{
		Use:     "create NAME --manager USER",
		Short:   "Create a project in the server's database and print its id",
		Example: `  pleat projects create "Lab A" --manager ada`,
		Args:    exactly("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needFlag(cmd, "manager"); err != nil {
				return err
			}
			if err := pleat.CheckName("name", args[0]); err != nil {
				return &exit{exitUsage, err}
			}
			manager, _ := cmd.Flags().GetString("manager")
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := s.CreateProject(ctx, operator(), args[0], manager)
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
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				list, err := s.Projects(ctx)
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
					rows = append(rows, []string{r.ID, r.Name, quota, budget, kept, formatTime(&r.CreatedAt)})
				}
				return printResult(cmd, out, func() error { return table(cmd.OutOrStdout(), rows) })
			})
		},
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Store)
	return c
}

func projectRowOf(p *store.Project) projectRow {
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
		Args: exactly("a project's id or name", "a number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < -1 || n > 1_000_000_000 {
				const text = "N is %q; it must be 0 to 1000000000, or -1 for the server's default"
				return usagef(text, pleat.Clip(args[1]))
			}
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := changeStored(ctx, s, args[0], store.ProjectChange{Quota: &n})
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
		Args: exactly("a project's id or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in api.BudgetChange
			for name, to := range map[string]**float64{"gpu-seconds": &in.GPU, "cpu-seconds": &in.CPU} {
				if cmd.Flags().Changed(name) {
					v, _ := cmd.Flags().GetFloat64(name)
					*to = &v
				}
			}
			if in == (api.BudgetChange{}) {
				return usagef("give --gpu-seconds, --cpu-seconds or both")
			}
			change, err := wire.ToBudgetChange(&in)
			if err != nil {
				return usagef("%v", err)
			}
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := changeStored(ctx, s, args[0], store.ProjectChange{Budget: change})
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
	ctx context.Context, s *store.Store, text string, change store.ProjectChange,
) (store.Project, error) {
	p, err := storedProject(ctx, s, text)
	if err == nil {
		err = s.ChangeProject(ctx, operator().In(p.ID), change)
	}
	if err != nil {
		return p, err
	}
	return storedProject(ctx, s, string(p.ID))
}

// budgetText says what a project may spend in a month.
func budgetText(b store.Budget) string {
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
		text += seconds(l.limit) + " " + l.unit + "-seconds"
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
		Args: exactly("a project's id or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withProjects(cmd, func(ctx context.Context, s *store.Store) error {
				p, err := storedProject(ctx, s, args[0])
				if err != nil {
					return err
				}
				if err := s.DeleteProject(ctx, operator().In(p.ID)); err != nil {
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

// onProject completes a command that calls a server and whose first argument is a project, by id or name. The names are
// those of further arguments, for exactly.
func onProject(
	cmd *cobra.Command, names []string,
	do func(cmd *cobra.Command, c *api.Client, project string, args []string) error,
) *cobra.Command {
	cmd.Args = exactly(append([]string{"a project's id or name"}, names...)...)
	cmd.RunE = onServer(keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		project, err := projectNamed(cmd.Context(), c, "PROJECT", args[0])
		if err != nil {
			return err
		}
		return do(cmd, c, project, args[1:])
	})
	config.AddFlags(cmd.Flags(), config.Client)
	return cmd
}

// projectsMembers returns the command that lists who has which role in a project.
func projectsMembers() *cobra.Command {
	c := onProject(&cobra.Command{Use: "members PROJECT", Short: "List the members of a project"}, nil,
		func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
			list, err := c.Members(cmd.Context(), project)
			if err != nil {
				return err
			}
			head := []string{"USER", "NAME", "ROLE", "KIND", "ADDED"}
			return printList(cmd, list, head, func(m api.Member) []string {
				kind := "person"
				if m.IsService {
					kind = "service"
				}
				return []string{m.UserID, m.Name, m.Role, kind, m.AddedAt.Format(time.DateTime)}
			})
		})
	c.Flags().Bool("json", false, "print JSON")
	return c
}

// projectsAdd returns the command that gives a user a role in a project, in place of an earlier one.
func projectsAdd() *cobra.Command {
	var role string
	c := onProject(&cobra.Command{
		Use:     "add PROJECT USER",
		Short:   "Give a user a role in a project that you manage",
		Example: `  pleat projects add "Lab A" grace --role viewer`,
	}, []string{"a user's name or id"}, func(cmd *cobra.Command, c *api.Client, project string, args []string) error {
		m, err := c.SetMember(cmd.Context(), project, args[0], role)
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", oneLine(printable(m.Name)), m.Role)
		}
		return err
	})
	addRole(c, &role)
	return c
}

// addRole gives a command the flag --role.
func addRole(c *cobra.Command, role *string) {
	c.Flags().StringVar(role, "role", "member", "viewer reads; member makes, changes and deletes work, too; "+
		"manager decides, too, who has which role")
}

// projectsRemove returns the command that ends the role of a user in a project. Everybody may leave one.
func projectsRemove() *cobra.Command {
	return onProject(&cobra.Command{
		Use:   "remove PROJECT USER",
		Short: "End the role of a user in a project that you manage, or your own",
	}, []string{"a user's name or id"}, func(cmd *cobra.Command, c *api.Client, project string, args []string) error {
		user := args[0]
		me, err := c.Me(cmd.Context())
		if err != nil {
			return err
		}
		if user == me.Name { // who leaves is known by the id
			user = me.UserID
		}
		if _, err := c.RemoveMember(cmd.Context(), project, user); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", pleat.Clip(args[0]))
		return nil
	})
}

// projectsInvite returns the command that makes an invitation and prints its link alone on standard output.
func projectsInvite() *cobra.Command {
	var in api.CreateInvitation
	var expires string
	c := onProject(&cobra.Command{
		Use:   "invite PROJECT",
		Short: "Print a link by which somebody joins a project that you manage",
		Long: `Prints a link that gives one user a role, once. Who has no user yet gets one with it, on the page that
it opens or by pleat projects join. It ends after 7 days, unless --expires names a time of at most 90 days
from now.`,
		Example: `  pleat projects invite "Lab A" --role viewer --label Grace`,
	}, nil, func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
		if expires != "" {
			in.ExpiresAt = &expires
		}
		i, err := c.Invite(cmd.Context(), project, in)
		if err != nil {
			return err
		}
		return printResult(cmd, i, func() error {
			fmt.Fprintf(cmd.ErrOrStderr(), "for one %s, until %s UTC\n", i.Role, i.ExpiresAt.Format(time.DateTime))
			fmt.Fprintln(cmd.OutOrStdout(), i.URL)
			return nil
		})
	})
	f := c.Flags()
	addRole(c, &in.Role)
	f.StringVar(&in.Label, "label", "", "for whom it is")
	f.StringVar(&expires, "expires", "", endDoc("it")+"; default: in 7 days")
	f.Bool("json", false, "print JSON")
	return c
}

// projectsJoin returns the command that accepts an invitation. With a key, its user joins; with --name a user is
// created, whose key is printed alone on standard output.
func projectsJoin() *cobra.Command {
	var in api.AcceptInvitation
	c := &cobra.Command{
		Use:   "join LINK",
		Short: "Join a project by an invitation",
		Long: `Accepts an invitation, whose link or token it takes; - reads it from standard input. The user of --key
joins the project. Who has no user yet gives a name with --name instead: the user is created, and the key is
printed, which is not shown again.`,
		Example: `  pleat projects join https://fold.example.org/ui/join#TOKEN
  export PLEAT_KEY=$(pleat projects join --name grace https://fold.example.org/ui/join#TOKEN)`,
		Args: exactly("the link of an invitation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd, keyOptional)
			if err != nil {
				return err
			}
			if in.Name != "" {
				c.Key = "" // the user is not that of a key
			} else if c.Key == "" {
				return usagef("--name is required where there is no API key: it is the name of the user to create")
			}
			text := args[0]
			if text == "-" {
				if text, err = readToken(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			if in.Token, err = invitationToken(c, text); err != nil {
				return err
			}
			joined, err := c.AcceptInvitation(cmd.Context(), in)
			if err != nil {
				return explain(c, err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is %s of %s\n", oneLine(printable(joined.Name)), joined.Role,
				pleat.Clip(joined.ProjectName))
			if joined.Key != nil {
				fmt.Fprintln(cmd.OutOrStdout(), *joined.Key)
			}
			return nil
		},
	}
	c.Flags().StringVar(&in.Name, "name", "", "name of a user to create")
	config.AddFlags(c.Flags(), config.Client)
	return c
}

// invitationToken returns the token of an invitation that is given as a link or alone. The link says which server it
// is of; one that the client would not call gets no key.
func invitationToken(c *api.Client, text string) (string, error) {
	address, token, isLink := strings.Cut(text, "/ui/join#")
	switch {
	case !isLink:
		return text, nil
	case c.Key == "":
		c.Base = address
	case strings.TrimRight(c.Base, "/") != address:
		return "", usagef("the invitation is of %s, and this command calls %s; name the server of the invitation "+
			"with --url", pleat.Clip(address), c.Base)
	}
	return token, nil
}

// endDoc describes a flag that says when something ends.
func endDoc(what string) string {
	return "when " + what + " ends: a date such as 2027-01-31, its last day, or a time in RFC 3339"
}

// projectsServiceUser returns the command that creates a user for a program and prints the key alone on standard
// output.
func projectsServiceUser() *cobra.Command {
	var in api.CreateServiceUser
	var expires string
	c := onProject(&cobra.Command{
		Use:   "service-user PROJECT NAME",
		Short: "Create a user for a program of a project that you manage, and print its key",
		Long: `Creates a user for a program, which reaches this project alone, and prints only its key on standard
output. The key is not shown again. pleat projects remove ends it.`,
		Example: `  pleat projects service-user "Lab A" lab-a-pipeline --scopes read,submit`,
	}, []string{"a name"}, func(cmd *cobra.Command, c *api.Client, project string, args []string) error {
		in.Name = args[0]
		if expires != "" {
			in.ExpiresAt = &expires
		}
		made, err := c.CreateServiceUser(cmd.Context(), project, in)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), made.Key.Secret)
		}
		return err
	})
	f := c.Flags()
	f.StringVar(&in.Role, "role", "member", "viewer or member")
	f.StringVar(&in.Label, "label", "", "purpose of the key")
	f.StringSliceVar(&in.Scopes, "scopes", nil, "what the key may be used for, of read, submit and manage; "+
		"default: as yours")
	f.StringVar(&expires, "expires", "", endDoc("the key")+"; default: when yours does")
	return c
}

// whoamiCmd returns the command that shows who the key stands for, and the projects that it reaches.
func whoamiCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "whoami",
		Short: "Show the user of your key, and the projects in which you have a role",
		Args:  exactly(),
		RunE: onServer(keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			me, err := c.Me(cmd.Context())
			if err != nil {
				return err
			}
			return printResult(cmd, me, func() error {
				kind := "person"
				switch {
				case me.IsService:
					kind = "service user"
				case me.IsOperator:
					kind = "person, operator"
				}
				err := table(cmd.OutOrStdout(), [][]string{
					{"user", me.Name}, {"id", me.UserID}, {"kind", kind}, {"scopes", strings.Join(me.Scopes, ",")},
				})
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout())
				rows := [][]string{{"PROJECT", "NAME", "ROLE", ""}}
				for _, p := range me.Projects {
					note := ""
					if p.ID == me.ProjectID {
						note = "default"
					}
					rows = append(rows, []string{p.ID, p.Name, textOr(p.Role), note})
				}
				return table(cmd.OutOrStdout(), rows)
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}
