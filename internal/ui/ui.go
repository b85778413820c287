// Package ui serves the page: the files that scripts/page builds from web/, embedded into the program.
//
// It owns how these files are served: their content security policy, caching and compression. The page calls only
// /v1, so this package must not know anything of the service. A program built without the page compiles and serves
// a short text that says how to build it.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

//go:embed dist
var embedded embed.FS

// policy is the content security policy: the page may load its own files only. Images may also be data:, because
// the viewer holds anti-aliasing tables in them, and blob:, because it creates images to download.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

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

// file is one file of the page as built: either plain, or compressed with gzip and brotli. media is its
// Content-Type, tag its entity tag, and forever marks a file whose name contains a hash of its content.
type file struct {
	plain, gzip, brotli []byte
	media, tag          string
	forever             bool
}

// page holds every file by its path under /ui/.
type page map[string]*file

// handler serves a folder of built files: NAME, or NAME.gz and NAME.br in its place.
func handler(dist fs.FS) http.Handler {
	p := page{}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dist, name)
		if err == nil {
			p.add(name, b)
		}
		return err
	})
	if err != nil {
		panic(err) // the folder is in the program
	}
	if p["index.html"] == nil {
		p = page{"index.html": {plain: []byte(unbuilt), media: media["html"], tag: tagOf([]byte(unbuilt))}}
	}
	return p
}

// media maps extensions to content types. Files with other extensions are not served.
var media = map[string]string{
	"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
	"svg": "image/svg+xml",
	"png": "image/png", "woff2": "font/woff2", "json": "application/json", "txt": "text/plain; charset=utf-8",
	"wasm": "application/wasm",
}

// add stores one built file under its name without .gz or .br.
func (p page) add(name string, b []byte) {
	base, ext := name, path.Ext(name)
	if ext == ".gz" || ext == ".br" {
		base = strings.TrimSuffix(name, ext)
	}
	kind := media[strings.TrimPrefix(path.Ext(base), ".")]
	if kind == "" {
		return
	}
	f := p[base]
	if f == nil {
		f = &file{media: kind, forever: strings.HasPrefix(base, "assets/")} // names in there carry a hash
		p[base] = f
	}
	switch ext {
	case ".gz":
		f.gzip, f.tag = b, tagOf(b)
	case ".br":
		f.brotli = b
	default:
		f.plain, f.tag = b, tagOf(b)
	}
}

// tagOf returns an entity tag: the first 12 bytes of the SHA-256 of b, in hexadecimal.
func tagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
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

// serve writes the file in the best encoding that the client accepts, or 304 where the client has it.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.tag
	if f.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		coding := ""
		switch {
		case f.brotli != nil && accepts(r, "br"):
			body, coding = f.brotli, "br"
		case accepts(r, "gzip"):
			body, coding = f.gzip, "gzip"
		case body == nil:
			body = unpack(f.gzip)
		}
		if coding != "" {
			h.Set("Content-Encoding", coding)
			tag += "-" + coding
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+tag+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// accepts reports whether a request's Accept-Encoding lists a coding with a weight above 0.
func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q="), 64)
		return weight == "" || err == nil && q > 0
	}
	return false
}

// unpack decompresses b for the few clients that accept no compression. The plain bytes are not embedded, to keep
// the program small.
func unpack(b []byte) []byte {
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		panic(err) // the bytes are in the program, and a test reads each of them
	}
	out, err := io.ReadAll(zr)
	if err != nil {
		panic(err)
	}
	return out
}
