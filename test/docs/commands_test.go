package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"pleat/internal/cli"
	"pleat/internal/cli/program"
)

//go:generate go test -run Documented . -update

var update = flag.Bool("update", false, "write the generated pages of docs/ instead of comparing them")

// generated compares a page of docs/ with the text that the code generates; with -update it writes the page.
func generated(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/%s is out of date; update it with: make docs\n%s", page, d)
	}
}

func TestCommandsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Written from the commands by make docs; a test compares the two. -->\n\n" +
		"Commands also read the environment and a file of settings: see [configuration.md](configuration.md).\n\n" +
		"Exit codes: 0 success; 1 failure, with one sentence on standard error; 2 wrong usage or configuration;\n" +
		"3 the job ended without a result; 4 a run that `pleat verify` repeated differs; 130 interrupted.\n\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && (!c.HasSubCommands() || c.HasParent() && c.Flags().HasFlags()) {
			text := c.Long
			if text == "" {
				text = c.Short + "."
			}
			fmt.Fprintf(&b, "## %s\n\n%s\n\n```\n%s\n```\n\n", c.CommandPath(), text,
				strings.TrimSpace(c.UsageString()))
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(program.New(cli.Hooks{}))
	generated(t, "commands.md", strings.TrimRight(b.String(), "\n")+"\n")
}
