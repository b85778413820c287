package ui

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func builtSite(t *testing.T) http.Handler {
	t.Helper()
	return docs(fstest.MapFS{
		"README.md":           {Data: []byte("note")},
		"index.html.gz":       packed(t, "home"),
		"guide/index.html.gz": packed(t, "guide"),
		"guide.md.gz":         packed(t, "# Guide"),
		"api/index.html.gz":   packed(t, "<h1>API</h1><!-- api reference --><footer>"),
		"assets/a.1f.js.gz":   packed(t, "run()"),
	}, func() []byte { return []byte("<p>reference</p>") })
}

func TestServesTheSite(t *testing.T) {
	h := builtSite(t)
	for _, c := range []struct{ path, body, media, kept string }{
		{"/docs/", "home", "text/html; charset=utf-8", "no-cache"},
		{"/docs/guide/", "guide", "text/html; charset=utf-8", "no-cache"},
		{"/docs/guide.md", "# Guide", "text/markdown; charset=utf-8", "no-cache"},
		{"/docs/api/", "<h1>API</h1><p>reference</p><footer>", "text/html; charset=utf-8", "no-cache"},
		{"/docs/assets/a.1f.js", "run()", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
	} {
		r := get(t, h, "GET", c.path)
		if got := body(t, r); r.StatusCode != 200 || got != c.body {
			t.Errorf("%s: %d %q, want %q", c.path, r.StatusCode, got, c.body)
		}
		for name, want := range map[string]string{"Content-Type": c.media, "Cache-Control": c.kept,
			"Content-Security-Policy": sitePolicy, "Content-Encoding": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.path, name, got, want)
			}
		}
	}
	for _, path := range []string{"/docs/", "/docs/api/"} {
		r := get(t, h, "GET", path, "Accept-Encoding", "gzip, br")
		if r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is sent with the coding %q, want gzip", path, r.Header.Get("Content-Encoding"))
		}
		again := get(t, h, "GET", path, "Accept-Encoding", "gzip", "If-None-Match", r.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %d, want 304", path, again.StatusCode)
		}
	}
}

func TestAddressesOfTheSite(t *testing.T) {
	h := builtSite(t)
	for _, path := range []string{"/docs/gone", "/docs/gone/", "/docs/README.md", "/docs/guide/index", "/docs/guide.md.gz"} {
		if r := get(t, h, "GET", path); r.StatusCode != 404 || !strings.Contains(body(t, r), "no such page") {
			t.Errorf("%s: %d, want 404", path, r.StatusCode)
		}
	}
	r := get(t, h, "GET", "/docs/guide")
	if r.StatusCode != http.StatusMovedPermanently || r.Header.Get("Location") != "/docs/guide/" {
		t.Errorf("/docs/guide: %d to %q", r.StatusCode, r.Header.Get("Location"))
	}
}

func TestWithoutTheSite(t *testing.T) {
	if h := docs(fstest.MapFS{"README.md": {}}, nil); h != nil {
		t.Errorf("a folder without a site has the handler %v", h)
	}
}
