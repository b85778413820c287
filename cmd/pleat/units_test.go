package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
