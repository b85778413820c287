package pleat_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mostMethods is how many exported methods a type may have. One with more serves several reasons to change.
const mostMethods = 80

// largeTypes may have more, with the number that they have at most.
var largeTypes = map[string]int{
	"api.Client": 125, // one method for each request of the interface
}

// sourceFile is a Go file outside of tests.
type sourceFile struct {
	path string // with slashes
	file *ast.File
	text string
}

// sourceFiles returns the Go files of the module outside of tests.
func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parsedFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parsedFiles reads and parses the files once for all rules.
var parsedFiles = sync.OnceValues(func() (out []sourceFile, err error) {
	folders, err := packageFolders()
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	for _, dir := range folders {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			out = append(out, sourceFile{filepath.ToSlash(name), f, string(text)})
		}
	}
	return out, nil
})

// receiver returns the name of the type whose method a declaration is; empty: it is none.
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || !f.Name.IsExported() {
		return ""
	}
	e := f.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	switch generic := e.(type) {
	case *ast.IndexExpr:
		e = generic.X
	case *ast.IndexListExpr:
		e = generic.X
	}
	name, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// TestTypesAreSmall counts the exported methods of types.
func TestTypesAreSmall(t *testing.T) {
	methods := map[string]int{}
	for _, s := range sourceFiles(t) {
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(s.path)), ".")
		for _, d := range s.file.Decls {
			if name := receiver(d); name != "" {
				methods[strings.TrimPrefix(dir+"."+name, ".")]++
			}
		}
	}
	if len(methods) == 0 {
		t.Fatal("no methods were found")
	}
	for name := range largeTypes {
		if methods[name] == 0 {
			t.Errorf("%s has no methods; take it from largeTypes", name)
		}
	}
	for name, n := range methods {
		most := mostMethods
		if larger, ok := largeTypes[name]; ok {
			if most = larger; n <= mostMethods {
				t.Errorf("%s has %d exported methods; take it from largeTypes", name, n)
			}
		}
		if n > most {
			t.Errorf(
				"%s has %d exported methods; at most %d are allowed",
				name,
				n,
				most,
			)
		}
	}
}

// rawDatabase matches the calls by which a database is read and written without a verb.
var rawDatabase = regexp.MustCompile(
	`\b(DB|db|d|Database|database)\.(Write|WriteAsync|Read|ReadRow|ReadTogether|BeginRead|Direct|Configure)\((ctx|\w+\.Context\(\)|\))`)

// TestOnlyTheStoreHasTransactions checks that all reads and writes of the database are verbs of internal/store.
func TestOnlyTheStoreHasTransactions(t *testing.T) {
	for _, call := range []string{"s.store.DB.Write(ctx, ", "d.ReadRow(ctx", "database.WriteAsync(t.Context()", "db.Direct()"} {
		if !rawDatabase.MatchString(call) {
			t.Errorf("%s is not found", call)
		}
	}
	inside := 0
	for _, s := range sourceFiles(t) {
		if strings.HasPrefix(s.path, "internal/store/") {
			inside += len(rawDatabase.FindAllString(s.text, -1))
			continue
		}
		if !strings.Contains(s.text, `"`+module+`/internal/store`) {
			continue
		}
		for _, call := range rawDatabase.FindAllString(s.text, -1) {
			t.Errorf("%s: %s) is for the packages of internal/store; write a verb there", s.path, call)
		}
	}
	if inside == 0 {
		t.Fatal("not even the store has transactions: the test does not see them")
	}
}

var goFile = regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)

// TestPackageDocsListNoFiles checks that the doc of a package says what the package owns, and is no table of contents:
// the first line of each file says that, and a list is out of date with the next one.
func TestPackageDocsListNoFiles(t *testing.T) {
	docs := 0
	for _, s := range sourceFiles(t) {
		if s.file.Doc != nil {
			docs++
		}
		if named := goFile.FindAllString(s.file.Doc.Text(), -1); len(named) > 1 {
			t.Errorf("the package doc in %s lists files: %q", s.path, named)
		}
	}
	if docs == 0 {
		t.Fatal("no package has a doc")
	}
}

// readsClock are the packages that may read the machine's clock, with the reason; those in a folder if a slash ends it.
var readsClock = map[string]string{
	"cmd/":                           "programs",
	"docs/receivers/":                "programs to copy",
	"tools/":                         "programs",
	"runners":                        "compares the ages of files with the machine's clock; imports no other package",
	"internal/app":                   "composes the program, and passes the clock to the other packages",
	"internal/cli/":                  "the command line",
	"internal/clock":                 "measures for the other packages",
	"internal/telemetry":             "shows operators the process as it is",
	"internal/testprogram/":          "tests wait with it",
	"internal/store/storetest":       "tests wait with it, and its clock is set from there",
	"internal/identity/identitytest": "an issuer for tests, whose clock they set",
}

// readerOfClock returns the entry of readsClock that allows a file to read the clock; empty: there is none.
func readerOfClock(file string) string {
	for p := range readsClock {
		if path.Dir(file) == p || strings.HasSuffix(p, "/") && strings.HasPrefix(file, p) {
			return p
		}
	}
	return ""
}

// clockReadings returns where a file reads the machine's clock.
func clockReadings(f *ast.File) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" &&
			slices.Contains([]string{"Now", "Since", "Until"}, s.Sel.Name) {
			out = append(out, "time."+s.Sel.Name)
		}
		return true
	})
	return out
}

// TestTheClockIsPassedIn checks that no other package reads the machine's clock. Times that decide, are stored or are
// shown come from the owner's clock; durations are measured by internal/clock.
func TestTheClockIsPassedIn(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sourceFiles(t) {
		found := clockReadings(s.file)
		if len(found) == 0 {
			continue
		}
		reader := readerOfClock(s.path)
		if reader == "" {
			t.Errorf("%s uses %s; take a clock from the caller, or measure with internal/clock", s.path,
				strings.Join(found, ", "))
		}
		used[reader] = true
	}
	for reader := range readsClock {
		if !used[reader] {
			t.Errorf("%s does not read the clock; take it from readsClock", reader)
		}
	}
}

// sharedNouns are the names of types that several packages of the store have, each of its own.
var sharedNouns = map[string]bool{
	"Filter":  true, // narrows a list
	"Options": true, // configures a store
	"Store":   true, // has the verbs
}

// TestNounsHaveOneHome checks that a noun of the domain is a type of the root package or of one package of the store:
// beside its verbs if one package has them, in the root package if several share it.
func TestNounsHaveOneHome(t *testing.T) {
	home := map[string]string{}
	for _, s := range sourceFiles(t) {
		dir := path.Dir(s.path)
		inStore := strings.HasPrefix(dir, "internal/store/") && dir != "internal/store/storetest"
		if dir != "." && !inStore {
			continue
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				name := spec.(*ast.TypeSpec).Name.Name
				if !ast.IsExported(name) || sharedNouns[name] {
					continue
				}
				if other, ok := home[name]; ok && other != dir {
					t.Errorf("%s declares %s, which %s declares too; give one of them a name that says more", dir,
						name, other)
				}
				home[name] = dir
			}
		}
	}
	if home["Job"] != "." || home["Project"] != "internal/store/people" {
		t.Fatalf("the homes of Job and Project are %q and %q: the test does not see them", home["Job"], home["Project"])
	}
}
