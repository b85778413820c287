package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// agentPath is where programs that speak the Model Context Protocol call the service, and metadataPath where RFC 9728
// has the document about it.
const (
	agentPath    = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// maxAgentBody bounds a message of the Model Context Protocol, in bytes.
const maxAgentBody = 1 << 20

// agentRoute is POST /mcp. It is not in the OpenAPI document, since its protocol is another. The tools behind it call
// the routes of this server with the caller's key; their scopes, limits and quotas apply there.
var agentRoute = route{
	id:      "callAgent",
	pattern: "POST " + agentPath,
	section: operationSection,
	access:  anyone,
	bearer:  true,
	summary: "Call the service by the Model Context Protocol",
	handler: answers(openapi.AnyObject, (*Server).callAgent),
}

// metadataRoute is the document of RFC 9728 about /mcp. Clients look for it with and without the path of /mcp at its
// end.
var (
	metadataRoute = route{
		id:      "getResourceMetadata",
		pattern: "GET " + metadataPath,
		access:  open,
		summary: "Read how clients of the Model Context Protocol identify themselves",
		handler: noBody((*Server).resourceMetadata),
	}
	agentRoutes = inSection("Agents", []route{metadataRoute})
)

// callAgent is POST /mcp: it checks the caller and hands the message to the handler that New was given. Any user, by a
// bearer token. 401: there is none, or it is not valid; 403: a page of another site sent the request; 404: this server
// does not have the protocol; 429: the caller has too many such calls under way.
func (s *Server) callAgent(ctx context.Context, c *call) error {
	if s.agents == nil {
		return pleat.Errorf(pleat.CodeNotFound, notFoundMessage)
	}
	if c.who.User == "" {
		return pleat.ErrUnauthorized
	}
	if c.r.Header.Get("Origin") != "" && !s.ownOrigin(c.r) {
		return pleat.Errorf(pleat.CodeForbidden, "the Origin is %q; pages of other sites may not call this address",
			pleat.Clip(c.r.Header.Get("Origin")))
	}
	body, done, err := s.requiredBody(c, maxAgentBody)
	defer done()
	if err != nil {
		return err
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && b[0] == '[' {
		return pleat.Invalidf("the request body is an array; send one message in each request")
	}
	if err := s.agentCalls.Acquire(c.caller, false); err != nil {
		return err
	}
	defer s.agentCalls.Release(c.caller, false)
	r := c.r.WithContext(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.w.Header()["Cache-Control"] = noStore
	s.agents.ServeHTTP(c.w, r)
	return nil
}

// resourceMetadata is GET /.well-known/oauth-protected-resource. Everyone.
func (s *Server) resourceMetadata(context.Context, *call) (api.ResourceMetadata, error) {
	out := api.ResourceMetadata{
		Resource:      s.cfg.PublicURL + agentPath,
		Name:          "Pleat",
		BearerMethods: []string{"header"},
		Documentation: s.cfg.PublicURL + "/docs",
	}
	if s.issuer != nil {
		out.Issuers = []string{s.issuer.Name()}
	}
	return out, nil
}

// challenge is the WWW-Authenticate of a 401 of the route.
func (s *Server) challenge(rt route) string {
	if !rt.bearer {
		return "Bearer"
	}
	return `Bearer resource_metadata="` + s.cfg.PublicURL + metadataPath + agentPath + `"`
}

// bearerOf returns the credential of a request from its bearer token alone: a browser adds cookies by itself, and the
// protocol knows no other header.
func bearerOf(r *http.Request) credential {
	auth := r.Header.Get("Authorization")
	scheme, key, _ := strings.Cut(auth, " ")
	switch {
	case auth == "":
		return credential{}
	case !strings.EqualFold(scheme, "Bearer"):
		return credential{given: true}
	}
	return tokenCredential(strings.TrimSpace(key))
}
