package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// shareCmd returns the command that makes a link to a job, batch or workflow and prints it alone on standard output;
// --list and --end are for the links that there are.
func shareCmd() *cobra.Command {
	var in api.CreateLink
	var expires, end string
	var list bool
	c := onObject(&cobra.Command{
		Use:   "share ID",
		Short: "Print a link by which everyone who has it reads a job, batch or workflow",
		Long: `Prints a link that shows a job, batch or workflow to everyone who has it, without a key. A batch comes
with the jobs of its rows. It ends after 30 days, unless --expires names a time of at most 366 days from now.`,
		Example: `  pleat share 01890a5d-ac96-774b-bcce-b302099a8057 --expires 2027-01-31
  pleat share 01890a5d-ac96-774b-bcce-b302099a8057 --list
  pleat share 01890a5d-ac96-774b-bcce-b302099a8057 --end 01890a5d-b2c1-7aaf-9d0e-3c1f5a7e9b21`,
	}, "job, batch or workflow", keyRequired, func(cmd *cobra.Command, c *api.Client, id string) error {
		switch {
		case list && end != "" || (list || end != "") && expires != "":
			return cli.Usagef("%s takes one of --expires, --list and --end", cmd.CommandPath())
		case list:
			return listLinks(cmd, c, id)
		case end != "":
			if err := checkIdentifier("link", end); err != nil {
				return err
			}
			err := firstOf(func(kind api.Opened) error {
				_, err := c.DeleteLink(cmd.Context(), kind, id, end)
				return err
			})
			return cli.Say(cmd, err, "ended")
		}
		in.ExpiresAt = cli.TextOrNil(expires)
		return firstOf(func(kind api.Opened) error {
			link, err := c.CreateLink(cmd.Context(), kind, id, in)
			if err != nil {
				return err
			}
			return cli.PrintResult(cmd, link, func() error {
				fmt.Fprintf(cmd.ErrOrStderr(), "until %s UTC; to end it: pleat share %s --end %s\n",
					link.ExpiresAt.Format(time.DateTime), id, link.ID)
				fmt.Fprintln(cmd.OutOrStdout(), link.URL)
				return nil
			})
		})
	})
	f := c.Flags()
	f.StringVar(&expires, "expires", "", cli.ExpiryUsage("it")+"; default: in 30 days")
	f.BoolVar(&list, "list", false, "list the links that there are")
	f.StringVar(&end, "end", "", "end a link, by its id")
	return cli.WithJSON(c)
}

// listLinks prints the links to a job, batch or workflow.
func listLinks(cmd *cobra.Command, c *api.Client, id string) error {
	var list api.List[api.Link]
	err := firstOf(func(kind api.Opened) (err error) {
		list, err = c.Links(cmd.Context(), kind, id)
		return err
	})
	if err != nil {
		return err
	}
	return printList(cmd, list, []string{"LINK", "BY", "CREATED", "ENDS"}, func(l *api.Link) []string {
		return []string{l.ID, l.CreatedBy, l.CreatedAt.Format(time.DateTime), l.ExpiresAt.Format(time.DateTime)}
	})
}

// firstOf calls fn for each kind of what a link opens until one is not answered with 404.
func firstOf(fn func(kind api.Opened) error) error {
	var err error
	for _, kind := range []api.Opened{api.OpensJob, api.OpensBatch, api.OpensWorkflow} {
		err = fn(kind)
		if api.StatusOf(err) != http.StatusNotFound || strings.HasPrefix(err.Error(), "Link") {
			return err
		}
	}
	return errors.New("there is no such job, batch or workflow in your projects")
}

// moveOf returns the command that moves what its first argument names, of a kind, to the project that the second names.
func moveOf[T any](
	kind, long string, move func(_ *api.Client, _ context.Context, id, project string) (T, error),
) *cobra.Command {
	c := &cobra.Command{
		Use:   "move " + strings.ToUpper(kind) + " PROJECT",
		Short: "Move a " + kind + " that has ended to another project",
		Long:  long,
	}
	c.Args = cli.ExactArgs("a "+kind+"'s identifier", "a project's id or name")
	return onServer(c, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		if err := checkIdentifier(kind, args[0]); err != nil {
			return err
		}
		project, err := projectNamed(cmd.Context(), c, "PROJECT", args[1])
		if err != nil {
			return err
		}
		_, err = move(c, cmd.Context(), args[0], project)
		return cli.Say(cmd, err, "moved to %s", pleat.Clip(args[1]))
	})
}

// jobsMove returns the command that moves a job, and workflowsMove the one that moves a workflow.
func jobsMove() *cobra.Command {
	const long = `Moves a job with its runs, files and the workflows that it has started. You must be a member of both
projects. Its links and webhook settings end. A job of a batch cannot be moved.`
	return moveOf("job", long, (*api.Client).MoveJob)
}

func workflowsMove() *cobra.Command {
	const long = `Moves a workflow with its files. You must be a member of both projects. Its links and webhook settings
end.`
	return moveOf("workflow", long, (*api.Client).MoveWorkflow)
}

// readToken reads one line, such as the link of an invitation, which others would see on a command line.
func readToken(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}
