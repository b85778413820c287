package pleat_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"pleat"
)

var everyState = []pleat.State{
	pleat.StateDraft, pleat.StatePending, pleat.StateInitialized, pleat.StateQueued, pleat.StateRunning,
	pleat.StateCompleted, pleat.StateFailed, pleat.StateStopped,
}

// transitions are the changes of state that the statements of package store make.
var transitions = map[pleat.State][]pleat.State{
	pleat.StateDraft:       {pleat.StateQueued, pleat.StateStopped},
	pleat.StateInitialized: {pleat.StateRunning, pleat.StateFailed, pleat.StateStopped},
	pleat.StateQueued:      {pleat.StateRunning, pleat.StateFailed, pleat.StateStopped},
	pleat.StateRunning:     {pleat.StateCompleted, pleat.StateFailed, pleat.StateStopped},
}

// The diagrams of docs/states.md draw these transitions, no more and no less.
func TestStatesAreDrawn(t *testing.T) {
	page, err := os.ReadFile("docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```mermaid\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/states.md has %d diagrams; want one of fold jobs and one of workflows", len(blocks))
	}
	edge := regexp.MustCompile(`(?m)^\s*(\w+|\[\*\]) --> (\w+|\[\*\])`)
	drawn := map[string]bool{}
	for i, block := range blocks {
		for _, m := range edge.FindAllStringSubmatch(block[1], -1) {
			from, to := pleat.State(m[1]), pleat.State(m[2])
			switch {
			case m[2] == "[*]":
				if !from.Terminal() {
					t.Errorf("diagram %d ends at %s, which is not terminal", i+1, from)
				}
			case !slices.Contains(everyState, to):
				t.Errorf("diagram %d draws %s, which is not a state", i+1, to)
			case m[1] == "[*]":
			case i == 0 && (!slices.Contains(pleat.JobStates(), from) || !slices.Contains(pleat.JobStates(), to)):
				t.Errorf("the diagram of fold jobs draws %s --> %s, which only workflows show", from, to)
			case !slices.Contains(transitions[from], to):
				t.Errorf("diagram %d draws %s --> %s, which the table does not allow", i+1, from, to)
			default:
				drawn[m[1]+" "+m[2]] = true
			}
		}
	}
	for from, all := range transitions {
		if from.Terminal() {
			t.Errorf("%s is terminal, and yet there are transitions from it", from)
		}
		for _, to := range all {
			if !drawn[string(from)+" "+string(to)] {
				t.Errorf("docs/states.md does not draw %s --> %s", from, to)
			}
		}
	}
}

// The table of docs/interface.md lists the states that the transitions reach. Its row of alignments, which have none of
// their own, is that of jobs with PENDING as the first.
func TestStatesAreListed(t *testing.T) {
	page, err := os.ReadFile("docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	list := func(first ...pleat.State) string {
		var cells []string
		for _, s := range everyState {
			leadsHere := func(f pleat.State) bool { return slices.Contains(transitions[f], s) }
			reached := slices.ContainsFunc(first, leadsHere)
			if slices.Contains(first, s) || reached || s == pleat.StateCompleted {
				cells = append(cells, "`"+string(s)+"`")
			}
		}
		return strings.Join(cells, " ")
	}
	job := list(pleat.StateInitialized)
	for _, want := range []string{
		"| job, run, prediction | " + job + " |",
		"| alignment (`msaStatus`) | " + strings.Replace(job, "INITIALIZED", "PENDING", 1) + " |",
		"| workflow, task | " + list(pleat.StateDraft, pleat.StateQueued) + " |",
		"| delivery | `" + strings.Join([]string{string(pleat.DeliveryPending), string(pleat.DeliveryRunning),
			string(pleat.DeliverySucceeded), string(pleat.DeliveryFailed)}, "` `") + "` |",
	} {
		if !strings.Contains(string(page), want+"\n") {
			t.Errorf("docs/interface.md does not have the row %s", want)
		}
	}
}

// Every link between the pages of the repository leads to a file, and every heading named exists.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := append(globs(t, "*.md", "docs/*.md", "docs/*/*.md", "deploy/*.md", "deploy/*/*.md", "skills/*/*.md"),
		globs(t, "internal/*/*.md", "web/*.md", "runners/*.md", "runners/*/*.md", "clients/*/*.md")...)
	if !slices.Contains(pages, "README.md") {
		t.Error("there is no README.md")
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			checkLink(t, page, m[1])
		}
	}
}

// Every page of the documentation has a place in the navigation of the site.
func TestSiteHasEveryPage(t *testing.T) {
	text, err := os.ReadFile("site/navigation.yml")
	if err != nil {
		t.Fatal(err)
	}
	var entries any
	if err := yaml.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	placed := map[string]int{}
	for _, pattern := range navigationPatterns(entries) {
		for _, page := range globs(t, pattern) {
			placed[page]++
		}
	}
	for _, page := range globs(t, "README.md", "docs/*.md", "docs/*/*.md", "skills/*/SKILL.md", "examples/*.ipynb") {
		if placed[page] != 1 {
			t.Errorf("site/navigation.yml names %s %d times, want once", page, placed[page])
		}
	}
}

// navigationPatterns returns the paths of a navigation, whose entries are paths and titles of paths or entries.
func navigationPatterns(entry any) []string {
	var all []string
	switch e := entry.(type) {
	case string:
		all = append(all, e)
	case []any:
		for _, inner := range e {
			all = append(all, navigationPatterns(inner)...)
		}
	case map[string]any:
		for _, inner := range e {
			all = append(all, navigationPatterns(inner)...)
		}
	}
	return all
}

func globs(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, p := range patterns {
		m, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m...)
	}
	return all
}

func checkLink(t *testing.T, page, target string) {
	t.Helper()
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	file, heading, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = page[:strings.LastIndex(page, "/")+1] + file
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Errorf("%s links to %s, which does not exist", page, target)
		return
	}
	if heading == "" || info.IsDir() {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		if anchor(m[1]) == heading {
			return
		}
	}
	t.Errorf("%s links to %s, but %s has no such heading", page, target, path)
}

// anchor is the fragment that a heading gets when it is rendered.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^\p{L}\p{N}\- _]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(strings.TrimSpace(heading), " ", "-")
}

// SECURITY.md names tests that exist.
func TestPromisesAreTested(t *testing.T) {
	page, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(code), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) == 0 {
		t.Error("SECURITY.md names no test")
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("SECURITY.md names %s, which does not exist", m[1])
		}
	}
}
