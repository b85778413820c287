package pleat_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// docs/operations.md lists every field that a line of the log may have. A name is lower case, with underscores.
func TestLogFieldsAreListed(t *testing.T) {
	used := map[string]bool{}
	for _, root := range []string{"internal", "cmd/pleat"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					for _, key := range logKeys(t, path, call) {
						used[key] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Log fields\n")
	section, _, _ = strings.Cut(section, "\n#")
	listed := map[string]bool{"time": true, "level": true, "msg": true}
	for key := range listed {
		used[key] = true // slog writes them
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			listed[strings.Trim(name, "`")] = true
		}
	}
	if d := diff.Diff(slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(used))); d != "" {
		t.Errorf("docs/operations.md, «Log fields» (-), and the code (+) differ:\n%s", d)
	}
	for key := range used {
		if !regexp.MustCompile(`^[a-z][a-z_]*$`).MatchString(key) {
			t.Errorf("the log has the field %q; it must be lower case with underscores", key)
		}
	}
	if len(used) < 30 {
		t.Errorf("only %d fields were found", len(used))
	}
}

// logKeys returns the keys of the fields that a call gives to a log. Every call on something called log, with a
// message, counts, or on a fault, and every slog.Attr.
func logKeys(t *testing.T, path string, call *ast.CallExpr) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	var first int // argument that is a key
	switch on := strings.ToLower(lastName(method.X)); method.Sel.Name {
	case "Debug", "Info", "Warn", "Error":
		switch on {
		case "log", "logof", "logwith":
			first = 1
		case "fault": // a queue.Fault, after its log and its error
			first = 2
		default:
			return nil
		}
	case "With":
		if first = 0; on != "log" && on != "logof" && on != "logwith" {
			return nil
		}
	case "String", "Int", "Int64", "Bool", "Any", "Duration", "Float64":
		if on != "slog" {
			return nil
		}
		return literals(t, path, call.Args[:1])
	default:
		return nil
	}
	var keys []ast.Expr
	for i := first; i < len(call.Args); i += 2 {
		keys = append(keys, call.Args[i])
	}
	return literals(t, path, keys)
}

// lastName returns the last name of an expression such as p.cfg.Log or p.logOf(t).
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

// literals returns the values of expressions that are texts.
func literals(t *testing.T, path string, list []ast.Expr) []string {
	var out []string
	for _, e := range list {
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			continue // a slog.Attr, which is counted by itself
		}
		key, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		out = append(out, key)
	}
	return out
}
