package pleat_test

import (
	"cmp"
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"pleat"
)

// layers lists the packages of the module from the top down. Imports go down only: never sideways, never up.
// docs/architecture.md says what each package is for. Planned packages have their place already.
var layers = [][]string{
	{"cmd", "test", "internal/testprogram", "tools", "docs/receivers"},
	{"internal/cli/program"},
	{"internal/cli/client", "internal/cli/admin", "internal/cli/engines"},
	{"internal/cli/results"},
	{"internal/app", "internal/cli"},
	{"internal/config"},
	{"internal/server", "internal/mcp", "internal/work", "internal/deliver", "internal/mail", "internal/fleet", "internal/ui",
		"runners"},
	{"internal/server/jobs", "internal/server/flows", "internal/server/batches", "internal/server/webhooks",
		"internal/server/people", "internal/server/operators", "internal/server/service"},
	{"internal/server/library", "internal/server/progress"},
	{"internal/server/route", "internal/server/workers"},
	{"internal/server/openapi", "internal/server/wire", "internal/server/signin"},
	{"internal/submit", "internal/workerapi"},
	{"internal/queue", "internal/telemetry", "internal/engine/apart"},
	{"internal/engine/runner", "internal/engine/remote", "internal/engine/builtin"},
	{"internal/report"},
	{"internal/engine", "internal/template", "internal/component"},
	{"internal/analyst", "internal/flow", "internal/batch", "internal/compare", "internal/garbage",
		"internal/archive"},
	{
		"internal/msa", "internal/webhook", "internal/identity", "internal/blob",
		"internal/plot", "internal/facts", "internal/design", "internal/mini", "internal/calvados", "internal/format",
		"internal/pae",
	},
	{"internal/store"},
	{"internal/store/ops"},
	{"internal/store/batches", "internal/store/workers"},
	{"internal/store/runs"},
	{"internal/store/webhooks"},
	{"internal/store/mails"},
	{"internal/store/tasks"},
	{"internal/store/people"},
	{"internal/store/db"},
	{"internal/structure", "internal/seal", "internal/sandbox", "internal/fair", "internal/tracing",
		"internal/yamltree", "internal/bcif", "internal/compressed"},
	{""}, // package pleat
	{"internal/chem", "internal/antibody"},
	{"internal/words", "internal/clock"},
}

// layerOf returns the layer of a package (0 is the top) and the listed package that it belongs to. A folder inside
// a listed package belongs to it, unless the folder is listed itself.
func layerOf(path string) (layer int, owner string, ok bool) {
	for i, packages := range layers {
		for _, r := range packages {
			if path == r || r != "" && strings.HasPrefix(path, r+"/") {
				return i, r, true
			}
		}
	}
	return 0, "", false
}

// mayImport returns why one package of the module must not import another; empty means that it may. It is about imports
// outside of tests.
func mayImport(from, to string) string {
	if to == "api" {
		if from == "" || belowRoot(from) {
			return "the root package and those below it must not know the wire format"
		}
		return ""
	}
	if from == "api" {
		if slices.Contains(layers[len(layers)-1], to) {
			return ""
		}
		return "api imports the standard library, internal/words and internal/clock alone"
	}
	if strings.HasPrefix(from, "internal/ui") || from == "runners" {
		return "it imports the standard library alone"
	}
	if to == "internal/testprogram" || to == "internal/testprogram/pages" {
		return "tests alone import it: it runs the program with their faults and shortcuts"
	}
	if from == "internal/cli/client" &&
		(to == "internal/store" || strings.HasPrefix(to, "internal/store/") || to == "internal/app") {
		return "the commands of clients reach a service by HTTP alone"
	}
	a, ownerA, okA := layerOf(from)
	b, ownerB, okB := layerOf(to)
	switch {
	case !okA:
		return "the package has no layer; give it one in imports_test.go"
	case !okB:
		return "what it imports has no layer; give it one in imports_test.go"
	case a == b && ownerA == ownerB:
		return ""
	case a >= b:
		return "imports go down only, never sideways or up"
	}
	return ""
}

// belowRoot reports whether the root package may import a package.
func belowRoot(path string) bool {
	return slices.ContainsFunc(layers[len(layers)-2:], func(l []string) bool { return slices.Contains(l, path) })
}

// pure packages import the standard library and nothing else from outside.
func pure(path string) bool {
	return path == "" || path == "api" || belowRoot(path) || path == "runners" ||
		strings.HasPrefix(path, "internal/ui") || strings.HasPrefix(path, "docs/receivers")
}

// TestImportsGoDown reads the files in this process and not by go list, so that Go knows on what its result depends.
func TestImportsGoDown(t *testing.T) {
	folders, err := packageFolders()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, dir := range folders {
		p, err := build.ImportDir(dir, 0)
		var empty *build.NoGoError
		if errors.As(err, &empty) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seen++
		from := strings.TrimPrefix(filepath.ToSlash(dir), ".")
		if _, _, ok := layerOf(from); !ok && from != "api" {
			t.Errorf("%s has no layer; give it one in imports_test.go", dir)
		}
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			switch {
			case imp == module || strings.HasPrefix(imp, module+"/"):
				if why := mayImport(from, local(imp)); why != "" {
					t.Errorf("%s imports %s: %s", dir, imp, why)
				}
			case strings.Contains(first, ".") && pure(from):
				t.Errorf("%s imports %s: it may import the standard library alone", dir, imp)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no package was found")
	}
}

// packageFolders returns the folders of the module that may have packages: no hidden ones, none of other modules, and
// none that Go ignores.
func packageFolders() (out []string, err error) {
	err = filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		name := e.Name()
		if path != "." {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			ignored := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"
			if ignored || name == "node_modules" || module == nil {
				return fs.SkipDir
			}
		}
		out = append(out, path)
		return nil
	})
	return out, err
}

// TestArchitecturePage compares the layers with the table of docs/architecture.md: every package of the module that has
// a layer is listed there, in the order of the layers, and nothing else is.
func TestArchitecturePage(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rank := map[string]string{}
	for i, packages := range layers {
		for _, name := range packages {
			if hasGo(t, cmp.Or(name, ".")) {
				rank[cmp.Or(name, "root package")] = strconv.Itoa(i + 1)
			}
		}
	}
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d+) \\| `?([^|`]+?)`? \\|").FindAllStringSubmatch(string(page),
		-1) {
		listed[m[2]] = m[1]
	}
	if d := diff.Diff(rank, listed); d != "" {
		t.Errorf("layers (-) and docs/architecture.md (+) differ:\n%s", d)
	}
}

// hasGo reports whether a folder or one below it has Go files.
func hasGo(t *testing.T, dir string) bool {
	found := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			found = true
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// module is the path of this module, which scripts/module-path may change.
var module = reflect.TypeFor[pleat.State]().PkgPath()

func local(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

// The rule itself must refuse what the layers forbid.
func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"internal/cli/admin", "internal/app", true},
		{"internal/cli/admin", "internal/store", true},
		{"internal/cli/client", "internal/app", false},
		{"internal/cli/client", "internal/store", false},
		{"internal/cli/client", "internal/store/runs", false},
		{"internal/cli/client", "internal/store/db", false},
		{"internal/cli/client", "internal/cli", true},
		{"internal/cli/client", "internal/cli/admin", false},
		{"internal/cli", "internal/cli/client", false},
		{"internal/cli", "internal/app", false},
		{"internal/cli/program", "internal/cli/client", true},
		{"cmd/pleat", "internal/cli/program", true},
		{"internal/testprogram", "internal/cli/program", true},
		{"cmd/pleat", "internal/testprogram", false},
		{"tools/dist", "internal/testprogram", false},
		{"internal/app", "internal/cli", false},
		{"internal/server", "internal/store", true},
		{"internal/engine/builtin", "internal/mini", true},
		{"internal/mini", "internal/mini/local", true},
		{"internal/mini", "internal/structure", true},
		{"internal/store", "", true},
		{"internal/server", "api", true},
		{"api", "internal/words", true},
		{"", "internal/chem", true},
		{"", "internal/words", true},
		{"internal/chem", "internal/words", true},
		{"internal/chem", "", false},
		{"internal/chem", "api", false},
		{"api", "internal/chem", false},
		{"internal/words", "", false},
		{"internal/words", "api", false},
		{"api", "internal/clock", true},
		{"internal/clock", "api", false},
		{"internal/clock", "internal/words", false},
		{"tools/mini/bench", "internal/structure", true},
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
