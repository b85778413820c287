package main

import (
	"bufio"
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

	"pleat/internal/store/storetest"
)

// block is a fenced piece of a page.
type block struct {
	page, language, text string
}

func blocks(t *testing.T, patterns ...string) []block {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	var out []block
	for _, pattern := range patterns {
		pages, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("no page is %s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
				out = append(out, block{filepath.Base(page), m[1], m[2]})
			}
		}
	}
	return out
}

// The instructions of the README and the guide work: every sh and python block runs, in order, against a real server.
// Two things differ: the server's address, and the sequence, which is shorter.
func TestPagesCanBeFollowed(t *testing.T) {
	for _, page := range []string{"README.md", "docs/guide.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) { followPage(t, page) })
	}
}

func followPage(t *testing.T, page string) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// under this name the test binary is the program
	if err := os.Symlink(self, filepath.Join(bin, "pleat")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+dir+"/bin"+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PLEAT_DATA="+filepath.Join(dir, "data"), "PLEAT_DATABASE="+storetest.Databases()["sqlite"](t))
	url := serveForPage(t, dir, bin, env)

	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	_, noPython := exec.LookPath("python3")
	script := "set -euo pipefail\n"
	for _, b := range blocks(t, page) {
		switch {
		case b.language == "sh" && !strings.HasPrefix(b.text, "make "):
			script += b.text
		case b.language == "python" && noPython == nil:
			script += "python3 - <<'END'\n" + b.text + "END\n"
		}
	}
	if !strings.Contains(script, "curl") || !strings.Contains(script, trpCage) {
		t.Fatalf("%s shows no request, or not of Trp-cage:\n%s", page, script)
	}
	script = strings.ReplaceAll(strings.ReplaceAll(script, "http://127.0.0.1:8080", url), trpCage, "GGG")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(env, "PLEAT_URL="+url) // the address it has by default is another's
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s cannot be followed: %v\n%s", page, err, out)
	}
	for _, want := range []string{`"status":"COMPLETED"`, "model.cif"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("what %s shows does not lead to %q:\n%s", page, want, out)
		}
	}
}

// serveForPage starts the server that a page takes for granted, and returns its address.
func serveForPage(t *testing.T, dir, bin string, env []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "pleat"), "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return url
}

// Every line of a page that calls pleat or make names a command, flags and a target that exist.
func TestPagesNameWhatExists(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	check := func(page, line string) {
		words := shellWords(line)
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
	for _, b := range blocks(t, "README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/webhooks.md",
		"docs/operations.md", "docs/decisions/*.md") {
		if b.language != "sh" && b.language != "console" {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
			check(b.page, line)
		}
	}
	code := regexp.MustCompile("`((?:bin/)?(?:pleat|make) [^`]+)`")
	for _, page := range []string{
		"README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/webhooks.md", "docs/operations.md", "docs/states.md",
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

// shellWords splits a line of shell far enough to find a program's arguments.
func shellWords(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	line = regexp.MustCompile(`^export \w+=\$\((.*)\)$`).ReplaceAllString(line, "$1")
	line, _, _ = strings.Cut(line, " > ")
	return strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(line))
}

// parses reports whether a command line names a command that exists, with flags that it has.
func parses(args []string) error {
	root := newRoot(nil)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
	}
	return cmd.ParseFlags(rest)
}

func TestParsesRefuses(t *testing.T) {
	for _, bad := range []string{"flod", "jobs gte X", "serve --prot 1", "keys create --usr a"} {
		if parses(strings.Fields(bad)) == nil {
			t.Errorf("pleat %s is taken for a command", bad)
		}
	}
}
