package docs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pleat/internal/cli"
	"pleat/internal/cli/program"
	"pleat/internal/testprogram"
	"pleat/internal/testprogram/pages"
)

// trpCage is the sequence that the pages fold.
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

// The instructions of the README, the guide and the skill for agents work: every sh and python block runs, in order,
// against a real server, with its address and with shorter sequences.
func TestPagesCanBeFollowed(t *testing.T) {
	for _, page := range []string{"README.md", "docs/guide.md", "skills/pleat/SKILL.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) { followPage(t, page) })
	}
}

func followPage(t *testing.T, page string) {
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	bin := filepath.Join(n.Dir, "bin") // README.md calls bin/pleat
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(n.Program, filepath.Join(bin, "pleat")); err != nil {
		t.Fatal(err)
	}
	n.Env = []string{"PLEAT_ENGINES=mini,calvados,analyst"}
	n.Serve()

	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	script := "set -euo pipefail\n"
	for _, b := range pages.Blocks(t, "../../"+page) {
		switch {
		case b.Language == "sh" && !strings.HasPrefix(b.Text, "make "):
			script += b.Text
		case b.Language == "python":
			if python := clientPython(t); python != "" {
				script += python + " - <<'END'\n" + b.Text + "END\n"
			}
		}
	}
	if !strings.Contains(script, "curl") || !strings.Contains(script, trpCage) {
		t.Fatalf("%s shows no request, or not of Trp-cage:\n%s", page, script)
	}
	script = strings.NewReplacer("http://127.0.0.1:8080", n.URL, trpCage, "GGG", "GYDPETGTWG", "GAGA").Replace(script)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = n.Dir
	cmd.Env = append(n.Command().Env, "PLEAT_URL="+n.URL, // the default address may be that of another server
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s cannot be followed: %v\n%s", page, err, out)
	}
	for _, want := range []string{`"status":"COMPLETED"`, "model.cif"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("following %s does not lead to %q:\n%s", page, want, out)
		}
	}
}

// clientPython is the command that runs Python with the client of clients/python, whose package httpx is installed once
// into the user's cache folder. It is empty, but in CI an error, where it cannot be had.
func clientPython(t *testing.T) string {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	installer := filepath.Join(repository, "scripts", "python-with")
	out, err := exec.CommandContext(t.Context(), installer, "httpx==0.28.1").Output()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no Python with httpx: %v", err)
		}
		t.Logf("LEFT OUT: the examples in Python: there is no Python with httpx: %v", err)
		return ""
	}
	source := filepath.Join(repository, "clients", "python", "src")
	return "PYTHONPATH='" + source + "' " + strings.TrimSpace(string(out))
}

// Every line of a page that calls pleat or make names a command, flags and a target that exist.
func TestPagesNameExistingCommands(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	check := func(page, line string) {
		words := pages.Words(line)
		for i, w := range words {
			switch {
			case w == "make" && i == 0 && len(words) == 2:
				calls++
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:.*## `).Match(makefile) {
					t.Errorf("%s: the Makefile has no target %q", page, words[1])
				}
			case (w == "pleat" || w == "bin/pleat") && i+1 < len(words):
				calls++
				if err := parses(words[i+1:]); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
				return
			}
		}
	}
	for _, b := range pages.Blocks(t, "../../README.md", "../../CONTRIBUTING.md", "../../docs/guide.md",
		"../../docs/webhooks.md", "../../docs/operations.md", "../../docs/decisions/*.md", "../../skills/*/SKILL.md") {
		if b.Language != "sh" && b.Language != "console" {
			continue
		}
		for _, line := range b.Lines() {
			check(b.Page, line)
		}
	}
	code := regexp.MustCompile("`((?:bin/)?(?:pleat|make) [^`]+)`")
	for _, page := range []string{
		"README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/webhooks.md", "docs/operations.md", "docs/states.md",
		"skills/pleat/SKILL.md",
	} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			check(page, m[1])
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls were found in the pages", calls)
	}
}

// parses reports whether a command line names a command that exists, with flags that it has.
func parses(args []string) error {
	root := program.New(cli.Hooks{})
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	flags := cmd.Runnable() && len(rest) > 0 && strings.HasPrefix(rest[0], "-") // of the command itself
	takes := strings.Contains(cmd.Use, " ")                                     // arguments, besides commands
	if cmd.HasSubCommands() && len(rest) > 0 && !flags && !takes {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
	}
	return cmd.ParseFlags(rest)
}

func TestParsesRefuses(t *testing.T) {
	for _, bad := range []string{"flod", "jobs gte X", "serve --prot 1", "keys create --usr a"} {
		if parses(strings.Fields(bad)) == nil {
			t.Errorf("pleat %s is accepted as a command", bad)
		}
	}
}
