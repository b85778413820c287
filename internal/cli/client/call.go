package client

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
)

// Commands returns the commands that call a server, and antibody, which needs none.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		foldCmd(), batchCmd(), alignCmd(), askCmd(), mdCmd(), designCmd(), jobsCmd(), verifyCmd(), workflowsCmd(),
		compareCmd(), antibodyCmd(), mcpCmd(), shareCmd(), whoamiCmd(), projectsCmd(), loginCmd(), logoutCmd(),
		notificationsCmd(), modelsCmd(), workersCmd(), usageCmd(), auditCmd(), webhooksCmd(),
	}
}

// auth reports whether a command that calls a server needs an API key.
type auth bool

// A command with keyRequired fails before its request if there is no key. With keyOptional a key is sent if there is
// one: the server decides.
const (
	keyRequired auth = true
	keyOptional auth = false // public jobs can be read without one
)

// call is what a command does with the client for its server.
type call func(cmd *cobra.Command, c *api.Client, args []string) error

// run returns the RunE of a command that makes a call. It creates the client and turns an error of the call into a
// sentence that says what to do.
func (do call) run(key auth) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := newClient(cmd, key)
		if err != nil {
			return err
		}
		return explain(c, do(cmd, c, args))
	}
}

// onServer completes a command that calls a server: it adds the flags of a client and the RunE. A command without Args
// accepts none.
func onServer(cmd *cobra.Command, key auth, do call) *cobra.Command {
	return cli.Complete(cmd, do.run(key), config.Client)
}

// inProject is onServer for a command on what a project owns: it has --project, too.
func inProject(cmd *cobra.Command, key auth, do call) *cobra.Command {
	return cli.Complete(cmd, do.run(key), config.Client, config.Project)
}

// checkedFirst completes a command that refuses some arguments or flags before it looks for a key.
func checkedFirst(cmd *cobra.Command, check func(cmd *cobra.Command, args []string) error) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// withPages adds the flags of a command that prints a page of a list, and returns the command. The entries, such as
// jobs, are for the help.
func withPages(cmd *cobra.Command, entries string, limit *int, cursor *string) *cobra.Command {
	cmd.Flags().IntVar(limit, "limit", 50, "number of "+entries+", at most 200")
	cmd.Flags().StringVar(cursor, "cursor", "", "cursor that the previous page printed")
	return cli.WithJSON(cmd)
}

// changeObject completes a command that makes one change to an object, as [onObject] does, and prints a line that says
// what has become of it.
func changeObject[T any](
	cmd *cobra.Command, kind string, change func(*api.Client, context.Context, string) (T, error), say func(T) string,
) *cobra.Command {
	return onObject(cmd, kind, keyRequired, func(cmd *cobra.Command, c *api.Client, id string) error {
		r, err := change(c, cmd.Context(), id)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), say(r))
		}
		return err
	})
}

// onObject completes a command whose only argument is the identifier of a kind of object, such as "job": it adds the
// argument, the flags of a client and the RunE. An argument that is not an identifier is refused without a request.
func onObject(
	cmd *cobra.Command, kind string, key auth, do func(cmd *cobra.Command, c *api.Client, id string) error,
) *cobra.Command {
	cmd.Args = cli.ExactArgs("a " + kind + "'s identifier")
	onServer(cmd, key, func(cmd *cobra.Command, c *api.Client, args []string) error { return do(cmd, c, args[0]) })
	return checkedFirst(cmd, func(_ *cobra.Command, args []string) error { return checkIdentifier(kind, args[0]) })
}

// checkIdentifier returns a usage error for an argument that is not the identifier of a kind of object.
func checkIdentifier(kind, arg string) error {
	if !pleat.IsUUID(arg) {
		if isFile(arg) {
			return cli.Usagef("%q names a file; give the identifier of a %s, and see %s", pleat.Clip(arg), kind,
				ownFiles)
		}
		const text = "%q is not a %s: a %s's identifier is a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057"
		return cli.Usagef(text, pleat.Clip(arg), kind, kind)
	}
	return nil
}

// ownFiles is where people learn how to use structures of their own.
const ownFiles = "the guide, «Store files in the library», for files of your own"

// isFile reports whether an argument, in the place of what a server has, is a file or has the name of a structure.
func isFile(arg string) bool {
	if pleat.IsStructureFile(arg) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// printList prints a page of a list: with --json as JSON, otherwise as a table with one row per entry. The cursor of
// the next page goes to standard error, so that standard output is a table alone.
func printList[T any](cmd *cobra.Command, list api.List[T], head []string, row func(*T) []string) error {
	return cli.PrintResult(cmd, list, func() error {
		if err := cli.PrintTable(cmd.OutOrStdout(), cli.Rows(head, list.Data, row)); err != nil {
			return err
		}
		if list.NextCursor != nil && *list.NextCursor != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "for the next page: --cursor %s\n", *list.NextCursor)
		}
		return nil
	})
}

// printWork is printList for work that projects own. A column says who made each entry if one stands in another project
// than its maker's own.
func printWork[T any](
	cmd *cobra.Command, list api.List[T], head []string, owned func(*T) api.Owned, row func(*T) []string,
) error {
	if !slices.ContainsFunc(list.Data, func(v T) bool { return isShared(owned(&v)) }) {
		return printList(cmd, list, head, row)
	}
	last := len(head) - 1
	return printList(cmd, list, slices.Insert(slices.Clone(head), last, "BY"), func(v *T) []string {
		return slices.Insert(row(v), last, creatorName(owned(v).CreatedBy))
	})
}

// isShared reports whether something stands in another project than its maker's own, as far as the caller may know.
func isShared(o api.Owned) bool {
	return o.ProjectID != nil && o.CreatedBy != nil && *o.ProjectID != o.CreatedBy.ID
}

// creatorName is the name of who made something.
func creatorName(by *api.Creator) string {
	if by == nil || by.Name == nil {
		return "a deleted user"
	}
	return *by.Name
}

// addCreatorFlag adds the flag --created-by, which resolveCreator reads.
func addCreatorFlag(cmd *cobra.Command, user *string) {
	cmd.Flags().StringVar(user, "created-by", "", "only what this user made: me, or the name or id of a user")
}

// resolveCreator replaces the name of a user that --created-by gives by the id. Names are looked up among the members
// of the project of the command.
func resolveCreator(ctx context.Context, c *api.Client, user *string) error {
	if *user == "" || *user == "me" || pleat.IsUUID(*user) {
		return nil
	}
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	members, err := c.Members(ctx, cmp.Or(c.Project, me.ProjectID))
	if err != nil {
		return err
	}
	names := []string{"me"}
	for _, m := range members.Data {
		if m.Name == *user {
			*user = m.UserID
			return nil
		}
		names = append(names, m.Name)
	}
	return cli.Usagef("--created-by: nobody called %q is in the project; %s", pleat.Clip(*user),
		cli.Suggest(*user, names, "it must be me, or the name or id of a user who is in the project"))
}

// cancelledState is the state to print after a cancellation. A running job or workflow is still RUNNING until its
// worker has stopped it.
func cancelledState(state string) string {
	if state == api.Running {
		return "stopping"
	}
	return state
}
