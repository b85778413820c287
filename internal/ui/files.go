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
	"sync"
)

// file is one built file: either plain, or compressed with gzip and possibly brotli. media is its
// Content-Type, tag returns its entity tag, and forever marks a file whose name contains a hash of its content.
type file struct {
	plain, gzip, brotli content
	media               string
	tag                 func() string
	forever             bool
}

// content opens the bytes of a file; nil: there are none. Those of embedded files stay in the program, which the system
// loads as they are read: a start reads none of them, and the process holds no copies.
type content func() io.ReadSeeker

// contentOf returns the content of an embedded file.
func contentOf(built fs.FS, name string) content {
	return func() io.ReadSeeker {
		f, err := built.Open(name)
		if err != nil {
			panic(err) // the folder is in the program
		}
		return f.(io.ReadSeeker) // it has nothing to close
	}
}

// held returns content that is in memory.
func held(b []byte) content { return func() io.ReadSeeker { return bytes.NewReader(b) } }

// folderNote is the file that keeps the folder of a build in the repository.
const folderNote = "README.md"

// files holds built files by their paths in the folder of the build.
type files map[string]*file

// filesOf finds the files of a build: NAME, or NAME.gz and NAME.br in its place.
func filesOf(dist fs.FS) files {
	all := files{}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != folderNote {
			all.add(name, contentOf(dist, name))
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
func (all files) add(name string, c content) {
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
		f.gzip, f.tag = c, tagOf(c)
	case ".br":
		f.brotli = c
	default:
		f.plain, f.tag = c, tagOf(c)
	}
}

// tagOf returns the entity tag of a content, which is computed once, for the first request: the first 12 bytes of the
// SHA-256, in hexadecimal.
func tagOf(c content) func() string {
	return sync.OnceValue(func() string {
		hash := sha256.New()
		if _, err := io.Copy(hash, c()); err != nil {
			panic(err) // the content is in the program or in memory
		}
		return hex.EncodeToString(hash.Sum(nil)[:12])
	})
}

// serve writes the file in the best encoding that the client accepts, or 304 where the client has it.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.tag()
	if f.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		coding := ""
		switch {
		case f.brotli != nil && accepts(r, "br"):
			body, coding = f.brotli, "br"
		case accepts(r, "gzip"):
			body, coding = f.gzip, "gzip"
		case body == nil:
			body = held(f.text())
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
	reader := body()
	size, err := reader.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = reader.Seek(0, io.SeekStart)
	}
	if err != nil {
		panic(err) // as in tagOf
	}
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, reader)
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

// text returns the plain bytes of a file. They are not embedded where the file is compressed, to keep the program
// small; few clients accept no compression.
func (f *file) text() []byte {
	var from io.Reader
	if f.plain != nil {
		from = f.plain()
	} else {
		zr, err := gzip.NewReader(f.gzip())
		if err != nil {
			panic(err) // the bytes are in the program, and a test reads each of them
		}
		from = zr
	}
	out, err := io.ReadAll(from)
	if err != nil {
		panic(err)
	}
	return out
}
