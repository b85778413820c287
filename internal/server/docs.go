package server

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"pleat/internal/server/openapi"
)

// The text for agents: what every server has, and how it goes on for a server with a site. $URL is the address of the
// server, $REFERENCE that of the API reference.
var (
	//go:embed llms.txt
	llmsText string
	//go:embed llms_site.txt
	llmsSiteText string
)

// documentation is what the server publishes about itself for programs, people and agents. What is generated from the
// routes is rendered for the first request: most servers are never asked, and it takes longer than the rest of a start.
type documentation struct {
	openAPI func() (packed, error)
	page    func() (packed, error) // of openAPI, for a server without a site
	site    http.Handler           // nil: the page is all
	llms    []byte
}

// newDocumentation returns the documentation of a server at a URL. site makes the documentation site, with what makes
// the reference of the interface; it may be nil or answer nil.
func newDocumentation(
	url string, routes []route, site func(reference func() []byte) http.Handler,
) documentation {
	d := documentation{
		openAPI: sync.OnceValues(func() (packed, error) {
			text, err := document(url, routes)
			if err != nil {
				return nil, fmt.Errorf("make the OpenAPI document: %w", err)
			}
			return pack(text), nil
		}),
	}
	render := func(as func(document []byte) ([]byte, error)) ([]byte, error) {
		document, err := d.openAPI()
		if err != nil {
			return nil, err
		}
		text, err := document.unpack()
		if err != nil {
			return nil, err
		}
		return as(text)
	}
	d.page = sync.OnceValues(func() (packed, error) {
		text, err := render(openapi.Page)
		if err != nil {
			return nil, fmt.Errorf("make /docs: %w", err)
		}
		return pack(text), nil
	})
	if site != nil {
		d.site = site(func() []byte {
			text, err := render(openapi.Reference)
			if err != nil {
				panic(fmt.Errorf("make the API reference: %w", err)) // which middleware answers with 500
			}
			return text
		})
	}
	llms, reference := llmsText, url+"/docs"
	if d.site != nil {
		reference += "/api/"
		llms += llmsSiteText
	}
	d.llms = []byte(strings.NewReplacer("$URL", url, "$REFERENCE", reference).Replace(llms))
	return d
}

// packed is a text that a server keeps for rare requests: compressed with gzip, a tenth of its size.
type packed []byte

// pack compresses a text.
func pack(text []byte) packed {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	return bytes.Clone(b.Bytes())
}

// unpack returns the text.
func (p packed) unpack() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// sendDocs answers with a text of the documentation, which is the same for everyone and holds nothing of a user: with
// gzip to clients that accept it.
func sendDocs(c *call, text func() (packed, error)) error {
	body, err := text()
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(c.r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else if body, err = body.unpack(); err != nil {
		return err
	}
	_, err = c.w.Write(body)
	return quiet(c, err)
}

// openAPI is GET /openapi.json, for everyone: the document that is made of the routes.
func (s *Server) openAPI(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	return sendDocs(c, s.docs.openAPI)
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
	return sendDocs(c, s.docs.page)
}

// readLLMs is GET /llms.txt, for everyone: how an agent uses this server, in the form of llmstxt.org.
func (s *Server) readLLMs(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs.llms)
	return quiet(c, err)
}
