package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed site
var embeddedSite embed.FS

// sitePolicy is the content security policy of the documentation: its own files, and the icons inside its style sheets.
const sitePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// referencePage is the page of the site that shows the reference of the interface, and referenceMark where.
const (
	referencePage = "api/index.html"
	referenceMark = "<!-- api reference -->"
)

// site serves the documentation at /docs/.
type site struct {
	files     files
	reference func() *file // the page of the reference
}

// Docs serves the documentation at /docs/; nil if the program was built without it. reference makes the HTML of the
// interface, which stands in a page of the site; it is called once, when someone reads that page.
func Docs(reference func() []byte) http.Handler {
	built, err := fs.Sub(embeddedSite, "site")
	if err != nil {
		panic(err) // the name is a constant
	}
	return docs(built, reference)
}

func docs(built fs.FS, reference func() []byte) http.Handler {
	all := filesOf(built)
	frame := all[referencePage]
	if all["index.html"] == nil || frame == nil {
		return nil
	}
	return &site{files: all, reference: sync.OnceValue(func() *file { return frame.filled(reference()) })}
}

// filled returns a page with text in place of the mark.
func (f *file) filled(text []byte) *file {
	body := f.text()
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	_, _ = zw.Write(bytes.Replace(body, []byte(referenceMark), text, 1)) // a buffer takes everything
	_ = zw.Close()
	c := held(bytes.Clone(packed.Bytes()))
	return &file{gzip: c, media: f.media, tag: tagOf(c)}
}

// ServeHTTP serves a file, or the page in a folder. The address of a folder without its slash leads to the one with it,
// by which the links of its page are meant.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/docs"), "/")
	if folder := path.Join(name, "index.html"); !strings.HasSuffix(r.URL.Path, "/") && s.files[folder] != nil {
		http.Redirect(w, r, path.Join("/docs", name)+"/", http.StatusMovedPermanently)
		return
	}
	h.Set("Content-Security-Policy", sitePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	f := s.files[name]
	switch {
	case f == nil:
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, noSuchPage)
	case name == referencePage:
		s.reference().serve(w, r)
	default:
		f.serve(w, r)
	}
}

// noSuchPage answers an address of the documentation that does not exist.
const noSuchPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Not found</title>
<h1>There is no such page</h1>
<p>The <a href="/docs/">documentation</a> has a search.</p>
</html>
`
