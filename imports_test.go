package pleat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// floors are the rooms of the house from the top down. Imports go down only: never sideways, never up.
var floors = [][]string{
	{"cmd/pleat", "docs/receivers"},
	{"internal/server", "internal/work", "internal/ui"},
	{"internal/engine"},
	{"internal/store", "internal/flow", "internal/msa", "internal/webhook", "internal/blob", "internal/plot", "internal/mini", "internal/calvados", "internal/analyst", "internal/format"},
	{"internal/structure", "internal/seal"},
	{""}, // package pleat
	{"internal/words"},
}

// floorOf is the floor of a package, and the room it belongs to. A folder inside a room belongs to the room.
func floorOf(path string) (floor int, room string, ok bool) {
	for i, rooms := range floors {
		for _, r := range rooms {
			if path == r || r != "" && strings.HasPrefix(path, r+"/") {
				return i, r, true
			}
		}
	}
	return 0, "", false
}

// mayImport says what is wrong with an import of one of our packages by another; empty: nothing.
func mayImport(from, to string) string {
	if to == "api" {
		if from == "" || from == "internal/words" {
			return "the root and what is below it do not know the wire"
		}
		return ""
	}
	if from == "api" {
		if to == "internal/words" {
			return ""
		}
		return "api imports the standard library and internal/words alone"
	}
	if strings.HasPrefix(from, "internal/ui") {
		return "ui imports the standard library alone"
	}
	a, roomA, okA := floorOf(from)
	b, roomB, okB := floorOf(to)
	switch {
	case !okA:
		return "the package has no floor; give it one in imports_test.go"
	case !okB:
		return "what it imports has no floor; give it one in imports_test.go"
	case a == b && roomA == roomB:
		return ""
	case a >= b:
		return "imports go down only, never sideways or up"
	}
	return ""
}

// pure packages import the standard library and nothing else from outside.
func pure(path string) bool {
	return path == "" || path == "api" || path == "internal/words" || strings.HasPrefix(path, "internal/ui") || strings.HasPrefix(path, "docs/receivers")
}

func TestImportsGoDown(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; seen++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := local(p.ImportPath)
		if _, _, ok := floorOf(from); !ok && from != "api" {
			t.Errorf("%s has no floor; give it one in imports_test.go", p.ImportPath)
		}
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			switch {
			case first == "pleat":
				if why := mayImport(from, local(imp)); why != "" {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, why)
				}
			case strings.Contains(first, ".") && pure(from):
				t.Errorf("%s imports %s: it may import the standard library alone", p.ImportPath, imp)
			}
		}
	}
	if seen == 0 {
		t.Fatal("go list named no package")
	}
}

func local(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, "pleat"), "/") }

// The rule itself must refuse what the house forbids.
func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"cmd/pleat", "internal/server", true},
		{"internal/server", "internal/store", true},
		{"internal/engine", "internal/mini", true},
		{"internal/mini", "internal/mini/local", true},
		{"internal/mini", "internal/structure", true},
		{"internal/store", "", true},
		{"internal/server", "api", true},
		{"api", "internal/words", true},
		{"", "internal/words", true},
		{"internal/words", "", false},
		{"internal/words", "api", false},
		{"internal/mini/bench", "internal/structure", true},
		{"internal/server", "internal/work", false},
		{"internal/store", "internal/blob", false},
		{"internal/structure", "internal/seal", false},
		{"internal/store", "internal/server", false},
		{"internal/ui", "internal/server", false},
		{"api", "", false},
		{"", "api", false},
		{"internal/stranger", "", false},
	} {
		if why := mayImport(c.from, c.to); (why == "") != c.ok {
			t.Errorf("mayImport(%q, %q) = %q; want allowed %v", c.from, c.to, why, c.ok)
		}
	}
}
