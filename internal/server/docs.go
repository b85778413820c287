package server

import "context"

// openAPI is GET /openapi.json, for everyone: the document that New made of the routes.
func (s *Server) openAPI(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.document)
	return quiet(c, err)
}

// readDocs is GET /docs, for everyone: the document as a page without scripts, under a policy that allows none.
func (s *Server) readDocs(_ context.Context, c *call) error {
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs)
	return quiet(c, err)
}
