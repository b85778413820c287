package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/testprogram"
)

// The program alone, copied into an empty folder, lists, installs and runs its embedded runners.
func TestProgramAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the released program")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	built, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "pleat")
	if err := os.WriteFile(program, binary, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pleat %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	contains(t, run("version"), "runners ", ": boltz, boltzgen, chai, ", "example", "proteinmpnn")
	contains(t, run("engines", "list"), "boltz-2", "not installed", "example-helix", "needs nothing")
	// Every command answers; nothing is written before something is installed or run.
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder has %d entries: %v", len(list), err)
	}
	contains(t, run("engines", "install", "example", "--yes"), "example was installed")
	contains(t, run("engines", "check", "example"), "warm     example 1")
	info, err := os.Stat(filepath.Join(dir, "pleat-data"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder has the mode %v: %v", info.Mode(), err)
	}
	// A change in the unpacked folder is noticed and undone: it has no effect on what is folded.
	found, err := filepath.Glob(filepath.Join(dir, "pleat-data/engines/.runners/*/example/runner.py"))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q: %v", found, err)
	}
	if err := os.Chmod(found[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], []byte("raise SystemExit(1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, run("engines", "check", "example"), "were changed, and were replaced", "example/runner.py",
		"warm     example 1")
}

// contains fails the test if a text lacks one of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the output lacks %q:\n%s", part, text)
		}
	}
}
