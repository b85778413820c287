package pleat_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fronted matches a sentence, a heading or a cell of a table that begins with Of, Who or What, and the sign that ends
// it. Such a sentence has an object or a clause before its subject; a noun, «for» or «if» makes it plain. Quotations
// may have it.
var fronted = regexp.MustCompile(
	`(?:^|[.:;?!]["'»”)*_]* |\| )[*_]*((?:Of|Who|Whoever|Whom|Whose|What) [^.:;?!|]*)([.:;?!|]|$)`)

// frontedNames are the beginnings of comments whose first word is a name in the code.
var frontedNames = []string{
	"Of says in messages what the streams are",
	"Who says who may call a route",
}

// frontedSentences returns the sentences of a paragraph that begin with Of, Who or What. Questions and names may.
func frontedSentences(paragraph string) (out []string) {
	for _, m := range fronted.FindAllStringSubmatch(strings.Join(strings.Fields(paragraph), " "), -1) {
		if m[2] != "?" && !slices.Contains(frontedNames, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// checkSentences fails the test for each sentence of a file that begins with Of, Who or What.
func checkSentences(t *testing.T, file string, paragraphs []string) {
	t.Helper()
	for _, p := range paragraphs {
		for _, s := range frontedSentences(p) {
			t.Errorf("%s: rewrite %q: begin with its subject, or with For or If", file, s)
		}
	}
}

func TestFrontedSentences(t *testing.T) {
	for text, want := range map[string]int{
		"A job. What it lacks\nis null.":                         1,
		"Of two, one stays.":                                     1,
		"| Field | What it means |":                              1,
		"**Why.** Whoever asks gets it":                          1,
		"What binds here?":                                       0,
		"For a job, of what it has":                              0,
		"Of says in messages what the streams are; empty: none.": 0,
	} {
		if got := frontedSentences(text); len(got) != want {
			t.Errorf("in %q %d sentences are found: %q", text, len(got), got)
		}
	}
}

// docText matches the text of a field, a parameter or a route that the OpenAPI document shows.
var docText = regexp.MustCompile(`\b(?:doc:|Doc: +|Summary: +|Description: +)"([^"]*)"`)

// TestCommentsBeginWithASubject checks the comments outside of tests, and the texts of the OpenAPI document.
func TestCommentsBeginWithASubject(t *testing.T) {
	for _, s := range sourceFiles(t) {
		var paragraphs []string
		for _, g := range s.file.Comments {
			paragraphs = append(paragraphs, strings.Split(g.Text(), "\n\n")...)
		}
		for _, m := range docText.FindAllStringSubmatch(s.text, -1) {
			paragraphs = append(paragraphs, m[1])
		}
		checkSentences(t, s.path, paragraphs)
	}
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	quotedLine = regexp.MustCompile(`(?m)^>.*$`)
	// paragraphStart matches the end of the line before an item of a list, a heading or a row of a table.
	paragraphStart = regexp.MustCompile(`\n(?: *(?:[-*]|\d+\.|#+) |\n|\| )`)
)

// TestPagesBeginWithASubject checks the documentation, apart from code and quoted answers.
func TestPagesBeginWithASubject(t *testing.T) {
	for _, name := range globs(t, "*.md", "docs/*.md", "docs/*/*.md", "deploy/*.md", "deploy/*/*.md", "skills/*/*.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		prose := codeBlock.ReplaceAllString("\n"+string(text), "")
		prose = quotedLine.ReplaceAllString(codeSpan.ReplaceAllString(prose, "CODE"), "")
		checkSentences(t, filepath.ToSlash(name), paragraphStart.Split(prose, -1))
	}
}
