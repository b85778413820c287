package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// tree is a module called fold, which is a word of its texts too. In each file «fold» stands for a path that changes.
var tree = map[string]string{
	"go.mod": "module «fold»\n\ngo 1.26\n\nrequire example.com/fold/api v1.0.0 // not fold/api\n",
	"fold.go": `// Package fold folds. See [«fold/api»], [«fold/api».Client] and «fold/internal/mini».
package fold

const Name = "fold" // the service fold/config of example.com/fold/api
`,
	"api/api.go":            "package api\n\nimport _ \"«fold/internal/mini»\"\n",
	"internal/mini/mini.go": "package mini\n\nconst Path = \"«fold/api»\"\n",
	"internal/mini/order.go": `package mini

import (
	"errors"
	"fmt"

	m "«fold»"
	"«fold/api»" // the wire
)
`,
	"internal/mini/testdata/broken.go": "package; import \"«fold/api»\" // \"fold\"\n",
	"cmd/fold/main.go":                 "package main\n\nimport `«fold/api»`\n",
	"tools/kube/go.mod":                "// A module of its own.\nmodule «fold/tools/kube»\n\ngo 1.26\n",
	"examples/go/go.mod": "module example\n\nrequire «fold» v0.0.0\n\nreplace «fold» => ../../fold\n\n" +
		"replace (\n\t«fold/tools/kube» v0.0.0 => ../kube\n\tfoldable v0.0.0 => ../fold\n)\n",
	"README.md": "`go get «fold/api»@latest`, `go install «fold/cmd/fold»@latest`, `go get «fold»@latest`.\n" +
		"go vet «fold/...» «fold/internal/...»; go build -ldflags '-X «fold».Version=1' «fold/cmd/fold».\n" +
		"    import \"«fold/api»\"\n    import f \"«fold»\"\n" +
		"Run `fold`, `import fold`, npm install ../fold/api, cd ~/fold/api, fold/logins.json, fold/clients/api.\n" +
		"A pod has fold/metrics and fold/api/config; FOLD_FOLD=fold; manifold/api; fold-api; x.fold/api; fold/elsewhere/...\n",
	"image.bin": "\x00 go get fold/api",
}

// written puts the tree into a folder, with path in the place of what is marked.
func written(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range at(path) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func at(path string) map[string]string {
	files := maps.Clone(tree)
	for name, text := range files {
		files[name] = strings.NewReplacer("«fold", path, "»", "").Replace(text)
	}
	return files
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

func TestChange(t *testing.T) {
	dir := written(t, "fold")
	for _, path := range []string{
		"example.org/lab/fold", "example.org/lab/fold", "example.org/lab/folding", "fold.example/fold/fold",
		"example.org/lab/pleats", "elsewhere", "fold",
	} {
		if err := change(dir, path); err != nil {
			t.Fatal(err)
		}
		if d := diff.Diff(at(path), read(t, dir)); d != "" {
			t.Fatalf("after the change to %s (- wanted, + found):\n%s", path, d)
		}
	}
}

// Imports of one group are in the order of gofmt after the change, if they were before.
func TestChangeSorts(t *testing.T) {
	const mixed = "package fold\n\nimport (\n\t\"errors\"\n\t\"fold/api\"\n\t\"io\"\n)\n"
	r := newRewriter("fold", "example.org/fold", []string{"api/api.go"})
	want := "package fold\n\nimport (\n\t\"errors\"\n\t\"example.org/fold/api\"\n\t\"io\"\n)\n"
	if got := string(r.code([]byte(mixed))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = newRewriter("fold", "z.example/fold", []string{"api/api.go"})
	want = "package fold\n\nimport (\n\t\"errors\"\n\t\"io\"\n\t\"z.example/fold/api\"\n)\n"
	if got := string(r.code([]byte(mixed))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWarning(t *testing.T) {
	for path, want := range map[string]bool{"fold": true, "lab/fold": true, "example.org/fold": false} {
		if got, err := check(path); err != nil || (got != "") != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// A path that is refused changes nothing.
func TestCheck(t *testing.T) {
	dir := written(t, "fold")
	for path, want := range map[string]string{
		"":                    `"" is no path for a module: empty string`,
		"example.org/a b":     `"example.org/a b" is no path for a module: invalid char ' '`,
		"https://example.org": `"https://example.org" is no path for a module: double slash`,
		"example.org/lab/":    `"example.org/lab/" is no path for a module: trailing slash`,
		"/lab":                `"/lab" is no path for a module: empty path element`,
		"../lab":              `"../lab" is no path for a module: invalid path element ".."`,
		"Example.org/lab":     `"Example.org/lab" is no path for a module: invalid char 'E' in first path element`,
		"example.org/.lab":    `"example.org/.lab" is no path for a module: leading dot in path element`,
		"example.org/lab/v2":  `"example.org/lab/v2" ends with /v2, which is for version 2 and later`,
		"net/lab":             `"net/lab" begins with net, which belongs to the standard library`,
	} {
		if err := change(dir, path); err == nil || err.Error() != want {
			t.Errorf("change to %q: %v, want %s", path, err, want)
		}
	}
	if d := diff.Diff(at("fold"), read(t, dir)); d != "" {
		t.Errorf("the refused paths changed files:\n%s", d)
	}
}
