// Package client has the commands that call a server over HTTP, with --url and --key. Users and operators need nothing
// else on their machines.
//
// The package owns what these commands ask, read from files and print. It must not open the database or the data folder
// of a service: it imports neither internal/store nor internal/app. Rules about input are those of package pleat and of
// the server.
package client

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/identity"
)

// newClient returns the client for the server of --url and --key, in the project of --project if the command has that
// flag. Without a key it uses the sign-in at the server. If there is none either, and the command needs one, that is a
// usage error; nothing is sent, unless the project is named.
func newClient(cmd *cobra.Command, key auth) (*api.Client, error) {
	c, err := cli.LoadConfig(cmd)
	if err != nil {
		return nil, err
	}
	client := &api.Client{Base: c.URL, Key: c.Key}
	if c.Key == "" {
		if client.Token, err = tokenSource(c.URL); err != nil {
			return nil, err
		}
	}
	if c.Key == "" && client.Token == nil && key == keyRequired {
		return nil, cli.Usagef("no API key was given; pass --key or set PLEAT_KEY, or sign in with pleat login. " +
			"To create a key, run on the server's machine: pleat keys create --user NAME")
	}
	if cmd.Flags().Lookup("project") == nil || c.Project == "" {
		return client, nil
	}
	client.Project, err = projectNamed(cmd.Context(), client, "--project", c.Project)
	return client, explain(client, err)
}

// explain turns the error of a call into a sentence that says what to do: start the server, pass a key, or what the
// server's message says. It returns any other error as it is, and nil for nil.
func explain(c *api.Client, err error) error {
	var refused *api.Error
	switch {
	case err == nil:
		return nil
	case isNoProject(c, err):
		return errNoRole
	case identity.KindOf(err) != 0:
		return errors.New(identity.MessageOf(err))
	case errors.As(err, &refused):
		switch refused.Status {
		case 401:
			if c.Token != nil {
				return fmt.Errorf("%s; to sign in again: pleat login --url %s", refused.Message, c.Base)
			}
			if c.Key == "" {
				return fmt.Errorf("%s: this command needs an API key; pass --key or set PLEAT_KEY", refused.Message)
			}
			return fmt.Errorf("%s: the server at %s does not know this API key", refused.Message, c.Base)
		case 0:
		default:
			return err
		}
	}
	return cli.ConnectionError(c.Base, err)
}
