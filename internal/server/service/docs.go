package service

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
	"pleat/internal/server/route"
)

// The text for agents: what every server has, and how it goes on for a server with a site. $URL is the address of the
// server, $REFERENCE that of the API reference.
var (
	//go:embed llms.txt
	llmsText string
	//go:embed llms_site.txt
	llmsSiteText string
)

// Documentation is what the server publishes about itself for programs, people and agents. The pages that are generated
// from the routes are rendered for the first request: most servers are never asked, and it takes longer than the rest
// of a start.
type Documentation struct {
	openAPI func() (packed, error)
	page    func() (packed, error) // of openAPI, for a server without a site
	Site    http.Handler           // nil: the page is all
	llms    []byte
}

// NewDocumentation returns the documentation of a server at a URL. site makes the documentation site, with what makes
// the reference of the interface; it may be nil or answer nil.
func NewDocumentation(
	url string, routes []route.Route, site func(reference func() []byte) http.Handler,
) Documentation {
	d := Documentation{
		openAPI: sync.OnceValues(func() (packed, error) {
			text, err := route.Document(url, routes)
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
		d.Site = site(func() []byte {
			text, err := render(openapi.Reference)
			if err != nil {
				panic(fmt.Errorf("make the API reference: %w", err)) // which route.Core.Middleware answers with 500
			}
			return text
		})
	}
	llms, reference := llmsText, url+"/docs"
	if d.Site != nil {
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
func sendDocs(c *route.Call, text func() (packed, error)) error {
	body, err := text()
	if err != nil {
		return err
	}
	h := c.W.Header()
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Vary", "Accept-Encoding")
	if route.AcceptsGzip(c.R.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else if body, err = body.unpack(); err != nil {
		return err
	}
	_, err = c.W.Write(body)
	return c.Quiet(err)
}

// openAPI is GET /openapi.json, for everyone: the document that is made of the routes.
func (h *Handlers) openAPI(_ context.Context, c *route.Call) error {
	c.W.Header().Set("Content-Type", "application/json")
	return sendDocs(c, h.Docs.openAPI)
}

// readDocs is GET /docs, for everyone: it leads to the site. Without the site it is the document as a page without
// scripts, under a policy that allows none.
func (h *Handlers) readDocs(_ context.Context, c *route.Call) error {
	if h.Docs.Site != nil {
		http.Redirect(c.W, c.R, "/docs/", http.StatusFound)
		return nil
	}
	header := c.W.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	return sendDocs(c, h.Docs.page)
}

// readLLMs is GET /llms.txt, for everyone: how an agent uses this server, in the form of llmstxt.org.
func (h *Handlers) readLLMs(_ context.Context, c *route.Call) error {
	c.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.W.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.W.Write(h.Docs.llms)
	return c.Quiet(err)
}
