package pleat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pleat"
)

// The version of pleat.go, apart from -dev, is that of the clients, and the first that the changelog describes.
func TestVersionsAgree(t *testing.T) {
	number := strings.TrimSuffix(pleat.Version, "-dev")
	for file, pattern := range map[string]string{
		"CHANGELOG.md":                         `(?m)^## (\d\S*)$`,
		"clients/python/pyproject.toml":        `(?m)^version = "(.*)"$`,
		"clients/python/src/pleat/_version.py": `(?m)^VERSION = "(.*)"$`,
		"clients/typescript/package.json":      `(?m)^  "version": "(.*)",$`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil || string(m[1]) != number {
			t.Errorf("%s has the version %q; pleat.go has %s", file, m, pleat.Version)
		}
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## (.*)$`).FindSubmatch(changes)
	if first == nil || string(first[1]) != "Unreleased" {
		t.Errorf("the first section of CHANGELOG.md is %q; it must be Unreleased", first)
	}
}

// A tag is a version only if pleat.go and the changelog have it: scripts/version refuses others, and with it every
// build of a release.
func TestVersionOfTag(t *testing.T) {
	const releases = "# Changelog\n\n## Unreleased\n\n## 1.2.0\n\n## 1.1.0\n"
	for _, c := range []struct{ tag, changelog, want string }{
		{"", releases, "1.2.0-dev.g"},
		{"v1.2.0", releases, "1.2.0"},
		{"v1.2.0-rc.1", releases, "1.2.0-rc.1"},
		{"v1.3.0", releases, "the tag is v1.3.0, but pleat.go has the version 1.2.0-dev"},
		{"v1.1.0", releases, "the tag is v1.1.0, but pleat.go has the version 1.2.0-dev"},
		{"v1.2.0", "# Changelog\n\n## Unreleased\n\n## 1.2.01\n", "the tag is v1.2.0, but CHANGELOG.md has no section 1.2.0"},
	} {
		dir := taggedTree(t, c.tag, c.changelog)
		out, err := exec.Command(filepath.Join(dir, "scripts/version")).CombinedOutput()
		got := strings.TrimSpace(string(out))
		if c.tag == "" {
			got = got[:min(len(got), len(c.want))] // the rest is the commit
		}
		if got != c.want || (err != nil) != strings.HasPrefix(c.want, "the tag") {
			t.Errorf("with the tag %q: %q, %v; want %q", c.tag, got, err, c.want)
		}
	}
}

// taggedTree is a repository of version 1.2.0-dev with one commit, which has the tag.
func taggedTree(t *testing.T, tag, changelog string) string {
	t.Helper()
	script, err := os.ReadFile("scripts/version")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"scripts/version": string(script),
		"pleat.go":        "package pleat\n\nvar Version = \"1.2.0-dev\"\n",
		"CHANGELOG.md":    changelog,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}}
	if tag != "" {
		commands = append(commands, []string{"tag", tag})
	}
	for _, words := range commands {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"},
			words...)...)
		c.Env = withoutGit(os.Environ()) // a hook of git names the repository that it runs in
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	return dir
}

// withoutGit returns an environment without the variables that tell git which repository to use.
func withoutGit(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}
