package pleat_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lane is a line of .ci/lanes.
type lane struct {
	name           string
	targets, files []string
}

// lanes reads .ci/lanes.
func lanes(t *testing.T) (out []lane) {
	t.Helper()
	text, err := os.ReadFile(".ci/lanes")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, ":")
		if len(columns) != 4 {
			t.Fatalf("%q has %d columns; want name : targets : minutes : files", line, len(columns))
		}
		if _, err := strconv.Atoi(strings.TrimSpace(columns[2])); err != nil {
			t.Errorf("%q: the minutes are no number", line)
		}
		out = append(out, lane{strings.TrimSpace(columns[0]), strings.Fields(columns[1]), strings.Fields(columns[3])})
	}
	return out
}

// TestLanes checks that every target of the Makefile that tests something is in a lane, that what the lanes name
// exists, and that the gate is the first of them.
func TestLanes(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	all := lanes(t)
	if all[0].name != "gate" || !slices.Contains(all[0].targets, "test") {
		t.Errorf("the first lane is %v; want the gate, with the target test", all[0])
	}
	tested, names := map[string]bool{}, map[string]bool{}
	for _, l := range all {
		if names[l.name] || !regexp.MustCompile(`^[a-z-]+$`).MatchString(l.name) {
			t.Errorf("the lane %q stands twice, or has other characters than small letters", l.name)
		}
		names[l.name] = true
		for _, target := range l.targets {
			if !targets[target] || tested[target] {
				t.Errorf("lane %s: the target %s is not in the Makefile, or in two lanes", l.name, target)
			}
			tested[target] = true
		}
		for _, files := range l.files {
			if found, err := filepath.Glob(files); err != nil || len(found) == 0 {
				t.Errorf("lane %s: no file matches %s (%v)", l.name, files, err)
			}
		}
	}
	for target := range targets {
		if (target == "test" || target == "soak" || strings.HasPrefix(target, "test-")) && !tested[target] {
			t.Errorf("make %s is in no lane of .ci/lanes", target)
		}
	}
}
