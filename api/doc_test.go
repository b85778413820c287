package api

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var docLink = regexp.MustCompile(`\[\*?[A-Z]\w*(\.[A-Z]\w*)?\]`)

// TestDocLinks checks that what looks like a link in a comment names something that exists. A link that does not is
// shown as text in brackets. The package comment names the calls that one begins with.
func TestDocLinks(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, "api")
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	check := func(name, text string) {
		found := map[string]int{}
		for _, block := range p.Parser().Parse(text).Content {
			if par, ok := block.(*comment.Paragraph); ok {
				for _, part := range par.Text {
					if l, ok := part.(*comment.DocLink); ok {
						found[strings.TrimPrefix(l.Recv+"."+l.Name, ".")]++
					}
				}
			}
		}
		for _, l := range docLink.FindAllString(text, -1) {
			l = strings.Trim(l, "[*]")
			if found[l] == 0 {
				t.Errorf("the comment of %s links to %s, which does not exist", name, l)
			}
			linked[l] = true
		}
	}
	check("the package", p.Doc)
	for _, l := range []string{"Client.CreateJob", "Client.Wait", "Error"} {
		if !linked[l] {
			t.Errorf("the package comment does not link to %s", l)
		}
	}
	all := p.Funcs
	for _, ty := range p.Types {
		check(ty.Name, ty.Doc)
		all = append(append(all, ty.Funcs...), ty.Methods...)
		for _, v := range append(ty.Consts, ty.Vars...) {
			check(v.Names[0], v.Doc)
		}
	}
	for _, f := range all {
		check(f.Name, f.Doc)
	}
	for _, v := range append(p.Consts, p.Vars...) {
		check(v.Names[0], v.Doc)
	}
	if len(linked) < 30 {
		t.Errorf("only %d names are linked", len(linked))
	}
}
