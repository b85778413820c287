package pleat_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)

// TestPackageDocsNameTheirFiles compares the files that each package's doc names with those of the package. A doc that
// lists files lists all of them, but for those of the tests; it may leave out the file that it stands in.
func TestPackageDocsNameTheirFiles(t *testing.T) {
	files, docs, home := map[string][]string{}, map[string]string{}, map[string]string{} // by directory
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "node_modules" || path != "." && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		files[dir] = append(files[dir], name)
		if f.Doc != nil {
			docs[dir], home[dir] = f.Doc.Text(), name
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, doc := range docs {
		named := goFile.FindAllString(doc, -1)
		for _, name := range named {
			if !slices.Contains(files[dir], name) {
				t.Errorf("the package doc of %s names %s, which is not one of its files", dir, name)
			}
		}
		for _, name := range files[dir] {
			if len(named) > 1 && name != home[dir] && !slices.Contains(named, name) {
				t.Errorf("the package doc of %s lists files, but not %s", dir, name)
			}
		}
	}
}
