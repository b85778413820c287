package runners

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unpackInto is the variable that makes this test binary a process that unpacks into a folder.
const unpackInto = "PLEAT_TEST_UNPACK_INTO"

func TestMain(m *testing.M) {
	parent := os.Getenv(unpackInto)
	if parent == "" {
		os.Exit(m.Run())
	}
	os.Stdout.WriteString("begins\n")
	if _, err := Unpack(parent); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// unpacker starts a process that unpacks, and returns it once it is about to begin.
func unpacker(t *testing.T, parent string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), unpackInto+"="+parent)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// content returns the files below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// complete fails the test unless a folder has the embedded runners and nothing else.
func complete(t *testing.T, dir string) {
	t.Helper()
	have := content(t, dir)
	for path, want := range files() {
		if have[path] != string(want) {
			t.Errorf("%s differs from the embedded file", path)
		}
	}
	if len(have) != len(files()) {
		t.Errorf("the folder has %d files; want %d", len(have), len(files()))
	}
}

// entries returns the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// Everything that a runner of the repository needs is embedded: all files but those for tests and for developers.
func TestEmbeddedFiles(t *testing.T) {
	want := map[string]bool{}
	for path := range content(t, ".") {
		parts := strings.Split(path, "/")
		folder, name := parts[:len(parts)-1], parts[len(parts)-1]
		forTests := slices.ContainsFunc(folder, func(f string) bool {
			return f == "tests" || f == "testing" || f == "vectors" || f == "__pycache__" || strings.HasPrefix(f, ".")
		})
		if len(folder) > 0 && !forTests && name != "requirements.in" && name != "overrides.in" {
			want[path] = true
		}
	}
	for path := range want {
		if _, ok := File(path); !ok {
			t.Errorf("%s is not embedded", path)
		}
	}
	for path := range files() {
		if !want[path] {
			t.Errorf("%s is embedded, and no runner needs it", path)
		}
	}
	if names := Names(); !slices.Contains(names, "example") || slices.Contains(names, "foldrun") {
		t.Errorf("the runners are %q", names)
	}
}

func TestUnpack(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "engines", ".runners")
	other := filepath.Join(parent, "0123456789abcdef01234567")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if changed, err := Unpack(parent); changed != "" || err != nil {
		t.Fatalf("changed %q, error %v", changed, err)
	}
	complete(t, Dir(parent))
	first, err := os.Stat(Dir(parent))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(Dir(parent), "example", "runner.py"))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("runner.py can be written: %v, %v", info.Mode(), err)
	}
	// The second time, the same folder stays, and so does that of another version.
	if changed, err := Unpack(parent); changed != "" || err != nil {
		t.Fatalf("changed %q, error %v", changed, err)
	}
	second, err := os.Stat(Dir(parent))
	if err != nil || !os.SameFile(first, second) {
		t.Errorf("the folder was replaced: %v", err)
	}
	if got, want := entries(t, parent), []string{filepath.Base(other), Hash()}; !sameNames(got, want) {
		t.Errorf("the folder has %q; want %q", got, want)
	}
}

// sameNames reports whether two lists have the same names in any order.
func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// A file that was changed, cut off by a loss of power, deleted or added is noticed, and the folder is replaced.
func TestUnpackNoticesChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(dir string) error
		changed string
	}{
		{"a changed file", func(dir string) error {
			return overwrite(dir, "example/runner.py", strings.Repeat("#", len(files()["example/runner.py"])))
		}, "example/runner.py"},
		{"a cut file", func(dir string) error { return overwrite(dir, "foldrun/wire.py", "") }, "foldrun/wire.py"},
		{"a deleted file", func(dir string) error { return os.Remove(filepath.Join(dir, "boltz/manifest.json")) },
			"boltz/manifest.json"},
		{"an added file", func(dir string) error { return overwrite(dir, "torch.py", "") }, "torch.py"},
		{"an added folder", func(dir string) error { return os.Mkdir(filepath.Join(dir, "example", "torch"), 0o755) },
			"example/torch"},
		{"a link", func(dir string) error {
			path := filepath.Join(dir, "example", "runner.py")
			if err := os.Rename(path, filepath.Join(dir, "..", "moved.py")); err != nil {
				return err
			}
			return os.Symlink("../../moved.py", path)
		}, "example/runner.py"},
		{"a file in its place", func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		}, "."},
		{"no folder", os.RemoveAll, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			if _, err := Unpack(parent); err != nil {
				t.Fatal(err)
			}
			if err := c.change(Dir(parent)); err != nil {
				t.Fatal(err)
			}
			changed, err := Unpack(parent)
			if changed != c.changed || err != nil {
				t.Errorf("changed %q, error %v; want %q", changed, err, c.changed)
			}
			complete(t, Dir(parent))
		})
	}
}

// overwrite writes a file that may be read-only.
func overwrite(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Processes that unpack at once all succeed, and leave one folder.
func TestProcessesUnpackAtOnce(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		parent := t.TempDir()
		if damaged {
			if err := overwrite(parent, Hash(), "no folder"); err != nil {
				t.Fatal(err)
			}
		}
		var all []*exec.Cmd
		for range 8 {
			all = append(all, unpacker(t, parent))
		}
		for _, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process failed: %v", err)
			}
		}
		complete(t, Dir(parent))
		if got := entries(t, parent); len(got) != 1 {
			t.Errorf("the folder has %q", got)
		}
	}
}

// A process that is killed while it writes leaves no folder that looks complete, and the next one is not disturbed by
// what it left.
func TestKilledProcess(t *testing.T) {
	half := 0
	for _, name := range []string{"boltz", "chai", "evolla", "foldrun", "simplefold"} {
		parent := t.TempDir()
		cmd := unpacker(t, parent)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Wait() // it was killed, or it was faster
		}()
		writes := filepath.Join(parent, temporary+"*", "new", name)
		for begun := false; !begun; {
			select {
			case <-ended:
				begun = true
			default:
				found, _ := filepath.Glob(writes) // the pattern is well formed
				begun = len(found) > 0
			}
		}
		_ = cmd.Process.Kill() // an error: it has ended
		<-ended
		if _, err := os.Stat(Dir(parent)); err == nil {
			complete(t, Dir(parent))
		} else {
			half++
		}
		if changed, err := Unpack(parent); changed != "" || err != nil {
			t.Fatalf("changed %q, error %v", changed, err)
		}
		complete(t, Dir(parent))
	}
	if half == 0 {
		t.Error("no process was killed while it wrote")
	}
}

// A folder that a killed process has written is removed once no process can be writing it any more.
func TestAbandonedFoldersAreRemoved(t *testing.T) {
	parent := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 2 * abandonAfter, "young": abandonAfter / 2} {
		half := filepath.Join(parent, temporary+name)
		if err := os.MkdirAll(filepath.Join(half, "new", "boltz"), 0o755); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(half, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Unpack(parent); err != nil {
		t.Fatal(err)
	}
	if got, want := entries(t, parent), []string{temporary + "young", Hash()}; !sameNames(got, want) {
		t.Errorf("the folder has %q; want %q", got, want)
	}
}

func TestUnpackReportsErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(filepath.Join(file, "below")); err == nil || !strings.Contains(err.Error(), "unpack") {
		t.Errorf("error %v", err)
	}
}
