package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
	"pleat/internal/server/service"
	"pleat/internal/store/storetest"
)

// get asks a server.
func get(t *testing.T, s *Server, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// newBare returns a server with an empty store and what a test is about.
func newBare(t *testing.T, d Deps) *Server {
	t.Helper()
	d.Store = storetest.OpenAt(t, storetest.Databases()["sqlite"](t), nil)
	s, err := New(Config{Config: route.Config{PublicURL: "http://fold.example.org"}}, d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The document is made for the first request, once, and so is what shows it.
func TestDocumentIsMadeOnce(t *testing.T) {
	t.Parallel()
	created := 0
	routes := append(AllRoutes(), route.Route{
		ID:      "getCount",
		Section: route.Sections[0],
		Pattern: "GET /count",
		Summary: "Count",
		Handler: route.Answers(openapi.Content{"text/plain": func(huma.Registry) *huma.Schema {
			created++
			return &huma.Schema{Type: huma.TypeString}
		}}, nil),
	})
	var reference func() []byte
	s := newBare(t, Deps{})
	s.service.Docs = service.NewDocumentation("http://fold.example.org", routes, func(r func() []byte) http.Handler {
		reference = r
		return nil
	})
	s.handler = s.newHandler(s.service.Routes(), nil)
	if created != 0 {
		t.Fatalf("the document is made %d times before someone asks for it", created)
	}
	for range 2 {
		for _, path := range []string{"/openapi.json", "/docs"} {
			if w := get(t, s, path); w.Code != 200 || !strings.Contains(w.Body.String(), "/count") {
				t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
			}
		}
		if !strings.Contains(string(reference()), "/count") {
			t.Error("the reference does not have the route")
		}
	}
	if created != 1 {
		t.Errorf("the document is made %d times, want 1", created)
	}
}

// A server that nobody asks for its documentation does not call for it.
func TestNewLeavesTheReference(t *testing.T) {
	t.Parallel()
	asked := 0
	s := newBare(t, Deps{Docs: func(reference func() []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = w.Write(reference())
		})
	}})
	if asked != 0 {
		t.Error("New asks for the reference")
	}
	if w := get(t, s, "/docs/api/"); w.Code != 200 || !strings.Contains(w.Body.String(), "/v1/jobs/{id}/results") {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}

// The document and the page are sent with gzip to clients that accept it, and are the same without.
func TestDocumentationIsSentPacked(t *testing.T) {
	t.Parallel()
	s := newBare(t, Deps{})
	for _, path := range []string{"/openapi.json", "/docs"} {
		plain, small := get(t, s, path), get(t, s, path, "Accept-Encoding", "gzip")
		for _, w := range []*httptest.ResponseRecorder{plain, small} {
			if w.Code != 200 || w.Header().Get("Vary") != "Accept-Encoding" ||
				w.Header().Get("Cache-Control") != "public, max-age=300" {
				t.Errorf("%s: %d %v", path, w.Code, w.Header())
			}
		}
		if got := plain.Header().Get("Content-Encoding"); got != "" {
			t.Errorf("%s has the coding %q, which its client does not accept", path, got)
		}
		if got := small.Header().Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s has the coding %q, want gzip", path, got)
		}
		z, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != plain.Body.String() {
			t.Errorf("%s: the packed text is another; %v", path, err)
		}
	}
}

// A document that cannot be made is a fault of the program. A request for it gets the answer of all such faults.
func TestDocumentThatCannotBeMade(t *testing.T) {
	t.Parallel()
	bad := append(AllRoutes(), route.Route{
		ID:      "getColour",
		Section: route.Sections[0],
		Pattern: "GET /colour",
		Summary: "Read a colour",
		Handler: route.Answers(openapi.JSON[struct {
			Colour string `json:"colour" enum:"violet,teal"`
		}](), nil),
	})
	reference := func(r func() []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(r()) })
	}
	for _, site := range []func(func() []byte) http.Handler{nil, reference} {
		s := newBare(t, Deps{Docs: site})
		s.service.Docs = service.NewDocumentation("http://fold.example.org", bad, site)
		s.handler = s.newHandler(s.service.Routes(), nil)
		paths := []string{"/openapi.json", "/docs"}
		if site != nil {
			paths = []string{"/openapi.json", "/docs/api/"}
		}
		for _, path := range append(paths, paths...) {
			w := get(t, s, path)
			if got := w.Body.String(); w.Code != 500 || strings.TrimSpace(got) != `{"message":"internal error"}` {
				t.Errorf("%s: %d %s", path, w.Code, got)
			}
		}
	}
}
