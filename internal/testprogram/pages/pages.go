// Package pages reads the code blocks of the documentation, for tests that check or follow them. It imports the
// standard library alone, so that the tests of the root package stay fast.
package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Block is a fenced block of a page.
type Block struct {
	// Page is the path of the page, and Language the word after the fence.
	Page, Language, Text string
}

var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")

// Blocks returns the fenced blocks of the pages that match patterns of filepath.Glob. A pattern without a page fails.
func Blocks(t testing.TB, patterns ...string) (out []Block) {
	t.Helper()
	for _, pattern := range patterns {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("no page is %s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
				out = append(out, Block{page, m[1], m[2]})
			}
		}
	}
	return out
}

// Lines returns the lines of a block. Lines of shell that continue are one.
func (b Block) Lines() []string {
	return strings.Split(strings.ReplaceAll(b.Text, "\\\n", " "), "\n")
}

var exported = regexp.MustCompile(`^export \w+=\$\((.*)\)$`)

// Words splits a line of shell far enough to find a program and its arguments: it leaves out quotes, a comment, where
// the output goes, and the variable that gets it.
func Words(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	line = exported.ReplaceAllString(line, "$1")
	line, _, _ = strings.Cut(line, " > ")
	return strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(line))
}
