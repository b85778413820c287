package main

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// rewriter replaces one module path by another.
type rewriter struct {
	from, to string
	folders  map[string]bool // those of the module that have Go code or a go.mod, by their paths with slashes
	packages *regexp.Regexp  // a path below from
	root     *regexp.Regexp  // from after what only a path follows
}

func newRewriter(from, to string, files []string) *rewriter {
	r := &rewriter{from: from, to: to, folders: map[string]bool{}}
	for _, name := range files {
		if path.Ext(name) == ".go" || path.Base(name) == "go.mod" {
			r.folders[path.Dir(name)] = true
		}
	}
	quoted := regexp.QuoteMeta(from)
	r.packages = regexp.MustCompile(`(^|[^\w./~-])` + quoted + `/([\w./~-]*[\w~-](?:/\.\.\.)?|\.\.\.)`)
	r.root = regexp.MustCompile(`(\bgo (?:doc|get|install|list|run) (?:-\S+ )*|\bimport (?:\w+ )?"|-X )` + quoted +
		`(@|"|\.[A-Z]|\s|$)`)
	return r
}

// file returns the new text of a file.
func (r *rewriter) file(name string, text []byte) ([]byte, error) {
	switch {
	case !bytes.Contains(text, []byte(r.from)) || bytes.IndexByte(text, 0) >= 0:
		return text, nil
	case path.Base(name) == "go.mod":
		return r.mod(name, text)
	case path.Ext(name) == ".go":
		return r.code(text), nil
	}
	return r.prose(text), nil
}

// mod returns a go.mod with the new path of the module, of those nested in it, and of what refers to either.
func (r *rewriter) mod(name string, text []byte) ([]byte, error) {
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, statement := range f.Syntax.Stmt {
		switch s := statement.(type) {
		case *modfile.Line:
			r.tokens(s)
		case *modfile.LineBlock:
			for _, line := range s.Line {
				r.tokens(line)
			}
		}
	}
	return modfile.Format(f.Syntax), nil
}

func (r *rewriter) tokens(line *modfile.Line) {
	for i, t := range line.Token {
		line.Token[i], _ = r.path(t)
	}
}

// path returns the new path of a module or package, if it is one of the module's.
func (r *rewriter) path(p string) (string, bool) {
	if rest, ok := strings.CutPrefix(p, r.from); ok && (rest == "" || rest[0] == '/') {
		return r.to + rest, true
	}
	return p, false
}

// code returns Go code with the new path in its imports, comments and strings. Code that was in the form of gofmt,
// which sorts imports, is so afterwards. Code that does not parse is treated like other text.
func (r *rewriter) code(text []byte) []byte {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", text, parser.ImportsOnly)
	if err != nil {
		return r.prose(text)
	}
	var out []byte
	done := 0
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if p, ok := r.path(p); ok {
			out = append(out, r.prose(text[done:files.Position(spec.Path.Pos()).Offset])...)
			quote := spec.Path.Value[:1]
			out = append(out, quote+p+quote...)
			done = files.Position(spec.Path.End()).Offset
		}
	}
	out = append(out, r.prose(text[done:])...)
	if before, err := format.Source(text); err == nil && bytes.Equal(before, text) {
		if after, err := format.Source(out); err == nil {
			return after
		}
	}
	return out
}

// prose returns text with the new paths of the packages that it names.
func (r *rewriter) prose(text []byte) []byte {
	text = r.root.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(r.to, "$", "$$")+"${2}"))
	return r.packages.ReplaceAllFunc(text, func(match []byte) []byte {
		at := bytes.Index(match, []byte(r.from+"/"))
		rest := string(match[at+len(r.from)+1:])
		if !r.names(rest) {
			return match
		}
		return slices.Concat(match[:at], []byte(r.to+"/"+rest))
	})
}

// names reports whether a path relative to the module is that of a package, also with the name of a declaration after
// it, as in api.Client, or a pattern of packages, as in internal/...
func (r *rewriter) names(rest string) bool {
	if above, ok := strings.CutSuffix(rest, "..."); ok {
		for folder := range r.folders {
			if strings.HasPrefix(folder+"/", above) {
				return true
			}
		}
		return false
	}
	if r.folders[rest] {
		return true
	}
	slash := strings.LastIndexByte(rest, '/') + 1
	last, declaration, ok := strings.Cut(rest[slash:], ".")
	return ok && declaration[0] >= 'A' && declaration[0] <= 'Z' && r.folders[rest[:slash]+last]
}
