// Package ui serves the files that are built from other languages and embedded into the program: the page, which
// scripts/page builds from web/, and the documentation, which scripts/site builds from docs/.
//
// It owns how these files are served: their content security policy, caching and compression. The page calls only
// /v1, so this package must not know anything of the service. A program built without the page compiles and serves
// a short text that says how to build it; one built without the documentation has no handler of it.
package ui

import (
	"embed"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
)

//go:embed dist
var embedded embed.FS

// policy is the content security policy: the page may load its own files only. Images may also be data:, because
// the viewer holds anti-aliasing tables in them, and blob:, because it creates images to download.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'"

// unbuilt is the page of a program that was built without its page.
const unbuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Pleat</title>
<h1>Pleat</h1>
<p>This program was built without its page. Run <code>make build</code> where Node.js 20 or later is installed,
and start it again.</p>
<p>The service itself is complete: <a href="/docs">its interface</a> is at /docs.</p>
</html>
`

// Handler serves the page at /ui/ and redirects / and the addresses of others to it.
func Handler() http.Handler {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return handler(dist)
}

// page holds every file by its path under /ui/.
type page files

// handler serves a folder of built files.
func handler(dist fs.FS) http.Handler {
	p := page(filesOf(dist))
	if p["index.html"] == nil {
		text := held([]byte(unbuilt))
		p = page{"index.html": {plain: text, media: media["html"], tag: tagOf(text)}}
	}
	return p
}

// others are addresses that clients of designs print for people, and the pages that answer them.
var others = []struct{ prefix, page string }{
	{"/workflow/composer/", "/ui/workflows/"},
	{"/mol/", "/ui/library/"},
}

// ServeHTTP serves a file, and index.html for every path without an extension.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		http.Redirect(w, r, "/ui/", http.StatusFound)
		return
	}
	for _, other := range others {
		if id, ok := strings.CutPrefix(r.URL.Path, other.prefix); ok {
			http.Redirect(w, r, other.page+url.PathEscape(id), http.StatusFound)
			return
		}
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	if path.Ext(name) == "" {
		name = "index.html" // the page itself knows which of its addresses exist
	}
	f := p[name]
	if f == nil {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message":"there is no such file of the page"}`+"\n")
		return
	}
	f.serve(w, r)
}
