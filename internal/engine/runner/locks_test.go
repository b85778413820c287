package runner

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every package of a runner has hashes of its files, or the commit of its repository, and nothing else is installed.
func TestRequirementsAreLocked(t *testing.T) {
	t.Parallel()
	lists, err := filepath.Glob("../../../runners/*/requirements.txt")
	if err != nil || len(lists) == 0 {
		t.Fatal(lists, err)
	}
	commit := regexp.MustCompile(` @ git\+https://github\.com/[^@]+@[0-9a-f]{40}$`)
	for _, list := range lists {
		lock := strings.TrimSuffix(list, ".txt") + ".lock"
		got := lockedPackages(t, lock)
		var want []string
		for _, line := range linesOf(t, list) {
			if !commit.MatchString(line) {
				want = append(want, pin.FindString(line))
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d packages and %s %d; run scripts/lock-requirements", lock, len(got), list, len(want))
		}
	}
}

// The program that installs the packages, and the tools that build those published as sources, have hashes, too.
func TestInstallersAreLocked(t *testing.T) {
	t.Parallel()
	for lock, want := range map[string][]string{
		"uv.lock":    {"uv"},
		"build.lock": {"ninja", "packaging", "setuptools", "wheel"},
	} {
		var got []string
		for _, p := range lockedPackages(t, "../../../internal/cli/engines/locks/"+lock) {
			name, _, _ := strings.Cut(p, "==")
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v; want %v", lock, got, want)
		}
	}
}

// pin is a package with its version, and hash an option after it.
var (
	pin  = regexp.MustCompile(`^[A-Za-z0-9._-]+(\[[a-z0-9,-]+\])?==[^ ;\\]+`)
	hash = regexp.MustCompile(`^--hash=sha256:[0-9a-f]{64}$`)
)

// lockedPackages returns the packages of a lock in the order of their names. Each must have a hash.
func lockedPackages(t *testing.T, lock string) []string {
	t.Helper()
	hashes := map[string]int{} // by package
	current := ""
	for _, line := range linesOf(t, lock) {
		switch line = strings.TrimSpace(strings.TrimSuffix(line, "\\")); {
		case pin.MatchString(line):
			current = pin.FindString(line)
			hashes[current] = 0
		case hash.MatchString(line):
			hashes[current]++
		default:
			t.Errorf("%s has the line %q", lock, line)
		}
	}
	for name, n := range hashes {
		if n == 0 {
			t.Errorf("%s has no hash of %s", lock, name)
		}
	}
	return slices.Sorted(maps.Keys(hashes))
}

// linesOf returns the lines of a file that are neither empty nor comments.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}
