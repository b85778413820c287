package server

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"text/template"

	"pleat/internal/server/openapi"
)

//go:embed llms.txt
var llmsText string

// documentation is what the server tells about itself: to programs, people and agents.
type documentation struct {
	openAPI []byte
	page    []byte       // of openAPI; empty if there is a site
	site    http.Handler // nil: the page is all
	llms    []byte
}

// makeDocumentation makes the documentation of a server at a URL. site makes the documentation site of the reference
// of the interface; it may be nil or answer nil.
func makeDocumentation(url string, routes []route, site func(reference []byte) http.Handler) (documentation, error) {
	var d documentation
	var err error
	if d.openAPI, err = document(url, routes); err != nil {
		return d, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	if site != nil {
		reference, err := openapi.Reference(d.openAPI)
		if err != nil {
			return d, fmt.Errorf("make the API reference: %w", err)
		}
		d.site = site(reference)
	}
	if d.site == nil {
		if d.page, err = openapi.Page(d.openAPI); err != nil {
			return d, fmt.Errorf("make /docs: %w", err)
		}
	}
	t, err := template.New("llms.txt").Parse(llmsText)
	if err != nil {
		return d, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		URL  string
		Site bool
	}{url, d.site != nil})
	d.llms = b.Bytes()
	return d, err
}

// openAPI is GET /openapi.json, for everyone: the document that New made of the routes.
func (s *Server) openAPI(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs.openAPI)
	return quiet(c, err)
}

// readDocs is GET /docs, for everyone: it leads to the site. Without the site it is the document as a page without
// scripts, under a policy that allows none.
func (s *Server) readDocs(_ context.Context, c *call) error {
	h := c.w.Header()
	if s.docs.site != nil {
		http.Redirect(c.w, c.r, "/docs/", http.StatusFound)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs.page)
	return quiet(c, err)
}

// readLLMs is GET /llms.txt, for everyone: how an agent uses this server, in the form of llmstxt.org.
func (s *Server) readLLMs(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs.llms)
	return quiet(c, err)
}
