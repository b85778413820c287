package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// systemd accepts the units of deploy/systemd without a warning.
func TestUnits(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	dir := t.TempDir()
	for name, command := range map[string]string{
		"pleat.service": "serve", "pleat-worker.service": "worker", "pleat-fleet.service": "fleet",
	} {
		text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		start := "ExecStart=/usr/bin/pleat " + command + "\n"
		if !strings.Contains(string(text), start) {
			t.Fatalf("%s does not have %q", name, start)
		}
		// Verify looks for the program.
		unit := strings.Replace(string(text), start, "ExecStart=/bin/sh\n", 1)
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "verify", "--man=no", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), name) {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
	}
}

// The pages that install the units name the files in /etc/pleat that these read, and no others but that of the classes.
func TestPagesNameFilesOfUnits(t *testing.T) {
	file := regexp.MustCompile(`/etc/pleat/[a-z.]+[a-z]`)
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	used := []string{"/etc/pleat/classes.yaml"} // config.yaml names it
	for _, unit := range []string{"pleat.service", "pleat-worker.service", "pleat-fleet.service"} {
		used = append(used, file.FindAllString(read("deploy/systemd/"+unit), -1)...)
	}
	_, chapter, _ := strings.Cut(read("docs/operations.md"), "\n## From one machine to three\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	deployment := read("docs/deployment.md")
	named := file.FindAllString(chapter+deployment, -1)
	if len(named) < 10 {
		t.Errorf("the pages name %d files", len(named))
	}
	for _, name := range named {
		if !slices.Contains(used, name) {
			t.Errorf("the pages name %s, which no unit reads", name)
		}
	}
	for _, name := range used {
		if !strings.Contains(deployment, "| `"+filepath.Base(name)+"`") {
			t.Errorf("the table of docs/deployment.md lacks %s", name)
		}
	}
}
