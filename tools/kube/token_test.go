package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// stub stands for kubectl and helm. It writes its arguments to the file CALLS. The program in a pod prints a token, or
// fails if UNREACHABLE is set.
const stub = `#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in
*" exec "*) [ -z "$UNREACHABLE" ] && echo pleatfleet_x ;;
esac
`

// The commands of the pages and of the notes that store a token in a Secret store it, and store nothing if the server
// cannot be asked for one.
func TestNoEmptyTokenIsStored(t *testing.T) {
	scripts := map[string]string{}
	for _, c := range chartCases {
		texts, err := render(c.values(t))
		if err != nil {
			t.Fatal(err)
		}
		notes := regexp.MustCompile(`(?m)^  .*\n`).FindAllString(texts["pleat/templates/NOTES.txt"], -1)
		scripts["notes "+c.name] = strings.Join(notes, "")
	}
	readme, err := os.ReadFile(chartDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"README.md": string(readme), "operations.md": operationsDoc} {
		fence := regexp.MustCompile("(?ms)^( *)```console\n(.*?)^ *```")
		for _, m := range fence.FindAllStringSubmatch(page, -1) {
			if strings.Contains(m[2], "kubectl") {
				scripts[name] += strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
			}
		}
	}
	for name, script := range scripts {
		if !strings.Contains(script, "fleet token") {
			continue
		}
		stored := func(calls string) int {
			return strings.Count(calls, "=pleatfleet_x") + strings.Count(calls, `": "pleatfleet_x"}}`)
		}
		calls := runCommands(t, script, false)
		if asked := strings.Count(calls, "fleet token"); stored(calls) == 0 || stored(calls) != asked {
			t.Errorf("%s stores %d tokens of %d:\n%s", name, stored(calls), asked, calls)
		}
		for line := range strings.SplitSeq(runCommands(t, script, true), "\n") {
			if strings.Contains(line, "-literal=") || strings.Contains(line, "stringData") {
				t.Errorf("%s stores a token that it has not got: kubectl %s", name, line)
			}
		}
	}
}

// runCommands runs commands of a page with stubs, and returns the calls of these.
func runCommands(t *testing.T, script string, unreachable bool) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kubectl", "helm", "pleat"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(dir, "calls")
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "CALLS="+calls)
	if unreachable {
		cmd.Env = append(cmd.Env, "UNREACHABLE=yes")
	}
	_ = cmd.Run() // fails with its last command
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
