package api

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Every tag names an enumeration, and every enumeration has a field.
func TestEnums(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tag := regexp.MustCompile(` enum:"([A-Za-z,]+)"`)
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range tag.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
			if Enum(m[1]) == nil {
				t.Errorf("%s: enum:%q names no enumeration", file, m[1])
			}
		}
	}
	for name := range enums {
		if !used[name] {
			t.Errorf("no field has the enumeration %s", name)
		}
		values := Enum(name)
		if slices.Sort(values); len(slices.Compact(values)) != len(Enum(name)) || values[0] == "" {
			t.Errorf("%s has a value twice, or an empty one: %v", name, Enum(name))
		}
	}
}
