package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// projectsCmd returns the group of commands on projects: those of operators, and those of members and managers.
func projectsCmd() *cobra.Command {
	return cli.Group("projects", "Manage projects and members",
		`A project owns jobs, batches, workflows and a library, and its members share them. Every user has a personal
project, which needs none of these commands.

create, list, quota and budget are for operators, whose key must reach every project. The others need the key of
somebody who is in the project, or of an operator.`,
		projectsCreate(), projectsList(), projectsQuota(), projectsBudget(), projectsDelete(),
		projectsCommercial(), projectsMembers(), projectsAdd(), projectsRemove(),
		projectsInvite(), projectsJoin(), projectsServiceUser())
}

// onProject completes a command that calls a server and whose first argument is a project, by id or name. The names are
// those of further arguments, for cli.ExactArgs.
func onProject(
	cmd *cobra.Command, names []string,
	do func(cmd *cobra.Command, c *api.Client, project string, args []string) error,
) *cobra.Command {
	cmd.Args = cli.ExactArgs(append([]string{"a project's id or name"}, names...)...)
	return onServer(cmd, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		project, err := projectNamed(cmd.Context(), c, "PROJECT", args[0])
		if err != nil {
			return err
		}
		return do(cmd, c, project, args[1:])
	})
}

// projectsCommercial returns the command that marks a project commercial, or takes the mark away.
func projectsCommercial() *cobra.Command {
	c := onProject(&cobra.Command{
		Use:   "commercial PROJECT yes|no",
		Short: "Say whether a project that you manage is commercial",
		Long: `Marks a project commercial, or takes the mark away. New work in a commercial project may use only models
whose weights allow commercial use: those whose weightUse is commercial in pleat models. Jobs that exist are not
affected.`,
		Example: `  pleat projects commercial "Lab A" yes`,
	}, []string{"yes or no"}, func(cmd *cobra.Command, c *api.Client, project string, args []string) error {
		commercial := args[0] == "yes"
		p, err := c.ChangeProject(cmd.Context(), project, api.ChangeProject{Commercial: &commercial})
		mark := "not commercial"
		if p.Commercial {
			mark = "commercial"
		}
		return cli.Say(cmd, err, "%s: %s", pleat.Clip(p.Name), mark)
	})
	c.Args = cobra.MatchAll(c.Args, func(_ *cobra.Command, args []string) error {
		if args[1] != "yes" && args[1] != "no" {
			return cli.Usagef("it is %q; say yes or no", pleat.Clip(args[1]))
		}
		return nil
	})
	return c
}

// projectsMembers returns the command that lists who has which role in a project.
func projectsMembers() *cobra.Command {
	return cli.WithJSON(onProject(&cobra.Command{Use: "members PROJECT", Short: "List the members of a project"}, nil,
		func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
			list, err := c.Members(cmd.Context(), project)
			if err != nil {
				return err
			}
			head := []string{"USER", "NAME", "ROLE", "KIND", "ADDED"}
			return printList(cmd, list, head, func(m *api.Member) []string {
				kind := "person"
				if m.IsService {
					kind = "service"
				}
				return []string{m.UserID, m.Name, m.Role, kind, m.AddedAt.Format(time.DateTime)}
			})
		}))
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
		return cli.Say(cmd, err, "%s is %s", cli.PrintableLine(m.Name), m.Role)
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
		_, err = c.RemoveMember(cmd.Context(), project, user)
		return cli.Say(cmd, err, "removed %s", pleat.Clip(args[0]))
	})
}

// projectsInvite returns the command that makes an invitation and prints its link alone on standard output.
func projectsInvite() *cobra.Command {
	var in api.CreateInvitation
	var expires string
	c := onProject(&cobra.Command{
		Use:   "invite PROJECT",
		Short: "Print a link by which somebody joins a project that you manage",
		Long: `Prints a link that gives one user a role, once. Somebody without a user gets one with it, on the page
that it opens or by pleat projects join. It ends after 7 days, unless --expires names a time of at most 90 days
from now.`,
		Example: `  pleat projects invite "Lab A" --role viewer --label Grace`,
	}, nil, func(cmd *cobra.Command, c *api.Client, project string, _ []string) error {
		in.ExpiresAt = cli.TextOrNil(expires)
		i, err := c.Invite(cmd.Context(), project, in)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, i, func() error {
			fmt.Fprintf(cmd.ErrOrStderr(), "for one %s, until %s UTC; the key of a new user has %s\n", i.Role,
				i.ExpiresAt.Format(time.DateTime), strings.Join(i.KeyScopes, ", "))
			fmt.Fprintln(cmd.OutOrStdout(), i.URL)
			return nil
		})
	})
	f := c.Flags()
	addRole(c, &in.Role)
	f.StringVar(&in.Label, "label", "", "for whom it is")
	f.StringVar(&expires, "expires", "", cli.ExpiryUsage("it")+"; default: in 7 days")
	return cli.WithJSON(c)
}

// projectsJoin returns the command that accepts an invitation. With a key, its user joins; with --name a user is
// created, whose key is printed alone on standard output.
func projectsJoin() *cobra.Command {
	var in api.AcceptInvitation
	c := onServer(&cobra.Command{
		Use:   "join LINK",
		Short: "Join a project by an invitation",
		Long: `Accepts an invitation, whose link or token it takes; - reads it from standard input. The user of --key
joins the project. Somebody without a user passes --name instead: the user is created, and the key is printed,
which is not shown again.`,
		Example: `  pleat projects join https://fold.example.org/ui/join#TOKEN
  export PLEAT_KEY=$(pleat projects join --name grace https://fold.example.org/ui/join#TOKEN)`,
		Args: cli.ExactArgs("the link of an invitation"),
	}, keyOptional, func(cmd *cobra.Command, c *api.Client, args []string) (err error) {
		if in.Name != "" {
			c.Key = "" // the user is not that of a key
		} else if c.Key == "" {
			return cli.Usagef("--name is required where there is no API key: it is the name of the user to create")
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
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is %s of %s\n", cli.PrintableLine(joined.Name), joined.Role,
			pleat.Clip(joined.ProjectName))
		if joined.Key != nil {
			fmt.Fprintln(cmd.OutOrStdout(), *joined.Key)
		}
		return nil
	})
	c.Flags().StringVar(&in.Name, "name", "", "name of a user to create")
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
		return "", cli.Usagef("the invitation is of %s, and this command calls %s; name the server of the invitation "+
			"with --url", pleat.Clip(address), c.Base)
	}
	return token, nil
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
		in.ExpiresAt = cli.TextOrNil(expires)
		created, err := c.CreateServiceUser(cmd.Context(), project, in)
		return cli.Say(cmd, err, "%s", created.Key.Secret)
	})
	f := c.Flags()
	f.StringVar(&in.Role, "role", "member", "viewer or member")
	f.StringVar(&in.Label, "label", "", "purpose of the key")
	f.StringSliceVar(&in.Scopes, "scopes", nil, "what the key may be used for, of read, submit and manage; "+
		"default: as yours")
	f.StringVar(&expires, "expires", "", cli.ExpiryUsage("the key")+"; default: when yours does")
	return c
}

// whoamiCmd returns the command that shows who the key stands for, and the projects that it reaches.
func whoamiCmd() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "whoami",
		Short: "Show the user of your key, and the projects in which you have a role",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		me, err := c.Me(cmd.Context())
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, me, func() error {
			kind := "person"
			switch {
			case me.IsService:
				kind = "service user"
			case me.IsOperator:
				kind = "person, operator"
			}
			err := cli.PrintTable(cmd.OutOrStdout(), [][]string{
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
				rows = append(rows, []string{p.ID, p.Name, cli.TextOrDash(p.Role), note})
			}
			return cli.PrintTable(cmd.OutOrStdout(), rows)
		})
	}))
}
