package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
)

// onServer makes the command's run: a client, the call, and what it failed with in words. Keyless says that it works without
// a key.
func onServer(keyless bool, do func(cmd *cobra.Command, c *api.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := newClient(cmd, keyless)
		if err != nil {
			return err
		}
		return explain(c, do(cmd, c, args))
	}
}

// onOne makes a command on one thing of a server's, which its only argument names. What is job or workflow.
func onOne(cmd *cobra.Command, what string, keyless bool, do func(cmd *cobra.Command, c *api.Client, id string) error) *cobra.Command {
	cmd.Args = exactly("a " + what + "'s identifier")
	run := onServer(keyless, func(cmd *cobra.Command, c *api.Client, args []string) error { return do(cmd, c, args[0]) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := identifier(what, args[0]); err != nil { // before a key is asked for
			return err
		}
		return run(cmd, args)
	}
	config.AddFlags(cmd.Flags(), config.Client)
	return cmd
}

// identifier refuses what cannot name a thing of a server's before the server is asked.
func identifier(what, arg string) (string, error) {
	if !pleat.IsUUID(arg) {
		return "", usagef("%q is not a %s: a %s's identifier is a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057", pleat.Clip(arg), what, what)
	}
	return arg, nil
}

// showOne prints an answer: as JSON where --json asks for it, else for a person.
func showOne(cmd *cobra.Command, v any, human func() error) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	return human()
}

// showList is showOne for a page of a list: a row for each entry under a head, and how to get the next page.
func showList[T any](cmd *cobra.Command, list api.List[T], head []string, row func(T) []string) error {
	return showOne(cmd, list, func() error {
		rows := [][]string{head}
		for _, one := range list.Data {
			rows = append(rows, row(one))
		}
		if err := table(cmd.OutOrStdout(), rows); err != nil {
			return err
		}
		if list.NextCursor != nil && *list.NextCursor != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "there are more: --cursor %s\n", *list.NextCursor)
		}
		return nil
	})
}

// stopping prints what a cancel has led to.
func stopping(cmd *cobra.Command, state string) error {
	if state == api.Running {
		state = "stopping"
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), state)
	return err
}
