package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// UserCommands returns the commands on users that call a server, with the key of an operator.
func UserCommands() []*cobra.Command {
	return []*cobra.Command{usersList(), usersDisable(true), usersDisable(false)}
}

// userRow is a user in the output of users list. ProjectID is that of a service user; else null.
type userRow struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	IsService  bool      `json:"isService"`
	ProjectID  *string   `json:"projectId"`
	IsOperator bool      `json:"isOperator"`
	DisabledAt *api.Time `json:"disabledAt"`
	CreatedAt  api.Time  `json:"createdAt"`
}

// usersList returns the command that lists all users, by name.
func usersList() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "list",
		Short: "List users, as an operator",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		out := []userRow{}
		for u, err := range allUsers(cmd.Context(), c) {
			if err != nil {
				return err
			}
			out = append(out, userRow{
				u.ID, u.Name, u.IsService, u.ProjectID, u.IsOperator, u.DisabledAt, u.CreatedAt,
			})
		}
		slices.SortFunc(out, func(a, b userRow) int { return strings.Compare(a.Name, b.Name) })
		head := []string{"USER", "NAME", "KIND", "DISABLED", "CREATED"}
		return cli.PrintRows(cmd, out, head, func(r *userRow) []string {
			kind := "person"
			switch {
			case r.IsService:
				kind = "service"
			case r.IsOperator:
				kind = "operator"
			}
			return []string{r.ID, r.Name, kind, cli.FormatTime(r.DisabledAt), cli.FormatTime(&r.CreatedAt)}
		})
	}))
}

// usersDisable returns the command that disables a user, or the one that enables a user again.
func usersDisable(disable bool) *cobra.Command {
	c := &cobra.Command{
		Use:   "disable NAME",
		Short: "Refuse all keys and sessions of a user from now on, as an operator",
		Long:  `Refuses all keys and sessions of a user, until pleat users enable. Running jobs continue.`,
	}
	done, change := "is disabled", (*api.Client).DisableUser
	if !disable {
		c.Use, c.Short, c.Long = "enable NAME", "Accept the keys of a user again who was disabled, as an operator", ""
		done, change = "is enabled", (*api.Client).EnableUser
	}
	c.Args = cli.ExactArgs("a user's name")
	return onServer(c, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		id, err := userNamed(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		_, err = change(c, cmd.Context(), id)
		return cli.Say(cmd, err, "%s %s", pleat.Clip(args[0]), done)
	})
}

// allUsers returns the users of the service, the newest first.
func allUsers(ctx context.Context, c *api.Client) iter.Seq2[*api.OperatorUser, error] {
	return api.All(func(cursor string) (api.List[api.OperatorUser], error) { return c.AllUsers(ctx, cursor) })
}

// userNamed returns the id of the user of a name. It is for operators.
func userNamed(ctx context.Context, c *api.Client, name string) (id string, _ error) {
	for u, err := range allUsers(ctx, c) {
		if err != nil {
			return "", err
		}
		if u.Name == name {
			return u.ID, nil
		}
	}
	return "", fmt.Errorf("there is no user %q; pleat users list shows them", pleat.Clip(name))
}
