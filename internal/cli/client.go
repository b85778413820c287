package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
	"pleat/internal/identity"
)

// newClient returns the client for the server of --url and --key, in the project of --project if the command has that
// flag. Without a key it uses the sign-in at the server. If there is none either, and the command needs one, that is a
// usage error; nothing is sent, unless the project is named.
func newClient(cmd *cobra.Command, key auth) (*api.Client, error) {
	c, err := configure(cmd)
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
		return nil, usagef("no API key was given; pass --key or set PLEAT_KEY, or sign in with pleat login. " +
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
	var dial *net.OpError
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
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s; start a server with: pleat serve", c.Base)
	case errors.As(err, &dial):
		return fmt.Errorf("cannot reach %s: %w", c.Base, dial.Err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("cannot reach %s: %w", c.Base, u.Err)
	}
	return err
}

// printJSON writes a value as indented JSON, with the fields of the API.
func printJSON(w io.Writer, v any) error {
	b, err := api.EncodeIndent(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// table writes rows in columns; the first row is the head. Cells come from a server, so control characters are
// replaced. On a terminal long ones are shortened; a file or a program gets them whole.
func table(w io.Writer, rows [][]string) error {
	cell := func(s string) string { return oneLine(printable(s)) }
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cell = pleat.Clip
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return t.Flush()
}

// number returns a score in the format of package fmt, or a dash if the engine gives none.
func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}
