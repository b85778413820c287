package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// Files sends files of the artifact store, and makes the links by which they are read. Create it with [NewFiles].
type Files struct {
	Blobs *blob.Monitor
	Links seal.Links
	Clock func() time.Time
	gzip  *compressor
}

// NewFiles returns what sends files of an artifact store.
func NewFiles(blobs *blob.Monitor, links seal.Links, clock func() time.Time) *Files {
	return &Files{Blobs: blobs, Links: links, Clock: clock, gzip: newCompressor()}
}

// ByName returns artifacts of a job or a workflow with their links.
func (f *Files) ByName(files []pleat.Artifact, scope seal.LinkScope) map[string]*api.Artifact {
	out := map[string]*api.Artifact{}
	for i := range files {
		a := wire.Artifact(&files[i], f.Links.URL(&files[i], scope, f.Clock().Truncate(time.Hour)))
		out[a.Name] = &a
	}
	return out
}

// DownloadName returns the name under which a file of a job or workflow is saved: it begins with the name of the job.
func DownloadName(job, file string) string {
	name := words.FileName(job, 80)
	if name == "" || strings.HasPrefix(file, name+"-") || strings.HasPrefix(file, name+".") {
		return file
	}
	return name + "-" + file
}

// Disposition is the header Content-Disposition of a file that is saved under a name. Programs that do not know
// filename* (RFC 6266) get the characters of ASCII, and _ for each other one.
func Disposition(name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r > '~' {
			return '_'
		}
		return r
	}, name)
	if ascii == name {
		return mime.FormatMediaType("attachment", map[string]string{"filename": name})
	}
	plain := map[string]string{"filename": ascii}
	encoded := strings.NewReplacer(":", "%3A", "=", "%3D", "@", "%40").Replace(url.PathEscape(name)) // RFC 8187
	return mime.FormatMediaType("attachment", plain) + "; filename*=UTF-8''" + encoded
}

// Send sends a blob, or the range of it that the request names; large text with gzip if the client accepts it. Its
// content comes from models and users, so a browser must neither guess its type nor run it as a page of this service:
// it is an attachment in a sandbox without any origin. A file whose length differs from its row, or a small one whose
// bytes do, is damaged and is answered with 503, like one that cannot be read. A larger one whose bytes differ ends
// before its last bytes, and breaks the connection. Ranges are not compared.
func (f *Files) Send(ctx context.Context, c *Call, a *pleat.Artifact, name string) error {
	first := int64(blob.FirstSent)
	if c.R.Method == http.MethodHead || asksForLess(c.R.Header) {
		first = -1 // a part must not cost the reading of the whole
	}
	want := blob.Expected{Name: cmp.Or(a.Name, name), SHA256: a.SHA256}
	body, info, err := f.Blobs.OpenExpected(ctx, a.Key, want, first)
	if err == nil && info.Bytes != a.Bytes {
		err = errors.Join(f.Blobs.Damage(a.Key, want), body.Close())
	}
	if err != nil {
		return Unreadable(a, err)
	}
	defer func() { _ = body.Close() }()
	h := c.W.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", Disposition(name))
	h.Set("ETag", `"`+a.SHA256+`"`)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	const slowest = 64 << 10 // bytes per second that a client must read
	c.Deadline(time.Minute + time.Duration(a.Bytes/slowest)*time.Second)
	content := &readContent{ReadSeeker: body}
	serve := func(w http.ResponseWriter) {
		http.ServeContent(w, c.R, "", a.CreatedAt, content)
		if content.failed {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
		}
	}
	if compressible(a) {
		h.Set("Vary", "Accept-Encoding")
		if f.gzip.acquire(c) {
			defer f.gzip.release(c)
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+a.SHA256+api.GzipSuffix+`"`)
			f.gzip.send(c, a.Bytes, serve)
			return nil
		}
	}
	serve(&jsonErrors{Answer: c.W})
	return nil
}

// asksForLess reports whether a request may be answered with less than the whole file, such as 304.
func asksForLess(h http.Header) bool {
	return slices.ContainsFunc([]string{"Range", "If-None-Match", "If-Modified-Since"}, func(name string) bool {
		return h.Get(name) != ""
	})
}

// readContent remembers that a file could not be read, which http.ServeContent does not tell.
type readContent struct {
	io.ReadSeeker
	failed bool
}

// Read implements io.Reader.
func (r *readContent) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = true
	}
	return n, err
}

// Unreadable is the error for a file that the artifact store cannot give now.
func Unreadable(a *pleat.Artifact, err error) error {
	return submit.ReadError(fmt.Errorf("open artifact %s: %w", a.ID, err))
}

// jsonErrors replaces the plain-text errors of http.ServeContent with the service's own.
type jsonErrors struct {
	*Answer
	refused bool
}

// WriteHeader passes a success on and writes the body of an error itself.
func (a *jsonErrors) WriteHeader(status int) {
	if status < 400 {
		a.Answer.WriteHeader(status)
		return
	}
	a.refused = true
	message := "the request cannot be served: " + strings.ToLower(http.StatusText(status))
	if status == http.StatusRequestedRangeNotSatisfiable {
		message = "the Range is outside the file"
	}
	if status == http.StatusPreconditionFailed {
		message = "the file is not the one that If-Match names"
	}
	writeError(a.Answer, status, message)
}

// Write drops the plain text that follows the status of an error.
func (a *jsonErrors) Write(b []byte) (int, error) {
	if a.refused {
		return len(b), nil
	}
	return a.Answer.Write(b)
}
