package runner

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// needPython skips a test on a machine without Python; scripts/test then names what it leaves out.
func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
}

// readByPython lists the folder of the runners, whose files only Python reads: Go keeps the result of a test that opens
// a folder as long as the sizes and times of the files in it are the same.
func readByPython(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../../../runners", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "__pycache__" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRunnersOfOurs runs the Python tests of every runner. If scripts/with-engines has made the environment of a
// runner, its Python runs them, so that the tests that need the engine's packages run too; otherwise any Python does.
func TestRunnersOfOurs(t *testing.T) {
	t.Parallel()
	needPython(t)
	readByPython(t)
	folders, err := filepath.Glob("../../../runners/*/tests/test_*.py")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d tests of runners: %v", len(folders), err)
	}
	done := map[string]bool{}
	for _, file := range folders {
		dir := filepath.Dir(filepath.Dir(file))
		name := filepath.Base(dir)
		if name == "foldrun" || done[name] { // foldrun has a test of its own
			continue
		}
		done[name] = true
		t.Run(name, func(t *testing.T) {
			python := "python3"
			if data := os.Getenv("PLEAT_ENGINE_DATA"); data != "" {
				own := filepath.Join(data, name, "venv", "bin", "python")
				if _, err := os.Stat(own); err == nil {
					python = own
				}
			}
			library, err := filepath.Abs(filepath.Dir(dir))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "tests")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s: %s", python, out)
		})
	}
}
