package ui

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func packed(t *testing.T, s string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func get(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func built(t *testing.T) http.Handler {
	return handler(fstest.MapFS{
		"README.md":         {Data: []byte("not served")},
		"index.html.gz":     packed(t, "<p>page</p>"),
		"index.html.br":     {Data: []byte("brotli of the page")},
		"assets/a-1f.js.gz": packed(t, "run()"),
		"assets/a-1f.js.br": {Data: []byte("brotli of run")},
		"assets/b-2e.png":   {Data: []byte("picture")},
	})
}

func TestServes(t *testing.T) {
	h := built(t)
	for _, c := range []struct {
		path, accept       string
		code               int
		body, coding, kept string
		media              string
	}{
		{"/ui/", "", 200, "<p>page</p>", "", "no-cache", "text/html; charset=utf-8"},
		{"/ui/jobs/0189-a", "", 200, "<p>page</p>", "", "no-cache", "text/html; charset=utf-8"},
		{"/ui/", "gzip, deflate, br", 200, "brotli of the page", "br", "no-cache", "text/html; charset=utf-8"},
		{"/ui/", "br;q=0, gzip;q=0", 200, "<p>page</p>", "", "no-cache", "text/html; charset=utf-8"},
		{"/ui/assets/a-1f.js", "br;q=0.5", 200, "brotli of run", "br", "public, max-age=31536000, immutable",
			"text/javascript; charset=utf-8"},
		{"/ui/assets/a-1f.js", "identity", 200, "run()", "", "public, max-age=31536000, immutable",
			"text/javascript; charset=utf-8"},
		{"/ui/assets/b-2e.png", "br", 200, "picture", "", "public, max-age=31536000, immutable", "image/png"},
		{"/ui/assets/gone.js", "br", 404, `{"message":"there is no such file of the page"}` + "\n", "", "",
			"application/json"},
		{"/ui/README.md", "", 404, `{"message":"there is no such file of the page"}` + "\n", "", "",
			"application/json"},
		{"/ui/assets/a-1f.js.gz", "", 404, `{"message":"there is no such file of the page"}` + "\n", "", "",
			"application/json"},
	} {
		r := get(t, h, "GET", c.path, "Accept-Encoding", c.accept)
		if got := body(t, r); r.StatusCode != c.code || got != c.body {
			t.Errorf("%s with %q: %d %q, want %d %q", c.path, c.accept, r.StatusCode, got, c.code, c.body)
		}
		for name, want := range map[string]string{"Content-Encoding": c.coding, "Cache-Control": c.kept,
			"Content-Type":            c.media,
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s with %q: %s is %q, want %q", c.path, c.accept, name, got, want)
			}
		}
	}
	r := get(t, h, "GET", "/ui/", "Accept-Encoding", "gzip")
	zr, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(zr); string(b) != "<p>page</p>" || err != nil || r.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("gzip holds %q, %v; Vary %q", b, err, r.Header.Get("Vary"))
	}
}

func TestRevalidates(t *testing.T) {
	h := built(t)
	tag := get(t, h, "GET", "/ui/", "Accept-Encoding", "br").Header.Get("ETag")
	if r := get(t, h, "GET", "/ui/x", "Accept-Encoding", "br", "If-None-Match", tag); r.StatusCode != 304 ||
		body(t, r) != "" {
		t.Errorf("the same file again: %d", r.StatusCode)
	}
	if r := get(t, h, "GET", "/ui/", "If-None-Match", tag); r.StatusCode != 200 {
		t.Errorf("another coding under the tag of brotli: %d", r.StatusCode)
	}
	if r := get(t, h, "HEAD", "/ui/", "Accept-Encoding", "br"); body(t, r) != "" ||
		r.Header.Get("Content-Length") != "18" {
		t.Errorf("HEAD: Content-Length %s", r.Header.Get("Content-Length"))
	}
}

func TestRootLeadsToThePage(t *testing.T) {
	r := get(t, built(t), "GET", "/")
	if r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/ui/" {
		t.Errorf("/: %d to %q", r.StatusCode, r.Header.Get("Location"))
	}
}

func TestAddressesOfClients(t *testing.T) {
	for path, want := range map[string]string{
		"/workflow/composer/01a2":     "/ui/workflows/01a2",
		"/mol/01a2?from=library":      "/ui/library/01a2",
		"/mol/%2F%2Felse.example%3Fq": "/ui/library/%2F%2Felse.example%3Fq",
	} {
		r := get(t, built(t), "GET", path)
		if got := r.Header.Get("Location"); r.StatusCode != http.StatusFound || got != want {
			t.Errorf("%s: %d %q, want 302 %q", path, r.StatusCode, got, want)
		}
	}
}

func TestWithoutThePage(t *testing.T) {
	h := handler(fstest.MapFS{"README.md": {}})
	r := get(t, h, "GET", "/ui/jobs")
	if got := body(t, r); r.StatusCode != 200 || !strings.Contains(got, "make build") {
		t.Errorf("%d %s", r.StatusCode, got)
	}
}

// Whatever is embedded can be served to a reader that takes no compression.
func TestEmbedded(t *testing.T) {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		t.Fatal(err)
	}
	h := handler(dist)
	for name, f := range h.(page) {
		if r := get(t, h, "GET", "/ui/"+name); r.StatusCode != 200 || len(body(t, r)) == 0 {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
		if (f.gzip == nil) != (f.brotli == nil) {
			t.Errorf("%s is compressed in one way alone", name)
		}
	}
}
