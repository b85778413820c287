package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// file is one built file: either plain, or compressed with gzip and possibly brotli. media is its
// Content-Type, tag its entity tag, and forever marks a file whose name contains a hash of its content.
type file struct {
	plain, gzip, brotli []byte
	media, tag          string
	forever             bool
}

// folderNote is the file that keeps the folder of a build in the repository.
const folderNote = "README.md"

// files holds built files by their paths in the folder of the build.
type files map[string]*file

// filesOf reads a folder of built files: NAME, or NAME.gz and NAME.br in its place.
func filesOf(dist fs.FS) files {
	all := files{}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == folderNote {
			return err
		}
		b, err := fs.ReadFile(dist, name)
		if err == nil {
			all.add(name, b)
		}
		return err
	})
	if err != nil {
		panic(err) // the folder is in the program
	}
	return all
}

// media maps extensions to content types. Files with other extensions are not served.
var media = map[string]string{
	"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
	"svg": "image/svg+xml",
	"png": "image/png", "woff2": "font/woff2", "json": "application/json", "txt": "text/plain; charset=utf-8",
	"wasm": "application/wasm", "md": "text/markdown; charset=utf-8", "ipynb": "application/x-ipynb+json",
}

// add stores one built file under its name without .gz or .br.
func (all files) add(name string, b []byte) {
	base, ext := name, path.Ext(name)
	if ext == ".gz" || ext == ".br" {
		base = strings.TrimSuffix(name, ext)
	}
	kind := media[strings.TrimPrefix(path.Ext(base), ".")]
	if kind == "" {
		return
	}
	f := all[base]
	if f == nil {
		f = &file{media: kind, forever: strings.HasPrefix(base, "assets/")} // names in there carry a hash
		all[base] = f
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
