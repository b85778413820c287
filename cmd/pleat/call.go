package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
)

// auth says whether a command that calls a server needs an API key.
type auth bool

const (
	keyRequired auth = true
	keyOptional auth = false // public jobs can be read without one
)

// onServer returns the RunE of a command that calls a server. It creates the client, and explains the error of the
// call.
func onServer(
	key auth, do func(cmd *cobra.Command, c *api.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := newClient(cmd, key)
		if err != nil {
			return err
		}
		return explain(c, do(cmd, c, args))
	}
}

// onObject completes a command whose only argument is the identifier of a job or workflow, as kind says.
func onObject(
	cmd *cobra.Command, kind string, key auth, do func(cmd *cobra.Command, c *api.Client, id string) error,
) *cobra.Command {
	cmd.Args = exactly("a " + kind + "'s identifier")
	run := onServer(key, func(cmd *cobra.Command, c *api.Client, args []string) error { return do(cmd, c, args[0]) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := identifier(kind, args[0]); err != nil { // checked before the key
			return err
		}
		return run(cmd, args)
	}
	config.AddFlags(cmd.Flags(), config.Client)
	return cmd
}

// identifier returns an argument that has the form of an identifier, and refuses any other. Kind is for the message.
func identifier(kind, arg string) (string, error) {
	if !pleat.IsUUID(arg) {
		const text = "%q is not a %s: a %s's identifier is a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057"
		return "", usagef(text, pleat.Clip(arg), kind, kind)
	}
	return arg, nil
}

// printResult prints a response: as JSON with --json, else with human.
func printResult(cmd *cobra.Command, v any, human func() error) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	return human()
}

// printList prints a page of a list: as JSON with --json, else as a table with one row per entry. The cursor of the
// next page goes to standard error.
func printList[T any](cmd *cobra.Command, list api.List[T], head []string, row func(T) []string) error {
	return printResult(cmd, list, func() error {
		rows := [][]string{head}
		for _, v := range list.Data {
			rows = append(rows, row(v))
		}
		if err := table(cmd.OutOrStdout(), rows); err != nil {
			return err
		}
		if list.NextCursor != nil && *list.NextCursor != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "for the next page: --cursor %s\n", *list.NextCursor)
		}
		return nil
	})
}

// printCancelled prints the state after a cancellation. A running job stops a little later.
func printCancelled(cmd *cobra.Command, state string) error {
	if state == api.Running {
		state = "stopping"
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), state)
	return err
}
