package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
)

// newClient returns the client for the server of --url and --key. A missing key is a usage error if the command needs
// one; nothing is sent.
func newClient(cmd *cobra.Command, key auth) (*api.Client, error) {
	c, err := configure(cmd)
	if err != nil {
		return nil, err
	}
	if c.Key == "" && key == keyRequired {
		return nil, usagef("no API key was given; pass --key or set PLEAT_KEY. " +
			"To create one, run on the server's machine: pleat keys create --user NAME")
	}
	return &api.Client{Base: c.URL, Key: c.Key}, nil
}

// explain turns the error of a call into a sentence that says what to do: start the server, pass a key, or what the
// server's message says. It returns any other error as it is, and nil for nil.
func explain(c *api.Client, err error) error {
	var refused *api.Error
	var dial *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		switch refused.Status {
		case 401:
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

// table writes rows in columns; the first row is the head. Cells come from a server, so long ones are shortened and
// control characters are replaced.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = pleat.Clip(cell)
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

// download writes the artifacts into a folder, which it creates, and returns their paths. A file gets its name once its
// SHA-256 was checked; an existing file of that name is replaced. The names come from a server, so that a name that is
// not plain is refused and nothing is written outside the folder. It is safe to repeat.
func download(cmd *cobra.Command, c *api.Client, artifacts []api.Artifact, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder for the results: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for the results: %w", err)
	}
	defer root.Close()
	var paths []string
	for _, a := range artifacts {
		if a.Name == "" || !filepath.IsLocal(a.Name) || strings.ContainsAny(a.Name, `/\`) {
			return paths, fmt.Errorf("the server names a file %q, which is not a plain name", pleat.Clip(a.Name))
		}
		if err := fetch(cmd, c, a, root); err != nil {
			return paths, err
		}
		paths = append(paths, filepath.Join(dir, a.Name))
	}
	return paths, nil
}

// fetch downloads one artifact into a folder, first under a temporary name, which it removes after an error.
func fetch(cmd *cobra.Command, c *api.Client, a api.Artifact, root *os.Root) error {
	part := "." + a.Name + ".part"
	f, err := root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", a.Name, err)
	}
	err = c.Download(cmd.Context(), a, f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("write %s: %w", a.Name, cerr)
	}
	if err == nil {
		err = root.Rename(part, a.Name)
	}
	if err != nil {
		_ = root.Remove(part) // err has the reason
		return err
	}
	return nil
}
