package service

import (
	"bytes"
	"context"
	"io"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// AgentPath is where programs that speak the Model Context Protocol call the service, and metadataPath where RFC 9728
// has the document about it.
const (
	AgentPath    = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// maxAgentBody bounds a message of the Model Context Protocol, in bytes.
const maxAgentBody = 1 << 20

// AgentRoute is POST /mcp. It is not in the OpenAPI document, since its protocol is another. The tools behind it call
// the routes of this server with the caller's key; their scopes, limits and quotas apply there.
func (h *Handlers) AgentRoute() route.Route {
	return route.Route{
		ID:      "callAgent",
		Pattern: "POST " + AgentPath,
		Section: "Operation",
		Probed:  true,
		Who:     route.AnyBearer(metadataPath + AgentPath),
		Summary: "Call the service by the Model Context Protocol",
		Handler: route.Answers(openapi.AnyObject, h.callAgent),
	}
}

// metadataRoute is the document of RFC 9728 about /mcp.
func (h *Handlers) metadataRoute() route.Route {
	return route.Route{
		ID:      "getResourceMetadata",
		Pattern: "GET " + metadataPath,
		Section: "Agents",
		Who:     route.Open(),
		Summary: "Read how clients of the Model Context Protocol identify themselves",
		Handler: route.NoBody(h.resourceMetadata),
	}
}

// AgentMetadataRoute is metadataRoute with the path of /mcp at its end, where some clients look for it. It is not in
// the OpenAPI document.
func (h *Handlers) AgentMetadataRoute() route.Route {
	rt := h.metadataRoute()
	rt.Pattern += AgentPath
	return rt
}

// callAgent is POST /mcp: it checks the caller and hands the message to Handlers.Agents. Any user, by a
// bearer token. 401: there is none, or it is not valid; 403: a page of another site sent the request; 404: this server
// does not have the protocol; 429: the caller has too many such calls under way.
func (h *Handlers) callAgent(ctx context.Context, c *route.Call) error {
	if h.Agents == nil {
		return pleat.Errorf(pleat.CodeNotFound, route.NotFoundMessage)
	}
	if c.Who.User == "" {
		return pleat.ErrUnauthorized
	}
	if c.R.Header.Get("Origin") != "" && !c.Site().OwnOrigin(c.R) {
		return pleat.Errorf(pleat.CodeForbidden, "the Origin is %q; pages of other sites may not call this address",
			pleat.Clip(c.R.Header.Get("Origin")))
	}
	body, done, err := c.RequiredBody(maxAgentBody)
	defer done()
	if err != nil {
		return err
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && b[0] == '[' {
		return pleat.Invalidf("the request body is an array; send one message in each request")
	}
	release, err := c.Acquire(&h.AgentCalls)
	if err != nil {
		return err
	}
	defer release()
	r := c.R.WithContext(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.NotStored()
	h.Agents.ServeHTTP(c.W, r)
	return nil
}

// resourceMetadata is GET /.well-known/oauth-protected-resource. Everyone.
func (h *Handlers) resourceMetadata(_ context.Context, c *route.Call) (api.ResourceMetadata, error) {
	out := api.ResourceMetadata{
		Resource:      c.Site().Base + AgentPath,
		Name:          "Pleat",
		BearerMethods: []string{"header"},
		Documentation: c.Site().Base + "/docs",
	}
	if h.Issuer != "" {
		out.Issuers = []string{h.Issuer}
	}
	return out, nil
}
