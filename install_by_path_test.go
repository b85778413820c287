package pleat_test

import (
	"regexp"
	"strings"
	"testing"

	"pleat/internal/testprogram/pages"
)

// Commands that install something of ours name a file or a folder: on indexes of packages, our names may be those of
// others, who would then be trusted.
func TestPagesInstallByPath(t *testing.T) {
	found := 0
	for _, b := range pages.Blocks(t, "*.md", "docs/*.md", "docs/*/*.md", "skills/*/SKILL.md", "examples/README.md",
		"clients/*/README.md", "deploy/README.md", "deploy/wheel/README.md") {
		for _, line := range b.Lines() {
			name, installs := installedByName(line)
			if name != "" {
				t.Errorf("%s installs %s by its name: %s", b.Page, name, line)
			}
			if installs {
				found++
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d commands that install something were found", found)
	}
}

// fetching matches programs that fetch packages by their names.
var fetching = regexp.MustCompile(`^(.*/)?(pip3?|pipx|uv|uvx|conda|mamba|npm|npx|pnpm|yarn|brew)$`)

// installedByName reports whether a line of shell calls an installer, and the word by which it fetches something of
// ours from an index; empty: there is none.
func installedByName(line string) (name string, installs bool) {
	for _, w := range pages.Words(line) {
		switch {
		case fetching.MatchString(w):
			installs = true
		case installs && strings.HasPrefix(w, "pleat"):
			return w, true
		}
	}
	return "", installs
}

func TestInstalledByName(t *testing.T) {
	for line, want := range map[string]string{
		"pip install pleat":                            "pleat",
		`venv/bin/pip install "pleat-client[all]" x`:   "pleat-client[all]",
		"uvx pleat-server serve":                       "pleat-server",
		"npm install --save pleat-client":              "pleat-client",
		"export X=$(pip install pleat)":                "pleat",
		"pip freeze > pleat.txt":                       "",
		"pip install ./clients/python":                 "",
		"pip install --no-index ./pleat_server-*.whl":  "",
		"npm install ../pleat/clients/typescript":      "",
		"~/pleat/bin/pleat version":                    "",
		"bin/pleat engines install boltz # no package": "",
	} {
		if got, _ := installedByName(line); got != want {
			t.Errorf("%q installs %q by its name; want %q", line, got, want)
		}
	}
}
